package strategies

import (
	"fmt"
	"slices"
	"testing"

	"github.com/compactsim/compactsim/strategies/standard"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
)

// strategiesOf returns one strategy for each list of layers in YAML.
func strategiesOf(t *testing.T, texts ...string) (list []*Strategy) {
	t.Helper()
	for i, text := range texts {
		r := builtin(t)
		name := fmt.Sprint("kin/", i)
		if err := r.AddPreset([]byte("name: "+name+"\nlayers:\n"+text), "kin.yaml"); err != nil {
			t.Fatal(err)
		}
		s, err := r.Strategy(name)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	return list
}

// compactAt returns strategies that compact at levels, in tokens.
func compactAt(t *testing.T, levels ...int) []*Strategy {
	var texts []string
	for _, n := range levels {
		texts = append(texts, fmt.Sprintf("  - full-compact: {trigger: {fixed: %d}}\n", n))
	}
	return strategiesOf(t, texts...)
}

// One simulation may stand for strategies that differ in what their layers poll, which a
// layer's traits name, and in nothing else: what is sent depends on all the rest.
func TestKindIsWhatIsNotPolled(t *testing.T) {
	base := "  - full-compact: {trigger: {fixed: 100000}}\n  - time-microcompact: {keep_recent: 5}\n"
	for text, same := range map[string]bool{
		base: true,
		"  - full-compact: {trigger: {fixed: 90000}}\n  - time-microcompact: {keep_recent: 2, gap_minutes: 5}\n":                    true,
		"  - full-compact: {trigger: {fraction: 0.5}}\n  - time-microcompact: {}\n":                                                 true,
		"  - full-compact: {trigger: {fixed: 100000, measure: tokens}}\n  - time-microcompact: {}\n":                                false,
		"  - full-compact: {trigger: {fixed: 100000}, instruction: 1}\n  - time-microcompact: {}\n":                                 false,
		"  - full-compact: {trigger: {fixed: 100000}}\n  - time-microcompact: {placeholder: 1}\n":                                   false,
		"  - full-compact: {trigger: {fixed: 100000}}\n":                                                                            false,
		"  - time-microcompact: {}\n  - full-compact: {trigger: {fixed: 100000}}\n":                                                 false,
		"  - full-compact: {trigger: {fixed: 100000}}\n  - time-microcompact: {}\nexclusive: [[full-compact, time-microcompact]]\n": false,
		"  - full-compact: {trigger: {fixed: 100000}}\n  - time-microcompact: {}\nclient: {cache: {message_markers: 2}}\n":          false,
	} {
		list := strategiesOf(t, base, text)
		if got := list[0].Kind(nil) == list[1].Kind(nil); got != same || list[0].Kind(nil) == "" {
			t.Errorf("of one kind with %s: %v", text, got)
		}
	}
	var kinds []string
	for _, name := range []string{"own", "own/lower", "claude-code/2026-08"} {
		s, err := builtin(t).Strategy(name)
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, s.Kind([]*traces.Session{{Agent: facts.ClaudeCode}}))
	}
	if kinds[0] != kinds[1] || kinds[0] == kinds[2] || kinds[0] == "" {
		t.Error("strategies of each session's own generation are of one kind as these are")
	}
}

// A simulation parts from the strategies whose trigger answers otherwise than the running
// strategy's trigger. A trigger fires from its level on, so the strategies part whose level lies
// on
// the other side of what was measured.
func TestKinPartAtTheirLevels(t *testing.T) {
	const a, b, c = 0, 1, 2 // at 100, 120 and 150 thousand
	for measured, parted := range map[int64][][]int{
		99_999:  {{}, {}, {}},
		100_000: {{b, c}, {a}, {a}},
		119_999: {{b, c}, {a}, {a}},
		120_000: {{c}, {c}, {a, b}},
		149_999: {{c}, {c}, {a, b}},
		150_000: {{}, {}, {}},
	} {
		for runs, want := range parted {
			kin := &Kin{All: compactAt(t, 100_000, 120_000, 150_000)}
			others := slices.DeleteFunc([]int{a, b, c}, func(i int) bool { return i == runs })
			kin.Stand(append(others, runs))
			turn := Turn{Kin: kin, Reading: Reading{Window: 200_000}}
			turn.Reading.Values[MeasureClientTokens] = measured
			if got := kin.Differ(standard.Compact, &turn.Reading); !slices.Equal(got, want) {
				t.Errorf("at %d strategy %d differs from %v, want %v", measured, runs, got, want)
			}
			if got := len(kin.Alike); got != 3 {
				t.Errorf("to ask who differs parts from some: %d are left", got)
			}
			turn.Check(standard.Compact, kin.All[runs].layers[0].params.(*CompactParams).Fires())
			if !slices.Equal(kin.Parted, want) || len(kin.Alike) != 3-len(want) || !slices.Contains(kin.Alike, runs) {
				t.Errorf("at %d strategy %d parts from %v and stands for %v, want to part from %v",
					measured, runs, kin.Parted, kin.Alike, want)
			}
		}
	}
}

// Who has parted or left is not asked again, and what is left has levels of its own.
func TestKinThatLeft(t *testing.T) {
	kin := &Kin{All: compactAt(t, 100_000, 120_000, 150_000)}
	kin.Stand([]int{0, 1, 2})
	turn := Turn{Kin: kin, Reading: Reading{Window: 200_000}}
	at := func(n int64) []int {
		turn.Reading.Values[MeasureClientTokens] = n
		turn.Check(standard.Compact, &Trigger{Fixed: 150_000})
		return kin.Parted
	}
	if got := at(110_000); !slices.Equal(got, []int{0}) {
		t.Errorf("at 110,000 parted from %v", got)
	}
	if got := at(110_000); !slices.Equal(got, []int{0}) {
		t.Errorf("once more at 110,000 parted from %v", got)
	}
	if got := at(130_000); !slices.Equal(got, []int{0, 1}) || !slices.Equal(kin.Alike, []int{2}) {
		t.Errorf("at 130,000 parted from %v, stands for %v", got, kin.Alike)
	}
	kin.Stand([]int{0, 2})
	kin.Leave([]int{0})
	if got := at(110_000); len(got) > 0 || !slices.Equal(kin.Alike, []int{2}) {
		t.Errorf("parted from %v, of which it no longer stood for any", got)
	}
	if got := kin.Differ(standard.Compact, &turn.Reading); len(got) > 0 {
		t.Errorf("strategies %v differ, of which it no longer stood for any", got)
	}
}

// The model at hand sets the levels: half the window and 90 thousand lie on
// either side of 95 thousand at a window of 200,000, and both below it at one of 100,000.
func TestKinAtAnotherModel(t *testing.T) {
	kin := &Kin{All: strategiesOf(t, "  - full-compact: {trigger: {reserve: 40000, reserve_output: true}}\n", "  - full-compact: {trigger: {fixed: 90000}}\n")}
	kin.Stand([]int{0, 1})
	r := Reading{Window: 130_000, MaxOutput: 32_000}
	r.Values[MeasureClientTokens] = 95_000
	differ := func(window, output int64, want ...int) {
		t.Helper()
		r.Window, r.MaxOutput = window, output
		if got := kin.Differ(standard.Compact, &r); !slices.Equal(got, want) {
			t.Errorf("at a window of %d with %d of output: %v, want %v", window, output, got, want)
		}
	}
	differ(140_000, 32_000)
	differ(200_000, 32_000, 0)
	differ(200_000, 70_000)
	differ(200_000, 32_000, 0)
	differ(140_000, 32_000)
}

// A trigger that a strategy has switched off is not looked at.
func TestKinWithoutATrigger(t *testing.T) {
	kin := &Kin{All: strategiesOf(t, "  - full-compact: {auto: false, trigger: {fixed: 100000}}\n", "  - full-compact: {auto: false, trigger: {fixed: 150000}}\n")}
	kin.Stand([]int{0, 1})
	r := Reading{Window: 200_000}
	r.Values[MeasureClientTokens] = 120_000
	if got := kin.Differ(standard.Compact, &r); len(got) > 0 {
		t.Errorf("strategies %v differ in what is switched off", got)
	}
}

// The limit a client shows is the lowest level under each strategy, and never above what it was; a
// layer without a level has the level of the strategy that runs.
func TestLimitsOfKin(t *testing.T) {
	kin := &Kin{All: compactAt(t, 100_000, 120_000, 150_000)}
	kin.Stand([]int{0, 1, 2})
	r := Reading{Window: 200_000}
	limits := []int64{180_000, 110_000, 180_000}
	kin.Limit(limits, standard.Compact, 150_000, &r)
	if want := []int64{100_000, 110_000, 150_000}; !slices.Equal(limits, want) {
		t.Errorf("limits %v, want %v", limits, want)
	}
	kin.Limit(limits, "another", 105_000, &r)
	if want := []int64{100_000, 105_000, 105_000}; !slices.Equal(limits, want) {
		t.Errorf("limits %v, want %v", limits, want)
	}
}

// A layer that acts is asked what it would do under the parameters of others: of four
// results behind a long pause, the strategies that keep five clear none and the strategies that
// keep two clear two.
func TestKinArePolled(t *testing.T) {
	kin := &Kin{All: strategiesOf(t, "  - time-microcompact: {keep_recent: 2}\n", "  - time-microcompact: {keep_recent: 5}\n",
		"  - time-microcompact: {keep_recent: 4}\n")}
	kin.Stand([]int{0, 1, 2})
	k, _ := hosted()
	for i := range int32(4) {
		k.round("Read", "", 100+i)
	}
	k.Idle, k.Reading.Values[MeasureIdle] = 61*minutes, 61*minutes
	k.Kin = kin
	asked(t, kin.All[2].Layers()[0], k)
	if !slices.Equal(kin.Parted, []int{0}) || !slices.Equal(kin.Alike, []int{1, 2}) {
		t.Errorf("parted from %v, stands for %v", kin.Parted, kin.Alike)
	}
	l := kin.All[1].Layers()[0]
	kin.Stand([]int{1, 0})
	kin.Adopt([]Layer{l})
	asked(t, l, k)
	if got := k.results(); got[0] == 100 || got[1] == 101 || got[2] != 102 || !slices.Equal(kin.Parted, []int{1}) {
		t.Errorf("under the parameters adopted: %v, parted from %v", got, kin.Parted)
	}
}
