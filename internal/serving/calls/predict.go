package calls

import (
	"github.com/compactsim/compactsim/internal/serving/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
)

// Prediction is what the cache model expects of a recorded call.
type Prediction struct {
	Usage    prompt.Usage // the output is the recorded one
	Expected int64        // tokens the thread's best prefix would have read
	Miss     prompt.MissClass
	Cost     results.Cost // USD, by class
	Rules    profile.Set  // that applied
}

// Records returns the recorded calls in the form of those of a simulation, with what was
// billed in the place of what was expected.
func (t *Table) Records() []results.CallRecord {
	var list []results.CallRecord
	for _, thread := range t.Threads {
		start := int64(0)
		for i := range thread {
			c := &thread[i]
			if c.At > 0 { // one without a time stands at that of the call before it
				start = c.At - t.Session.Start
			}
			list = append(list, results.CallRecord{
				Session: t.Session.ID, Thread: c.Index, Round: c.Round, Source: c.Source, Model: c.Model.Name, Start: start,
				End: start + c.Recorded.Stream, Usage: c.Recorded.Usage, Expected: c.Left, Miss: c.Class(), First: c.First(),
				Context: c.Recorded.Usage.Input(), Cost: c.Cost,
			})
		}
	}
	return list
}
