package check

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// ErrFailed is wrapped by the error of a check that fails.
var ErrFailed = errors.New("check failed")

// Status is the outcome of a rule in one cell.
type Status string

// The outcomes of a rule.
const (
	OK        Status = "ok"
	Breach    Status = "breach"    // the figure is beyond the bar
	Suspect   Status = "suspect"   // it is beyond the bar by no more than chance explains
	Undecided Status = "undecided" // there are too few sessions to decide
	Unjudged  Status = "unjudged"  // there is no figure, nothing to compare it with, or nothing that could fail
)

// Result is the outcome of one rule in one cell and group. Figures are in the
// unit of the metric.
type Result struct {
	Line     int      `json:"line"` // of the rule
	Metric   string   `json:"metric"`
	Unit     string   `json:"unit"`
	Cell     string   `json:"cell,omitzero"`
	Group    string   `json:"group,omitzero"`
	Rule     string   `json:"rule"`
	Status   Status   `json:"status"`
	Observed *float64 `json:"observed,omitempty"` // mean over seeds
	// Low and High are the interval of that mean; if the baseline has other sessions, the interval of
	// the difference from it, moved to the observed figure. They are absent where nothing is drawn.
	Low      *float64 `json:"low,omitempty"`
	High     *float64 `json:"high,omitempty"`
	Baseline *float64 `json:"baseline,omitempty"` // mean over seeds
	Bar      *float64 `json:"bar,omitempty"`      // what the figure may reach
	Margin   *float64 `json:"margin,omitempty"`   // distance to the bar, negative beyond it
	// Noticed is the smallest change from the baseline that four of five such samples of sessions show.
	Noticed  *float64 `json:"noticed,omitempty"`
	Seeds    int      `json:"seeds,omitzero"`
	Sessions int      `json:"sessions,omitzero"` // judged, if the baseline has others
	Before   int      `json:"baseline_sessions,omitzero"`
	// Message says what is wrong, or why a figure beyond its bar holds, and Look, in one line, what to look at.
	Message string  `json:"message,omitzero"`
	Look    string  `json:"look,omitzero"`
	usd     float64 // what it costs, to order what is broken; 0 if unknown
	told    bool    // a problem of the whole run explains why it is not judged
	limit   bool    // it is held against a limit that no rule asks for, whatever the baseline
}

// Problem is something other than a rule that fails a check.
type Problem struct {
	Line int    `json:"line,omitzero"` // in the check file, 0 for none
	Text string `json:"text"`
}

// Report is what a check found.
type Report struct {
	Schema   int       `json:"schema"`
	Change   *Change   `json:"change,omitempty"`  // of the bill since the baseline
	Changed  []string  `json:"changed,omitempty"` // what clients do otherwise than in the baseline, with what it costs
	Moved    []Moved   `json:"-"`                 // the same, of facts
	File     string    `json:"file"`
	OK       bool      `json:"ok"`
	Version  string    `json:"version"`
	At       time.Time `json:"at,omitzero"` // the end of the last session
	Sessions int       `json:"sessions"`
	Calls    int       `json:"calls"`
	Results  []Result  `json:"results"`
	Problems []Problem `json:"problems,omitempty"`
	Notes    []string  `json:"notes,omitempty"`
	// History has the runs of the window, the earliest first, and this one; none without a window.
	History []RunFigures `json:"history,omitempty"`

	strict    bool     // what is suspect fails the check
	strangers bool     // sessions are of an agent that the baseline does not have
	began     string   // the baseline that this run began, with which it is compared; "" for none
	meant     []string // what --accept takes as meant, apart from metrics of broken rules
}

// reportSchema is the version of the encoded form of a report.
const reportSchema = 1

// Err returns nil when everything holds, else an error that wraps ErrFailed.
func (r *Report) Err() error {
	if r.OK {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrFailed, r.Verdict())
}

// Broken reports whether a rule is broken.
func (r *Report) Broken() bool { return r.count(Breach) > 0 }

// Compared reports whether some rule had a baseline.
func (r *Report) Compared() bool {
	return slices.ContainsFunc(r.Results, func(s Result) bool { return s.Baseline != nil })
}

func (r *Report) count(status Status) int {
	n := 0
	for i := range r.Results {
		if r.Results[i].Status == status {
			n++
		}
	}
	return n
}

// Begins says that the run made the baseline which it is held against.
func (r *Report) Begins(baseline string) { r.began = baseline }

// Replaces adds what was broken against the replaced baseline as suspects: the new baseline would hide it.
func (r *Report) Replaces(was *Report) {
	for _, s := range was.Results {
		again := slices.ContainsFunc(r.Results, func(o Result) bool {
			return o.Status == Breach && o.Line == s.Line && o.Cell == s.Cell && o.Group == s.Group
		})
		if s.Status == Breach && s.Bar != nil && s.Baseline != nil && !again {
			s.Status, s.Message = Suspect, s.Message+", in the baseline that this run replaces"
			r.Results = append(r.Results, s)
		}
	}
	r.settle()
}

// Verdict says how many rules hold and how many do not.
func (r *Report) Verdict() string {
	text := "nothing was compared"
	if len(r.Results) > 0 {
		text = fmt.Sprintf("%d of %s ok", r.count(OK), document.Count(len(r.Results), "comparison"))
	}
	for _, s := range []struct {
		status Status
		words  string
	}{{Breach, "beyond the bar"}, {Suspect, "suspect"}, {Undecided, "too few to tell"}, {Unjudged, "not judged"}} {
		if n := r.count(s.status); n > 0 {
			text += fmt.Sprintf(", %d %s", n, s.words)
		}
	}
	if len(r.Problems) > 0 {
		text += ", " + document.Count(len(r.Problems), "problem")
	}
	if r.began != "" {
		text += ", with itself alone: this run began " + r.began
	}
	return text
}

// fail adds a problem.
func (r *Report) fail(line int, format string, args ...any) {
	r.Problems = append(r.Problems, Problem{line, fmt.Sprintf(format, args...)})
}

func (r *Report) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// fails reports whether an outcome fails the check.
func (r *Report) fails(s Status) bool {
	return s == Breach || s == Unjudged || s == Suspect && r.strict
}

// settle sets whether everything holds.
func (r *Report) settle() {
	r.OK = len(r.Problems) == 0 && len(r.Results) > 0
	for i := range r.Results {
		r.OK = r.OK && !r.fails(r.Results[i].Status)
	}
}

// failure is one thing that fails a check, or that is suspect.
type failure struct {
	lead    string // FAIL or SUSPECT
	line    int
	title   string
	message string
	look    string
}

// rank orders what is broken: what says why a bill rose comes first, then the bill, then what is simulated.
func (s *Result) rank() int {
	switch {
	case slices.Contains([]string{modelsMetric, pricesMetric, factsMetric, measures.NameOverPredicted}, s.Metric):
		return 0
	case s.Cell == measures.StrategyBilled:
		return 1
	}
	return 2
}

// failures returns everything that fails the check: broken rules first, causes before sums and the dearest first, because
// they explain a baseline of another scenario, then problems of the whole run,
// then what was not judged for a reason that no problem gives. What is suspect and fails nothing
// comes last.
func (r *Report) failures() []failure {
	var all, unjudged, suspect []failure
	byCost := make([]*Result, len(r.Results))
	for i := range r.Results {
		byCost[i] = &r.Results[i]
	}
	slices.SortStableFunc(byCost, func(a, b *Result) int { return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(b.usd, a.usd)) })
	for _, s := range byCost {
		switch {
		case s.Status == Breach:
			all = append(all, failure{"FAIL", s.Line, s.Metric, s.Message, s.Look})
		case s.Status == Suspect:
			lead := "SUSPECT"
			if r.strict {
				lead = "FAIL"
			}
			suspect = append(suspect, failure{lead, s.Line, s.Metric, s.Message, s.Look})
		case s.Status == Unjudged && !s.told:
			where := s.Metric
			if s.Cell != "" {
				where += " of " + s.Cell
			}
			unjudged = append(unjudged, failure{"FAIL", s.Line, s.Metric, fmt.Sprintf("%s%s (%s): %s", where, inGroup(s.Group), s.Rule, s.Message), s.Look})
		}
	}
	for _, p := range r.Problems {
		all = append(all, failure{"FAIL", p.Line, "sim check", p.Text, ""})
	}
	return slices.Concat(all, unjudged, suspect)
}
