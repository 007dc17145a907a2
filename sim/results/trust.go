package results

import (
	"fmt"
	"math"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// ModelError compares what was billed with the same calls through the model: those that a
// log shows, without the unlogged ones that the recorded strategy makes too. The zero
// value means that it is not known.
type ModelError struct {
	BilledUSD   float64 `json:"billed_usd"`
	RecordedUSD float64 `json:"recorded_usd"`
	// LossUSD is what losses without a visible reason add to RecordedUSD on average.
	LossUSD float64 `json:"expected_loss_usd,omitzero"`
	// Sessions is the number of sessions in which the two were compared. Low and High are
	// the 95 % interval of Expected over other sessions like these. A handful of sessions, or
	// a handful that make up most of the bill, have what sessions differ by elsewhere too; 0 for one where that is not known.
	Sessions int     `json:"sessions,omitzero"`
	Low      float64 `json:"low,omitzero"`
	High     float64 `json:"high,omitzero"`
	// Gross is the sum of the errors of sessions without their signs, as a share
	// of what was billed: what does not cancel.
	Gross float64 `json:"gross,omitzero"`
	// Spread is the typical relative error of a session, as a standard deviation
	// that counts sessions by their cost.
	Spread float64 `json:"session_spread,omitzero"`
}

// Relative returns (recorded − billed) / billed, false when nothing was billed.
func (e ModelError) Relative() (float64, bool) {
	if e.BilledUSD == 0 {
		return 0, false
	}
	return (e.RecordedUSD - e.BilledUSD) / e.BilledUSD, true
}

// Expected is Relative with what losses add on average.
func (e ModelError) Expected() (float64, bool) {
	rel, ok := e.Relative()
	if ok {
		rel += e.LossUSD / e.BilledUSD
	}
	return rel, ok
}

// String says for people how far the model is from the bill, in all and by session. The interval
// belongs to the figure before it.
func (e ModelError) String() string {
	rel, ok := e.Relative()
	if !ok {
		return "unknown, nothing was billed"
	}
	text := document.SignedPercent(rel) + " net"
	if e.LossUSD > 0 {
		expected, _ := e.Expected()
		text += fmt.Sprintf(", %s with expected losses", document.SignedPercent(expected))
	}
	if e.Low != 0 || e.High != 0 {
		text += fmt.Sprintf(" (95 %% interval %s … %s)", document.SignedPercent(e.Low), document.SignedPercent(e.High))
	}
	if e.Sessions > 1 {
		text += fmt.Sprintf(", %s gross by session", document.Percent(e.Gross))
	}
	return text
}

// priorSessions is the number of a run's sessions that the prior spread weighs as much
// as: a handful of sessions says little of how far a model is off.
const priorSessions = 5

// ErrorOf returns the model error of the recorded cell against the billed one. When the
// two do not cover the same sessions only their sums are known. Prior is the spread of
// sessions elsewhere, 0 when that is not known.
func ErrorOf(billed, recorded *Cell, prior float64) ModelError {
	if billed.Total.uncounted() {
		return ModelError{Spread: prior}
	}
	e := ModelError{BilledUSD: billed.Total.CostUSD(), RecordedUSD: recorded.Total.LoggedUSD(&billed.Total), Spread: prior}
	e.LossUSD = recorded.Total.Figures[measures.ExpectedLossUSD]
	n := billed.Rows.Len()
	if n == 0 || !billed.Covers(recorded) || e.BilledUSD == 0 {
		return e
	}
	var bill, model, expected []float64
	e.RecordedUSD = recorded.Total.LoggedUSD(&Row{})
	for i, was := range billed.Rows.All() {
		is := recorded.Rows.At(i)
		if was.uncounted() || !was.pricedAs(is) {
			e.BilledUSD -= was.CostUSD()
			e.RecordedUSD -= is.LoggedUSD(&Row{})
			e.LossUSD -= is.Figures[measures.ExpectedLossUSD]
			continue
		}
		bill, model = append(bill, was.CostUSD()), append(model, is.LoggedUSD(was))
		expected = append(expected, is.LoggedUSD(was)+is.Figures[measures.ExpectedLossUSD])
		e.RecordedUSD += is.LoggedUSD(was) - is.LoggedUSD(&Row{}) // a summary call that is logged in this session
	}
	e.measure(bill, model, expected)
	return e
}

// uncounted reports whether nothing but outputs was billed, which are derived where a log has no
// token counts.
func (r *Row) uncounted() bool {
	out := r.CostByClass()[measures.ClassOutput]
	return out > 0 && r.CostUSD() == out
}

// pricedAs reports whether both rows leave calls without a price out, or neither does. Their costs
// cannot be compared otherwise.
func (r *Row) pricedAs(o *Row) bool {
	return (r.N(measures.UnpricedCalls) > 0) == (o.N(measures.UnpricedCalls) > 0)
}

// measure sets what follows from the errors of sessions, as predicted and with expected losses. Spread
// holds the prior one.
func (e *ModelError) measure(billed, model, expected []float64) {
	e.Sessions = len(billed)
	off := make([]float64, e.Sessions)
	var squares, bills, gross float64
	for i, bill := range billed {
		off[i] = model[i] - bill
		gross += math.Abs(off[i])
		squares, bills = squares+off[i]*off[i], bills+bill*bill
	}
	n, prior := float64(e.Sessions), e.Spread
	e.Gross = gross / e.BilledUSD
	e.Spread = math.Sqrt(squares / bills)
	if prior > 0 {
		e.Spread = math.Sqrt((n*squares/bills + priorSessions*prior*prior) / (n + priorSessions))
	}
	if e.Sessions > 1 || e.Sessions == 1 && prior > 0 {
		by := ModelError{}
		// A few sessions, or many of which a few make up the bill, say little of what sessions differ by.
		if few := e.BilledUSD * e.BilledUSD / bills; 10*slices.Max(billed) > 9*e.BilledUSD || prior > 0 && few < priorSessions {
			by.Spread = e.Spread
		}
		d := by.Interval(expected, billed)
		e.Low, e.High = max(-1, d.Low), d.High // nothing costs less than nothing
	}
}

// Difference is how the cost of a cell differs from the cost of another over the same sessions, as
// a fraction of the other's cost.
type Difference struct {
	Relative float64 `json:"relative"`
	// Low and High are the 95 % interval over other sessions like these, given that the
	// model is off by as much as on the recordings wherever the two differ. Known is
	// false without rows.
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Known bool    `json:"-"`

	verdict stats.Verdict
}

// Mark returns what stands before the difference in tables: "~" where chance or the model's error can explain it, "?" where fewer than
// six sessions differ, "" where it is shown (docs/compare.md).
func (d Difference) Mark() string { return d.verdict.Mark() }

// Difference returns the difference in cost of c against base over the sessions of c, without
// sessions of which one of the two alone has calls without a price. It is false when base lacks a
// session, one of the two was cut short, or base costs nothing.
func (e ModelError) Difference(c, base *Cell) (Difference, bool) {
	base, ok := base.Over(c)
	if !ok || c.Total.CutShort() || base.Total.CutShort() {
		return Difference{}, false
	}
	if c, base = alikePriced(c, base); base == nil {
		return Difference{}, false
	}
	total := base.Total.CostUSD()
	if total == 0 {
		return Difference{}, false
	}
	d := Difference{Relative: (c.Total.CostUSD() - total) / total}
	if c.Rows.Len() > 0 && base.Rows.Len() > 0 {
		d = e.Interval(c.costs(), base.costs())
	}
	return d, true
}

// alikePriced returns two cells over the same sessions without the sessions that one of them
// prices and the other does not, nil when none is left.
func alikePriced(c, base *Cell) (*Cell, *Cell) {
	unlike := map[string]bool{}
	for i, row := range c.Rows.All() {
		if i < base.Rows.Len() && !row.pricedAs(base.Rows.At(i)) {
			unlike[row.Session] = true
		}
	}
	switch {
	case c.Rows.Len() == 0 || base.Rows.Len() == 0:
		if !c.Total.pricedAs(&base.Total) {
			return nil, nil
		}
		return c, base
	case len(unlike) == 0:
		return c, base
	case len(unlike) == c.Rows.Len():
		return nil, nil
	}
	return c.without(unlike), base.without(unlike)
}

// Interval returns the difference of costs by session, USD, against base at the same index. Of one
// session alone, and of sessions that do not differ, it has the error of the model only.
func (e ModelError) Interval(costs, base []float64) Difference {
	d := stats.Estimator{Student: true}.One(stats.Pair{
		Base: stats.Figure{Part: base}, Other: stats.Figure{Part: costs}, Relative: true,
	})
	if d.Base == 0 {
		return Difference{}
	}
	if !d.RelativeInterval.Known() {
		d.RelativeInterval = stats.Interval{Low: d.Relative, High: d.Relative}
	}
	d = d.Blurred(e.Noise(costs, base))
	return Difference{d.Relative, d.RelativeInterval.Low, d.RelativeInterval.High, true, d.Verdict}
}

// Noise returns the standard deviation of the model's error in the difference of costs by
// session, USD, against base at the same index. A session that costs the same both ways has the
// same error both ways.
func (e ModelError) Noise(costs, base []float64) float64 {
	var squares float64
	for i, was := range base {
		if costs[i] != was {
			squares += costs[i] * costs[i]
		}
	}
	return e.Spread * math.Sqrt(squares)
}
