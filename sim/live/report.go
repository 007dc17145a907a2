package live

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/prompt"
)

// Report sums up what a Summarizer did. It holds no text.
type Report struct {
	Made     int `json:"made"`     // calls that were sent, whatever the outcome
	Replayed int `json:"replayed"` // calls answered from stored ones
	// Refused and Unanswered are the calls among Made without an answer: the server refused them, or
	// there was another reason.
	Refused    int `json:"refused,omitzero"`
	Unanswered int `json:"unanswered,omitzero"`
	// Requests are those sent for the calls made; the excess over Made are retries.
	Requests int64 `json:"requests"`
	// Usage is what the server billed for the calls made.
	Usage prompt.Usage `json:"usage"`
	USD   float64      `json:"usd"` // price of Usage
	// Wasted is the part of Usage without an answer: attempts that broke off, and
	// calls that failed.
	Wasted prompt.Usage `json:"wasted,omitzero"`
	// Estimated are calls whose usage the server did not count: it is estimated.
	Estimated int `json:"estimated,omitzero"`
	// ReplayedUSD is what the replayed calls cost when they were made.
	ReplayedUSD float64 `json:"replayed_usd"`
	// Failures are the calls without a summary by cause, made or replayed.
	Failures map[string]int `json:"failures"`
	// Missing and Cut are sections of summaries.
	Missing  int64          `json:"missing"`
	Cut      int64          `json:"cut"`
	Composed Composed       `json:"composed"`
	Estimate Estimate       `json:"-"`     // of a dry run
	Models   map[string]int `json:"-"`     // calls that a dry run would make, by model
	Calls    []Call         `json:"calls"` // each call once, whichever cells share it, by session, thread and round

	// In whole billionths of a dollar, so that the order of concurrent calls does not matter.
	spent, likely, most int64
	estimated           map[Key]bool // calls that a dry run has counted
	place               map[Key]int  // of the calls in Calls
}

// Retries returns the requests that were sent again.
func (r *Report) Retries() int64 { return max(0, r.Requests-int64(r.Made)) }

// Estimate is the expected size of calls.
type Estimate struct {
	Calls  int          `json:"calls"`
	Stored int          `json:"stored"` // of these, the stored ones, which cost nothing
	Usage  prompt.Usage `json:"usage"`  // cold, with the output of the stub
	USD    float64      `json:"usd"`
	// MostUSD is the price with all the output that is allowed.
	MostUSD float64 `json:"most_usd"`
}

const nano = 1e9

func nanos(usd float64) int64 { return int64(math.Round(usd * nano)) }

// update changes the report.
func (s *Shared) update(f func(r *Report)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.report)
}

// expect adds the estimate of a call, once.
func (r *Report) expect(k Key, e *Estimate) {
	if r.estimated[k] {
		return
	}
	if r.estimated == nil {
		r.estimated = map[Key]bool{}
	}
	r.estimated[k] = true
	r.Estimate.Calls += e.Calls
	r.Estimate.Stored += e.Stored
	r.Estimate.Usage.Add(&e.Usage)
	r.likely += nanos(e.USD)
	r.most += nanos(e.MostUSD)
}

// count counts under a name.
func count(m *map[string]int, name string) {
	if *m == nil {
		*m = map[string]int{}
	}
	(*m)[name]++
}

// Report returns the report so far.
func (s *Shared) Report() Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.report
	r.Failures, r.Models = maps.Clone(r.Failures), maps.Clone(r.Models)
	r.Calls, r.place = slices.Clone(r.Calls), nil
	slices.SortFunc(r.Calls, func(a, b Call) int {
		return cmp.Or(cmp.Compare(a.Session, b.Session), cmp.Compare(a.Thread, b.Thread), cmp.Compare(a.Round, b.Round), cmp.Compare(a.key, b.key))
	})
	var cost int64
	for i := range r.Calls {
		if c := &r.Calls[i]; c.Replayed {
			r.Replayed++
			cost += c.cost
		}
	}
	r.ReplayedUSD = float64(cost) / nano
	r.USD, r.Estimate.USD, r.Estimate.MostUSD = float64(r.spent)/nano, float64(r.likely)/nano, float64(r.most)/nano
	return r
}

// Call describes one live call, without its texts.
type Call struct {
	Session  string `json:"session"`
	Thread   int32  `json:"thread"`
	Round    int32  `json:"round"` // the call was made before this round of the thread, from 0
	Source   string `json:"source"`
	Way      string `json:"way"`
	Model    string `json:"model"`
	Replayed bool   `json:"replayed"`        // the answer was stored before the run
	Failed   string `json:"failed,omitzero"` // why it gave no summary
	// Refused is why the server refused the request; it is not written to reports.
	Refused string `json:"-"`

	Usage prompt.Usage `json:"usage"` // by the server, tokens
	// Wasted is the bill of attempts that broke off, including attempts of a failed
	// call; it is not part of Usage. Estimated says that the server gave no count,
	// so that Usage is estimated from bytes.
	Wasted    prompt.Usage `json:"wasted,omitzero"`
	Estimated bool         `json:"estimated,omitzero"`
	Attempts  int32        `json:"attempts"`
	Seconds   float64      `json:"seconds"`                 // from the request to the end of the response
	Thought   int64        `json:"thought_tokens,omitzero"` // the part of the output that was thinking

	Tokens int32 `json:"tokens"` // of the summary
	Bytes  int32 `json:"bytes"`

	key  Key
	cost int64 // nano-USD, cost when it was made
}

// cost returns the price of all attempts of a call, billionths of a dollar.
func (o *Options) cost(model string, reply *Reply) int64 {
	return nanos(o.Prices(model, reply.Usage) + o.Prices(model, reply.Wasted))
}

// record adds a call to the report, once, and why it has no summary, "" if it has one.
func (s *Summarizer) record(m *composer, reply *Reply, a *prompt.Answer, why string, replayed bool) {
	c := m.call
	call := Call{
		Session: c.Session.ID, Thread: c.Thread, Round: c.Round, Replayed: replayed, Source: c.Intent.Source, Way: c.Intent.Way, Model: m.plan.model, Failed: a.Failed, Refused: refused(reply.Failure),
		Usage: a.Measured.Usage, Wasted: reply.Wasted, Estimated: reply.Estimated, Thought: reply.Thinking,
		Attempts: a.Measured.Attempts, Seconds: float64(a.Total) / 1e9, Tokens: a.Summary, Bytes: a.Bytes,
		key: m.key, cost: s.opts.cost(m.plan.model, reply),
	}
	s.opts.Shared.update(func(r *Report) {
		if i, ok := r.place[m.key]; ok {
			r.Calls[i].Replayed = r.Calls[i].Replayed && replayed
			return
		}
		if r.place == nil {
			r.place = map[Key]int{}
		}
		r.place[m.key] = len(r.Calls)
		r.Calls = append(r.Calls, call)
		if why != "" {
			count(&r.Failures, why)
		}
		r.Missing += int64(a.Measured.Missing)
		r.Cut += int64(a.Measured.Cut)
	})
}

// refused returns why a server refused a call, "" otherwise.
func refused(f *Failure) string {
	if f == nil || f.Cause != CauseRequest {
		return ""
	}
	if f.Message == "" {
		return fmt.Sprintf("HTTP %d", f.Status)
	}
	return fmt.Sprintf("HTTP %d, %s", f.Status, f.Message)
}

// Text says how many calls were real, and which models have no known price.
func (r *Report) Text(unpriced []string, err error) string {
	var parts []string
	if text := r.sentText(unpriced); text != "" {
		parts = append(parts, text)
	}
	if r.Replayed > 0 {
		parts = append(parts, fmt.Sprintf("%s replayed that cost $%.2f", document.Count(r.Replayed, "call"), r.ReplayedUSD))
	}
	if len(parts) == 0 && err != nil {
		return "summaries by real models: no call was answered"
	}
	if len(parts) == 0 {
		return "no summary calls were needed"
	}
	return "summaries by real models: " + strings.Join(parts, ", ")
}

// sentText says what was sent and with what result, "" for nothing.
func (r *Report) sentText(unpriced []string) string {
	if r.Made == 0 {
		return ""
	}
	text := fmt.Sprintf("%s made for $%.2f", document.Count(r.Made, "real call"), r.USD)
	if len(unpriced) > 0 {
		text += ", besides calls of " + strings.Join(unpriced, ", ") + ", for which no price is known"
	}
	var lost []string
	if r.Refused > 0 {
		lost = append(lost, fmt.Sprintf("%d refused", r.Refused))
	}
	if r.Unanswered > 0 {
		lost = append(lost, fmt.Sprintf("%d not answered", r.Unanswered))
	}
	if len(lost) > 0 {
		text += ", of which " + strings.Join(lost, " and ")
	}
	if n := r.Retries(); n > 0 {
		text += fmt.Sprintf(" (%s sent again)", document.Count(int(n), "request"))
	}
	return text
}

// Notes are the caveats of figures that depend on real calls.
func (r *Report) Notes() []string {
	var notes []string
	for _, why := range slices.Sorted(maps.Keys(r.Failures)) {
		text := fmt.Sprintf("%s gave no summary: %s", document.Count(r.Failures[why], "real call"), why)
		if n, reason := Refusals(r.Calls); n > 0 && why == string(CauseRequest) {
			text += ": " + reason
		}
		notes = append(notes, text)
	}
	if r.Missing+r.Cut > 0 {
		notes = append(notes, fmt.Sprintf("sections of summaries: %d missing, %d cut to their limit", r.Missing, r.Cut))
	}
	if n := r.Composed.Unseen; n > 0 {
		notes = append(notes, "requests lack about "+Thousands(n)+" bytes of text that no recording shows")
	}
	if n := r.Composed.Lost; n > 0 {
		notes = append(notes, "requests lack "+document.Count(n, "text")+" of earlier summaries, whose words are not known")
	}
	return notes
}

// Refusals counts the calls that a server refused for their content, and gives
// its most frequent reason.
func Refusals(calls []Call) (n int, reason string) {
	of := map[string]int{}
	for i := range calls {
		if why := calls[i].Refused; why != "" {
			of[why]++
			n++
		}
	}
	for _, why := range slices.Sorted(maps.Keys(of)) {
		if of[why] > of[reason] {
			reason = why
		}
	}
	return n, reason
}

// Thousands formats a number of tokens in thousands.
func Thousands(n int64) string {
	if n < 10_000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%dk", (n+500)/1000)
}
