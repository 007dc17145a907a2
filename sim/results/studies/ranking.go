// Package studies has the documents that go beyond the rows of a run:
// ablations, chains of compactions, and explanations of single sessions.
package studies

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// Ranking is strategies in order, by what they do on the same sessions.
type Ranking struct {
	// Limits says what the ranking cannot say, Survives which strategies are shown to cost less in the most of its views.
	Limits, Survives string
	Named            []string // the strategies that Survives names
	// Run has the ranked cells over the sessions of the first of Windows, with the front of the best schedules.
	Run     *results.Run
	Windows []View // as recorded, then one size for all
	Kinds   []View // of sessions, at the last window
	Servers []View // at the last window
	Front   bool   // the views behind the first have the strategies in front alone
	// Assumed has the strategies in front alone, at the first window: as the model has it, then with one assumption changed in
	// each view. It is empty where no other assumptions were tried.
	Assumed []View
	NotRun  []NotRun
	// Unranked are rows that were asked for and are no strategies: the recording and the bill.
	Unranked []string
	Lost     []string // what the program fails on, and why
}

// View is the order on some sessions, under one window and server.
type View struct {
	Name     string
	About    string // what Name stands for; "" where it says so itself
	Sessions int    // compared
	Calls    int    // of the sessions compared, as recorded
	Acting   int    // sessions in which a ranked strategy acts: the only ones that are ranked
	// Over are sessions that the agent's own strategy ends early, with their calls, and Unpriced those with
	// calls without a price. No strategy is compared on them.
	Over, OverCalls, Unpriced int
	// Standings are the ranked strategies, the cheapest first: one that ends sessions early by the sessions that it brings to
	// their end. Schedules that no program runs as they are have an
	// order of their own.
	Standings, Idealised []Standing
	Ended                []Ended // the strategies that end every session early
	// LeastUSD is a bound on the acting sessions: no schedule of full compactions costs less, and none may cost as
	// little. FoundUSD is the cost of the best schedule that was found. Both are 0 where no bound was sought.
	LeastUSD, FoundUSD float64
}

// Standing is what a strategy does on the acting sessions of a view.
type Standing struct {
	Strategy string
	Own      bool // the agent's own strategy, with which all strategies are compared
	// Place is the place by cost, PlaceRecall by recall and PlaceWait by waiting time.
	Place, PlaceRecall, PlaceWait Place
	CostUSD                       float64
	VsOwn                         float64 // cost against the agent's own strategy, as a share of that strategy's cost
	// Low and High are the interval of VsOwn at Level over draws of the units that are least sure, NaN where nothing is
	// known; Drawn names these units, "" for sessions. Cheaper says that the strategy is shown to cost less.
	Low, High float64
	Drawn     string
	Cheaper   bool
	// Basis is how sure the algorithm is: run, read, documented, reported, or "" for one of this program's own.
	Basis       string
	Recall      float64 // NaN without a sample
	WaitSeconds float64
	OverBestUSD float64 // cost above View.FoundUSD; NaN where no schedule was sought
	Why         string
	// Lacks counts acting sessions that its figures, VsOwn included, are without: the program fails under it there, or it ends
	// them early. It ends Ends of them, and leaves Unanswered calls of these without an answer.
	Lacks, Ends, Unanswered int
	Unpriced                int // calls of models without a price, which CostUSD leaves out; then it is not Cheaper
}

// Whole returns what the strategy costs on all acting sessions, USD, of which the agent's own
// strategy costs own. Sessions that the strategy lacks are taken to compare with own as the
// sessions do that it has.
func (s *Standing) Whole(own float64) float64 {
	if s.Lacks == 0 {
		return s.CostUSD
	}
	return (1 + s.VsOwn) * own
}

// Place is what chance leaves open of the place of a strategy: First is 1 and the number of strategies that are shown
// to be better, Last the number of those that are not shown to be worse. Both are 0 where too few sessions act.
type Place struct{ First, Last int }

// Ended is a strategy without a place, as it ends every session early that the agent's own strategy brings to its end.
type Ended struct {
	Strategy        string
	Sessions, Calls int // that it leaves unanswered
}

// NotRun is a strategy that could not be replayed.
type NotRun struct{ Strategy, Reason string }

// LeastActing is the smallest number of acting sessions that have an order.
const LeastActing = 10

// Ordered reports whether enough sessions act for an order.
func (v *View) Ordered() bool { return v.Acting >= LeastActing }

// Of returns the standing of a strategy, nil for none.
func (v *View) Of(strategy string) *Standing {
	for _, list := range [][]Standing{v.Standings, v.Idealised} {
		for i := range list {
			if list[i].Strategy == strategy {
				return &list[i]
			}
		}
	}
	return nil
}

// Front is how many strategies of each basis are in front: a ranking shows them, and ranks them again under other assumptions.
const Front = 12

// basisRun is the basis of algorithms that were observed by running the program.
const basisRun = "run"

// ByBasis parts the strategies whose programs were run, and the agent's own, from all other strategies.
func ByBasis(list []Standing) (run, other []Standing) {
	for i := range list {
		if list[i].Own || list[i].Basis == basisRun {
			run = append(run, list[i])
		} else {
			other = append(other, list[i])
		}
	}
	return run, other
}

// Foremost returns the cheapest of a list, at most so many, with the agent's own strategy and the strategies that Survives names.
func (r *Ranking) Foremost(from []Standing, most int) (list []Standing) {
	for i := range from {
		if i < most || from[i].Own || slices.Contains(r.Named, from[i].Strategy) {
			list = append(list, from[i])
		}
	}
	return list
}

// Over returns what is open of the place of a strategy by cost over several views: from the best that one leaves open to the
// worst. ok is false where a view has no place for it.
func Over(views []View, strategy string) (open Place, ok bool) {
	for i := range views {
		s := views[i].Of(strategy)
		if s == nil || s.Place.First == 0 {
			return Place{}, false
		}
		if i == 0 {
			open = s.Place
		}
		open = Place{min(open.First, s.Place.First), max(open.Last, s.Place.Last)}
	}
	return open, len(views) > 0
}

// Kind is a kind of sessions that is looked at by itself.
type Kind struct {
	Name, About string // About is "" where the other of two kinds says it
	// Has reports whether a session is of the kind, by its calls and by the longest pause of its main conversation.
	Has func(calls int, pause time.Duration) bool
}

// Where kinds of sessions divide.
const (
	longCalls = 50 // calls of a long session, at least
	idleGap   = 5 * time.Minute
)

// ByCalls divides sessions by their calls, ByPause by their longest pause: a session is of one kind of each.
var (
	ByCalls = []Kind{
		{"short", fmt.Sprintf("below %d calls", longCalls), func(calls int, _ time.Duration) bool { return calls < longCalls }},
		{"long", "", func(calls int, _ time.Duration) bool { return calls >= longCalls }},
	}
	ByPause = []Kind{
		{"bursty", fmt.Sprintf("without a pause of %.0f minutes", idleGap.Minutes()), func(_ int, pause time.Duration) bool { return pause <= idleGap }},
		{"idle gaps", "", func(_ int, pause time.Duration) bool { return pause > idleGap }},
	}
)

// Tuning is a search for the best setting of some strategies.
type Tuning struct {
	// Run has the settings that were tried, with the recorded strategy and the bill.
	Run       *results.Run
	Objective results.Metric
	Settings  []Setting // of Run, the best first
	Command   []string  // that runs the best setting again

	Space   int // settings to choose from
	Tried   int
	HeldOut Gain
}

// Setting is a strategy with values for its swept parameters.
type Setting struct {
	Cell string
	Set  []string // as arguments of sim run --set
	Ends int      // that the recording brings to their end
	Tie  bool     // the difference to the best one can be chance
	Edge string   // at which ends of the swept range it lies
}

// Gain is what choosing saves on sessions that took no part in the choice.
type Gain struct {
	// Share is the gain in the objective against recorded, as a share of recorded and positive for
	// an improvement, with its interval at Level. It is NaN for too few sessions to choose and judge.
	Share float64
	Low   float64
	High  float64
	Level float64
	// Detectable is the smallest share that four of five such sets of sessions show; NaN where too few differ to say.
	Detectable float64
	// Units are what was drawn for the interval, such as project; "" for sessions.
	Units   string
	Verdict stats.Verdict
}

// Ablation is a run whose cells are strategies as they are and, for each, one
// with a mechanism switched.
type Ablation struct {
	Run     *results.Run
	Bases   []string // cells as they are, in order
	Changes []Change
	Refused []Refusal
}

// Change is a cell that differs from its base in one mechanism.
type Change struct {
	Cell string
	Base string // the unchanged cell
	Path string // of the mechanism
	Set  string // what was set, as path=value
	On   bool   // it is in force in the base: without it
}

// Refusal is a mechanism that cannot be switched alone.
type Refusal struct {
	Base   string
	Set    string // as path=value
	Reason string
}

// ablatedFigure is a figure of a cell that a mechanism can change.
type ablatedFigure struct {
	document.Column
	Of func(*results.Row) float64
}

// AblatedFigures are the figures of a cell, besides its cost, that show what a mechanism does.
var AblatedFigures = []ablatedFigure{
	{document.Column{Name: "calls"}, func(r *results.Row) float64 { return float64(r.N(measures.Calls)) }},
	{document.Column{Name: "cache_read_tokens", Title: "READ", Unit: document.UnitTokens},
		func(r *results.Row) float64 { return float64(r.Usage().Read) }},
	{document.Column{Name: "cache_write_tokens", Title: "WRITTEN", Unit: document.UnitTokens},
		func(r *results.Row) float64 { u := r.Usage(); return float64(u.Writes()) }},
	{document.Column{Name: "input_uncached_tokens", Title: "UNCACHED", Unit: document.UnitTokens},
		func(r *results.Row) float64 { return float64(r.Usage().Uncached) }},
	{document.Column{Name: "output_tokens"}, func(r *results.Row) float64 { return float64(r.Usage().Output) }},
	{document.Column{Name: measures.NameHitRatio, Title: "HIT", Unit: document.UnitRatio}, hitRatio},
	{document.Column{Name: "compactions", Title: "COMPACTIONS"}, func(r *results.Row) float64 { return float64(r.N(measures.Compactions)) }},
	{document.Column{Name: "microcompactions", Title: "CLEARINGS"},
		func(r *results.Row) float64 { return float64(r.N(measures.Microcompactions)) }},
	{document.Column{Name: measures.NameAddedLatency, Title: "WAIT", Unit: document.UnitSeconds},
		func(r *results.Row) float64 { return r.Figures[measures.AddedLatency] }},
}

func hitRatio(r *results.Row) float64 {
	u := r.Usage()
	if u.Input() == 0 {
		return 0
	}
	return float64(u.Read) / float64(u.Input())
}

// Difference is the effect of a change on the figures of its base: changed
// minus unchanged.
type Difference struct {
	*Change
	Changed  *results.Cell // the cell of the change
	USD      float64       // positive: what is in force in the base saves it
	Relative float64       // to the cost of the base; 0 when that cost nothing
	Mark     string        // of a difference that is not shown, see results.Difference
	Covered  bool          // the interval of the relative difference contains 0
	Cut      bool          // sessions end early on either side: the figures are not of the same work
	Figures  []float64     // of AblatedFigures
}

// None reports whether the change makes no difference.
func (d *Difference) None() bool {
	return d.USD == 0 && !slices.ContainsFunc(d.Figures, func(v float64) bool { return v != 0 })
}

func (a *Ablation) cell(name string) *results.Cell {
	i := slices.IndexFunc(a.Run.Cells, func(c results.Cell) bool { return c.Cell == name })
	if i < 0 {
		return nil
	}
	return &a.Run.Cells[i]
}

// Differences returns the changes of a base, over the sessions of each change, largest in USD first. A change whose cell
// is missing, because the run was interrupted, or has sessions that the base lacks is left out.
func (a *Ablation) Differences(base string) []Difference {
	b := a.cell(base)
	if b == nil {
		return nil
	}
	var list []Difference
	for i := range a.Changes {
		c := &a.Changes[i]
		cell := a.cell(c.Cell)
		if c.Base != base || cell == nil {
			continue
		}
		if same, ok := b.Over(cell); ok {
			list = append(list, a.difference(c, same, cell))
		}
	}
	slices.SortStableFunc(list, func(x, y Difference) int { return cmp.Compare(math.Abs(y.USD), math.Abs(x.USD)) })
	return list
}

func (a *Ablation) difference(c *Change, base, cell *results.Cell) Difference {
	x, y := &base.Total, &cell.Total
	d := Difference{Change: c, Changed: cell, USD: y.CostUSD() - x.CostUSD()}
	for _, f := range AblatedFigures {
		d.Figures = append(d.Figures, f.Of(y)-f.Of(x))
	}
	if cost := x.CostUSD(); cost > 0 {
		d.Relative = d.USD / cost
	}
	relative, _ := a.Run.ModelError.Difference(cell, base)
	d.Mark, d.Covered = relative.Mark(), d.USD != 0 && relative.Known && relative.Low <= 0 && relative.High >= 0
	d.Cut = y.N(measures.Calls) != x.N(measures.Calls) && (x.CutShort() || y.CutShort())
	return d
}
