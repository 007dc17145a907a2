package scenarios

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// A value is chosen on some sessions and judged on others: in each of foldRepeats
// rounds the sessions, in the order of their start, fall into foldBlocks blocks, whose
// borders move from round to round, and each block is judged by what the others
// choose.
const (
	foldBlocks  = 5
	foldRepeats = 3
	adviceLevel = 0.9 // of intervals
)

// searchCalls is how many calls a search simulates before it halves: beyond it the
// values are first tried on a quarter of the sessions, which then take no part in
// judging, and the best go on.
const (
	searchCalls = 1_500_000
	pruneEvery  = 4
	pruneKeep   = 3
)

// search returns the best value of a group of settings and what it saves on sessions
// not used to choose it; nil when no value makes the sessions cheaper.
func (p *Plan) search(ctx context.Context, sessions []*traces.Session, group []candidate) (*Change, error) {
	tried := group
	calls := 0
	for _, s := range sessions {
		calls += s.NumCalls()
	}
	if calls*len(group) > searchCalls && len(group) > pruneKeep && len(sessions) >= 2*pruneEvery*foldBlocks {
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
		tried, sessions = bestOf(group, costs), rest
	}
	costs, err := p.costs(ctx, sessions, tried)
	if err != nil {
		return nil, err
	}
	best := cheapest(costs, func(int) bool { return true })
	if best == 0 {
		return nil, nil
	}
	at := tried[best-1]
	c := &Change{
		Setting: at.setting.Name, Value: at.value, Where: at.setting.Where, From: at.setting.From, Caveat: at.setting.Caveat,
		Does: at.setting.With(at.setting.Does, at.value), Snippet: at.setting.With(at.setting.Snippet, at.value),
		Assign: at.assign(), at: at,
	}
	c.judge(costs)
	c.byProject(sessions, tried, costs)
	if n := len(at.setting.Values); n > 2 {
		switch slices.Index(at.setting.Values, at.value) {
		case 0:
			c.Edge = "lowest"
		case n - 1:
			c.Edge = "highest"
		}
	}
	return c, nil
}

// costs returns the cost of each session, USD: as it is first, then by candidate.
// A session that a value cuts short costs more than any.
func (p *Plan) costs(ctx context.Context, sessions []*traces.Session, list []candidate) ([][]float64, error) {
	sets := [][]string{nil}
	for _, c := range list {
		sets = append(sets, []string{c.assign()})
	}
	rows, err := p.ownRows(ctx, sessions, sets, sim.RefetchFitted)
	if err != nil {
		return nil, err
	}
	costs := make([][]float64, len(rows))
	for i := range rows {
		for j := range rows[i] {
			costs[i] = append(costs[i], costOf(&rows[i][j], &rows[0][j]))
		}
	}
	return costs, nil
}

// cutShort is what a session that a value ends early counts for, as a multiple of
// what it costs without: it is no saving.
const cutShort = 10

func costOf(row, asItIs *results.Row) float64 {
	if row.CutShort() && !asItIs.CutShort() {
		return cutShort * asItIs.CostUSD()
	}
	return row.CostUSD()
}

// cheapest returns the index of the least sum over the sessions that count, the
// first of equal ones.
func cheapest(costs [][]float64, counts func(session int) bool) int {
	best, least := 0, math.Inf(1)
	for i := range costs {
		sum := 0.0
		for j, usd := range costs[i] {
			if counts(j) {
				sum += usd
			}
		}
		if sum < least {
			best, least = i, sum
		}
	}
	return best
}

// bestOf returns the candidates that are cheapest, in their order.
func bestOf(group []candidate, costs [][]float64) []candidate {
	left := slices.Clone(costs[1:])
	keep := make([]bool, len(group))
	for range pruneKeep {
		i := cheapest(left, func(int) bool { return true })
		keep[i] = true
		left[i] = []float64{math.Inf(1)}
	}
	var list []candidate
	for i := range group {
		if keep[i] {
			list = append(list, group[i])
		}
	}
	return list
}

// judge tells what the choice saves on sessions not used to choose it.
func (c *Change) judge(costs [][]float64) {
	n := len(costs[0])
	base, total := 0.0, 0.0
	for _, usd := range costs[0] {
		base += usd
	}
	for round := range foldRepeats {
		block := func(session int) int { return blockOf(session, n, round) }
		for b := range foldBlocks {
			chosen := cheapest(costs, func(s int) bool { return block(s) != b })
			sum := 0.0
			for s := range n {
				if block(s) == b {
					sum += costs[0][s] - costs[chosen][s]
				}
			}
			total += sum / foldRepeats
			if sum != 0 { // else none of its sessions tells the values apart
				c.Folds++
			}
			if sum > 0 {
				c.Agree++
			}
		}
	}
	if base <= 0 || n < 2 {
		return
	}
	c.Unseen = total / base
	half := margin(costs[0], costs[cheapest(costs, func(int) bool { return true })], c.Unseen)
	c.Low, c.High = c.Unseen-half, c.Unseen+half
	if c.Low <= 0 && c.Unseen > 0 {
		c.More = int(math.Ceil(float64(n) * (math.Pow(half/c.Unseen, 2) - 1))) // the half width shrinks as 1/√n
	}
}

// blockOf returns the block of a session among n in a round.
func blockOf(session, n, round int) int {
	return (session*foldBlocks*foldRepeats/n + round) / foldRepeats % foldBlocks
}

// timeBlocks is into how many blocks of time sessions fall whose savings go together.
const timeBlocks = 10

// margin returns half the width of the interval of what the chosen value saves on as
// many sessions again, as a share of their cost, around what it saves on unseen ones:
// the wider of those by session and by blocks of time, and what choosing flatters.
func margin(was, is []float64, unseen float64) float64 {
	var base, saved float64
	for s := range was {
		base, saved = base+was[s], saved+was[s]-is[s]
	}
	off := make([]float64, len(was)) // from the share that all of them save
	for s := range was {
		off[s] = was[s] - is[s] - saved/base*was[s]
	}
	return wider(off)/base + math.Abs(saved/base-unseen)
}

// wider returns the larger of the deviations by session and by blocks of time, of values in order of time whose
// mean is 0.
func wider(off []float64) float64 {
	byTime := make([]float64, min(timeBlocks, len(off)))
	for s := range off {
		byTime[s*len(byTime)/len(off)] += off[s]
	}
	return max(deviation(off), deviation(byTime))
}

// deviation returns half the width of Student's interval of the difference of two sums
// of values like these, whose mean is 0. Where few values make up most of the spread
// there are as many degrees of freedom as would make it up alike.
func deviation(values []float64) float64 {
	n := float64(len(values))
	var squares, fourths float64
	for _, v := range values {
		squares += v * v
		fourths += v * v * v * v
	}
	if squares == 0 || n < 2 {
		return 0
	}
	alike := max(2, min(n, squares*squares/fourths))
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: alike - 1}.Quantile((1 + adviceLevel) / 2)
	return t * math.Sqrt(2*squares*n/(n-1))
}
