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

// design says how points are chosen from a space too large to try all of.
type design uint8

const (
	designHalton design = iota
	designLatin
	designRandom
	designGrid
)

// Names returns the names of designs in files, the usual one first.
func (design) Names() []string { return []string{"halton", "latin-hypercube", "random", "grid"} }

// Designs returns the names of designs, the usual one first.
func Designs() []string { return design(0).Names() }

// unit fills a matrix with points of the unit cube, one per row: independent
// ones, a Latin hypercube, or Halton's sequence scrambled after Owen (2017).
func unit(by design, rows, columns int, seed uint64) *mat.Dense {
	m := mat.NewDense(rows, columns, nil)
	src := rand.NewPCG(seed, uint64(columns))
	cube := distmv.NewUnitUniform(columns, src)
	switch by {
	case designRandom:
		samplemv.IID{Dist: cube}.Sample(m)
	case designLatin:
		samplemv.LatinHypercube{Q: cube, Src: src}.Sample(m)
	default:
		samplemv.Halton{Kind: samplemv.Owen, Q: cube, Src: src}.Sample(m)
	}
	return m
}

// sample returns at most n different points of a region: all if there are no more, else
// those of a design. A grid takes evenly spaced values of each dimension.
func (r *region) sample(by design, n int, seed uint64) []point {
	if r.size() <= n {
		return r.grid(func(d *dimension) []string { return d.values })
	}
	if by == designGrid {
		each := max(1, int(math.Pow(float64(n), 1/float64(len(r.axes)))+1e-9))
		return r.grid(func(d *dimension) []string { return evenly(d.values, each) })
	}
	m := unit(by, n, len(r.axes), seed)
	var list []point
	for i := range n {
		list = append(list, r.at(m.RawRowView(i)))
	}
	return distinct(list)
}

// drawn calls f with every point if there are at most n, else with about n of a design, the same number for each
// region, fewer where a region is smaller.
func drawn(regions []region, by design, n int, seed uint64, f func(*region, point) error) error {
	all := 0
	for i := range regions {
		all += regions[i].size()
	}
	each := n
	if all > n {
		each = max(1, n/len(regions))
	}
	for i := range regions {
		for _, at := range regions[i].sample(by, each, seed) {
			if err := f(&regions[i], at); err != nil {
				return err
			}
		}
	}
	return nil
}

// samples reports whether the file asks for only some combinations of the swept values.
func (f *File) samples() bool {
	n := spec.Find(f.tree.Root, "design", "points")
	return n != nil && n.Value != "0" && !f.first
}

// sampled returns the design with the drawn points as cells.
func (f *File) sampled() (*Design, error) {
	regions, d, err := f.regions()
	if err != nil {
		return nil, err
	}
	s := &d.Scenario
	err = drawn(regions, s.Design.By, s.Design.Points, s.Seed, func(r *region, at point) error {
		cell, err := f.cellAt(r, at)
		if err == nil {
			d.Cells = append(d.Cells, *cell)
		}
		return err
	})
	return d, err
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

// grid returns every combination of the values that of selects of each dimension.
func (r *region) grid(of func(*dimension) []string) []point {
	list := []point{{}}
	for i := range r.axes {
		var longer []point
		for _, p := range list {
			for _, v := range of(&r.axes[i]) {
				longer = append(longer, append(slices.Clone(p), v))
			}
		}
		list = longer
	}
	return list
}

// evenly returns at most n evenly spaced values, the ends of the list included.
func evenly(values []string, n int) []string {
	if len(values) <= n {
		return values
	}
	var list []string
	for i := range n {
		list = append(list, values[(i*(len(values)-1)+(n-1)/2)/max(n-1, 1)])
	}
	return list
}

func distinct(points []point) []point {
	seen := map[string]bool{}
	return slices.DeleteFunc(points, func(p point) bool {
		key := strings.Join(p, "\x00")
		defer func() { seen[key] = true }()
		return seen[key]
	})
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
