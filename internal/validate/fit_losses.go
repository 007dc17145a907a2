package validate

import (
	"slices"

	"github.com/compactsim/compactsim/internal/profile"
)

// lossGaps are the rows by gap, seconds: up to a minute a person has just read
// the answer; near and beyond five minutes losses grow, whatever the lifetime.
var lossGaps = struct{ prompt, tool []float64 }{[]float64{60, 240, 3600}, []float64{240, 3600}}

const (
	// lossPrompt and lossTool are the shares that a class is taken to lose before
	// a call of it has been seen: those of three sets of recordings, 32 of 710
	// prompts and 18 of 11,200 tool results.
	lossPrompt, lossTool = 0.04, 0.0015
	// lateCalls is how many calls of a thread stand ahead of one that hardly ever
	// loses its messages: of 221 such prompts and 2,438 such tool results of 29
	// sessions none did, where those ahead let expect 8 and 3.
	lateCalls = 100
	// lossWeight is how many calls of a class such a share counts for, and the
	// share of the class for one of its rows.
	lossWeight = 30
)

// fitLosses returns how often calls inside the lifetime lose their messages for
// no visible reason, over all versions: no version has enough of them for a
// share of its own.
func fitLosses(calls []Call) profile.Losses {
	return profile.Losses{
		Prompt:     lossRows(calls, lossGaps.prompt, lossPrompt, ClassPrompt, ClassOther),
		ToolResult: lossRows(calls, lossGaps.tool, lossTool, ClassToolResult, ClassSubAgent),
	}
}

// lossRows returns the shares of the calls of some classes by gap. A row with few
// calls is drawn towards the share of all of them, and that towards prior.
func lossRows(calls []Call, gaps []float64, prior float64, classes ...Class) []profile.GapShare {
	all := make([]tally, len(gaps)+1) // the last one over all gaps
	late := tally{}
	for i := range calls {
		c := &calls[i]
		if !slices.Contains(classes, c.Class) || c.Left < minStatic {
			continue
		}
		if c.Round >= lateCalls {
			late.see(c)
			continue
		}
		row, _ := slices.BinarySearch(gaps, float64(c.Gap)/1e9)
		all[min(row, len(gaps)-1)].see(c)
		all[len(gaps)].see(c)
	}
	share := all[len(gaps)].estimate(prior).Value
	rows := []profile.GapShare{{After: lateCalls, Seconds: gaps[len(gaps)-1], Estimate: late.estimate(share)}}
	for i, seconds := range gaps {
		rows = append(rows, profile.GapShare{Seconds: seconds, Estimate: all[i].estimate(share)})
	}
	return rows
}

// tally counts calls, and those that lost their messages by session.
type tally struct {
	n    int
	lost map[string]int
}

func (t *tally) see(c *Call) {
	t.n++
	if c.Collapsed() {
		if t.lost == nil {
			t.lost = map[string]int{}
		}
		t.lost[c.Session]++
	}
}

// estimate returns the share that lost, a prior share counting for lossWeight
// calls. No session adds more than one loss to those of all the others: what
// happens again and again in one session has a cause there.
func (t *tally) estimate(prior float64) profile.Estimate {
	sum := 0
	for _, k := range t.lost {
		sum += k
	}
	counted := sum
	for _, k := range t.lost {
		counted -= max(0, k-(sum-k)-1)
	}
	e := proportion(float64(counted)+lossWeight*prior, float64(t.n)+lossWeight)
	e.N = t.n
	return e
}
