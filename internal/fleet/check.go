package fleet

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/internal/nearest"
	"github.com/compactsim/compactsim/internal/spec"
	"github.com/compactsim/compactsim/internal/studies"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces/synthetic"
)

// Read is Parse of a tree. It writes the dates of upgrades as times from the start into
// the tree, and leaves it as it is else.
func Read(tree *spec.Tree, in Inputs) (*File, error) {
	f := defaultFile()
	f.known = new(known)
	dates(tree.Root, f.Start.Time)
	c := spec.Checker{Tree: tree}
	c.Check(tree.Root, f, "")
	errs := c.Errs
	// What could not be read is as by default: all else is looked at.
	var mixed *yaml.TypeError
	if err := decode(tree.Root, &f); err != nil && (len(errs) == 0 || !errors.As(err, &mixed)) {
		errs = append(errs, fmt.Errorf("%s: %w", tree.Name, err))
		return nil, fmt.Errorf("reading a fleet: %w", errors.Join(errs...))
	}
	flaws := f.flaws(in.Registry)
	flaws = append(flaws, f.readTimes(in.Files)...)
	if len(errs) == 0 && len(flaws) == 0 {
		flaws = f.checkSize()
	}
	lost := places(errs)
	for _, w := range flaws {
		n := spec.Reach(tree.Root, w.path)
		if !slices.ContainsFunc(lost, func(place string) bool { return stands(tree, n, place) }) {
			errs = append(errs, tree.Errorf(n, "%s: %s", w.path, w.text))
		}
	}
	if len(errs) > 0 {
		return nil, fmt.Errorf("reading a fleet: %w", errors.Join(errs...))
	}
	return &f, nil
}

// places returns the places, file:line or flag, of errors of a Checker.
func places(errs []error) []string {
	var list []string
	for _, err := range errs {
		place, _, _ := strings.Cut(err.Error(), ": ")
		list = append(list, place)
	}
	return list
}

// stands reports whether a node, or anything in it, stands at a place: what is said of
// values that could not be read is not told.
func stands(tree *spec.Tree, n *yaml.Node, place string) bool {
	return tree.At(n) == place || slices.ContainsFunc(n.Content, func(n *yaml.Node) bool { return stands(tree, n, place) })
}

// dates writes the dates at which upgrades begin as times from the start, for which the
// file is asked first.
func dates(root *yaml.Node, start time.Time) {
	upgrades := spec.Child(root, "upgrades")
	if upgrades == nil || upgrades.Kind != yaml.SequenceNode {
		return
	}
	if n := spec.Child(root, "start"); n != nil {
		var given Moment
		if given.UnmarshalYAML(n) != nil {
			return
		}
		start = given.Time
	}
	for _, u := range upgrades.Content {
		var at Moment
		if n := spec.Child(u, "at"); n != nil && at.UnmarshalYAML(n) == nil {
			n.Value, n.Tag = at.Sub(start).String(), "!!str"
		}
	}
}

// decode reads what the checker has looked at over the defaults. After an error of
// yaml.TypeError all that could be read has been.
func decode(root *yaml.Node, f *File) error {
	var mixed *yaml.TypeError
	err := root.Decode(f)
	if err != nil && !errors.As(err, &mixed) {
		return err
	}
	orgs := spec.Child(root, "orgs")
	if orgs == nil || orgs.Kind != yaml.SequenceNode {
		return err
	}
	f.Orgs = f.Orgs[:0]
	for _, node := range orgs.Content {
		o := defaultOrg()
		if spec.Child(node, "kinds") != nil {
			o.Kinds = nil // shares are given whole
		}
		if spec.Find(node, "sessions", "profiles") != nil {
			o.Sessions.Profiles = nil
		}
		if bad := node.Decode(&o); bad != nil {
			err = bad
			if !errors.As(bad, &mixed) {
				return err
			}
		}
		f.Orgs = append(f.Orgs, o)
	}
	return err
}

// Bounds that keep a fleet finite and its sums far from overflow.
const (
	maxDays        = 366
	maxUsers       = 1_000_000 // of an organisation
	maxSessions    = 2_000_000 // expected of the whole fleet
	maxUserDay     = 1000.0    // sessions of a user on a day
	maxFocus       = 50.0      // beyond it the whole day's work begins within a few minutes
	maxUpgrades    = 8
	maxStaticShift = 100_000 // tokens of an upgrade
	maxLookback    = 1000
	maxWindow      = 100_000_000           // tokens
	maxCapacity    = int64(1) << 53        // tokens
	maxSpan        = client.Span(day)      // ns, of a lifetime
	maxOffset      = client.Span(day)      // ns
	day            = int64(24 * time.Hour) // ns
	hour           = int64(time.Hour)      // ns
)

// flaw is something wrong with a fleet.
type flaw struct{ path, text string }

type flaws []flaw

func (fs *flaws) add(path, format string, args ...any) {
	*fs = append(*fs, flaw{path, fmt.Sprintf(format, args...)})
}

// within refuses what lies outside [low, high], and what is no number.
func within[T int | int32 | int64 | float64 | client.Span](fs *flaws, path string, x, low, high T) {
	if !(x >= low && x <= high) {
		fs.add(path, "%v must lie in %v…%v", x, low, high)
	}
}

// once adds what is not there yet.
func (fs *flaws) once(path, text string) {
	if !slices.Contains(*fs, flaw{path, text}) {
		*fs = append(*fs, flaw{path, text})
	}
}

// span is within for times.
func (fs *flaws) span(path string, x, low, high client.Span) {
	if x < low || x > high {
		fs.add(path, "%v must lie in %v…%v", time.Duration(x), time.Duration(low), time.Duration(high))
	}
}

// oneOf refuses a name that is not known.
func (fs *flaws) oneOf(path, name string, known []string) {
	if !slices.Contains(known, name) {
		fs.add(path, "unknown value %q%s; want %s", name, nearest.Hint(name, known), strings.Join(known, ", "))
	}
}

// flaws returns everything that is wrong with a fleet.
func (f *File) flaws(registry *strategies.Registry) flaws {
	var fs flaws
	if f.Schema != Schema {
		fs.add("schema", "%d is not the format of this version: want %d", f.Schema, Schema)
	}
	if y := f.Start.Year(); y < 2000 || y > 2100 {
		fs.add("start", "%s lies outside the years 2000 to 2100", f.Start.Format(time.DateOnly))
	}
	within(&fs, "days", f.Days, 1, maxDays)
	within(&fs, "window", f.Window, 0, maxWindow)
	if _, err := f.pricesAt(); err != nil {
		fs.add("prices_at", "%v", err)
	}
	f.checkStrategies(&fs, registry)
	for i, name := range f.Compare {
		fs.oneOf(fmt.Sprintf("compare[%d]", i), name, comparisons())
	}
	f.checkServer(&fs)
	f.checkClient(&fs)
	f.checkUpgrades(&fs)
	f.checkOrgs(&fs)
	f.checkPrompts(&fs)
	return fs
}

// comparisons are what a fleet can be compared without.
func comparisons() []string {
	return []string{studies.WithoutGlobalScope, studies.WithoutOverage, studies.WithoutUpgrades}
}

func (f *File) checkStrategies(fs *flaws, registry *strategies.Registry) {
	if len(f.Strategies) == 0 {
		fs.add("strategies", "name at least one")
	}
	fits := sync.OnceValue(f.fits)
	for i, name := range f.Strategies {
		path := fmt.Sprintf("strategies[%d]", i)
		switch {
		case slices.Contains(f.Strategies[:i], name):
			fs.add(path, "%s stands twice", name)
		case name == results.StrategyRecorded:
			fs.add(path, "a fleet has no recording: name a strategy of its own")
		case registry != nil:
			s, err := registry.Strategy(name)
			if err == nil {
				err = fits()(s)
			}
			if err != nil {
				fs.add(path, "%v", err)
			}
		}
	}
}

func (f *File) checkServer(fs *flaws) {
	s := &f.Server
	fs.span("server.lifetime_5m", s.Life5m, 1, maxSpan)
	fs.span("server.lifetime_1h", s.Life1h, 1, maxSpan)
	if s.Life5m > s.Life1h {
		fs.add("server.lifetime_5m", "longer than lifetime_1h")
	}
	within(fs, "server.lookback", s.Lookback, 1, maxLookback)
	within(fs, "server.capacity", s.Capacity, 0, maxCapacity)
}

// cache returns how the modelled cache is set up.
func (s *Server) cache() promptcache.Config {
	c := promptcache.Config{TTLInKey: s.TTLInKey, Lookback: s.Lookback, Capacity: s.Capacity}
	c.Lifetime[prompt.TTL5m], c.Lifetime[prompt.TTL1h] = int64(s.Life5m), int64(s.Life1h)
	return c
}

func (f *File) checkClient(fs *flaws) {
	a := client.DefaultAssembly()
	a.System, a.TTL.Allow = f.Client.System, f.Client.Allow
	for _, p := range a.Validate() {
		path, ok := strings.CutPrefix(p.Path, "ttl.")
		if !ok {
			path = p.Path
		}
		fs.add("client."+path, "%s", p.Text)
	}
	if f.Client.GlobalScope && !f.Client.System.Divided() {
		fs.add("client.system.split", "global_scope wants the system prompt in sections")
	}
}

func (f *File) checkUpgrades(fs *flaws) {
	if len(f.Upgrades) > maxUpgrades {
		fs.add("upgrades", "%d, at most %d are possible", len(f.Upgrades), maxUpgrades)
	}
	end := client.Span(int64(min(max(f.Days, 1), maxDays)) * day)
	for i := range f.Upgrades {
		u, path := &f.Upgrades[i], fmt.Sprintf("upgrades[%d]", i)
		fs.span(path+".at", u.At, 0, end)
		fs.span(path+".over", u.Over, 0, end)
		within(fs, path+".static", u.Static, -maxStaticShift, maxStaticShift)
		if i > 0 && u.At < f.Upgrades[i-1].At+f.Upgrades[i-1].Over {
			fs.add(path+".at", "begins before the upgrade ahead of it has reached everyone")
		}
	}
}

func (f *File) checkOrgs(fs *flaws) {
	if len(f.Orgs) == 0 {
		fs.add("orgs", "name at least one organisation")
	}
	first := map[string]int{}
	sessions := 0.0
	for i := range f.Orgs {
		o, path := &f.Orgs[i], fmt.Sprintf("orgs[%d]", i)
		if at, ok := first[o.Name]; ok {
			fs.add(path+".name", "%q is the name of orgs[%d] as well", o.Name, at)
		}
		first[o.Name] = i
		before := len(*fs)
		f.checkOrg(fs, o, path)
		if len(*fs) == before {
			sessions += f.expected(o)
		}
	}
	if sessions > maxSessions {
		fs.add("orgs", "users, rates and days come to %.3g sessions, more than %d", sessions, maxSessions)
	}
}

// whole is the name of all organisations together in reports.
const whole = "fleet"

func (f *File) checkOrg(fs *flaws, o *Org, path string) {
	if o.Name == "" {
		fs.add(path+".name", "an organisation has a name: its sessions are drawn from it")
	}
	if o.Name == whole {
		fs.add(path+".name", "%s is what reports call all organisations together", whole)
	}
	within(fs, path+".users", o.Users, 1, maxUsers)
	within(fs, path+".mcp", o.MCP, 0, 1)
	within(fs, path+".mcp_tools", o.MCPTools, 1, maxStaticShift)
	within(fs, path+".resume", o.Resume, 0, 1)
	within(fs, path+".overage.share", o.Overage.Share, 0, 1)
	fs.span(path+".overage.after", o.Overage.After, 0, client.Span(day))
	fs.span(path+".overage.lasts", o.Overage.Lasts, 0, client.Span(day))
	if o.Overage.Share > 0 && o.Overage.Lasts == 0 {
		fs.add(path+".overage.lasts", "an overage that lasts no time is none")
	}
	o.checkKinds(fs, path+".kinds")
	f.checkSessions(fs, o, path+".sessions")
	o.Arrivals.check(fs, path+".arrivals")
}

// checkKinds wants shares of known kinds that make up all users.
func (o *Org) checkKinds(fs *flaws, path string) {
	sum := 0.0
	for _, kind := range slices.Sorted(maps.Keys(o.Kinds)) {
		fs.oneOf(path+"."+kind, kind, Kinds())
		within(fs, path+"."+kind, o.Kinds[kind], 0, 1)
		sum += o.Kinds[kind]
	}
	if !(math.Abs(sum-1) < 1e-9) {
		fs.add(path, "the shares come to %g, not 1", sum)
	}
}

func (f *File) checkSessions(fs *flaws, o *Org, path string) {
	s := &o.Sessions
	if o.Arrivals.Process != ProcessTrace && !(s.PerDay > 0 && s.PerDay <= maxUserDay) {
		fs.add(path+".per_user_day", "%g must lie above 0, and be %g at most", s.PerDay, maxUserDay)
	}
	sum := 0.0
	for _, name := range slices.Sorted(maps.Keys(s.Profiles)) {
		weight, at := s.Profiles[name], path+".profiles."+name
		if !(weight >= 0 && weight <= math.MaxFloat32) {
			fs.add(at, "a weight is 0 or more, not %g", weight)
			continue
		}
		sum += weight
		d := f.drawnFrom(o, name)
		if d.err != nil {
			fs.add(at, "%v", d.err)
			continue
		}
		for _, err := range d.flaws() {
			key, text, _ := strings.Cut(err.Error(), ": ")
			if place := f.setBy(o, path, key); place != "" {
				fs.once(place, text)
			} else {
				fs.add(at, "%v", err)
			}
		}
	}
	if !(sum > 0) {
		fs.add(path+".profiles", "no profile has a weight: there are no sessions to draw")
	}
}

func (a *Arrivals) check(fs *flaws, path string) {
	fs.oneOf(path+".process", a.Process, []string{ProcessPoisson, ProcessDiurnal, ProcessTrace})
	within(fs, path+".peak_hour", a.Peak, 0, 24)
	within(fs, path+".focus", a.Focus, 0, maxFocus)
	fs.span(path+".offset", a.Offset, -maxOffset, maxOffset)
	within(fs, path+".weekend", a.Weekend, 0, maxUserDay)
	given := len(a.Times) > 0 || a.File != ""
	switch {
	case a.Process == ProcessTrace && !given:
		fs.add(path, "a trace wants times, or a file of them")
	case a.Process == ProcessTrace && len(a.Times) > 0 && a.File != "":
		fs.add(path+".file", "times stand in the file and here: give one")
	case a.Process != ProcessTrace && given:
		fs.add(path+".process", "%s has no times of its own: want trace", a.Process)
	}
}

// A fleet is held in memory whole. What it takes is 780 bytes a call with
// auto-compact/167k, of the fleet ten-thousand (1.4 GB for 1.8 million calls).
const (
	bytesPerCall = 800
	maxCalls     = 100_000_000 // expected of the whole fleet, 80 GB
	// maxSessionCalls is the most that profiles allow for a session.
	maxSessionCalls = 1_000_000
)

// Of each profile so many sessions tell the calls of all, or fewer of long ones.
const (
	sampledSessions = 16
	sampledCalls    = 5000
)

// Calls returns how many calls all sessions of the fleet are expected to make: the mean of
// some of each profile, by how many begin.
func (f *File) Calls() (float64, error) {
	list, err := f.callsByOrg()
	sum := 0.0
	for _, n := range list {
		sum += n
	}
	return sum, err
}

// Memory returns roughly what so many calls take while they are simulated, bytes.
func Memory(calls float64) float64 { return calls * bytesPerCall }

// callsByOrg returns the expected calls of each organisation.
func (f *File) callsByOrg() ([]float64, error) {
	mixes, err := f.generators()
	if err != nil {
		return nil, err
	}
	list := make([]float64, len(f.Orgs))
	for i := range f.Orgs {
		m := &mixes[i]
		before, mean := 0.0, 0.0
		for k, from := range m.from {
			mean += (m.sum[k] - before) * from.calls()
			before = m.sum[k]
		}
		sessions := f.expected(&f.Orgs[i])
		if times := len(f.times[i]); times > 0 {
			sessions = float64(times)
		}
		list[i] = sessions * mean / before
	}
	return list, nil
}

// meanCalls returns the mean number of calls of sessions of a generator.
func meanCalls(g *synthetic.Generator, seed uint64) float64 {
	calls, n := 0, 0
	for ; n < sampledSessions && calls < sampledCalls; n++ {
		calls += g.Session(seed, n).NumCalls()
	}
	return float64(calls) / float64(n)
}

// checkSize refuses a fleet that no memory holds. Only one with nothing else wrong has a
// size.
func (f *File) checkSize() (bad flaws) {
	sessions := 0.0
	for i := range f.Orgs {
		sessions += f.expected(&f.Orgs[i]) + float64(len(f.times[i]))
	}
	if sessions*maxSessionCalls <= maxCalls {
		return nil // whatever they are, and without drawing any
	}
	list, err := f.callsByOrg()
	if err != nil {
		return nil // told by whoever draws the fleet
	}
	sum, most := 0.0, 0
	for i, n := range list {
		sum += n
		if n > list[most] {
			most = i
		}
	}
	if sum > maxCalls {
		o := &f.Orgs[most]
		bad.add(fmt.Sprintf("orgs[%d]", most), "users, rates, days and profiles come to about %.2g calls (%.2g of %s), some %.0f GB of memory: at most %.2g are possible: want fewer users, days or sessions.per_user_day",
			sum, list[most], o.Name, Memory(sum)/1e9, float64(maxCalls))
	}
	return bad
}

// fits returns a function that tells what is wrong with a strategy at the window of the
// file, or at the largest of the sessions that are drawn if the file gives none:
// thresholds that are always reached, or never.
func (f *File) fits() func(*strategies.Strategy) error {
	window, of := f.Window, ", as the key window says; 0 is the client's"
	if window <= 0 {
		window, of = f.drawnWindow()
	}
	return func(s *strategies.Strategy) error {
		if window <= 0 {
			return nil // no profile can be read: that is told by itself
		}
		if err := s.ValidateFor(&strategies.Reading{Window: window, MaxOutput: client.MaxOutput}); err != nil {
			return fmt.Errorf("%w (window %d%s)", err, window, of)
		}
		return nil
	}
}

// drawnWindow returns the largest context window of sessions that are drawn, tokens,
// and words which have it; 0 when no profile can be read.
func (f *File) drawnWindow() (largest int64, of string) {
	for i := range f.Orgs {
		o := &f.Orgs[i]
		for _, name := range profilesOf(o) {
			w, err := f.workload(o, name)
			if err != nil {
				continue
			}
			if window := windowOf(w); window > largest {
				largest, of = window, fmt.Sprintf(" of sessions that organisation %s draws from %s", o.Name, name)
			}
		}
	}
	return largest, of
}

// windowOf returns the largest context window of sessions of a workload, tokens.
func windowOf(w *synthetic.Workload) int64 {
	c := client.ForVersion(w.Version)
	var largest int64
	for _, m := range w.Models {
		if m.Weight > 0 {
			largest = max(largest, c.Window(m.Name))
		}
	}
	if slices.ContainsFunc(w.Tools, func(t synthetic.WorkTool) bool { return t.Name == startsAgents && t.Weight > 0 }) {
		largest = max(largest, c.Window(w.Agents.Model))
	}
	if int64(w.Window) > largest {
		return passedWindow
	}
	return largest
}

// startsAgents is the tool of a workload without which it has no agents.
const startsAgents = "Task"

// passedWindow is the window of sessions that pass the one of their model's name,
// tokens: the simulation takes them for those of a model with the large one.
const passedWindow = 1_000_000
