package scenarios

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
	"github.com/compactsim/compactsim/sim/results"
)

// region is a strategy of a scenario with the values that a search may give its
// swept parameters.
type region struct {
	strategy string
	axes     []dimension
}

// dimension is a swept parameter: its path for Assign, its name in cells, and
// its values, sorted if they are numbers or times.
type dimension struct {
	path, name string
	values     []string
	sorted     bool
}

// point is a choice in a region: a value for each dimension.
type point []string

// First returns the design with the first value of every axis. A search takes the other values from the file.
func (f *File) First() (*Design, error) {
	own := f.clone()
	own.first = true
	return own.Expand()
}

// regions returns what a search of the scenario chooses from, and a design of
// the recorded strategy alone, in which swept parameters have their default.
func (f *File) regions() ([]region, *Design, error) {
	d, err := f.First()
	if err != nil {
		return nil, nil, err
	}
	if d.Scenario.Users.Any() {
		return nil, nil, errors.New("users: a search judges by recorded sessions: sweep the values in sim run")
	}
	defaults, err := spec.Encode(Default())
	if err != nil {
		return nil, nil, err
	}
	var list []region
	recorded, at := region{strategy: results.StrategyRecorded}, point{}
	for _, a := range d.axes {
		if n := spec.Find(defaults, strings.Split(a.Path, ".")...); n != nil {
			recorded.axes, at = append(recorded.axes, newDimension(a.Path, a.Path, &a)), append(at, cmp.Or(spec.Flow(n), `""`))
		}
	}
	cell, err := f.cellAt(&recorded, at)
	if err != nil {
		return nil, nil, err
	}
	cell.Name, cell.Params, cell.names = results.StrategyRecorded, nil, nil
	base := *d
	base.Cells = []Cell{*cell}
	for i, e := range d.entries {
		r := region{strategy: e.name}
		for _, a := range e.axes {
			r.axes = append(r.axes, newDimension("strategies."+e.name+"."+a.Path, e.short[a.Path], &a))
		}
		for _, a := range d.axes {
			if d.Cells[i].hears(a.Path) && a.Path != results.SeedParam { // the seed is no setting
				r.axes = append(r.axes, newDimension(a.Path, a.Path, &a))
			}
		}
		if e.name != results.StrategyRecorded {
			list = append(list, r)
		}
	}
	return list, &base, nil
}

func newDimension(path, name string, a *spec.Axis) dimension {
	d := dimension{path: path, name: name, values: slices.Clone(a.Texts)}
	d.read()
	return d
}

// read finds out whether the values are numbers or times, and sorts them if they are.
func (d *dimension) read() {
	for _, number := range []func(string) (float64, error){
		func(s string) (float64, error) { return strconv.ParseFloat(s, 64) },
		func(s string) (float64, error) { v, err := time.ParseDuration(s); return v.Seconds(), err },
	} {
		d.sorted = !slices.ContainsFunc(d.values, func(v string) bool { _, err := number(v); return err != nil })
		if d.sorted {
			slices.SortFunc(d.values, func(a, b string) int {
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
		n = min(n*len(r.axes[i].values), math.MaxInt32)
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
		values := r.axes[i].values
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
			for _, v := range r.axes[i].values {
				longer = append(longer, append(slices.Clone(p), v))
			}
		}
		list = longer
	}
	return list
}

// cellAt returns the cell of a point of a region.
func (f *File) cellAt(r *region, p point) (*Cell, error) {
	own := f.clone()
	own.first = true // ignores the axes of other strategies
	var errs []error
	for i := range r.axes {
		errs = append(errs, own.Assign(r.axes[i].path+"="+p[i]))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	d, err := own.Expand()
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(d.Cells, func(c Cell) bool { return c.Strategy.Name == r.strategy })
	if at < 0 {
		return nil, fmt.Errorf("no cell of strategy %s", r.strategy)
	}
	c := d.Cells[at]
	c.Params, c.names = map[string]string{}, nil
	var params [][2]string
	for i := range r.axes {
		name := r.axes[i].name
		c.Params[name], c.names = p[i], append(c.names, name)
		params = append(params, [2]string{name, p[i]})
	}
	c.Name = r.strategy + join(params)
	return &c, nil
}

// edge says at which end of the swept range a point lies, "" for neither.
func (r *region) edge(p point) string {
	var list []string
	for i := range r.axes {
		d := &r.axes[i]
		if !d.sorted || len(d.values) < 3 {
			continue
		}
		switch p[i] {
		case d.values[0]:
			list = append(list, "the lowest "+d.name)
		case d.values[len(d.values)-1]:
			list = append(list, "the highest "+d.name)
		}
	}
	return strings.Join(list, " and ")
}
