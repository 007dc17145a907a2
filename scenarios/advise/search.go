package advise

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/scenarios/choose"
	"github.com/compactsim/compactsim/scenarios/tried"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
)

// searchCalls is how many calls times values a search simulates in full. A larger
// one of enough values and sessions first tries the values on a quarter of the
// sessions, which then take no part in judging, and continues with the best.
const (
	searchCalls = 1_500_000
	pruneEvery  = 4
	pruneKeep   = 3
)

// search returns the best value of a group of settings and what it saves on sessions
// not used to choose it; nil when no value makes the sessions cheaper. A value that loses much more of what the agent uses later than another
// one, or than the client without a change, is passed over where it saves no more beyond that than off, the share by which predictions are off.
func (p *adviser) search(ctx context.Context, sessions []*traces.Session, group []candidate, off float64) (*Change, error) {
	list := group
	if prunes(sessions, group) {
		var pruned, rest []*traces.Session
		for i, s := range sessions {
			if i%pruneEvery == 0 {
				pruned = append(pruned, s)
			} else {
				rest = append(rest, s)
			}
		}
		costs, err := p.costs(ctx, pruned, group)
		if err != nil {
			return nil, err
		}
		list, sessions = bestOf(group, costs), rest
	}
	costs, recall, err := p.outcomes(ctx, sessions, func(s *traces.Session) []string { return assignedBy(list, s) })
	if err != nil {
		return nil, err
	}
	best, fair, why := pick(costs, recall, off)
	if best == 0 {
		return nil, nil
	}
	at := list[best-1]
	c := &Change{bar: bar{off, why},
		Setting: at.setting.Name, Value: at.value, Where: at.setting.Where, From: at.setting.From, Caveat: at.setting.Caveat,
		Does: at.setting.With(at.setting.Does, at.value), Snippet: at.setting.With(at.setting.Snippet, at.value),
		Assign: strings.Join(at.assigns(), " "), at: at,
	}
	c.judge(fair, choose.UnitsOf(sessions))
	if n := len(at.setting.Values); n > 2 {
		switch slices.Index(at.setting.Values, at.value) {
		case 0:
			c.Edge, c.EdgeWhy = "lowest", at.setting.Below
		case n - 1:
			c.Edge, c.EdgeWhy = "highest", at.setting.Above
		}
	}
	return c, nil
}

// prunes reports whether a search tries a group of settings on some of the sessions first.
func prunes(sessions []*traces.Session, group []candidate) bool {
	calls := 0
	for _, s := range sessions {
		calls += s.NumCalls()
	}
	return calls*len(group) > searchCalls && len(group) > pruneKeep && len(sessions) >= 2*pruneEvery*choose.Blocks
}

// costs returns the cost of each session, USD: first without a change, then by
// candidate. A session that only a value ends early counts cutShort times its cost without it.
func (p *adviser) costs(ctx context.Context, sessions []*traces.Session, list []candidate) ([][]float64, error) {
	return p.costsWith(ctx, sessions, func(s *traces.Session) []string { return assignedBy(list, s) })
}

// costsWith returns the same with each of some assignments.
func (p *adviser) costsWith(ctx context.Context, sessions []*traces.Session, with func(*traces.Session) []string) ([][]float64, error) {
	costs, _, err := p.outcomes(ctx, sessions, with)
	return costs, err
}

// outcomes returns besides what each keeps of what the agent uses later, over all sessions: both sums of the ratio.
func (p *adviser) outcomes(ctx context.Context, sessions []*traces.Session, with func(*traces.Session) []string) (costs [][]float64, kept [][2]float64, err error) {
	recall, _ := results.LookupMetric(measures.NameRecall)
	for part := range slices.Chunk(sessions, endsAtOnce) {
		if err := p.simulate(ctx, part, with); err != nil {
			return nil, nil, err
		}
		for _, s := range part {
			was := p.end(unchanged, s)
			for i, text := range append([]string{unchanged}, with(s)...) {
				if i == len(costs) {
					costs, kept = append(costs, nil), append(kept, [2]float64{})
				}
				is := p.end(text, s)
				costs[i] = append(costs[i], costOf(is, was))
				row := &was.row
				if is != nil {
					row = &is.row
				}
				part, base := recall.Parts(row)
				kept[i][0], kept[i][1] = kept[i][0]+part, kept[i][1]+base
			}
		}
		if len(sessions) > endsKept {
			p.forget()
		}
	}
	return costs, kept, nil
}

// worth returns the client without a change, 0, and those values, in order, that lose little more of what the agent uses later than any other of
// these, or save more beyond it than predictions are off by.
func worth(costs [][]float64, kept [][2]float64, off float64) []int {
	order := make([]int, len(costs))
	for i := range order {
		order[i] = i
	}
	keeps := func(i int) float64 { return kept[i][0] / kept[i][1] }
	slices.SortStableFunc(order[1:], func(a, b int) int { return cmp.Compare(keeps(b), keeps(a)) })
	list := order[:0:0]
	for _, i := range order {
		if !slices.ContainsFunc(list, func(k int) bool { return outweigh(costs, kept, i, k, off) != nil }) {
			list = append(list, i)
		}
	}
	slices.Sort(list)
	return list
}

// pick returns the cheapest value that is worth it, 0 where no value makes the sessions cheaper, with the costs that it is judged among. Where
// none that is worth it is cheaper than the client without a change, it is the cheapest of all, and why says what outweighs it if the client does.
func pick(costs [][]float64, kept [][2]float64, off float64) (best int, among [][]float64, why *outweighed) {
	list := worth(costs, kept, off)
	for _, i := range list {
		among = append(among, costs[i])
	}
	if best = list[cheapest(among, choose.Everywhere)]; best > 0 {
		return best, among, nil
	}
	best = cheapest(costs, choose.Everywhere)
	return best, costs, outweigh(costs, kept, best, 0, off)
}

// outweigh returns what value i saves and keeps beside value k, where k keeps more than lossy more and costs little more, by off; else nil.
func outweigh(costs [][]float64, kept [][2]float64, i, k int, off float64) *outweighed {
	o := &outweighed{(floats.Sum(costs[k]) - floats.Sum(costs[i])) / floats.Sum(costs[0]), [2]float64{kept[k][0] / kept[k][1], kept[i][0] / kept[i][1]}}
	if o.Recall[0]-o.Recall[1] > lossy && o.Saves <= off {
		return o
	}
	return nil
}

// offBy is the share by which predictions of the cost under another setting were off on average, for an agent: of agents that nobody tried the
// largest of any agent.
func offBy(agent string) (off float64) {
	for _, t := range tried.List() {
		if t.Agent == agent {
			return t.Closed[0]
		}
		off = max(off, t.Closed[0])
	}
	return off
}

// endsAtOnce is how many sessions are simulated together with each candidate: an ending takes some kB. endsKept is of how many sessions
// the endings with candidates are kept for what else is asked of the best one.
const endsAtOnce, endsKept = 250, 1000

// cutShort is the factor by which the cost of a session without a value counts when the value ends
// the session early, or it does not come to its end, so that this is no saving.
const cutShort = 10

// costOf returns what a session costs with a change, given how it ends with it and without.
func costOf(is, was *ending) float64 {
	if is == nil || is.row.CutShort() && !was.row.CutShort() {
		return cutShort * was.row.CostUSD()
	}
	return is.row.CostUSD()
}

// among returns a choice among values with known costs by session; the
// first is the client without a change.
func among(costs [][]float64) (*choose.Choice, []choose.Setting) {
	usd, _ := results.LookupMetric(measures.NameCost)
	n := len(costs[0])
	list := make([]choose.Setting, len(costs))
	for i := range costs {
		list[i] = choose.Setting{Figure: stats.Figure{Part: costs[i]}, Cut: make([]bool, n)}
	}
	return &choose.Choice{Metric: usd, Sessions: n, Recorded: list[0]}, list
}

// cheapest returns the index of the value with the least sum over the sessions
// that count, the first of equal ones.
func cheapest(costs [][]float64, counts func(session int) bool) int {
	c, list := among(costs)
	return c.Order(list, counts)[0]
}

// bestOf returns the candidates that are cheapest, in their order.
func bestOf(group []candidate, costs [][]float64) (kept []candidate) {
	c, list := among(costs)
	best := c.Order(list[1:], choose.Everywhere)[:pruneKeep]
	slices.Sort(best)
	for _, i := range best {
		kept = append(kept, group[i])
	}
	return kept
}

// judge sets what the choice saves on sessions not used to choose it, which are drawn by the units that are least sure.
func (c *Change) judge(costs [][]float64, units []stats.Units) {
	among, list := among(costs)
	among.Units = units
	g := among.HeldOut(list)
	if c.verdict, c.Drawn = g.Verdict, cmp.Or(g.Units, choose.UnitSession); math.IsNaN(g.Share) || math.IsInf(g.Low, 0) {
		return // nothing costs anything, or no session costs anything else
	}
	c.Unseen, c.Low, c.High = g.Share, g.Low, g.High
	c.Agree = agree(g.Share, g.Low, g.High)
	if math.IsNaN(g.Detectable) {
		return
	}
	c.Detectable = g.Detectable
	if c.verdict <= stats.Chance && c.Unseen > 0 {
		wide := c.Detectable / c.Unseen
		c.More = max(0, int(math.Ceil(float64(len(costs[0]))*(wide*wide-1)))) // what can be seen shrinks as 1/√n
	}
}

// agree returns the share of draws that are above 0, given the 95 % interval of a value: draws are normal on each side of the value, as the two
// sides of an interval differ, and a bound at 0 leaves one draw of forty on the other side of 0.
func agree(value, low, high float64) float64 {
	side := value - low
	if value < 0 {
		side = high - value
	}
	if side <= 0 {
		return 0
	}
	return distuv.UnitNormal.CDF(distuv.UnitNormal.Quantile(0.975) * value / side)
}

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
	case e.Hours < 1 && more > 1: // no hour to say it of
		return fmt.Sprintf(" About %.0f more reads of files and repeated commands in %s of work.", more, document.Seconds(3600*e.Hours))
	case e.Hours < 1:
		return " About one more" + what + " in all."
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
