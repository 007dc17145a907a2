package assembly

import (
	"fmt"

	"github.com/compactsim/compactsim/traces"
)

// A count that was replaced or left out in every line of a recording is a
// plausible number in each. What gives it away is how counts follow each other:
// a conversation grows, what is read was sent before, and what is new differs
// from call to call.

// A sign is a relation between the counts of a call and the one before it in
// its thread that few calls of a sound recording have: in 186 recordings with
// 14,609 calls the context did not grow in at most 6 % of a session's calls, 21 % read
// more than was sent before, 1 % wrote as much as the call before, 2 % had as many new
// tokens, and 17 % as many of output.
type sign struct {
	what string
	most float64 // share of the calls that have a call before them
	few  bool    // below fewPairs all of them must have it: two or three of five calls often do
	has  func(before, call *traces.Round, compacted bool) bool
}

var signs = [...]sign{
	{"the context does not grow", 0.25, false, func(before, call *traces.Round, compacted bool) bool {
		return !compacted && call.Usage.Input() <= before.Usage.Input()
	}},
	{"more is read than was sent before", 0.5, false, func(before, call *traces.Round, compacted bool) bool {
		return !compacted && call.Usage.Read > before.Usage.Input()+before.Usage.Output
	}},
	{"as much is written to the cache as by the call before", 0.5, true, func(before, call *traces.Round, _ bool) bool {
		return call.Usage.Writes() > 0 && call.Usage.Writes() == before.Usage.Writes()
	}},
	{"as much is neither read nor written as by the call before", 0.5, false, func(before, call *traces.Round, _ bool) bool {
		return call.Usage.Uncached > traces.MaxTail && call.Usage.Uncached == before.Usage.Uncached
	}},
	{"the output is as long as that of the call before", 0.5, false, func(before, call *traces.Round, _ bool) bool {
		return call.Usage.Output > shortOutput && call.Flags&(traces.RoundOutputDerived|traces.RoundOutputUnknown) == 0 &&
			call.Usage.Output == before.Usage.Output
	}},
}

// shortOutput is the length up to which answers are often equally long, tokens: a word, a number.
const shortOutput = 16

// fewPairs is the number of calls with one before them below which a share says little.
const fewPairs = 8

// doubt counts calls whose counts contradict those around them, where there are
// more than sound recordings have.
func (s *Session) doubt(out *traces.Session) {
	var met [len(signs)]int
	pairs := 0
	for i := range out.Threads {
		t := &out.Threads[i]
		for r := 1; r < len(t.Rounds); r++ {
			before, call := &t.Rounds[r-1], &t.Rounds[r]
			if !before.Counted() || !call.Counted() {
				continue
			}
			pairs++
			compacted := changedAt(t, int32(r))
			for k := range signs {
				if signs[k].has(before, call, compacted) {
					met[k]++
				}
			}
		}
	}
	worst, text := 0, ""
	for k, n := range met {
		most := signs[k].most * float64(pairs)
		if signs[k].few && pairs < fewPairs {
			most = float64(pairs - 1)
		}
		if n > max(1, worst) && float64(n) > most {
			worst, text = n, fmt.Sprintf("token counts contradict each other: in %d of %d calls %s", n, pairs, signs[k].what)
		}
	}
	if worst > 0 {
		s.Problems.Add(s.Files[0].Name, 0, "session %s: %s", s.ID, text)
		out.Quality.Uncounted = max(out.Quality.Uncounted, worst) // among them may be some that were told one by one
	}
}

// changedAt reports whether the recording says that the context was changed ahead of a round.
func changedAt(t *traces.Thread, round int32) bool {
	for i := range t.Events {
		if e := &t.Events[i]; e.Round == round && e.Kind != traces.EventShrink {
			return true
		}
	}
	return false
}
