package tune

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"
	"gonum.org/v1/gonum/stat/samplemv"

	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim/results"
)

// region is a strategy of a scenario with the values that a search may give its
// swept parameters.
type region struct {
	strategy string
	axes     []dimension
}

// dimension is a swept parameter, its values sorted if they are numbers or times.
type dimension struct {
	scenarios.Axis
	sorted bool
}

// point is a choice in a region: a value for each dimension.
type point []string

// regionsOf returns what a search of the scenario chooses from, and a design of
// the recorded strategy alone, in which swept parameters have their default.
func regionsOf(f *scenarios.File) ([]region, *scenarios.Design, error) {
	d, err := f.First()
	if err != nil {
		return nil, nil, err
	}
	if d.Scenario.Users.Any() {
		return nil, nil, errors.New("users: a search judges by recorded sessions: sweep the values in sim run")
	}
	defaults, err := spec.Encode(scenarios.Default())
	if err != nil {
		return nil, nil, err
	}
	var list []region
	recorded, at := region{strategy: results.StrategyRecorded}, point{}
	for _, a := range d.Axes("") {
		if n := spec.Find(defaults, strings.Split(a.Path, ".")...); n != nil {
			recorded.axes, at = append(recorded.axes, newDimension(a)), append(at, cmp.Or(spec.Flow(n), `""`))
		}
	}
	cell, err := recorded.cell(f, at)
	if err != nil {
		return nil, nil, err
	}
	cell.Rename(results.StrategyRecorded)
	base := *d
	base.Cells = []scenarios.Cell{*cell}
	for i := range d.Cells {
		r := region{strategy: d.Cells[i].Strategy.Name}
		for _, a := range d.Axes(r.strategy) {
			if a.Path != results.SeedParam { // the seed is no setting
				r.axes = append(r.axes, newDimension(a))
			}
		}
		if r.strategy != results.StrategyRecorded {
			list = append(list, r)
		}
	}
	return list, &base, nil
}

func newDimension(a scenarios.Axis) dimension {
	d := dimension{Axis: a}
	d.read()
	return d
}

// read finds out whether the values are numbers or times, and sorts them if they are.
func (d *dimension) read() {
	for _, number := range []func(string) (float64, error){
		func(s string) (float64, error) { return strconv.ParseFloat(s, 64) },
		func(s string) (float64, error) { v, err := time.ParseDuration(s); return v.Seconds(), err },
	} {
		d.sorted = !slices.ContainsFunc(d.Values, func(v string) bool { _, err := number(v); return err != nil })
		if d.sorted {
			slices.SortFunc(d.Values, func(a, b string) int {
				x, _ := number(a)
				y, _ := number(b)
				return cmp.Compare(x, y)
			})
			return
		}
	}
}

// size returns the number of points of a region, at most the largest int32.
func (r *region) size() int {
	n := 1
	for i := range r.axes {
		n = min(n*len(r.axes[i].Values), math.MaxInt32)
	}
	return n
}

// sample returns at most n different points of a region: all if there are no more, else those that Halton's sequence,
// scrambled after Owen (2017), comes to.
func (r *region) sample(n int, seed uint64) []point {
	if r.size() <= n {
		return r.all()
	}
	columns := len(r.axes)
	m := mat.NewDense(n, columns, nil)
	src := rand.NewPCG(seed, uint64(columns))
	samplemv.Halton{Kind: samplemv.Owen, Q: distmv.NewUnitUniform(columns, src), Src: src}.Sample(m)
	var list []point
	for i := range n {
		if p := r.at(m.RawRowView(i)); !slices.ContainsFunc(list, func(q point) bool { return slices.Equal(p, q) }) {
			list = append(list, p)
		}
	}
	return list
}

// at returns the point of a region at coordinates in [0, 1).
func (r *region) at(cube []float64) point {
	p := make(point, len(r.axes))
	for i := range r.axes {
		values := r.axes[i].Values
		p[i] = values[min(int(cube[i]*float64(len(values))), len(values)-1)]
	}
	return p
}

// all returns every combination of values.
func (r *region) all() []point {
	list := []point{{}}
	for i := range r.axes {
		var longer []point
		for _, p := range list {
			for _, v := range r.axes[i].Values {
				longer = append(longer, append(slices.Clone(p), v))
			}
		}
		list = longer
	}
	return list
}

// cell returns the cell of a point of a region.
func (r *region) cell(f *scenarios.File, p point) (*scenarios.Cell, error) {
	own := f.Clone()
	var errs []error
	for i := range r.axes {
		errs = append(errs, own.Assign(r.axes[i].Path+"="+p[i]))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	d, err := own.First() // ignores the axes of other strategies
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(d.Cells, func(c scenarios.Cell) bool { return c.Strategy.Name == r.strategy })
	if at < 0 {
		return nil, fmt.Errorf("no cell of strategy %s", r.strategy)
	}
	c := d.Cells[at]
	params := make([][2]string, len(r.axes))
	for i := range r.axes {
		params[i] = [2]string{r.axes[i].Name, p[i]}
	}
	c.Rename(r.strategy, params...)
	return &c, nil
}

// edge says at which end of the swept range a point lies, "" for neither.
func (r *region) edge(p point) string {
	var list []string
	for i := range r.axes {
		d := &r.axes[i]
		if !d.sorted || len(d.Values) < 3 {
			continue
		}
		switch p[i] {
		case d.Values[0]:
			list = append(list, "the lowest "+d.Name)
		case d.Values[len(d.Values)-1]:
			list = append(list, "the highest "+d.Name)
		}
	}
	return strings.Join(list, " and ")
}
