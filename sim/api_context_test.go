package sim

import (
	"testing"

	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// With a window of a million the edit fires: at 201,900 tokens eighteen results of 10,000 are
// there, and fifteen results are more than 140,000. The part behind the first cleared result is
// written anew, but for the system prompt; then the new prefix serves (B1: it invalidates from the
// clearing point).
func TestAPIContextClearsAtAMillion(t *testing.T) {
	s := reading(newSession("s").turns(22, 0, 10000).session())
	c := testConfig(t, "api-context")
	c.Window = 1_000_000
	row, calls := run(t, c, s)
	const left = 201900 - 15*9988
	if calls[17].Context != 191700 || calls[18].Context != left || calls[18].Miss != exchange.MissEdit || calls[18].Usage.Read != 16000 {
		t.Errorf("contexts %v, read %d with miss %v", mainContexts(calls), calls[18].Usage.Read, calls[18].Miss)
	}
	if calls[19].Usage.Read != left || row.N(measures.Misses) != 1 || row.N(measures.Microcompactions) != 0 || row.Firings["api-context"] != 1 {
		t.Errorf("then %+v; %d misses, firings %v", calls[19].Usage, row.N(measures.Misses), row.Firings)
	}
}

// At 200,000 the automatic compaction comes first, at 167,000; without it the
// edit keeps the request inside the window.
func TestAPIContextBehindAutoCompact(t *testing.T) {
	s := reading(newSession("s").turns(22, 0, 10000).session())
	for auto, want := range map[string][3]int{"true": {1, 0, 0}, "false": {0, 1, 0}} {
		row, _ := run(t, written(t, "  - full-compact: {trigger: {fixed: 167000}, auto: "+auto+"}\n  - api-context: {}\n"), s)
		if got := [3]int{row.N(measures.Compactions), row.Firings["api-context"], row.N(measures.Overflows)}; got != want {
			t.Errorf("auto %s: %v compactions, clearings and overflows, want %v", auto, got, want)
		}
	}
}

// After an hour only the last turn's thinking stays: four of five blocks of 40
// tokens go. Once is free, as the cache is cold; ever after, each turn re-writes
// what follows the thinking that goes (the regression of March 26 to April 10,
// 2026).
func TestAPIContextThinkingAfterAGap(t *testing.T) {
	s := reading(newSession("s").turns(5, 0, 1000).turns(4, 61*minute, 1000).session())
	for every, want := range map[string]struct {
		contexts [3]int64
		misses   int // behind the gap
	}{
		"false": {[3]int64{23440, 24640, 25840}, 0},
		"true":  {[3]int64{23440, 24600, 25760}, 3},
	} {
		_, calls := run(t, written(t, "  - api-context: {clear_thinking: {every_turn: "+every+"}}\n"), s)
		misses := 0
		for _, c := range calls[6:] {
			if c.Miss == exchange.MissEdit {
				misses++
			}
		}
		if got := [3]int64(mainContexts(calls)[5:8]); got != want.contexts || misses != want.misses {
			t.Errorf("every turn %s: contexts %v, %d misses; want %v, %d", every, got, misses, want.contexts, want.misses)
		}
	}
}
