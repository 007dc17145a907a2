package live

import (
	"maps"
	"math"
	"reflect"
	"slices"
	"sync"

	"github.com/compactsim/compactsim/internal/live/wire"
	"github.com/compactsim/compactsim/sim/prompt"
)

// Report sums up what a Summarizer did. It holds no text.
type Report struct {
	Made     int `json:"made"`     // calls that were sent, whatever came of them
	Replayed int `json:"replayed"` // calls answered from stored ones
	// Refused and Unanswered are those of Made without an answer: the server did not
	// take what was sent, or it had no answer for it, could not be reached, or broke
	// off.
	Refused    int `json:"refused,omitzero"`
	Unanswered int `json:"unanswered,omitzero"`
	// Shared are calls that another of the run was made or replayed for: of another
	// strategy that sends the same, for instance.
	Shared  int `json:"shared"`
	Stubbed int `json:"stubbed"` // calls left to the stub
	Known   int `json:"known"`   // calls the recording answers
	// Requests are those sent for the calls made; more than these are retries.
	Requests int64 `json:"requests"`
	// Usage is what the server billed for the calls made, Predicted what the
	// cache model had said of those that it answered, and Answered their usage,
	// without what was wasted ahead of the answer.
	Usage     prompt.Usage `json:"usage"`
	Answered  prompt.Usage `json:"answered"`
	Predicted prompt.Usage `json:"predicted"`
	USD       float64      `json:"usd"` // price of Usage
	// Wasted is the part of Usage that no answer came of: attempts that broke off,
	// and calls that failed.
	Wasted prompt.Usage `json:"wasted,omitzero"`
	// Estimated are calls made whose usage the server did not count: it is
	// estimated from bytes, and part of neither Predicted nor Answered.
	Estimated int `json:"estimated,omitzero"`
	// ReplayedUSD is what the replayed calls had cost when they were made.
	ReplayedUSD float64 `json:"replayed_usd"`
	// Failures are the calls without a summary by cause, made or replayed.
	Failures map[string]int `json:"failures"`
	// Missing and Cut are sections of summaries; Entities and Kept as in
	// prompt.Measured.
	Missing  int64    `json:"missing"`
	Cut      int64    `json:"cut"`
	Entities int64    `json:"entities"`
	Kept     int64    `json:"kept"`
	Composed Composed `json:"composed"`
	Estimate Estimate `json:"-"`     // of a dry run
	Calls    []Call   `json:"calls"` // each of them, by cell, session and number
}

// Retries returns the requests that were sent again.
func (r *Report) Retries() int64 { return max(0, r.Requests-int64(r.Made)) }

// Estimate is what calls would take, as far as sizes tell.
type Estimate struct {
	Calls  int          `json:"calls"`
	Stored int          `json:"stored"` // of these, calls that are stored already: they cost nothing
	Usage  prompt.Usage `json:"usage"`  // cold, with the output of the stub
	USD    float64      `json:"usd"`
	// MostUSD is the price with all the output that is allowed.
	MostUSD float64 `json:"most_usd"`
}

// ledger keeps a report. Money is counted in whole billionths of a dollar, so
// that the order of calls that run at the same time does not show.
type ledger struct {
	mu             sync.Mutex
	report         Report
	usd, est, most int64
}

const nano = 1e9

func nanos(usd float64) int64 { return int64(math.Round(usd * nano)) }

func (l *ledger) update(f func(r *Report)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(&l.report)
}

// spend adds the price of a call that was made.
func (l *ledger) spend(usd float64) { l.update(func(*Report) { l.usd += nanos(usd) }) }

// estimate adds an estimate.
func (l *ledger) estimate(e *Estimate) {
	l.update(func(r *Report) {
		accumulate(reflect.ValueOf(&r.Estimate).Elem(), reflect.ValueOf(e).Elem())
		l.est += nanos(e.USD)
		l.most += nanos(e.MostUSD)
	})
}

// fail counts a call without a summary.
func (l *ledger) fail(why string) {
	l.update(func(r *Report) {
		if r.Failures == nil {
			r.Failures = map[string]int{}
		}
		r.Failures[why]++
	})
}

// total returns the report so far.
func (l *ledger) total() Report {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.report
	r.Failures = maps.Clone(r.Failures)
	r.Calls = slices.Clone(r.Calls)
	r.settle()
	r.USD = float64(l.usd) / nano
	r.Estimate.USD, r.Estimate.MostUSD = float64(l.est)/nano, float64(l.most)/nano
	return r
}

// made counts a call that went to a server, and what was composed for it.
func (l *ledger) made(p *composer, billed, wasted prompt.Usage, requests int) {
	l.update(func(r *Report) {
		r.Made++
		r.Wasted.Add(wasted)
		r.Usage.Add(wasted)
		r.Requests += int64(max(1, requests))
		r.Usage.Add(billed)
		accumulate(reflect.ValueOf(&r.Composed).Elem(), reflect.ValueOf(&p.count).Elem())
	})
}

// failed counts a call that was sent and had no answer.
func (l *ledger) failed(f *wire.Failure) {
	l.update(func(r *Report) {
		switch f.Cause {
		case wire.CauseRequest, wire.CauseTooLong, wire.CauseAuth, wire.CauseModel:
			r.Refused++
		default:
			r.Unanswered++
		}
	})
}

// Add adds what another Summarizer did to r.
func (r *Report) Add(o *Report) {
	accumulate(reflect.ValueOf(r).Elem(), reflect.ValueOf(o).Elem())
	r.settle()
}

// accumulate adds numbers to numbers, those of structs and maps one by one, and
// appends lists.
func accumulate(to, from reflect.Value) {
	switch to.Kind() {
	case reflect.Int, reflect.Int64:
		to.SetInt(to.Int() + from.Int())
	case reflect.Float64:
		to.SetFloat(to.Float() + from.Float())
	case reflect.Slice:
		to.Set(reflect.AppendSlice(to, from))
	case reflect.Struct:
		for i := range to.NumField() {
			accumulate(to.Field(i), from.Field(i))
		}
	case reflect.Map:
		if to.IsNil() {
			to.Set(reflect.MakeMap(to.Type()))
		}
		for _, key := range from.MapKeys() {
			sum := reflect.New(to.Type().Elem()).Elem()
			if was := to.MapIndex(key); was.IsValid() {
				sum.Set(was)
			}
			accumulate(sum, from.MapIndex(key))
			to.SetMapIndex(key, sum)
		}
	}
}
