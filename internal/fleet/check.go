package fleet

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/compactsim/compactsim/internal/nearest"
	"github.com/compactsim/compactsim/internal/studies"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/strategies"
)

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
