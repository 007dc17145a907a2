package reports

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
)

// maxCellsOfCalls is how many cells a chart over calls tells apart.
const maxCellsOfCalls = 4

// checkCalls refuses what a chart over calls cannot draw.
func checkCalls(calls []results.CellCalls) error {
	if len(calls) > maxCellsOfCalls {
		return fmt.Errorf("%d cells, at most %d can be told apart", len(calls), maxCellsOfCalls)
	}
	n := 0
	for i := range calls {
		n += len(calls[i].Calls)
		for j := range calls[i].Calls {
			if err := checkCall(&calls[i].Calls[j]); err != nil {
				return fmt.Errorf("cell %q, call %d: %w", calls[i].Cell, j+1, err)
			}
		}
	}
	if n == 0 {
		return errors.New("no calls")
	}
	return nil
}

func checkCall(c *results.CallRecord) error {
	u := c.Usage
	counts := [...]int64{u.Uncached, u.Read, u.Write5m, u.Write1h, u.WriteOther, c.Context, c.Start}
	if n := slices.Min(counts[:]); n < 0 {
		return fmt.Errorf("negative count or time %d", n)
	}
	if v := c.Cost.Total(); math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Errorf("cost %v cannot be drawn", v)
	}
	return nil
}

// isMiss reports whether a call counts among the misses of its row: one of the
// conversation that read less than the best prefix of its thread.
func isMiss(c *results.CallRecord) bool {
	return c.Miss != prompt.MissNone && !c.First && c.Round >= 0
}

// isShown reports whether a call is one of the main conversation or, when
// agents are shown, of any other thread.
func isShown(c *results.CallRecord, agents bool) bool {
	return c.Round >= 0 && (agents || c.Source == results.SourceMain)
}

// largestSession returns the session with the most shown calls in the first
// cell that has any; of equal ones, the first in order of ids.
func largestSession(calls []results.CellCalls, agents bool) string {
	count := map[string]int{}
	for i := range calls {
		for j := range calls[i].Calls {
			if c := &calls[i].Calls[j]; isShown(c, agents) {
				count[c.Session]++
			}
		}
		if len(count) > 0 {
			break
		}
	}
	best := ""
	for id, n := range count {
		if best == "" || n > count[best] || n == count[best] && id < best {
			best = id
		}
	}
	return best
}

// trace is one session under one cell as a chart over calls shows it.
type trace struct {
	cell        string
	calls       []results.CallRecord // of the shown threads, by start
	compactions []cut
	drops       []cut // where the context shrank without a compaction
}

// cut is where a context shrank.
type cut struct {
	at   float64 // between two calls
	from int64   // context before, tokens
}

// newTrace selects the calls of a session: those of the main conversation, and
// of sub-agents and abandoned branches when asked for.
func newTrace(of *results.CellCalls, session string, agents bool) trace {
	t := trace{cell: of.Cell}
	shown := map[int32]bool{}
	for _, c := range of.Calls {
		if c.Session == session && isShown(&c, agents) {
			t.calls = append(t.calls, c)
			shown[c.Thread] = true
		}
	}
	slices.SortStableFunc(t.calls, func(a, b results.CallRecord) int { return cmp.Compare(a.Start, b.Start) })
	summaries := map[int32][]int64{} // starts by thread
	for _, c := range of.Calls {
		if c.Session == session && c.Source == results.SourceCompact && shown[c.Thread] {
			summaries[c.Thread] = append(summaries[c.Thread], c.Start)
		}
	}
	t.findCuts(summaries)
	return t
}

// dropPercent is the share of its context a thread must lose between two calls
// for the loss to be marked, %.
const dropPercent = 10

// findCuts places compactions and drops ahead of the call that follows them.
func (t *trace) findCuts(summaries map[int32][]int64) {
	last := map[int32]int64{} // context by thread
	for i := range t.calls {
		c := &t.calls[i]
		before, seen := last[c.Thread]
		last[c.Thread] = c.Context
		due := 0
		for len(summaries[c.Thread]) > 0 && summaries[c.Thread][0] <= c.Start {
			summaries[c.Thread] = summaries[c.Thread][1:]
			due++
		}
		switch {
		case due > 0:
			t.compactions = append(t.compactions, cut{float64(i) + 0.5, max(before, c.Context)})
		case seen && 100*c.Context < (100-dropPercent)*before:
			t.drops = append(t.drops, cut{float64(i) + 0.5, before})
		}
	}
}
