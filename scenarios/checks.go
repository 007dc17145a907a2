package scenarios

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim/changes"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/servers"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// ErrContradiction is wrapped by errors of parameters that cannot work on the
// sessions at hand: a threshold that no window reaches, for instance.
var ErrContradiction = errors.New("parameters contradict each other")

// check returns all that is wrong with a run over these sessions at once:
// models without a price (in strict mode), events and thresholds.
// Outside strict mode calls without a price cost nothing, and the report says
// so.
func (p *Plan) check(d *Design, sessions []*traces.Session, seen *survey) error {
	var errs []error
	if p.Strict {
		errs = p.UnknownModels(sessions)
	}
	if d.Scenario.Bound && d.Scenario.Sessions.Cohort != cohortSession {
		errs = append(errs, errors.New("bound: sessions.cohort lets sessions share a cache, and the bound looks at a session alone"))
	}
	if d.Scenario.Bound && d.Scenario.Users.Any() {
		errs = append(errs, errors.New("bound: users share a cache, and the bound looks at a session alone"))
	}
	if d.Scenario.Bound && d.Scenario.Server.Name != "" {
		errs = append(errs, errors.New("bound: server.name replaces the server, and the bound holds for the recording's"))
	}
	return errors.Join(append(errs, p.checkEvents(d, sessions), checkWindows(d, seen.windows))...)
}

// CheckCells returns what is wrong with the thresholds of each cell at the windows of sessions, nil where nothing is.
func (p *Plan) CheckCells(cells []Cell, sessions []*traces.Session) []error {
	w := windows{}
	for _, s := range sessions {
		w.add(windowsOf(s, p.Prices))
	}
	errs := make([]error, len(cells))
	for i := range cells {
		errs[i] = checkWindows(&Design{Cells: cells[i : i+1]}, w)
	}
	return errs
}

// checkWindows reports all thresholds at or above the largest window of the
// sessions. Where a scenario sets the window itself, expansion has already
// checked them.
func checkWindows(d *Design, w windows) error {
	var errs []error
	var failed int64
	said := map[string]bool{}
	for i := range d.Cells {
		c := &d.Cells[i]
		if c.Scenario.Client.Window > 0 {
			continue
		}
		a := &c.Scenario.Client.Assembly
		v := a.Env.Variables()
		var window int64
		for m := range w {
			window = max(window, v.AutoWindow(a.Window(&v, m.Model, m.Window)))
		}
		err := c.Strategy.ValidateFor(&strategies.Reading{Window: window, MaxOutput: client.MaxOutput})
		if err == nil || said[c.Name] {
			continue
		}
		said[c.Name], failed = true, window
		place := ""
		if e := d.entryOf(c.Strategy.Name); e != nil && d.tree != nil {
			place = e.triggerPlace(d.tree) + ": "
		}
		if c.Name != c.Strategy.Name { // a cell of several, which the error does not name
			place += c.Name + ": "
		}
		errs = append(errs, fmt.Errorf("%s%w", place, err))
	}
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("%w at the window of %d tokens of these sessions:\n%w", ErrContradiction, failed, errors.Join(errs...))
}

// checkWindow reports thresholds that make no sense for the window that the
// scenario sets, with the places of both.
func (x *expansion) checkWindow(e *entry, v *variant, around []variant) {
	done := map[int64]bool{}
	for _, a := range around {
		window := a.scenario.Client.Window
		if window <= 0 || done[window] {
			continue
		}
		done[window] = true
		err := v.strategy.ValidateFor(&strategies.Reading{Window: window, MaxOutput: client.MaxOutput})
		if err == nil {
			continue
		}
		place := ""
		if n := spec.Find(x.tree.Root, "client", "window"); n != nil {
			place = " at " + x.tree.At(n)
		}
		x.once(fmt.Errorf("%s: %w (client.window %d%s)", e.triggerPlace(x.tree), err, window, place))
	}
}

// entryOf returns the entry of a strategy, nil for none.
func (d *Design) entryOf(strategy string) *entry {
	if i := slices.IndexFunc(d.entries, func(e *entry) bool { return e.name == strategy }); i >= 0 {
		return d.entries[i]
	}
	return nil
}

// triggerPlace returns the file and line that set a trigger of a strategy, else those that name the strategy.
func (e *entry) triggerPlace(tree *spec.Tree) string {
	at := tree.At(e.node)
	for _, path := range slices.Sorted(maps.Keys(e.place)) {
		if strings.Contains(path, ".trigger") {
			at = e.place[path]
		}
	}
	return at
}

// ErrEvents is wrapped by errors of events that do not work with the sessions
// or the prices.
var ErrEvents = errors.New("events that cannot be run")

// checkEvents reports models that events switch to and that have no price at
// the time of the first session: their calls would cost nothing.
func (p *Plan) checkEvents(d *Design, sessions []*traces.Session) error {
	var errs []error
	for i := range d.Scenario.Events {
		e := &d.Scenario.Events[i]
		if e.Do != changes.ActionModel.String() {
			continue
		}
		if _, err := p.Prices.Lookup(e.Value, sessions[0].StartTime()); err != nil {
			errs = append(errs, fmt.Errorf("%s: events: %s %s: %w", d.placeOfEvent(i), e.Do, e.Value, err))
		}
	}
	if len(errs) > 0 {
		return fmt.Errorf("%w:\n%w", ErrEvents, errors.Join(errs...))
	}
	return nil
}

// placeOfEvent returns the file and line of an event if they are known.
func (d *Design) placeOfEvent(i int) string {
	if d.tree == nil {
		return "scenario"
	}
	if list := spec.Child(d.tree.Root, "events"); list != nil && i < len(list.Content) {
		return d.tree.At(list.Content[i])
	}
	return d.tree.Name
}

// PriceGaps says in a line each which prices the models of the sessions lack: the whole price, the
// price of reads or, where a cell calls a server whose caches are paid for by the hour, the price
// of storage.
func (p *Plan) PriceGaps(sessions []*traces.Session) (lines []string) {
	for _, err := range p.UnknownModels(sessions) {
		lines = append(lines, err.Error())
	}
	byHour := func(model string) bool {
		return p.Design != nil && slices.ContainsFunc(p.Design.servers(), func(s *servers.Server) bool { return s.Explicit && s.Serves(model) })
	}
	seen := map[string]bool{}
	for _, s := range sessions {
		for _, m := range s.Models {
			price, err := p.Prices.Lookup(m, s.StartTime())
			if name := price.Model.Name; err == nil && !seen[name] {
				if seen[name] = true; price.ReadAsInput {
					lines = append(lines, fmt.Sprintf("no read price for model %s: reads are billed as input; --prices FILE gives one (read)", document.Quoted(name)))
				}
				if byHour(name) && price.StoragePerMTokHour == 0 {
					lines = append(lines, fmt.Sprintf("no storage price for model %s: keeping caches costs nothing; --prices FILE gives one (storage)", document.Quoted(name)))
				}
			}
		}
	}
	return lines
}

// UnknownModels returns an error for every model of the sessions that has no
// price. It names similar models and the flag that bills one model as another.
func (p *Plan) UnknownModels(sessions []*traces.Session) []error {
	var errs []error
	seen := map[string]bool{}
	for _, s := range sessions {
		for _, m := range s.Models {
			if seen[m] {
				continue
			}
			seen[m] = true
			if _, err := p.Prices.Lookup(m, s.StartTime()); err != nil {
				errs = append(errs, fmt.Errorf("%w; --price-as %s bills it as another, --prices FILE gives one", err, document.Quoted(m+"=MODEL")))
			}
		}
	}
	return errs
}

// Unmet returns a text for every setting of the scenario or a flag that can have no effect: its
// tag, or the tag of a section around it, names conditions (needs), and no cell meets any of the
// conditions.
func (d *Design) Unmet() []string {
	if d.file == nil {
		return nil
	}
	type setting struct{ text, needs string }
	var settings []setting
	tree := d.file.tree
	for _, c := range d.changed() {
		n := spec.Find(tree.Root, strings.Split(c.Path, ".")...)
		if n == nil || d.file.Builtin && strings.HasPrefix(tree.At(n), tree.Name) {
			continue
		}
		text := tree.At(n)
		if !strings.HasPrefix(text, "--set "+c.Path+"=") {
			text += ": " + c.Path + " " + c.text
		}
		settings = append(settings, setting{text, needsOf(Default(), "", c.Path)})
	}
	for _, o := range d.file.overrides {
		if def, ok := d.file.registry.Definition(o.keys[0]); ok {
			settings = append(settings, setting{o.origin, needsOf(def.Params(), o.keys[0], strings.Join(o.keys[1:], "."))})
		}
	}
	settings = slices.DeleteFunc(settings, func(s setting) bool { return s.needs == "" })
	if len(settings) == 0 {
		return nil
	}
	for _, part := range d.parts() {
		if root, err := spec.Encode(part); err == nil {
			settings = slices.DeleteFunc(settings, func(s setting) bool { return met(root, s.needs) })
		}
	}
	var texts []string
	for _, s := range settings {
		texts = append(texts, s.text+" changes nothing: it needs "+strings.NewReplacer("=", " ", "|", " or ").Replace(s.needs))
	}
	return texts
}

// parts returns all that may meet conditions: the scenarios and the layers of cells, and the clients of generations.
func (d *Design) parts() (list []any) {
	seen := map[any]bool{}
	first := func(key any) bool {
		was := seen[key]
		seen[key] = true
		return !was
	}
	for i := range d.Cells {
		c := &d.Cells[i]
		if first(c.Scenario) {
			list = append(list, c.Scenario)
		}
		for _, m := range c.Strategy.Members() {
			if m.ClientHalf() != nil && first([2]any{c.Scenario, m.ClientHalf()}) {
				if h, err := c.Scenario.under(m, c.Scenario.given()); err == nil {
					list = append(list, map[string]any{"client": h.Client})
				}
			}
			if first(m) {
				layers := map[string]any{}
				for _, name := range m.LayerNames() {
					layers[name] = m.Params(name)
				}
				list = append(list, layers)
			}
		}
	}
	return list
}

// met reports whether root meets one of several conditions, PATH or PATH=VALUE, joined by |.
func met(root *yaml.Node, needs string) bool {
	return slices.ContainsFunc(strings.Split(needs, "|"), func(need string) bool {
		path, value, valued := strings.Cut(need, "=")
		n := spec.Find(root, strings.Split(path, ".")...)
		return n != nil && (valued && n.Value == value || !valued && !off(n))
	})
}

// off reports whether a node holds a value that switches its parameter off.
func off(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && slices.Contains([]string{"", "0", "0s", "false", "null", "none"}, n.Value) ||
		n.Kind == yaml.SequenceNode && len(n.Content) == 0
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

// changed is a parameter around the strategies that is not the default.
type changed struct {
	spec.Field
	text  string // its value, or the values of its axis
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
