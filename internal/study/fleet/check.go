package fleet

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/compactsim/compactsim/internal/kit/nearest"
	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/internal/reading/synthetic"
	"github.com/compactsim/compactsim/internal/serving/client"
	"github.com/compactsim/compactsim/internal/serving/promptcache"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/strategies"
)

// Bounds that keep a fleet finite and its sums far from overflow.
const (
	maxDays     = 366
	maxSessions = 2_000_000 // expected of the whole fleet
	maxUpgrades = 8
	day         = int64(24 * time.Hour) // ns
	hour        = int64(time.Hour)      // ns
)

// flaws are the errors of a fleet.
type flaws []spec.Problem

func (fs *flaws) add(path, format string, args ...any) {
	*fs = append(*fs, spec.Problem{Paths: []string{path}, Text: path + ": " + fmt.Sprintf(format, args...)})
}

// once adds an error that is not there yet.
func (fs *flaws) once(path, text string) {
	text = path + ": " + text
	if !slices.ContainsFunc(*fs, func(p spec.Problem) bool { return p.Text == text }) {
		*fs = append(*fs, spec.Problem{Paths: []string{path}, Text: text})
	}
}

// Rules returns what is wrong with a fleet beyond its bounds.
func (f *File) Rules() []error {
	var fs flaws
	if f.Schema != Schema {
		fs.add("schema", "%d is not the format of this version: want %d", f.Schema, Schema)
	}
	if y := f.Start.Year(); y < 2000 || y > 2100 {
		fs.add("start", "%s lies outside the years 2000 to 2100", f.Start.Format(time.DateOnly))
	}
	if _, err := f.pricesAt(); err != nil {
		fs.add("prices_at", "%v", err)
	}
	f.checkStrategies(&fs, f.inputs.Registry)
	if f.Server.Life5m > f.Server.Life1h {
		fs.add("server.lifetime_5m", "longer than lifetime_1h")
	}
	f.checkClient(&fs)
	f.checkUpgrades(&fs)
	f.checkOrgs(&fs)
	f.checkPrompts(&fs)
	f.readTimes(&fs, f.inputs.Files)
	errs := make([]error, len(fs))
	for i, p := range fs {
		errs[i] = p
	}
	return errs
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
			fs.add(path, "%s is listed twice", name)
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

// cache returns the configuration of the modelled cache.
func (s *Server) cache() promptcache.Config {
	return promptcache.Config{
		TTLInKey: s.TTLInKey, Lookback: s.Lookback, Lifetime5m: s.Life5m, Lifetime1h: s.Life1h,
	}
}

func (f *File) checkClient(fs *flaws) {
	ttl := client.DefaultTTL()
	ttl.Allow = f.Client.Allow
	for _, err := range ttl.Rules() {
		fs.add("client.allow", "%s", strings.TrimPrefix(err.Error(), "allow "))
	}
	if f.Client.GlobalScope && !f.Client.System.Divided() {
		fs.add("client.system.split", "global_scope wants the system prompt in sections")
	}
}

func (f *File) checkUpgrades(fs *flaws) {
	if len(f.Upgrades) > maxUpgrades {
		fs.add("upgrades", "%d, at most %d are possible", len(f.Upgrades), maxUpgrades)
	}
	end := time.Duration(min(max(f.Days, 1), maxDays)) * 24 * time.Hour
	for i := range f.Upgrades {
		u, path := &f.Upgrades[i], fmt.Sprintf("upgrades[%d]", i)
		if u.At < 0 || u.At > end {
			fs.add(path+".at", "%v must lie in 0s…%v", u.At, end)
		}
		if u.Over < 0 || u.Over > end {
			fs.add(path+".over", "%v must lie in 0s…%v", u.Over, end)
		}
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
		if len(*fs) == before && len(spec.Validate(o)) == 0 {
			sessions += f.expected(o)
		}
	}
	if sessions > maxSessions {
		fs.add("orgs", "users, rates and days make %.3g sessions, more than %d", sessions, maxSessions)
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
	if o.Overage.Share > 0 && o.Overage.Lasts == 0 {
		fs.add(path+".overage.lasts", "an overage that lasts no time is none")
	}
	sum := 0.0
	for _, kind := range slices.Sorted(maps.Keys(o.Kinds)) {
		if !slices.Contains(Kinds(), kind) {
			fs.add(path+".kinds."+kind, "unknown value %q%s; want %s",
				kind, nearest.Hint(kind, Kinds()), strings.Join(Kinds(), ", "))
		}
		sum += o.Kinds[kind]
	}
	if !(math.Abs(sum-1) < 1e-9) {
		fs.add(path+".kinds", "the shares add up to %g, not 1", sum)
	}
	f.checkProfiles(fs, o, path+".sessions")
	a := &o.Arrivals
	given := len(a.Times) > 0 || a.File != ""
	switch {
	case a.Process == ProcessTrace && !given:
		fs.add(path+".arrivals", "a trace wants times, or a file of them")
	case a.Process == ProcessTrace && len(a.Times) > 0 && a.File != "":
		fs.add(path+".arrivals.file", "gives times beside those listed in times: give one")
	case a.Process != ProcessTrace && given:
		fs.add(path+".arrivals.process", "%s has no times of its own: want trace", a.Process)
	case a.Process != ProcessTrace && o.Sessions.PerDay == 0:
		fs.add(path+".sessions.per_user_day", "0 is no session at all")
	}
}

func (f *File) checkProfiles(fs *flaws, o *Org, path string) {
	s := &o.Sessions
	sum := 0.0
	for _, name := range slices.Sorted(maps.Keys(s.Profiles)) {
		at := path + ".profiles." + name
		sum += s.Profiles[name]
		d := f.drawnFrom(o, name)
		if d.err != nil {
			fs.add(at, "%v", d.err)
			continue
		}
		for _, err := range d.flaws() {
			key, text, _ := strings.Cut(err.Error(), ": ")
			if dist := map[string]*synthetic.Dist{"turns": s.Turns, "rounds": s.Rounds}[key]; dist != nil && len(spec.Validate(dist)) > 0 {
				continue // reported separately
			}
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

// A fleet is held in memory completely. It takes 1,100 bytes per call with
// auto-compact/167k, measured with the fleet ten-thousand (2.1 GB for 2.0 million calls).
const (
	bytesPerCall = 1100
	maxCalls     = 100_000_000 // expected of the whole fleet, 110 GB
	// maxSessionCalls is the most that profiles allow for a session.
	maxSessionCalls = 1_000_000
)

// The mean number of calls of a profile is taken over so many sessions, or fewer long ones.
const (
	sampledSessions = 16
	sampledCalls    = 5000
)

// Calls returns the expected number of calls of all sessions of the fleet: the
// mean of some sessions of each profile, weighted by their numbers.
func (f *File) Calls() (float64, error) {
	list, err := f.callsByOrg()
	sum := 0.0
	for _, n := range list {
		sum += n
	}
	return sum, err
}

// Memory returns roughly the memory for simulating so many calls, bytes.
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

// checkSize returns an error for a fleet that fits no memory. It runs only if
// nothing else is wrong.
func (f *File) checkSize() []spec.Problem {
	sessions := 0.0
	for i := range f.Orgs {
		sessions += f.expected(&f.Orgs[i]) + float64(len(f.times[i]))
	}
	if sessions*maxSessionCalls <= maxCalls {
		return nil // without drawing any
	}
	list, err := f.callsByOrg()
	if err != nil {
		return nil // drawing the fleet reports it
	}
	sum, most := 0.0, 0
	for i, n := range list {
		sum += n
		if n > list[most] {
			most = i
		}
	}
	var bad flaws
	if sum > maxCalls {
		o := &f.Orgs[most]
		bad.add(fmt.Sprintf("orgs[%d]", most), "users, rates, days and profiles come to about %.2g calls (%.2g of %s), "+
			"some %.0f GB of memory: at most %.2g are possible: want fewer users, days or sessions.per_user_day",
			sum, list[most], o.Name, Memory(sum)/1e9, float64(maxCalls))
	}
	return bad
}

// fits returns a function that reports thresholds of a strategy that are always or never
// reached at the window of the file, or else at the largest window of the sessions.
func (f *File) fits() func(*strategies.Strategy) error {
	window, of := f.Window, ", as the key window says; 0 is the client's"
	if window <= 0 {
		window, of = f.drawnWindow()
	}
	return func(s *strategies.Strategy) error {
		if window <= 0 {
			return nil // no profile can be read, which is a separate error
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

// passedWindow is the window of sessions that exceed the one of their model's name,
// tokens: the simulation treats them as those of a model with the large window.
const passedWindow = 1_000_000
