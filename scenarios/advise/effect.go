package advise

import (
	"fmt"
	"time"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
)

// Effect is what a change does besides saving: each figure before and after it.
type Effect struct {
	Compactions [2]int      `json:"compactions"`
	Recall      *[2]float64 `json:"needed_recall,omitempty"` // nil where it is not measured
	WaitSeconds [2]float64  `json:"added_latency_seconds"`
	// FetchedAgain counts the calls that bring back what the agent had lost and uses, such as a second read of a file, and Hours is how
	// long the sessions worked, as recorded.
	FetchedAgain [2]int  `json:"calls_to_fetch_again"`
	Hours        float64 `json:"hours_of_work,omitzero"`
}

// lossy is the fall of recall above which a saving is reported as one at a loss.
const lossy = 0.05

// longer is how many seconds more waiting the advice speaks of.
const longer = 60

// loses reports whether recall falls so far that the advice must say so.
func (e *Effect) loses() bool { return e.Recall != nil && e.Recall[0]-e.Recall[1] > lossy }

// pause is how long a wait for a person or a tool counts as work: behind it, nobody waits any more.
const pause = 5 * time.Minute

// worked returns the hours of work in the conversation of a session; sub-agents work beside it.
func worked(s *traces.Session) float64 {
	var sum time.Duration
	for i := range s.Threads {
		if s.Threads[i].Kind == traces.ThreadAgent {
			continue
		}
		for k := range s.Threads[i].Rounds {
			r := &s.Threads[i].Rounds[k]
			sum += min(max(0, time.Duration(r.Wait)), pause) + max(0, time.Duration(r.Stream))
		}
	}
	return sum.Hours()
}

// effect compares the row of the agent's sessions under a change with their row without it.
func (x *AgentAdvice) effect(is *results.Row) Effect {
	was := &x.was
	e := Effect{Compactions: [2]int{was.N(measures.Compactions), is.N(measures.Compactions)},
		WaitSeconds:  [2]float64{was.Figures[measures.AddedLatency], is.Figures[measures.AddedLatency]},
		FetchedAgain: [2]int{was.N(measures.CallsBySource + measures.ID(measures.SourceReread)), is.N(measures.CallsBySource + measures.ID(measures.SourceReread))}, Hours: x.hours}
	m, _ := results.LookupMetric(measures.NameRecall)
	before, measured := m.Value(was)
	if after, also := m.Value(is); measured && also {
		e.Recall = &[2]float64{before, after}
	}
	return e
}

// again says how often the agent fetches more than without the change what it has lost, "" where that is rare.
func (e *Effect) again() string {
	more := float64(e.FetchedAgain[1] - e.FetchedAgain[0])
	if more < 1 || e.Hours <= 0 {
		return ""
	}
	what := " read of a file or repeated command"
	switch each := more / e.Hours; {
	case each >= 1.5:
		return fmt.Sprintf(" About %.0f more reads of files and repeated commands an hour of work.", each)
	case each >= 0.75:
		return " About one more" + what + " an hour of work."
	case each*rare >= 1:
		return fmt.Sprintf(" About one more%s in %.0f hours of work.", what, 1/each)
	}
	return ""
}

// rare is the number of hours of work in which one more fetch is not worth a word.
const rare = 20

// loss says how much less of what is used later stays at hand, how much more is fetched again and how much longer
// compactions and the like make people wait, "" when all are little.
func (e *Effect) loss() string {
	text := ""
	if e.loses() {
		text = fmt.Sprintf(" The saving has a price: %.0f %% of what the agent uses later is lost and cannot be fetched, instead of %.0f %%.",
			100*(1-e.Recall[1]), 100*(1-e.Recall[0]))
	}
	text += e.again()
	if was, is := e.WaitSeconds[0], e.WaitSeconds[1]; is-was >= longer {
		text += fmt.Sprintf(" Waiting grows from %s to %s.", document.Seconds(was), document.Seconds(is))
	}
	return text
}
