package results

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/results/measures"
)

func about(a, b float64) bool { return math.Abs(a-b) < 1e-4 }
func near(a, b float64) bool  { return math.Abs(a-b) < 2e-3 }

// Two sessions are billed $2 and $6 and recorded $3 and $7. By hand: the error is
// 2/8 net and gross; its square counts sessions by cost, √(2/40). Both are half a
// dollar off a quarter of their bill, so that the standard error of the quarter is
// √(2/1·(0.5² + 0.5²))/8 = 1/8, and Student's t with one degree of freedom 12.706; no cost is off by
// less than −100 %.
func TestModelError(t *testing.T) {
	e := references().ModelError
	if rel, ok := e.Relative(); !ok || rel != 0.25 || e.BilledUSD != 8 || e.RecordedUSD != 10 || e.Sessions != 2 {
		t.Errorf("relative %v, %v of %+v; want 0.25 of $8 and $10", rel, ok, e)
	}
	if !about(e.Gross, 0.25) || !about(e.Spread, math.Sqrt(2.0/40)) {
		t.Errorf("gross %v, spread %v; want 0.25 and 0.2236", e.Gross, e.Spread)
	}
	if low, high := -1.0, 0.25+12.706/8; !near(e.Low, low) || !near(e.High, high) {
		t.Errorf("interval %v … %v, want %v … %v", e.Low, e.High, low, high)
	}
	// A dollar that losses are expected to cost besides is an eighth of the bill.
	if e.LossUSD = 1; !strings.HasPrefix(e.String(), "+25.0 % net, +37.5 % with expected losses (95 % interval ") {
		t.Errorf("%s: want +37.5 %% with expected losses", e)
	}
	if _, ok := (ModelError{}).Relative(); ok {
		t.Error("an unknown model error says something")
	}
}

// corpus returns the cells of a bill and a replay whose error is one cent in ten of
// every session, up and down in turn.
func corpus(sessions int) (billed, recorded Cell) {
	billed, recorded = Cell{Cell: "billed", Strategy: "billed"}, Cell{Cell: "recorded", Strategy: "recorded"}
	for i := range sessions {
		id := fmt.Sprintf("%03d", i)
		billed.Rows.Keep(costing("billed", id, 10))
		recorded.Rows.Keep(costing("recorded", id, 10+float64(i%2*2-1)))
	}
	billed.sum()
	recorded.sum()
	return billed, recorded
}

// The interval belongs to the figure with expected losses: as predicted every session is a tenth too cheap, which
// its losses make up for, give or take a hundredth.
func TestIntervalIsOfTheExpectedFigure(t *testing.T) {
	billed, recorded := Cell{Cell: "billed", Strategy: "billed"}, Cell{Cell: "recorded", Strategy: "recorded"}
	for i := range 20 {
		id := fmt.Sprintf("%03d", i)
		billed.Rows.Keep(costing("billed", id, 10))
		row := costing("recorded", id, 9)
		row.Figures[measures.ExpectedLossUSD] = 1 + 0.1*float64(i%2*2-1)
		recorded.Rows.Keep(row)
	}
	billed.sum()
	recorded.sum()
	e := ErrorOf(&billed, &recorded, 0)
	if off, _ := e.Expected(); !about(off, 0) || !(-0.02 < e.Low && e.Low < 0 && 0 < e.High && e.High < 0.02) {
		t.Errorf("%s: want 0 with expected losses, within two hundredths", e)
	}
	if off, _ := e.Relative(); !about(off, -0.1) || !about(e.Gross, 0.1) {
		t.Errorf("%s: want a tenth net and gross", e)
	}
}

// Three sessions that are twice too dear, all alike, do not say that others are: by hand the spread is
// √((3·1² + 5·0.1²)/8) = 0.617, and of three equal sessions it makes the interval 1 ± 1.96·0.617·√3·20/30.
func TestFewEqualErrorsAreNotSure(t *testing.T) {
	billed, recorded := Cell{Cell: "billed", Strategy: "billed"}, Cell{Cell: "recorded", Strategy: "recorded"}
	for i := range 3 {
		id := fmt.Sprintf("%03d", i)
		billed.Rows.Keep(costing("billed", id, 10))
		recorded.Rows.Keep(costing("recorded", id, 20))
	}
	billed.sum()
	recorded.sum()
	e := ErrorOf(&billed, &recorded, 0.1)
	if half := 1.96 * math.Sqrt(3.05/8) * math.Sqrt(3) * 20 / 30; !near(e.Low, max(-1, 1-half)) || !near(e.High, 1+half) {
		t.Errorf("%s: want 100 %% ± %g", e, half)
	}
}

// Errors that cancel leave nothing net and everything gross.
func TestErrorsCancelNetAndNotGross(t *testing.T) {
	billed, recorded := corpus(100)
	e := ErrorOf(&billed, &recorded, 0)
	rel, _ := e.Relative()
	if !about(rel, 0) || !about(e.Gross, 0.1) || !about(e.Spread, 0.1) || e.Low >= 0 || e.High <= 0 {
		t.Errorf("net %v in %v … %v, gross %v, spread %v; want 0 inside, 0.1 and 0.1", rel, e.Low, e.High, e.Gross, e.Spread)
	}
	// The standard error of the mean of 100 errors of 10 % is 1 %.
	if half := (e.High - e.Low) / 2; half < 0.016 || half > 0.024 {
		t.Errorf("interval of ± %v, want ± 1.96 %%", half)
	}
}

// A single session says little of how far the model is off: what is known from
// elsewhere counts for five. By hand √((1·0.1² + 5·0.4²)/6), and the interval is −0.1 ± 1.96·0.9 of that.
func TestFewSessionsTakeTheSpreadKnownBeforehand(t *testing.T) {
	billed, recorded := corpus(1)
	e := ErrorOf(&billed, &recorded, 0.4)
	if want := math.Sqrt((0.01 + 5*0.16) / 6); !about(e.Spread, want) || !near(e.Low, -0.1-1.96*0.9*want) || !near(e.High, -0.1+1.96*0.9*want) {
		t.Errorf("spread %v in %v … %v, want %v", e.Spread, e.Low, e.High, want)
	}
	if alone := ErrorOf(&billed, &recorded, 0); alone.Low != 0 || alone.High != 0 {
		t.Errorf("%s: one session has no interval where nothing is known of others", alone)
	}
	other := recorded
	other.Rows = Rows{}.With(costing("x", "000", 6))
	other.sum()
	if d, ok := e.Difference(&other, &recorded); !ok || d.Mark() != "?" {
		t.Errorf("a third less in one session is sure: %+v", d)
	}
}

// Of eight sessions two make up the bill, which are a fiftieth too cheap alike: as (Σ bill)² / Σ bill² is 2.1 they count as a
// handful, and what sessions differ by elsewhere is in the interval.
func TestFewSessionsMakeUpTheBill(t *testing.T) {
	billed, recorded := Cell{Cell: "billed", Strategy: "billed"}, Cell{Cell: "recorded", Strategy: "recorded"}
	for i := range 8 {
		usd, id := 0.1, fmt.Sprintf("%03d", i)
		if i < 2 {
			usd = 10
		}
		billed.Rows.Keep(costing("billed", id, usd))
		recorded.Rows.Keep(costing("recorded", id, usd-0.02*math.Floor(usd)))
	}
	billed.sum()
	recorded.sum()
	if e := ErrorOf(&billed, &recorded, 0.4); e.Low > -0.2 || e.High < 0.2 {
		t.Errorf("%s: want 0 well inside", e)
	}
	if e := ErrorOf(&billed, &recorded, 0); e.High > 0 {
		t.Errorf("%s: nothing is known of other sessions", e)
	}
}

// Equal strategies cannot be told apart, those that differ by a third in every
// session can.
func TestChance(t *testing.T) {
	billed, recorded := corpus(60)
	e := ErrorOf(&billed, &recorded, 0.1)
	for factor, want := range map[float64]string{1: "", 1.005: "~", 0.995: "~", 0.67: "", 1.5: ""} {
		other := Cell{Cell: "x", Strategy: "x"}
		for i := range recorded.Rows.Len() {
			r := recorded.Rows.At(i)
			other.Rows.Keep(costing("x", r.Session, factor*r.CostUSD()))
		}
		other.sum()
		d, ok := e.Difference(&other, &recorded)
		if !ok || !about(d.Relative, factor-1) || d.Mark() != want {
			t.Errorf("a cost × %g: %+v, marked %q; want %q", factor, d, d.Mark(), want)
		}
	}
}

// Sessions are generated with known costs, and a model that is off by 8 % of
// each, independently for every strategy. Two strategies that truly cost the same
// are told apart in about one world of twenty; one that truly costs 10 % more is
// told apart in nearly all.
func TestChanceIsCalibrated(t *testing.T) {
	source := rand.New(rand.NewPCG(1, 2))
	seen := func(world func() (rows [3][]float64)) int {
		found := 0
		for range 300 {
			rows := world()
			cells := [3]Cell{}
			for k := range cells {
				for i, usd := range rows[k] {
					cells[k].Rows.Keep(costing("x", fmt.Sprintf("%03d", i), usd))
				}
				cells[k].sum()
			}
			e := ErrorOf(&cells[0], &cells[1], 0)
			if d, _ := e.Difference(&cells[2], &cells[1]); d.Mark() == "" {
				found++
			}
		}
		return found
	}
	world := func(factor float64) func() [3][]float64 {
		return func() (rows [3][]float64) {
			for range 50 {
				truth := math.Exp(source.NormFloat64())
				off := func() float64 { return 1 + 0.08*source.NormFloat64() }
				rows[0] = append(rows[0], truth)
				rows[1] = append(rows[1], truth*off())
				rows[2] = append(rows[2], truth*factor*off())
			}
			return rows
		}
	}
	if n := seen(world(1)); n > 24 {
		t.Errorf("%d of 300 equal strategies are told apart, want at most 8 %%", n)
	}
	if n := seen(world(1.10)); n < 240 {
		t.Errorf("%d of 300 strategies that cost a tenth more are told apart, want at least 80 %%", n)
	}
}

// Five sessions of $14, $1.3, $6.8, $2.3 and $13.1 cost $10, 0, 1, 0 and 14.6
// more: by hand 25.6/37.5 with a standard error of 0.208 and, as two sessions make up most
// of the spread, t = 3.22 of 2.9 degrees of freedom, so that the interval is 0.68 ± 0.67 without an
// error of the model. Three of five sessions that differ say nothing of others, whatever the interval: that they all go one way has a
// chance of 2/2³. Six that differ do, and not where the model is off by 40 % of a session.
func TestDifferencesOfFewSessions(t *testing.T) {
	base := []float64{14, 1.3, 6.8, 2.3, 13.1}
	more := func(by ...float64) []float64 {
		for i := range by {
			by[i] += base[i]
		}
		return by
	}
	d := ModelError{}.Interval(more(10, 0, 1, 0, 14.6), base)
	if !near(d.Relative, 0.6827) || !near(d.Low, 0.012) || !near(d.High, 1.354) || d.Mark() != "?" {
		t.Errorf("%+v, want 0.683 in 0.012 … 1.354", d)
	}
	six, dearer := []float64{10, 11, 12, 13, 14, 15}, []float64{13, 14, 16, 17, 18, 19}
	if d := (ModelError{}).Interval(dearer, six); d.Mark() != "" {
		t.Errorf("six sessions that all cost a third more show nothing: %+v", d)
	}
	if d := (ModelError{Spread: 0.4}).Interval(dearer, six); d.Mark() != "~" {
		t.Errorf("a model that is off by 40 %% of a session tells %+v apart", d)
	}
}

// A session without token counts has a bill of derived outputs alone, which the model is not held against.
func TestSessionsWithoutCountsHaveNoModelError(t *testing.T) {
	billed, recorded := corpus(4)
	billed.Rows.Edit(0, func(r *Row) { *r.CostByClass() = Cost{measures.ClassOutput: 3} })
	billed.sum()
	if e := ErrorOf(&billed, &recorded, 0); e.Sessions != 3 || !about(e.BilledUSD, 30) || !about(e.RecordedUSD, 31) {
		t.Errorf("%+v", e)
	}
	only, model := Cell{Rows: Rows{}.With(billed.Rows.At(0))}, Cell{Rows: Rows{}.With(recorded.Rows.At(0))}
	only.sum()
	model.sum()
	if _, ok := ErrorOf(&only, &model, 0).Relative(); ok {
		t.Error("a session without counts alone has a model error")
	}
}

// Two of four sessions: one recorded row fills in input of $4 for calls whose log counts outputs alone, and one
// cannot be priced. By hand the first is 6 for 5, as 4 of its 10 were never billed; the second is left out.
func TestUnlikeRowsAreNotCompared(t *testing.T) {
	billed, recorded := Cell{Cell: "billed", Strategy: "billed"}, Cell{Cell: "recorded", Strategy: "recorded"}
	for i, usd := range []float64{10, 10, 5, 7} {
		id := fmt.Sprintf("%03d", i)
		billed.Rows.Keep(costing("billed", id, usd))
		recorded.Rows.Keep(costing("recorded", id, usd))
	}
	recorded.Rows.Edit(2, func(r *Row) {
		*r = *costing("recorded", "002", 10)
		r.Figures[measures.UnloggedInputUSD] = 4
	})
	recorded.Rows.Edit(3, func(r *Row) {
		*r = *costing("recorded", "003", 2)
		r.Figures[measures.UnpricedCalls] = 3
	})
	billed.sum()
	recorded.sum()
	e := ErrorOf(&billed, &recorded, 0)
	if !near(e.BilledUSD, 25) || !near(e.RecordedUSD, 26) || e.Sessions != 3 {
		t.Errorf("$%g against $%g in %d sessions, want 26 against 25 in 3", e.RecordedUSD, e.BilledUSD, e.Sessions)
	}
	if d, ok := e.Difference(&billed, &recorded); !ok || !near(d.Relative, 25.0/30-1) {
		t.Errorf("%+v, want the three sessions that both price: 25 against 30", d)
	}
	last := func(c *Cell) *Cell {
		one := *c
		one.Rows = Rows{}.With(c.Rows.List()[3:]...)
		one.sum()
		return &one
	}
	if d, ok := e.Difference(last(&billed), last(&recorded)); ok {
		t.Errorf("%+v, want no comparison of a priced row with an unpriced one", d)
	}
}
