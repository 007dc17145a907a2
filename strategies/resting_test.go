package strategies

import (
	"slices"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
)

// Strategies rest that do nothing and remember nothing until a trigger fires. A layer that pays rent, looks at every result, works
// in gaps or follows the recording does not, nor does a strategy of each session's own generation.
func TestWhoRests(t *testing.T) {
	r := builtin(t)
	text := map[string]string{}
	for _, name := range []string{"none", "auto-compact/167k", "truncate-oldest", "microcompact/2.1", "break-even", "tool-storage", "keepalive", "recorded", "own"} {
		s, err := r.Strategy(name)
		if err != nil {
			t.Fatal(err)
		}
		text[name] = s.Resting()
	}
	if text["auto-compact/167k"] == "" || text["auto-compact/167k"] != text["truncate-oldest"] {
		t.Errorf("one run stands for compactions and truncations before either: %q, %q", text["auto-compact/167k"], text["truncate-oldest"])
	}
	if text["none"] == "" || text["none"] == text["truncate-oldest"] {
		t.Error("a refusal ends a session under a strategy that shortens contexts, and under no other")
	}
	for _, name := range []string{"break-even", "tool-storage", "keepalive", "recorded", "own"} {
		if text[name] != "" {
			t.Errorf("%s rests: %q", name, text[name])
		}
	}
}

// The strategies that are due are those whose trigger the turn has reached, and, before a request that will be refused, those that
// answer it.
func TestWhoIsDue(t *testing.T) {
	kin := &Kin{Mixed: true, All: slices.Concat(
		compactAt(t, 100_000),
		strategiesOf(t, "  - microcompact: {trigger: {fixed: 120000}}\n", "  - truncate-oldest: {trigger: {fixed: 150000}}\n"),
	)}
	kin.Rest()
	kin.Stand([]int{0, 1, 2})
	turn := Turn{Kin: kin, Reading: Reading{Window: 200_000}}
	due := func(tokens int64, refused bool) []int {
		turn.Reading.Values[MeasureClientTokens], turn.Reading.Values[MeasureTokens] = tokens, tokens
		return kin.Due(&turn, refused, func(int) bool { return false })
	}
	for tokens, want := range map[int64][]int{99_999: nil, 100_000: {0}, 130_000: {0, 1}, 150_000: {0, 1, 2}} {
		if got := due(tokens, false); !slices.Equal(got, want) {
			t.Errorf("at %d due are %v, want %v", tokens, got, want)
		}
	}
	if got := due(0, true); !slices.Equal(got, []int{0, 2}) {
		t.Errorf("answered by %v", got)
	}
	kin.Leave([]int{2})
	if limits := []int64{200_000, 200_000, 200_000}; kin.Runs != 1 {
		t.Errorf("strategy %d runs", kin.Runs)
	} else if kin.Thresholds(limits, &turn); !slices.Equal(limits, []int64{100_000, 200_000, 150_000}) {
		t.Errorf("limits are %v", limits)
	}
}

// A client that clears a copy for each request measures its history whole: of 130,000 tokens that the recording's own client cleared
// by 60,000 a layer that clears at 100,000 is due. One whose last copy stays must see every end of a loop, and does not rest.
func TestDueByTheWholeHistory(t *testing.T) {
	blocks := []prompt.Block{{Kind: prompt.KindPrompt, Tokens: 30_000}, {Kind: prompt.KindToolResult, Tokens: 100_000}}
	context, arena := new(prompt.Context), new(prompt.Arena)
	context.Reset(blocks, arena)
	context.AppendRange(0, 2)
	context.SetForm(1, prompt.FormCleared, 40_000, prompt.CauseEdit)
	for persist, want := range map[string][]int{"never": {0}, "always": nil} {
		kin := &Kin{Mixed: true, All: strategiesOf(t, "  - clear: {trigger: {measure: tokens, fixed: 100000}, persist: "+persist+"}\n")}
		kin.Rest()
		kin.Stand([]int{0})
		turn := Turn{Kin: kin, Context: context, Reading: Reading{Window: 200_000}}
		turn.Reading.Values[MeasureTokens] = int64(context.Tokens())
		if got := kin.Due(&turn, false, func(int) bool { return false }); !slices.Equal(got, want) {
			t.Errorf("with persist %s due are %v, want %v", persist, got, want)
		}
	}
	if s := strategiesOf(t, "  - clear: {trigger: {measure: tokens, fixed: 100000}, persist: run}\n")[0]; s.Resting() != "" {
		t.Error("a layer whose last copy stays rests")
	}
}
