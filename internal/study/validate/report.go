package validate

import (
	"cmp"
	"slices"

	"github.com/compactsim/compactsim/internal/serving/profile"
	"github.com/compactsim/compactsim/traces"
)

// Report is the outcome of a validation. Its top level covers the calls that
// are not the first of their thread.
type Report struct {
	Score
	// BandCoverage is the share of sessions whose recorded input cost lies in
	// the 90 % band of the replications; nil without replications.
	BandCoverage *float64     `json:"band_coverage"`
	Bands        *Bands       `json:"bands,omitempty"`
	Model        string       `json:"model"`   // the parts of the model that are on
	Profile      string       `json:"profile"` // name of the profile, "none" for the plain cache model
	Naive        Score        `json:"naive"`   // the naive rule on the same calls
	Collapses    int          `json:"unexplained_collapses"`
	Classes      []Group      `json:"by_class"`
	Versions     []Group      `json:"by_version"`
	Agents       []AgentScore `json:"by_agent"`
	// Expected is the same cost with the average cost of losses: the expected cost
	// of a session and the prediction of its calls are two figures.
	Expected Expected    `json:"expected_cost"`
	Worst    []WorstCall `json:"worst"`
	Skipped  []Skipped   `json:"skipped"`
	// Compactions is the check of a preset's trigger, nil if none was asked for.
	Compactions *CompactionCheck `json:"compactions,omitempty"`

	calls      []Call
	agentOf    map[string]int                         // index in Agents by session
	profileFor func(*traces.Session) *profile.Profile // that predicted a session
}

// Calls returns all calls with their predictions, by session, thread and round.
func (r *Report) Calls() []Call { return r.calls }

// Group is the score of the calls that share a property.
type Group struct {
	Name  string `json:"name"`
	Score Score  `json:"score"`
	Naive Score  `json:"naive"`
}

// Expected compares the expected cost of sessions with the recorded one, over
// calls that are not first ones.
type Expected struct {
	LossUSD float64  `json:"loss_usd"` // average cost of losses, over all sessions
	Median  *float64 `json:"session_cost_error_median"`
	Corpus  *float64 `json:"corpus_cost_error"`
}

// WorstCall is a call that the model missed: its place, and both figures.
type WorstCall struct {
	Name      string  `json:"name"` // as sim explain takes it (traces.CallName)
	Session   string  `json:"session"`
	Thread    string  `json:"thread"`
	Call      int     `json:"call"` // round of the thread, from 1
	File      string  `json:"file"`
	Line      int     `json:"line"`
	Class     string  `json:"class"`
	Gap       float64 `json:"gap_seconds"`
	Context   int64   `json:"context"`
	Predicted int64   `json:"predicted_read"`
	Recorded  int64   `json:"recorded_read"`
	Miss      string  `json:"predicted_miss"`
	Collapsed bool    `json:"unexplained"`
}

// Skipped is a session, or a part of one, that could not be compared with the
// recording.
type Skipped struct {
	Session string `json:"session"`
	Reason  string `json:"reason"`
}

func later(c *Call) bool { return c.Class != ClassFirst }

// newReport sums up calls. At most worst calls are listed, largest error first.
func newReport(calls []Call, worst int) *Report {
	r := &Report{calls: calls, Worst: []WorstCall{}, Skipped: []Skipped{}}
	r.Score, r.Naive = score(calls, byModel, later), score(calls, byNaive, later)
	mean := score(calls, byMean, later)
	r.Expected.Median, r.Expected.Corpus = mean.Median, mean.Corpus
	for i := range calls {
		c := &calls[i]
		if c.Collapsed() {
			r.Collapses++
		}
		if later(c) && c.Priced {
			r.Expected.LossUSD += c.LossUSD
		}
	}
	for class := range numClasses {
		r.Classes = group(r.Classes, calls, class.String(), func(c *Call) bool { return c.Class == class })
	}
	versions := map[string]bool{}
	for i := range calls {
		versions[calls[i].Version] = true
	}
	for _, v := range sortedKeys(versions) {
		r.Versions = group(r.Versions, calls, cmp.Or(v, "unknown"), func(c *Call) bool { return later(c) && c.Version == v })
	}
	r.agents()
	r.worst(worst)
	return r
}

// group appends the score of the calls that keep selects, unless there are none.
func group(list []Group, calls []Call, name string, keep func(*Call) bool) []Group {
	s := score(calls, byModel, keep)
	if s.Calls == 0 {
		return list
	}
	return append(list, Group{name, s, score(calls, byNaive, keep)})
}

func (r *Report) worst(n int) {
	order := make([]*Call, 0, len(r.calls))
	for i := range r.calls {
		if c := &r.calls[i]; later(c) && c.Error() != 0 && !c.Spread {
			order = append(order, c)
		}
	}
	size := func(c *Call) int64 { return max(c.Error(), -c.Error()) }
	slices.SortStableFunc(order, func(a, b *Call) int { return cmp.Compare(size(b), size(a)) })
	for _, c := range order[:min(n, len(order))] {
		r.Worst = append(r.Worst, WorstCall{
			Name:    c.Session + c.Name,
			Session: c.Session, Thread: c.Thread, Call: c.Round + 1, File: c.File, Line: c.Line, Class: c.Class.String(),
			Gap: float64(c.Gap) / 1e9, Context: c.Context, Predicted: c.Predicted.Read, Recorded: c.Actual.Read,
			Miss: c.Miss.String(), Collapsed: c.Collapsed(),
		})
	}
}
