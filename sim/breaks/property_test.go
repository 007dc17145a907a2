package breaks

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/compactsim/compactsim/sim/results/confusion"
	"github.com/compactsim/compactsim/sim/results/measures"
)

func drawCall(t *rapid.T) Call {
	at := rapid.Int64Range(0, 1<<44).Draw(t, "at")
	return Call{
		Source: measures.Source(rapid.IntRange(0, measures.NumSources-1).Draw(t, "source")), Thread: rapid.Int32Range(0, 2).Draw(t, "thread"),
		Model: rapid.SampledFrom([]string{"", "opus", "sonnet", "haiku"}).Draw(t, "model"),
		At:    at, End: at + rapid.Int64Range(0, 1<<36).Draw(t, "took"),
		Read:      rapid.Int64Range(0, 200000).Draw(t, "read"),
		Deleted:   rapid.Int64Range(0, 2).Draw(t, "deleted"),
		Compacted: rapid.IntRange(0, 9).Draw(t, "compacted") == 0,
		State:     State{Tools: Hash(rapid.IntRange(0, 2).Draw(t, "tools")), Effort: rapid.SampledFrom([]string{"", "low", "high"}).Draw(t, "effort")},
	}
}

// There is no break without a fall past both thresholds, and every such fall of
// a watched source is a break or has a reason why it is expected.
func TestNoBreakWithoutAFall(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d Detector
		last := map[source]int64{}
		for _, c := range rapid.SliceOf(rapid.Custom(drawCall)).Draw(t, "calls") {
			v := d.See(&c)
			if v.Reason == confusion.Excluded {
				continue
			}
			before, known := last[sourceOf(&c)]
			fell := known && before-c.Read > MinDrop && float64(before-c.Read) > MinDropShare*float64(before)
			if v.Broke() && !fell {
				t.Fatalf("%s from %d to %d", v.Reason, before, c.Read)
			}
			if fell && v.Reason == confusion.None {
				t.Fatalf("a fall from %d to %d has no reason", before, c.Read)
			}
			last[sourceOf(&c)] = c.Read
		}
	})
}

// How the calls of several sources mix does not change what is said of each.
func TestSourcesDoNotMeet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		calls := rapid.SliceOf(rapid.Custom(drawCall)).Draw(t, "calls")
		var mixed, apart Detector
		said := map[source][]Verdict{}
		for i := range calls {
			key := sourceOf(&calls[i])
			said[key] = append(said[key], *mixed.See(&calls[i]))
		}
		slices.SortStableFunc(calls, func(a, b Call) int {
			x, y := sourceOf(&a), sourceOf(&b)
			return int(x.source)*4 + int(x.thread) - int(y.source)*4 - int(y.thread)
		})
		for i := range calls {
			key := sourceOf(&calls[i])
			if v := *apart.See(&calls[i]); v != said[key][0] {
				t.Fatalf("apart %+v, mixed %+v", v, said[key][0])
			}
			said[key] = said[key][1:]
		}
	})
}

// Numbers of states only save comparing them: with a number for each state, or for some, the verdicts are the same.
func TestNumbersOfStatesChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		numbers := map[[2]any]uint64{}
		var plain, numbered Detector
		for _, c := range rapid.SliceOf(rapid.Custom(drawCall)).Draw(t, "calls") {
			c.Source, c.Thread, c.Model = measures.SourceMain, 0, "opus" // one source, so that calls meet
			want := *plain.See(&c)
			state := [2]any{c.State.Tools, c.State.Effort}
			if numbers[state] == 0 {
				numbers[state] = uint64(len(numbers) + 1)
			}
			if rapid.IntRange(0, 3).Draw(t, "numbered") > 0 {
				c.Same = numbers[state]
			}
			if v := *numbered.See(&c); v != want {
				t.Fatalf("numbered %+v, plain %+v", v, want)
			}
		}
	})
}
