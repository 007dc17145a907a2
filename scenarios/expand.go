package scenarios

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies"
)

// maxCells is the largest number of cells of one scenario.
const maxCells = 20_000

// ErrCells is the error of a scenario with too many cells for a run. A search accepts such a scenario.
var ErrCells = fmt.Errorf("more than %d cells: sweep fewer values, or search with sim tune", maxCells)

// Design is a scenario expanded: the cells to simulate.
type Design struct {
	// Scenario has the first value of every axis.
	Scenario Scenario
	// Cells are ordered by strategy, then by the values of the axes: the axes of the strategy's layers
	// by name, then client, server, summarizer, latency,
	// levels, prices and seed. The order of keys in the file does not matter.
	Cells []Cell

	entries []*entry
	axes    []spec.Axis // of all strategies
	tree    *spec.Tree
	file    *File // as it was expanded
}

// Cell is one strategy under one setting of everything around it.
type Cell struct {
	Name     string // the strategy and the values of its axes; unique
	Strategy *strategies.Strategy
	Params   map[string]string // values of the axes by name
	names    []string          // of Params, in order
	Scenario *Scenario         // client, server, summariser, latency, levels, prices and seed of the cell
	adjusted bool              // variables of the client's environment changed layers
}

// ParamNames returns the names of Params in their order.
func (c *Cell) ParamNames() []string { return slices.Clone(c.names) }

// Rename names a cell by a text and the values of its parameters, given as name and value.
func (c *Cell) Rename(base string, params ...[2]string) {
	c.Name, c.Params, c.names = base+join(params), map[string]string{}, nil
	for _, p := range params {
		c.Params[p[0]], c.names = p[1], append(c.names, p[0])
	}
}

// Axis is a swept parameter.
type Axis struct {
	Path   string   // for File.Assign
	Name   string   // in cells
	Values []string // as the scenario writes them
}

// Axes returns the swept parameters that a strategy of the design depends on, the parameters of its layers first. For "" it returns
// the parameters of what surrounds the strategies.
func (d *Design) Axes(strategy string) (list []Axis) {
	hears := func(string) bool { return strategy == "" }
	for _, e := range d.entries {
		if e.name != strategy {
			continue
		}
		for _, a := range e.axes {
			list = append(list, Axis{"strategies." + e.name + "." + a.Path, e.short[a.Path], slices.Clone(a.Texts)})
		}
		if i := slices.IndexFunc(d.Cells, func(c Cell) bool { return c.Strategy.Name == strategy }); i >= 0 {
			hears = d.Cells[i].hears
		}
	}
	for _, a := range d.axes {
		if hears(a.Path) {
			list = append(list, Axis{a.Path, a.Path, slices.Clone(a.Texts)})
		}
	}
	return list
}

// labels returns the labels of the axes in charts, by the axes' names in cells.
func (d *Design) labels() map[string]string {
	labels := map[string]string{}
	for i := range d.axes {
		labels[d.axes[i].Path] = spec.Label(d.Scenario, d.axes[i].Path)
	}
	for _, e := range d.entries {
		for i := range e.axes {
			layer, path, _ := strings.Cut(e.axes[i].Path, ".")
			for _, m := range e.variants[0].strategy.Members() {
				if params := m.Params(layer); params != nil {
					labels[e.short[e.axes[i].Path]] = spec.Label(params, path)
					break
				}
			}
		}
	}
	return labels
}

// variant is one combination of values of axes.
type variant struct {
	params   [][2]string // name and value, in order
	strategy *strategies.Strategy
	scenario *Scenario
}

// Expand returns the cells: the cartesian product of the axes that concern a strategy. Axes of its
// layers multiply that strategy alone; axes of client, server, prices and seed multiply all
// strategies; axes of the summariser multiply the strategies that ask it. All problems are
// reported at once, with file and line.
func (f *File) Expand() (*Design, error) { return f.expand(nil) }

// First returns the design with the first value of every axis. A search takes the other values from the file.
func (f *File) First() (*Design, error) {
	own := f.Clone()
	own.first = true
	return own.Expand()
}

// With returns the design under assignments. Its strategies are read again if an assignment is to a layer.
func (d *Design) With(assignments []string) (*Design, error) {
	f := d.file.Clone()
	var errs []error
	for _, a := range assignments {
		errs = append(errs, f.Assign(a))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if len(f.overrides) > len(d.file.overrides) {
		return f.Expand()
	}
	return f.expand(d.entries)
}

// expand returns the cells of strategies that were read before, or for nil the cells of the file's strategies.
func (f *File) expand(entries []*entry) (*Design, error) {
	x := &expansion{file: f, registry: f.registry}
	x.tree = f.tree.Copy() // expanding chooses values; the file stays as it is
	d := &Design{tree: x.tree, file: f.Clone(), entries: entries}
	x.checker = &spec.Checker{Tree: x.tree}
	x.checker.Check(x.tree.Root, Scenario{}, "")
	x.errs = append(x.errs, x.checker.Errs...)
	d.axes = inOrder(x.checker.Axes)
	if entries == nil {
		x.read(d)
	}
	around := x.surroundings(d)
	x.product(d, around)
	if len(x.errs) > 0 {
		errs := x.tree.Sorted(x.errs)
		same := func(a, b error) bool { return a.Error() == b.Error() } // --set reports it for every strategy
		return nil, errors.Join(slices.CompactFunc(errs, same)...)
	}
	d.Scenario = *around[0].scenario
	return d, nil
}

// read reads the strategies of the file into a design.
func (x *expansion) read(d *Design) {
	failed := false
	for _, n := range x.uniqueNames(x.listed()) {
		if e := x.entry(n); e != nil {
			d.entries = append(d.entries, e)
		} else {
			failed = failed || entryName(n) != measures.StrategyBilled
		}
	}
	slices.SortStableFunc(d.entries, func(a, b *entry) int {
		return recordedFirst(a.name) - recordedFirst(b.name)
	})
	if !failed {
		x.unusedOverrides(d)
	}
}

// inOrder sorts axes of the scenario in the order of the format.
func inOrder(axes []spec.Axis) []spec.Axis {
	order := spec.Paths(Scenario{})
	slices.SortStableFunc(axes, func(a, b spec.Axis) int {
		return cmp.Or(slices.Index(order, a.Path)-slices.Index(order, b.Path), strings.Compare(a.Path, b.Path))
	})
	return axes
}

// listed returns the strategies of the scenario and the recorded one, which
// comes first unless the scenario names it.
func (x *expansion) listed() []*yaml.Node {
	list := spec.Child(x.tree.Root, "strategies")
	if list != nil && list.Kind != yaml.SequenceNode && list.Tag != "!!null" {
		return nil // reported already
	}
	own := File{tree: x.tree}
	nodes := own.entries()
	for _, n := range nodes {
		if entryName(n) == measures.StrategyRecorded {
			return nodes
		}
	}
	if hasUsers(x.tree) {
		return nodes // nothing was recorded
	}
	return append([]*yaml.Node{spec.Text(measures.StrategyRecorded)}, nodes...)
}

// uniqueNames reports strategies of the same name. A preset that several patterns of a flag name counts once.
func (x *expansion) uniqueNames(nodes []*yaml.Node) []*yaml.Node {
	first := map[string]*yaml.Node{}
	return slices.DeleteFunc(slices.Clone(nodes), func(n *yaml.Node) bool {
		before, dup := first[entryName(n)]
		switch {
		case entryName(n) == "":
			return false
		case !dup:
			first[entryName(n)] = n
			return false
		case n.Kind != yaml.ScalarNode || before.Kind != yaml.ScalarNode:
			x.errorf(n, "strategy %q is defined twice, first at %s: give one another name", entryName(n), x.tree.At(before))
		case n != before && n.Line > 0 && before.Line > 0:
			x.errorf(n, "strategy %q stands twice, first at %s", entryName(n), x.tree.At(before))
		}
		return true
	})
}

func recordedFirst(name string) int {
	if name == measures.StrategyRecorded {
		return 0
	}
	return 1
}

// unusedOverrides reports what was set in layers that no strategy has.
func (x *expansion) unusedOverrides(d *Design) {
	for _, o := range x.file.overrides {
		used := slices.ContainsFunc(d.entries, func(e *entry) bool {
			return (o.name == "" || o.name == e.name) && slices.ContainsFunc(layersOf(e.body), func(l layer) bool {
				return l.key.Value == o.keys[0]
			})
		})
		if !used && o.name == "" {
			x.errs = append(x.errs, fmt.Errorf("%s: no strategy of the scenario has the layer %s", o.origin, o.keys[0]))
		}
	}
}

// surroundings returns the scenario under every combination of its own axes.
func (x *expansion) surroundings(d *Design) []variant {
	var all []variant
	before := len(x.errs)
	x.combine(d.axes, func(chosen []int) {
		s := defaults(x.tree)
		errs := x.tree.Decode(x.tree.Root, &s, "")
		if before > 0 { // a value that the checker has reported keeps its default here
			errs = x.checker.Flaws(x.tree.Root, &s, "")
		}
		for _, err := range errs {
			x.once(err)
		}
		v := variant{scenario: &s}
		for i := range d.axes {
			v.params = append(v.params, [2]string{d.axes[i].Path, d.axes[i].Texts[chosen[i]]})
		}
		all = append(all, v)
	})
	return all
}

// once adds a problem that was not reported yet.
func (x *expansion) once(err error) {
	if !slices.ContainsFunc(x.errs, func(e error) bool { return e.Error() == err.Error() }) {
		x.errs = append(x.errs, err)
	}
}

// combine calls f under every combination of values of axes, the first axis
// slowest. It stops when the combinations are too many.
func (x *expansion) combine(axes []spec.Axis, f func(chosen []int)) {
	n := 1
	for i := range axes {
		if x.file.first {
			break
		}
		if n *= len(axes[i].Values); n > maxCells {
			x.errorf(axes[i].Node, "%w", ErrCells)
			return
		}
	}
	chosen := make([]int, len(axes))
	for range n {
		for i := range axes {
			axes[i].Choose(chosen[i])
		}
		f(chosen)
		for i := len(axes) - 1; i >= 0; i-- {
			if chosen[i]++; chosen[i] < len(axes[i].Values) {
				break
			}
			chosen[i] = 0
		}
	}
	for i := range axes {
		axes[i].Choose(0)
	}
}

// compose makes the strategy of e from its body.
func (x *expansion) compose(e *entry, params [][2]string) (*strategies.Strategy, error) {
	s, err := x.registry.Compose(e.name, e.body, x.tree.At(e.node))
	if err != nil {
		return nil, fmt.Errorf("%w%s", err, in(append(params, e.given...)))
	}
	s.Doc = e.doc
	return s, nil
}

// in returns the values under which something is wrong.
func in(params [][2]string) string {
	if len(params) == 0 {
		return ""
	}
	return " (at" + join(params) + ")"
}

func join(params [][2]string) string {
	var b strings.Builder
	for _, p := range params {
		b.WriteString(" " + p[0] + "=" + p[1])
	}
	return b.String()
}

// product makes a cell of every strategy under every combination of what surrounds it.
func (x *expansion) product(d *Design, around []variant) {
	for _, e := range d.entries {
		seen := map[string]bool{}
		for _, v := range e.variants {
			x.checkWindow(e, &v, around)
			for _, a := range around {
				strategy, err := x.under(e, &v, &a.scenario.Client.Assembly)
				if err != nil {
					x.once(err)
					continue
				}
				c := newCell(e.name, strategy, &v, &a)
				c.adjusted = strategy != v.strategy
				if seen[c.Name] {
					continue
				}
				seen[c.Name] = true
				d.Cells = append(d.Cells, c)
			}
			if len(d.Cells) > maxCells {
				x.errorf(e.node, "%w", ErrCells)
				return
			}
		}
	}
}

// newCell returns a cell with the parameters that it depends on. A cell that
// draws nothing runs under one seed.
func newCell(name string, strategy *strategies.Strategy, v, around *variant) Cell {
	c := Cell{Strategy: strategy, Scenario: around.scenario}
	params := slices.Clone(v.params)
	for _, p := range around.params {
		if c.hears(p[0]) {
			params = append(params, p)
		}
	}
	c.Rename(name, params...)
	return c
}

// hears reports whether the cell depends on a parameter around its strategy.
func (c *Cell) hears(path string) bool {
	return (path != measures.SeedParam || c.Draws()) && (!strings.HasPrefix(path, "summarizer.") || asksSummarizer(c.Strategy))
}

// Draws reports whether figures of the cell may depend on the seed. A layer that does not say
// whether it draws counts as drawing: too many seeds cost time, too few a wrong verdict.
func (c *Cell) Draws() bool {
	s := c.Scenario
	return s.Server.EvictPerCall > 0 || s.Client.System.UncachedChange > 0 ||
		slices.ContainsFunc(c.Strategy.Members(), func(m *strategies.Strategy) bool {
			return s.fetches() && m.Name != measures.StrategyRecorded || slices.ContainsFunc(m.LayerNames(), func(name string) bool {
				t := m.Traits(name)
				return t.Draws || !t.Declared
			})
		})
}

// fetches reports whether agents fetch again some of what they lack, and leave out some of what
// the recording fetched again and they still have. A draw decides which.
func (s *Scenario) fetches() bool {
	return s.Needs && s.Agent.Refetch != sim.RefetchNever && s.Agent.Refetch != sim.RefetchAlways
}

// asksSummarizer reports whether a strategy lets the summariser answer: whether
// one of its layers makes calls that have no recorded answer.
func asksSummarizer(s *strategies.Strategy) bool {
	return slices.ContainsFunc(s.Members(), func(m *strategies.Strategy) bool {
		return slices.ContainsFunc(m.Layers(), func(l strategies.Layer) bool {
			_, asks := l.(strategies.IntentResult)
			return asks && !m.Traits(l.Name()).Replays
		})
	})
}
