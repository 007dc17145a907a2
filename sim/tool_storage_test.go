package sim

import (
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
)

// using names the tool of every call.
func using(s *traces.Session, tool string) *traces.Session {
	s.Tools = []string{"", "Read", tool}
	for i := range s.Blocks {
		if s.Blocks[i].Call > 0 {
			s.Blocks[i].Tool = 2
		}
	}
	return s
}

// mainContexts returns what the conversation's own calls weighed.
func mainContexts(calls []results.CallRecord) []int64 {
	var list []int64
	for _, c := range calls {
		if c.Source == measures.SourceMain {
			list = append(list, c.Context)
		}
	}
	return list
}

// Results of 20,000 tokens and 60,000 bytes: Bash may keep 30,000, so 2,000
// bytes stay, 666 tokens, and 60 around them. As that happens ahead of the first
// request with them, the cache loses nothing.
func TestToolStorageKeepsThePrefix(t *testing.T) {
	s := using(newSession("s").turns(4, 0, 20000).session(), "Bash")
	row, calls := run(t, written(t, "  - tool-storage: {}\n"), s)
	for i, c := range calls {
		want := prompt.Usage{Read: 18300 + int64(i-1)*926, Write5m: 200 + 726, Output: 200}
		if i == 0 {
			want = prompt.Usage{Write5m: 18300, Output: 200}
		}
		if c.Usage != want {
			t.Errorf("call %d: %+v, want %+v", i, c.Usage, want)
		}
	}
	if row.N(measures.Misses) != 0 || row.N(measures.StoredResults) != 3 || row.N(measures.StoredTokens) != 3*(20000-726) {
		t.Errorf("%d misses, counts %v", row.N(measures.Misses), row.Figures[measures.StoredResults:measures.CallsBySource])
	}
	if row.N(measures.Microcompactions) != 0 || row.N(measures.Compactions) != 0 || row.Firings["tool-storage"] != 3 {
		t.Errorf("storing is no compaction: %d, %d, firings %v", row.N(measures.Microcompactions), row.N(measures.Compactions), row.Firings)
	}
	off, _ := run(t, written(t, "  - tool-storage: {enabled: false}\n"), s)
	if off.N(measures.PeakContext) != 18300+3*20200 {
		t.Errorf("off: a context of %d", off.N(measures.PeakContext))
	}
}

// What was stored never counted: the trigger of a compaction sees the previews. The
// twelfth request holds 18,300 tokens and eleven times 926, 28,486 in all; with a result of
// 60,000 bytes counted whole, 15,000 tokens, the second would be at 33,500 already.
func TestToolStorageLowersTheClientsCount(t *testing.T) {
	s := using(newSession("s").turns(12, 0, 20000).session(), "Bash")
	const full = "  - full-compact: {trigger: {fixed: 30000}}\n"
	with, _ := run(t, written(t, "  - tool-storage: {}\n"+full), s)
	without, _ := run(t, written(t, full), s)
	if with.N(measures.Compactions) != 0 || without.N(measures.Compactions) == 0 {
		t.Errorf("%d compactions with storage, %d without", with.N(measures.Compactions), without.N(measures.Compactions))
	}
}

// Limits tripled from afar at the fourth request: frozen decisions keep the
// prefix, deciding anew brings two results back and re-writes what follows them
// (003: freeze on and off).
func TestToolStorageFreezeKeepsTheCache(t *testing.T) {
	s := using(newSession("s").turns(5, 0, 20000).session(), "Bash")
	for freeze, want := range map[string]struct {
		contexts [5]int64
		misses   int
	}{
		"true":  {[5]int64{18300, 19226, 20152, 40352, 60552}, 0},
		"false": {[5]int64{18300, 19226, 20152, 78900, 99100}, 1},
	} {
		row, calls := run(t, written(t, "  - tool-storage: {retune: {request: 4, scale: 3}, freeze: "+freeze+"}\n"), s)
		if got := mainContexts(calls); [5]int64(got) != want.contexts || row.N(measures.Misses) != want.misses ||
			row.MissesOf(exchange.MissEdit) != want.misses {
			t.Errorf("freeze %s: contexts %v, %d misses; want %v, %d", freeze, got, row.N(measures.Misses), want.contexts, want.misses)
		}
	}
}

// A result that is read back costs a response more, and then its own tokens: the
// call before the third request reads what the second left, and the third reads
// that.
func TestToolStorageReadBack(t *testing.T) {
	s := using(newSession("s").turns(3, 0, 20000).session(), "Bash")
	row, calls := run(t, written(t, "  - tool-storage: {reread: {share: 1}}\n"), s)
	if row.N(measures.Calls) != 4 || row.CallsBy(measures.SourceOf("reread")) != 1 || row.N(measures.RereadResults) != 1 || row.N(measures.Misses) != 0 {
		t.Fatalf("%d calls, %d of reading, %d misses", row.N(measures.Calls), row.CallsBy(measures.SourceOf("reread")), row.N(measures.Misses))
	}
	if want := (prompt.Usage{Read: 19226, Write5m: 926, Output: 100}); calls[2].Usage != want || calls[2].Source != measures.SourceOf("reread") {
		t.Errorf("reading: %+v, want %+v", calls[2].Usage, want)
	}
	if want := (prompt.Usage{Read: 20152, Write5m: 100 + 20000, Output: 200}); calls[3].Usage != want {
		t.Errorf("the request: %+v, want %+v", calls[3].Usage, want)
	}
	none, _ := run(t, written(t, "  - tool-storage: {}\n"), s)
	if none.N(measures.Calls) != 3 {
		t.Errorf("%d calls where nothing is read back", none.N(measures.Calls))
	}
}

// Branches go on with what was decided: the abandoned one reads all of the 21,078
// tokens that the main thread left. So they do with what is still to be read: of
// three stored results the main thread reads two back, the branch the third.
func TestToolStorageInABranch(t *testing.T) {
	b := newSession("s").turns(4, 0, 20000)
	b.thread(traces.Thread{ID: "branch", Kind: traces.ThreadBranch, Parent: 0, ParentRound: 3, Delay: minute})
	b.round(traces.TriggerPrompt, 0, 300)
	s := using(b.session(), "Bash")
	_, calls := run(t, written(t, "  - tool-storage: {}\n"), s)
	if c := calls[4]; c.Source != measures.SourceBranch || c.Context != 21078+200+300 || c.Usage.Read != 21078 {
		t.Errorf("the branch has %d tokens and reads %d", c.Context, c.Usage.Read)
	}
	row, calls := run(t, written(t, "  - tool-storage: {reread: {share: 1}}\n"), s)
	if c := calls[len(calls)-1]; row.N(measures.RereadResults) != 3 || c.Source != measures.SourceBranch || c.Context != 21578+3*20100 {
		t.Errorf("%d read back, the branch has %d tokens", row.N(measures.RereadResults), c.Context)
	}
}
