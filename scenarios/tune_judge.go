package scenarios

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/compactsim/compactsim/internal/stats"
	"github.com/compactsim/compactsim/internal/studies"
	"github.com/compactsim/compactsim/sim/results"
)

// everywhere selects every session.
func everywhere(int) bool { return true }

// judge ranks the settings that ran over all sessions, and says what choosing
// among them gains on sessions that took no part in the choice.
func (t *tuner) judge(out *studies.Tuning, finals []*choice) {
	finals = slices.DeleteFunc(slices.Clone(finals), func(x *choice) bool { return x.cut == nil }) // a stopped run leaves some without figures
	order := t.order(finals, everywhere)
	for i, x := range order {
		s := studies.Setting{Cell: x.cell.Name, Keeps: t.keeps(x, everywhere), Edge: x.region.edge(x.at)}
		for k := range x.region.axes {
			s.Set = append(s.Set, x.region.axes[k].path+"="+x.at[k])
		}
		s.Tie = i > 0 && s.Keeps && t.ties(order[0], x)
		s.Front = s.Keeps && len(t.metrics) > 1 && !slices.ContainsFunc(order, func(y *choice) bool {
			return t.keeps(y, everywhere) && dominates(t.turned(y), t.turned(x))
		})
		out.Settings = append(out.Settings, s)
	}
	if len(order) > 0 {
		out.HeldOut = t.heldOut(out, order)
	}
}

// turned returns the objectives of a setting and the metrics of the limits, negated where needed so that lower is
// better.
func (t *tuner) turned(x *choice) []float64 {
	list := t.values(x, everywhere)
	for i := range t.limits {
		v := t.value(x, len(t.search.Objectives)+i, everywhere)
		if t.limits[i].Least {
			v = -v
		}
		list = append(list, v)
	}
	return list
}

// influence returns the contribution of each session to the first objective;
// for a ratio, by the delta method.
func (t *tuner) influence(parts, bases []float64, on func(session int) bool) []float64 {
	part, base := 0.0, 0.0
	for i := range parts {
		if on(i) {
			part, base = part+parts[i], base+bases[i]
		}
	}
	var list []float64
	for i := range parts {
		switch {
		case !on(i):
		case t.metrics[0].Kind == results.KindRatio:
			list = append(list, (parts[i]-part/base*bases[i])/base)
		default:
			list = append(list, parts[i])
		}
	}
	return list
}

// ties reports whether chance can explain the difference of two settings in the first objective.
func (t *tuner) ties(a, b *choice) bool {
	difference, half := t.apart(a, b, everywhere)
	return math.Abs(difference) <= half
}

// apart returns the difference of two settings in the first objective over some
// sessions, and half the width of its interval on as many new sessions.
func (t *tuner) apart(a, b *choice, on func(session int) bool) (difference, half float64) {
	difference = t.value(a, 0, on) - t.value(b, 0, on)
	x, y := t.influence(a.parts[0], a.bases[0], on), t.influence(b.parts[0], b.bases[0], on)
	whole := 0.0
	for i := range x {
		whole += x[i]
	}
	for i := range x {
		share := 0.0 // for a sum: the part of the difference that the session's size explains
		if t.metrics[0].Kind == results.KindSum && whole != 0 {
			share = difference / whole * x[i]
		}
		x[i] -= y[i] + share
	}
	return difference, wider(x)
}

// heldOut chooses, in each of several rounds, on all sessions but those of a block, and judges the
// choice on that block. Sessions that dropped and refined settings are in no block.
func (t *tuner) heldOut(out *studies.Tuning, finals []*choice) studies.Gain {
	var judged []int
	for i := range t.sessions {
		if out.Chosen == 0 || !inFirst(i) {
			judged = append(judged, i)
		}
	}
	g := studies.Gain{Level: adviceLevel, Low: math.Inf(-1), High: math.Inf(1)}
	if len(judged) < foldBlocks {
		return g
	}
	block := make([]int, len(t.sessions))
	parts, bases := make([]float64, len(t.sessions)), make([]float64, len(t.sessions))
	sign := 1.0
	if t.metrics[0].Better == results.Higher {
		sign = -1
	}
	for round := range foldRepeats {
		for i := range block {
			block[i] = -1
		}
		for k, i := range judged {
			block[i] = blockOf(k, len(judged), round)
		}
		for b := range foldBlocks {
			in := func(i int) bool { return block[i] == b }
			chosen := t.order(finals, func(i int) bool { return block[i] != b })[0]
			gain := sign * (t.value(&t.recorded, 0, in) - t.value(chosen, 0, in))
			if gain != 0 {
				g.Folds++
			}
			if gain > 0 {
				g.Agree++
			}
			for i := range block {
				if in(i) {
					parts[i] += chosen.parts[0][i] / foldRepeats
					bases[i] += chosen.bases[0][i] / foldRepeats
				}
			}
		}
	}
	in := func(i int) bool { return block[i] >= 0 }
	was := t.value(&t.recorded, 0, in)
	unseen := was - t.value(&choice{parts: [][]float64{parts}, bases: [][]float64{bases}}, 0, in)
	seen, half := t.apart(&t.recorded, t.order(finals, everywhere)[0], in)
	half += math.Abs(seen - unseen) // how much the choice flatters itself
	gain, scale := sign*unseen, math.Abs(was)
	g.Share, g.Low, g.High = gain/scale, (gain-half)/scale, (gain+half)/scale
	return g
}

// sensitivity returns the share of each swept parameter in the variance of the first objective,
// from pairs of points A and B of the space and from A with one coordinate of B at a time.
func (t *tuner) sensitivity(ctx context.Context) ([]studies.Index, error) {
	var list []studies.Index
	n := t.search.Points
	for k := range t.regions {
		r := &t.regions[k]
		dims := len(r.axes)
		if dims == 0 {
			continue
		}
		by := t.design
		if by == designGrid {
			by = designHalton
		}
		cube := unit(by, n, 2*dims, t.plan.Seed)
		rows := make([][]*choice, n) // A, B, then A with a coordinate of B
		var fresh []*choice
		for i := range n {
			a, b := r.at(cube.RawRowView(i)[:dims]), r.at(cube.RawRowView(i)[dims:])
			points := []point{a, b}
			for d := range dims {
				mixed := slices.Clone(a)
				mixed[d] = b[d]
				points = append(points, mixed)
			}
			for _, at := range points {
				x, err := t.try(r, at)
				if err != nil {
					return nil, err
				}
				if x == nil {
					x = t.choices[slices.IndexFunc(t.choices, func(x *choice) bool { return x.region == r && slices.Equal(x.at, at) })]
				}
				if !slices.Contains(fresh, x) {
					fresh = append(fresh, x)
				}
				rows[i] = append(rows[i], x)
			}
		}
		if err := t.simulate(ctx, fresh, everywhere); err != nil {
			return nil, err
		}
		values := make([][]float64, n)
		for i := range rows {
			for _, x := range rows[i] {
				values[i] = append(values[i], t.value(x, 0, everywhere))
			}
		}
		list = append(list, indices(r, values, t.plan.Seed)...)
	}
	return list, nil
}

// sobolResamples is how often the points are resampled for an interval.
const sobolResamples = 1000

// indices returns the Sobol indices of the dimensions of a region from the
// values at A, at B and at the mixed points, one row per pair.
func indices(r *region, values [][]float64, seed uint64) []studies.Index {
	n := len(values)
	draw := rand.New(rand.NewPCG(seed, uint64(n)))
	pick := make([]int, n)
	list := make([]studies.Index, len(r.axes))
	firsts, totals := make([][]float64, len(r.axes)), make([][]float64, len(r.axes))
	for k := -1; k < sobolResamples; k++ {
		for i := range pick {
			pick[i] = i
			if k >= 0 {
				pick[i] = draw.IntN(n)
			}
		}
		for d := range r.axes {
			first, total := sobol(values, pick, d)
			if k < 0 {
				list[d] = studies.Index{Strategy: r.strategy, Parameter: r.axes[d].name, First: first, Total: total}
			} else {
				firsts[d], totals[d] = append(firsts[d], first), append(totals[d], total)
			}
		}
	}
	for d := range list {
		f, t := stats.Percentile(firsts[d], adviceLevel), stats.Percentile(totals[d], adviceLevel)
		x := &list[d]
		x.FirstLow, x.FirstHigh, x.TotalLow, x.TotalHigh = f.Low, f.High, t.Low, t.High
	}
	return list
}

// sobol returns the first-order and total index of a dimension over some rows
// of values; 0 when nothing varies.
func sobol(values [][]float64, pick []int, dimension int) (first, total float64) {
	mean, squares := 0.0, 0.0
	for _, i := range pick {
		mean += (values[i][0] + values[i][1]) / float64(2*len(pick))
	}
	for _, i := range pick {
		a, b, mixed := values[i][0], values[i][1], values[i][2+dimension]
		squares += ((a-mean)*(a-mean) + (b-mean)*(b-mean)) / float64(2*len(pick))
		first += (b - mean) * (mixed - a) / float64(len(pick))
		total += (a - mixed) * (a - mixed) / float64(2*len(pick))
	}
	if squares <= 0 {
		return 0, 0
	}
	clip := func(share float64) float64 { return min(max(share/squares, 0), 1) } // estimates from few pairs leave this range
	return clip(first), clip(total)
}
