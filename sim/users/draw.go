package users

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/draws"
	"github.com/compactsim/compactsim/internal/kit/parallel"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/synthetic"
)

// The purposes of draws in this package; they differ from the purposes in internal/kit/draws.
const (
	drawArrival draws.Purpose = 64 + iota
	drawKind
	drawMCP
	drawProfile
	drawResume
	drawOverage
	_ // spare: draws keep their numbers
	drawSession
)

// place is the stable id of the nth thing of a user.
func place(user, n int) uint64 { return uint64(user)<<32 ^ uint64(uint32(n))<<8 }

// source draws for the users of an organisation, by its name, so that other organisations can be
// added and removed.
func (s *Settings) source(organisation string) draws.Source {
	return draws.Source{Seed: s.Seed, Session: prompt.DigestString(organisation).Lo}
}

// ErrSize says that sessions do not fit into memory, ErrNone that there are none.
var (
	ErrSize = errors.New("too many calls")
	ErrNone = errors.New("no session begins")
)

// The bodies of sessions under way are in memory, and the heads and rows of all, at 250 bytes per call with auto-compact/167k: 0.5 GB
// for the 2.0 million calls of ten-thousand.
const (
	bytesPerCall = 250
	maxCalls     = 100_000_000 // expected of all users, 25 GB
)

// The mean number of calls of a profile is taken over so many sessions, or fewer long ones.
const (
	sampledSessions = 16
	sampledCalls    = 5000
)

// batchUsers is the number of users drawn between two checks of the context.
const batchUsers = 32

// Draw draws the sessions of all users, organisation by organisation and user by user, in the
// order in which a user began them. A session has the organisation as its project, and an id of
// organisation, user and number. Draw calls see, unless it is nil, with each session, concurrently, and keeps the heads: bodies
// are drawn again when they are loaded. The result does not depend on the number of workers; 0 is one
// per core. The error wraps ErrSize or ErrNone where settings make too many sessions, or none.
func (s *Settings) Draw(ctx context.Context, workers int, see func(*traces.Session)) (*traces.Corpus, error) {
	var jobs []func() error
	var parts [][]*traces.Session // by job
	calls := 0.0
	for _, name := range s.names() {
		o := s.Organisations[name]
		m, err := s.mix(&o)
		if err != nil {
			return nil, fmt.Errorf("organisation %s: %w", name, err)
		}
		times, _ := o.Arrivals.times(s, o.Users) // an error is told by schedule
		calls += o.expected(s, len(times)) * m.calls(s.Seed)
		for from := 0; from < o.Users; from += batchUsers {
			at := len(parts)
			parts = append(parts, nil)
			jobs = append(jobs, func() error {
				d := &drawing{s.Start.UnixNano(), name, o.Resume, s.source(name), m}
				begins, err := o.schedule(s, d.src)
				for user := from; err == nil && user < min(from+batchUsers, o.Users); user++ {
					parts[at] = append(parts[at], d.user(user, begins(user), see)...)
				}
				return err
			})
		}
	}
	if calls > maxCalls {
		return nil, fmt.Errorf("%w: about %.2g, which take some %.0f GB of memory; at most %.2g are possible: want fewer users, days or sessions.per_user_day",
			ErrSize, calls, calls*bytesPerCall/1e9, float64(maxCalls))
	}
	if err := parallel.Do(ctx, workers, len(jobs), func(i int) error { return jobs[i]() }); err != nil {
		return nil, fmt.Errorf("draw users: %w", err)
	}
	c := &traces.Corpus{Sessions: slices.Concat(parts...), Unknown: map[string]int{}}
	if len(c.Sessions) == 0 {
		return nil, fmt.Errorf("%w in %s at seed %d: want more users, days or sessions.per_user_day, or another users.seed",
			ErrNone, document.Count(s.Days, "day"), s.Seed)
	}
	return c, nil
}

// drawing is what the sessions of an organisation are drawn from.
type drawing struct {
	start        int64 // unix ns
	organisation string
	resumes      float64 // share of sessions that go on with an earlier one
	src          draws.Source
	mix          *mix
}

// beginning is when a user begins a session, or goes on with one.
type beginning struct {
	user, n int
	at      int64 // ns from the start
}

// growing is a session with which its user may go on.
type growing struct {
	*traces.Session
	begins []beginning
	next   numbers // that no block has, once somebody has gone on with it
}

// at draws what a user does at one beginning.
func (d *drawing) at(b beginning) *traces.Session {
	seed := d.src.Uint64(drawSession, place(b.user, 0))
	s := d.mix.at(draws.Unit(d.src.Uint64(drawProfile, place(b.user, b.n)))).Session(seed, b.n)
	move(s, d.start+b.at)
	return s
}

// begin makes s, which a user does at a beginning, a session of its own.
func (d *drawing) begin(b beginning, s *traces.Session) *growing {
	s.ID, s.Project = fmt.Sprintf("%s-%d-%d", d.organisation, b.user, b.n), d.organisation
	return &growing{Session: s, begins: []beginning{b}}
}

// goOn continues the session with what its user does at another beginning.
func (g *growing) goOn(b beginning, s *traces.Session) {
	if len(g.begins) == 1 {
		g.next = numbersAfter(g.Blocks)
	}
	g.begins, g.next = append(g.begins, b), resume(g.Session, s, g.next)
}

// again draws the session that has some beginnings.
func (d *drawing) again(begins []beginning) *traces.Session {
	g := d.begin(begins[0], d.at(begins[0]))
	for _, b := range begins[1:] {
		g.goOn(b, d.at(b))
	}
	return g.Session
}

// user returns the heads of the sessions of a user who begins one, or goes on with one, at the given times.
func (d *drawing) user(user int, times []int64, see func(*traces.Session)) []*traces.Session {
	var list []*growing
	for n, at := range times {
		b := beginning{user, n, at}
		s := d.at(b)
		if draws.Unit(d.src.Uint64(drawResume, place(user, n))) < d.resumes {
			if earlier := latest(list, s.Start); earlier != nil {
				earlier.goOn(b, s)
				continue
			}
		}
		list = append(list, d.begin(b, s))
	}
	heads := make([]*traces.Session, len(list))
	for i, g := range list {
		if see != nil {
			see(g.Session)
		}
		head, begins := g.Head(), g.begins
		heads[i] = head.Without(func() (*traces.Session, error) { return d.again(begins), nil })
	}
	return heads
}

// latest returns the session that ended last, and before a time; nil for none.
func latest(sessions []*growing, before int64) (best *growing) {
	for _, s := range sessions {
		if s.End < before && (best == nil || s.End > best.End) {
			best = s
		}
	}
	return best
}

// move makes a session begin at a time, unix ns.
func move(s *traces.Session, start int64) {
	by := start - s.Start
	s.Start, s.End = start, s.End+by
	for i := range s.Threads {
		t := &s.Threads[i]
		for j := range t.Rounds {
			t.Rounds[j].At += by
		}
		for j := range t.Events {
			t.Events[j].At += by
		}
	}
}

// mix has the generators of an organisation by weight.
type mix struct {
	sum  []float64 // running sums of the weights
	made []*synthetic.Generator
}

func (s *Settings) mix(o *Organisation) (*mix, error) {
	m, sum := new(mix), 0.0
	for _, name := range o.profiles() {
		w, err := s.workload(o, name)
		if err != nil {
			return nil, err
		}
		made, err := synthetic.NewGenerator(w)
		if err != nil {
			return nil, fmt.Errorf("profile %s: %w", name, err)
		}
		sum += o.Sessions.Profiles[name]
		m.sum, m.made = append(m.sum, sum), append(m.made, made)
	}
	return m, nil
}

// at returns the generator at a share of the total weight.
func (m *mix) at(share float64) *synthetic.Generator {
	share *= m.sum[len(m.sum)-1]
	for i, sum := range m.sum {
		if share < sum {
			return m.made[i]
		}
	}
	return m.made[len(m.made)-1]
}

// calls returns the mean number of calls of some sessions.
func (m *mix) calls(seed uint64) float64 {
	before, mean := 0.0, 0.0
	for k, g := range m.made {
		calls, n := 0, 0
		for ; n < sampledSessions && calls < sampledCalls; n++ {
			calls += g.Session(seed, n).NumCalls()
		}
		mean += (m.sum[k] - before) * float64(calls) / float64(n)
		before = m.sum[k]
	}
	return mean / before
}

// profiles returns the profiles that have a weight, by name of file and then by folder, so that
// what is drawn does not depend on the folder in which a scenario is run.
func (o *Organisation) profiles() []string {
	names := slices.SortedFunc(maps.Keys(o.Sessions.Profiles), func(a, b string) int {
		return cmp.Or(strings.Compare(filepath.Base(a), filepath.Base(b)), strings.Compare(a, b))
	})
	return slices.DeleteFunc(names, func(name string) bool { return !(o.Sessions.Profiles[name] > 0) })
}

// workload returns what the sessions of an organisation are drawn from under a profile. What other
// conversations keep warm is simulated, so every session begins with the whole static prefix; and
// users resume sessions by themselves.
func (s *Settings) workload(o *Organisation, profile string) (*synthetic.Workload, error) {
	w, err := synthetic.LoadWorkload(profile)
	if err != nil {
		return nil, err
	}
	w.Start, w.Spread, w.WarmStart, w.Resumes = s.Start.Time, 0, 1, 0
	from := &o.Sessions
	w.Version = cmp.Or(from.Version, s.Version, w.Version)
	w.Static = cmp.Or(from.Static, s.Static, w.Static)
	if from.Turns != nil {
		w.Turns = *from.Turns
	}
	if from.Rounds != nil {
		w.Rounds = *from.Rounds
	}
	if from.Model != "" {
		w.Models = []synthetic.WorkModel{{Name: from.Model, Weight: 1}}
	}
	if errs := w.Validate(); len(errs) > 0 {
		return nil, fmt.Errorf("profile %s: %w", profile, errs[0])
	}
	if o.MCP > 0 && int(o.MCPTools) > w.Static {
		return nil, fmt.Errorf("profile %s: mcp_tools: %d tokens are more than the %d of all tools and system prompt", profile, o.MCPTools, w.Static)
	}
	return w, nil
}

// profileErrors returns what is wrong with the profiles of an organisation.
func (s *Settings) profileErrors(o *Organisation) (errs []error) {
	for _, name := range o.profiles() {
		if _, err := s.workload(o, name); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}
