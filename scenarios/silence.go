package scenarios

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/internal/changes"
	"github.com/compactsim/compactsim/internal/spec"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// Limits of the trials that find settings without an effect. They count calls,
// not seconds: the findings must not depend on the machine. trialCalls take
// about 200 ms on one core.
const (
	maxTrials     = 12
	trialCells    = 5000 // of all trials together, if there is more than one
	trialSessions = 100
	trialCalls    = 60_000
	sampleCalls   = 20_000
)

// Silent returns a text for every setting of the scenario or a flag that
// changes nothing: a run with the default instead has the same rows. Settings
// are tried one at a time on a sample of the sessions. All trials together
// simulate a tenth of the calls of the run, or trialCalls if that is more;
// settings beyond that are not mentioned. Summaries always come from the stub.
func (p *Plan) Silent(ctx context.Context, corpus *traces.Corpus) ([]string, error) {
	d, err := p.design()
	if err != nil {
		return nil, err
	}
	sessions := withCalls(corpus)
	named := d.named()
	if d.file != nil && d.file.Builtin {
		named = slices.DeleteFunc(named, func(s setting) bool { return strings.HasPrefix(s.at, d.file.tree.Name) })
	}
	if len(sessions) == 0 || len(named) == 0 || len(d.Cells) == 0 {
		return nil, nil
	}
	named = named[:min(len(named), maxTrials, 1+trialCells/len(d.Cells))]
	t := newTrials(p, d, sessions, len(named))
	var texts []string
	for _, s := range named {
		silent := t.silent(ctx, &s)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if silent {
			texts = append(texts, fmt.Sprintf("%s changes nothing%s", s.text(), t.reason(&s)))
		}
	}
	return texts, nil
}

// setting is a value that the scenario or a flag gives instead of a default.
type setting struct {
	path, value, at string
	needs           string // conditions of the parameter, as in its tag
	// without takes the setting out of a copy of the file.
	without func(*File)
	fixed   bool // it chooses sessions; these are already read, so it cannot be tried
}

// text says what is set, and where.
func (s *setting) text() string {
	switch {
	case strings.HasPrefix(s.at, "--set "+s.path+"="), s.path == "":
		return s.at
	case s.value == "":
		return s.at + ": " + s.path
	}
	return fmt.Sprintf("%s: %s %s", s.at, s.path, s.value)
}

// untried are parameters that no trial can test: they change no rows by design,
// or what they name is read before the run. Those of real calls, under live,
// cannot be tested either.
var untried = []string{
	"schema", "name", "doc", "strategies", "verify", "bound", "events", "prices.file", "sessions.paths", "sessions.since",
	"sessions.until", "sessions.project", "sessions.model", "sessions.agent", "sessions.generate.profile",
	"needs", "agent.refetch", // a trial does not read the texts
}

// named returns the settings of a design that are not the default, in the order
// of the manual, then its events and what flags set in layers.
func (d *Design) named() []setting {
	if d.file == nil {
		return nil
	}
	var list []setting
	for _, c := range d.changed() {
		keys := strings.Split(c.Path, ".")
		n := spec.Find(d.file.tree.Root, keys...)
		switch {
		case n == nil || slices.Contains(untried, c.Path) || keys[0] == "live":
		case c.Value.Kind() == reflect.Map:
			for i := 0; i+1 < len(n.Content); i += 2 {
				at := n.Content[i+1]
				for at.Kind == yaml.MappingNode && len(at.Content) > 1 { // a flag may have made all but the innermost
					at = at.Content[1]
				}
				key := n.Content[i].Value
				list = append(list, d.setting(append(slices.Clone(keys), key), spec.Flow(n.Content[i+1]), at))
			}
		default:
			list = append(list, d.setting(keys, c.text, n))
		}
	}
	for i, n := range d.eventNodes() {
		e := &d.Scenario.Events[i]
		// Other events may be removed already: the node is found by its position in the file.
		list = append(list, setting{
			path: fmt.Sprintf("events: %s %s", e.Do, moment(&e.At)), at: d.file.tree.At(n),
			without: func(own *File) {
				events := spec.Child(own.tree.Root, "events")
				events.Content = slices.DeleteFunc(events.Content, func(m *yaml.Node) bool {
					return m.Line == n.Line && m.Column == n.Column
				})
			},
		})
	}
	for _, o := range d.file.overrides {
		needs := ""
		if def, ok := d.file.registry.Definition(o.keys[0]); ok {
			needs = needsOf(def.Params(), o.keys[0], strings.Join(o.keys[1:], "."))
		}
		list = append(list, setting{at: o.origin, needs: needs, without: func(own *File) {
			own.overrides = slices.DeleteFunc(own.overrides, func(x override) bool { return x.origin == o.origin })
		}})
	}
	return list
}

// setting returns the setting at keys, which the file gives at a node.
func (d *Design) setting(keys []string, value string, at *yaml.Node) setting {
	path := strings.Join(keys, ".")
	return setting{
		path: path, value: value, at: d.file.tree.At(at), needs: needsOf(Default(), "", path),
		without: func(own *File) { remove(own.tree.Root, keys...) },
		fixed:   keys[0] == "sessions" && path != "sessions.cohort" && path != "sessions.organisations",
	}
}

// eventNodes returns the nodes of the events in the file.
func (d *Design) eventNodes() []*yaml.Node {
	if n := spec.Child(d.file.tree.Root, "events"); n != nil && len(n.Content) == len(d.Scenario.Events) {
		return n.Content
	}
	return nil
}

// changed is a parameter around the strategies that is not the default.
type changed struct {
	spec.Field
	text  string // its value, or those of its axis
	swept bool
}

// changed returns the parameters around the strategies that are swept or differ
// from the default.
func (d *Design) changed() []changed {
	plain := Default()
	was, err := spec.Encode(plain)
	is, other := spec.Encode(d.Scenario)
	if err != nil || other != nil {
		return nil
	}
	var list []changed
	spec.Fields(plain, func(f *spec.Field) {
		keys := strings.Split(f.Path, ".")
		c := changed{*f, spec.Flow(spec.Find(is, keys...)), false}
		if i := slices.IndexFunc(d.axes, func(a spec.Axis) bool { return a.Path == f.Path }); i >= 0 {
			c.text, c.swept = spec.Flow(d.axes[i].List()), true
		}
		if !f.Nested() && (c.swept || c.text != spec.Flow(spec.Find(was, keys...))) {
			list = append(list, c)
		}
	})
	return list
}

// needsOf returns the conditions of a parameter of a struct, or of the section
// it belongs to. Tags may name parameters of the same struct; the result has
// full paths, beginning with the prefix or at the top of the scenario.
func needsOf(v any, prefix, path string) string {
	found := ""
	spec.Fields(v, func(f *spec.Field) {
		if f.Needs == "" || path != f.Path && !strings.HasPrefix(path, f.Path+".") {
			return
		}
		section := strings.TrimSuffix(f.Path[:strings.LastIndexByte("."+f.Path, '.')], ".")
		needs := strings.Split(f.Needs, "|")
		for i, need := range needs {
			beside := spec.Join(section, need)
			name, _, _ := strings.Cut(beside, "=")
			if spec.CheckPath(v, strings.Split(name, ".")...) == nil {
				needs[i] = spec.Join(prefix, beside)
			}
		}
		found = strings.Join(needs, "|")
	})
	return found
}

// remove takes the value at keys out of a mapping, and then mappings that
// became empty.
func remove(n *yaml.Node, keys ...string) {
	for i := 0; n != nil && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value != keys[0] {
			continue
		}
		if child := n.Content[i+1]; len(keys) > 1 {
			if remove(child, keys[1:]...); len(child.Content) > 0 {
				return
			}
		}
		n.Content = slices.Delete(n.Content, i, i+2)
		return
	}
}

// trials compares the rows of a scenario with its rows without a setting.
type trials struct {
	plan   *Plan
	design *Design
	file   *File // without the settings that were found to be silent
	// chunks are the sessions tried, a few of them first: most settings with an effect show
	// it on those. rows are the rows of the file, by chunk, once they are known.
	chunks [][]*traces.Session
	cells  []Cell
	rows   [][][]results.Row
	of     int   // sessions of the run
	left   int64 // calls that may be simulated
}

func newTrials(p *Plan, d *Design, sessions []*traces.Session, settings int) *trials {
	plain := *p
	plain.Summarize, plain.watch, plain.record, plain.Done, plain.Design = nil, nil, nil, nil, nil
	t := &trials{plan: &plain, design: d, file: d.file.clone(), cells: d.Cells, of: len(sessions)}
	calls := int64(0)
	for _, s := range sessions {
		calls += int64(s.NumCalls())
	}
	cells := int64(len(d.Cells))
	t.left = max(trialCalls, calls*cells/10)
	most := min(sampleCalls, t.left/cells/int64(1+settings))
	t.chunks = sample(sessions, &d.Scenario.Sessions, most)
	t.rows = make([][][]results.Row, len(t.chunks))
	return t
}

// sample returns sessions chosen evenly, in chunks to be simulated one after another,
// with about most calls at the most. Sessions of a cohort stay together.
func sample(sessions []*traces.Session, how *Sessions, most int64) [][]*traces.Session {
	groups := how.Cohort.group(sessions)
	if groups != nil {
		largest := slices.MaxFunc(groups, func(a, b []int) int { return len(a) - len(b) })
		var together []*traces.Session
		for _, i := range largest[:min(len(largest), trialSessions)] {
			if together = append(together, sessions[i]); len(together) > 1 && most <= 0 {
				break
			}
			most -= int64(sessions[i].NumCalls())
		}
		return [][]*traces.Session{together}
	}
	var list []*traces.Session
	n := min(len(sessions), trialSessions)
	for i := range n {
		s := sessions[i*len(sessions)/n]
		if c := int64(s.NumCalls()); c <= most || i == n-1 && len(list) == 0 {
			list = append(list, s)
			most -= c
		}
	}
	first := min(2, len(list))
	return slices.DeleteFunc([][]*traces.Session{list[:first], list[first:]}, func(c []*traces.Session) bool { return len(c) == 0 })
}

// silent reports whether the rows without a setting are the same. If the scenario cannot be run
// without it, they are not. A fixed setting is silent if its conditions are not met.
func (t *trials) silent(ctx context.Context, s *setting) bool {
	if s.fixed {
		return s.needs != "" && !t.met(s)
	}
	own := t.file.clone()
	s.without(own)
	d, err := own.Expand()
	if err != nil {
		return false
	}
	cells := matched(t.cells, d.Cells)
	if cells == nil || len(d.Cells) > countNames(t.cells) { // without it more is simulated
		return false
	}
	plan := *t.plan
	if name, ok := strings.CutPrefix(s.path, "prices.as."); ok {
		plan.Prices = plan.Prices.WithoutAlias(name)
	}
	for i, chunk := range t.chunks {
		if t.rows[i] == nil {
			t.rows[i] = t.run(ctx, t.plan, t.cells, chunk)
		}
		if rows := t.run(ctx, &plan, cells, chunk); rows == nil || !reflect.DeepEqual(rows, t.rows[i]) {
			return false
		}
	}
	t.file, t.cells, t.plan.Prices = own, cells, plan.Prices
	return true
}

// countNames returns the number of cells with different names.
func countNames(cells []Cell) int {
	names := map[string]bool{}
	for i := range cells {
		names[cells[i].Name] = true
	}
	return len(names)
}

// matched returns for each cell the one among others with the same values of
// the parameters they share; nil if a cell has none.
func matched(cells, others []Cell) []Cell {
	byName := map[string]Cell{}
	names := map[string][]string{} // of parameters, by strategy
	for _, c := range others {
		byName[c.Name] = c
		names[c.Strategy.Name] = c.names
	}
	list := make([]Cell, len(cells))
	for i, c := range cells {
		var params [][2]string
		for _, name := range c.names {
			if slices.Contains(names[c.Strategy.Name], name) {
				params = append(params, [2]string{name, c.Params[name]})
			}
		}
		var ok bool
		if list[i], ok = byName[c.Strategy.Name+join(params)]; !ok {
			return nil
		}
	}
	return list
}

// run simulates a chunk of sessions; nil when not enough calls are left for it
// or it fails, which the run itself then reports.
func (t *trials) run(ctx context.Context, p *Plan, cells []Cell, chunk []*traces.Session) [][]results.Row {
	for _, s := range chunk {
		t.left -= int64(s.NumCalls() * len(cells))
	}
	if t.left < 0 {
		return nil
	}
	configs, err := p.configs(&Design{Cells: cells})
	if err != nil {
		return nil
	}
	runner := sim.Runner{Workers: p.Workers, Cohorts: cells[0].Scenario.Sessions.Cohort.group(chunk)}
	rows, err := runner.Run(ctx, chunk, configs)
	if err != nil {
		return nil
	}
	return rows
}

// reason says why a setting is silent: a condition that is not met, or these
// sessions.
func (t *trials) reason(s *setting) string {
	if s.needs != "" && !t.met(s) {
		return ": it needs " + strings.NewReplacer("=", " ", "|", " or ").Replace(s.needs)
	}
	tried := 0
	for _, chunk := range t.chunks {
		tried += len(chunk)
	}
	if tried < t.of {
		return fmt.Sprintf(" on the %d of %d sessions it was tried on", tried, t.of)
	}
	return " on these sessions"
}

// met reports whether some cell meets one of the conditions of a parameter:
// PATH or PATH=VALUE of the scenario or a layer, joined by |.
func (t *trials) met(s *setting) bool {
	var roots []*yaml.Node
	seen := map[any]bool{}
	add := func(v any) {
		if n, err := spec.Encode(v); err == nil {
			roots = append(roots, n)
		}
	}
	for i := range t.design.Cells {
		c := &t.design.Cells[i]
		if !seen[c.Scenario] {
			add(c.Scenario)
		}
		if !seen[c.Strategy] {
			for _, m := range c.Strategy.Members() {
				for _, name := range m.LayerNames() {
					add(map[string]any{name: m.Params(name)})
				}
			}
		}
		seen[c.Scenario], seen[c.Strategy] = true, true
	}
	return slices.ContainsFunc(strings.Split(s.needs, "|"), func(need string) bool {
		path, value, valued := strings.Cut(need, "=")
		return slices.ContainsFunc(roots, func(root *yaml.Node) bool {
			n := spec.Find(root, strings.Split(path, ".")...)
			return n != nil && (valued && n.Value == value || !valued && !off(n))
		})
	})
}

// off reports whether a node holds a value that switches its parameter off.
func off(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && slices.Contains([]string{"", "0", "0s", "false", "null", "none"}, n.Value) ||
		n.Kind == yaml.SequenceNode && len(n.Content) == 0
}

// moment says when an event happens.
func moment(w *changes.When) string {
	switch {
	case w.Round > 0:
		return fmt.Sprintf("at round %d", w.Round)
	case w.Every > 0:
		return fmt.Sprintf("every %d rounds", w.Every)
	case w.Tokens > 0:
		return fmt.Sprintf("at %d tokens", w.Tokens)
	}
	return "after " + w.After.String()
}
