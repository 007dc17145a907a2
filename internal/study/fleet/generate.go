package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/draws"
	"github.com/compactsim/compactsim/internal/kit/parallel"
	"github.com/compactsim/compactsim/internal/reading/synthetic"
	"github.com/compactsim/compactsim/traces"
)

// Population are the people of a fleet and their sessions.
type Population struct {
	// Sessions are those of all users, organisation by organisation and user by
	// user, in the order in which a user began them.
	Sessions []*traces.Session

	file   *File
	people []person
	of     []stretch // by session
}

// stretch is a session as its user had it, with its resumptions.
type stretch struct {
	user int32   // index into people
	runs []int64 // when the session began and was resumed, ns from the fleet's start
	cuts []cut   // ahead of each resumption
}

// cut is the content of a session when it is resumed.
type cut struct {
	rounds  int // of the main conversation
	threads int
}

// ErrNoSessions says that nobody in a fleet begins a session.
var ErrNoSessions = errors.New("no session begins")

// member is the generated data of one user.
type member struct {
	person   person
	sessions []*traces.Session
	of       []stretch // by session, without the user
	next     []numbers // unused numbers of the sessions; zero until one is resumed
}

// Generate draws the people and their sessions. The result does not depend on
// the number of workers; 0 is one per core.
func (f *File) Generate(ctx context.Context, workers int) (*Population, error) {
	mixes, err := f.generators()
	if err != nil {
		return nil, fmt.Errorf("generate a fleet: %w", err)
	}
	members := make([]member, 0)
	for i := range f.Orgs {
		members = append(members, make([]member, f.Orgs[i].Users)...)
	}
	jobs := f.batches()
	err = parallel.Do(ctx, workers, len(jobs), func(k int) error {
		jobs[k].run(&mixes[jobs[k].org], members)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("generate a fleet: %w", err)
	}
	return f.population(members)
}

// batchUsers is the number of users generated between two checks of the context.
const batchUsers = 32

// batch are some users of an organisation.
type batch struct {
	file     *File
	calendar *calendar
	times    [][]int64 // of a trace, by user
	org      int
	first    int // index of the organisation's first user in the fleet
	from, to int // users of the organisation
}

// batches divides the people of the fleet.
func (f *File) batches() []batch {
	var list []batch
	first := 0
	for i := range f.Orgs {
		o := &f.Orgs[i]
		b := batch{file: f, org: i, first: first}
		if o.Arrivals.Process == ProcessTrace {
			b.times = f.byUser(i)
		} else {
			c := newCalendar(&o.Arrivals, o.Sessions.PerDay, f.Start.Time, f.Days)
			b.calendar = &c
		}
		for from := 0; from < o.Users; from += batchUsers {
			b.from, b.to = from, min(from+batchUsers, o.Users)
			list = append(list, b)
		}
		first += o.Users
	}
	return list
}

// byUser assigns the times of a trace to the users; times without a user go to each in turn.
func (f *File) byUser(org int) [][]int64 {
	times := make([][]int64, f.Orgs[org].Users)
	turn := 0
	for _, v := range f.times[org] {
		user := int(v.user)
		if user < 0 {
			user = turn % len(times)
			turn++
		}
		times[user] = append(times[user], v.at)
	}
	for _, list := range times {
		slices.Sort(list)
	}
	return times
}

func (b *batch) run(m *mix, members []member) {
	src := b.file.source(&b.file.Orgs[b.org])
	var begins []int64
	for user := b.from; user < b.to; user++ {
		if b.times != nil {
			begins = b.times[user]
		} else {
			begins = b.calendar.times(begins[:0], src, user)
		}
		members[b.first+user] = b.file.member(b.org, user, src, m, begins)
	}
}

// member generates one user with the sessions that begin at the given times.
func (f *File) member(org, user int, src draws.Source, m *mix, begins []int64) member {
	p := member{person: f.person(org, user, src)}
	f.exceed(&p.person, user, src, begins)
	seed := src.Uint64(drawSession, place(user, 0))
	for n, at := range begins {
		s := m.generator(src, user, n).Session(seed, n)
		move(s, f.Start.UnixNano()+at)
		if draws.Unit(src.Uint64(drawResume, place(user, n))) < f.Orgs[org].Resume {
			if i := latest(p.sessions, s.Start); i >= 0 {
				if p.next[i] == (numbers{}) {
					p.next[i] = numbersAfter(p.sessions[i].Blocks)
				}
				of, earlier := &p.of[i], p.sessions[i]
				of.cuts = append(of.cuts, cut{len(earlier.Threads[0].Rounds), len(earlier.Threads)})
				p.next[i] = resume(earlier, s, p.next[i])
				of.runs = append(of.runs, at)
				continue
			}
		}
		p.sessions = append(p.sessions, s)
		p.of = append(p.of, stretch{runs: []int64{at}})
		p.next = append(p.next, numbers{})
	}
	return p
}

// latest returns the session that ended last, and before a time; -1 for none.
func latest(sessions []*traces.Session, before int64) int {
	best := -1
	for i, s := range sessions {
		if s.End < before && (best < 0 || s.End > sessions[best].End) {
			best = i
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

// population collects the generated users, in order.
func (f *File) population(members []member) (*Population, error) {
	n := 0
	for i := range members {
		n += len(members[i].sessions)
	}
	p := &Population{
		file: f, people: make([]person, 0, len(members)),
		Sessions: make([]*traces.Session, 0, n), of: make([]stretch, 0, n),
	}
	for i := range members {
		m := &members[i]
		p.people = append(p.people, m.person)
		for k, s := range m.sessions {
			p.Sessions = append(p.Sessions, s)
			of := m.of[k]
			of.user = int32(i)
			p.of = append(p.of, of)
		}
	}
	if n == 0 {
		return nil, fmt.Errorf("fleet %s: %w within %s at seed %d: give it more users, days or sessions.per_user_day, or another seed",
			f.Name, ErrNoSessions, document.Count(f.Days, "day"), f.Seed)
	}
	return p, nil
}

// workload returns what the sessions of an organisation are drawn from under a
// profile. What other conversations keep warm is simulated, so every session
// begins with the whole static prefix; and the fleet resumes sessions.
func (f *File) workload(o *Org, profile string) (*synthetic.Workload, error) {
	d := f.drawnFrom(o, profile)
	if d.err != nil {
		return nil, d.err
	}
	if errs := d.flaws(); len(errs) > 0 {
		return nil, fmt.Errorf("%w", errs[0])
	}
	return d.workload, nil
}

// changed is workload without the check whether it can be drawn.
func (f *File) changed(o *Org, profile string) (*synthetic.Workload, error) {
	w, err := synthetic.LoadWorkload(profile)
	if err != nil {
		return nil, err
	}
	w.Start, w.Spread, w.WarmStart, w.Resumes = f.Start.Time, 0, 1, 0
	s := &o.Sessions
	w.Version = cmp.Or(s.Version, f.Client.Version, w.Version)
	w.Static = cmp.Or(s.Static, f.Client.Static, w.Static)
	if s.Turns != nil {
		w.Turns = *s.Turns
	}
	if s.Rounds != nil {
		w.Rounds = *s.Rounds
	}
	if s.Model != "" {
		w.Models = []synthetic.WorkModel{{Name: s.Model, Weight: 1}}
	}
	return w, nil
}

// setBy returns the key of the fleet that sets a key of the profiles of an organisation,
// whose sessions are at a path; "" for none.
func (f *File) setBy(o *Org, path, key string) string {
	s := &o.Sessions
	head, _, _ := strings.Cut(key, ".")
	switch {
	case head == "turns" && s.Turns != nil, head == "rounds" && s.Rounds != nil,
		head == "version" && s.Version != "", head == "static" && s.Static != 0:
		return path + "." + key
	case head == "models" && s.Model != "":
		return path + ".model"
	case head == "version" && f.Client.Version != "", head == "static" && f.Client.Static != 0:
		return "client." + key
	}
	return ""
}

// checkPrompts returns errors for upgrades that make the prompt negative, and
// for tools of servers that are larger than the prompt.
func (f *File) checkPrompts(fs *flaws) {
	for i := range f.Orgs {
		o := &f.Orgs[i]
		for _, name := range profilesOf(o) {
			w, err := f.workload(o, name)
			if err != nil {
				continue // an error of its own
			}
			if o.MCP > 0 && int(o.MCPTools) > w.Static {
				fs.once(fmt.Sprintf("orgs[%d].mcp_tools", i),
					fmt.Sprintf("%d tokens of tools are more than the %d of all tools and system prompt", o.MCPTools, w.Static))
			}
			left := w.Static
			for k := range f.Upgrades {
				if left += int(f.Upgrades[k].Static); left < 0 {
					fs.once(fmt.Sprintf("upgrades[%d].static", k),
						fmt.Sprintf("leaves %d tokens of tools and system prompt of organisation %s", left, o.Name))
					break
				}
			}
		}
	}
}

// mix has the generators of an organisation by weight.
type mix struct {
	sum  []float64 // running sums of the weights
	made []*synthetic.Generator
	from []*drawnFrom // of made
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

// generator returns the generator of the nth session of a user.
func (m *mix) generator(src draws.Source, user, n int) *synthetic.Generator {
	return m.at(draws.Unit(src.Uint64(drawProfile, place(user, n))))
}

// profilesOf returns the profiles of an organisation that have a weight, in order.
func profilesOf(o *Org) []string {
	names := slices.SortedFunc(maps.Keys(o.Sessions.Profiles), byFile)
	return slices.DeleteFunc(names, func(name string) bool { return o.Sessions.Profiles[name] == 0 })
}

// generators returns the generators of all organisations.
func (f *File) generators() ([]mix, error) {
	mixes := make([]mix, len(f.Orgs))
	for i := range f.Orgs {
		o := &f.Orgs[i]
		sum := 0.0
		for _, name := range profilesOf(o) {
			if _, err := f.workload(o, name); err != nil {
				return nil, fmt.Errorf("organisation %s, profile %s: %w", o.Name, name, err)
			}
			from := f.drawnFrom(o, name)
			made, err := from.generator()
			if err != nil {
				return nil, fmt.Errorf("organisation %s: %w", o.Name, err)
			}
			sum += o.Sessions.Profiles[name]
			mixes[i].sum = append(mixes[i].sum, sum)
			mixes[i].made = append(mixes[i].made, made)
			mixes[i].from = append(mixes[i].from, from)
		}
	}
	return mixes, nil
}

// known keeps what the sessions of a fleet are drawn from: organisations share
// profiles, which are needed while the fleet is read, sized and drawn.
type known struct {
	mu   sync.Mutex
	kept map[string]*drawnFrom // by all that they depend on
}

// drawnFrom is what sessions are drawn from. Slow parts are computed when they
// are first needed.
type drawnFrom struct {
	workload  *synthetic.Workload // nil when it cannot be read
	err       error               // of reading it
	flaws     func() []error      // of the workload
	generator func() (*synthetic.Generator, error)
	calls     func() float64 // mean of a session's; 0 without a generator
}

// drawnFrom returns what the sessions of an organisation are drawn from under a profile.
// A File that was not read keeps none of it.
func (f *File) drawnFrom(o *Org, profile string) *drawnFrom {
	if f.known == nil {
		return f.newDrawnFrom(o, profile)
	}
	s := &o.Sessions
	key := fmt.Sprintf("%q %q %q %d %v %v %v %d", profile, cmp.Or(s.Version, f.Client.Version), s.Model,
		cmp.Or(s.Static, f.Client.Static), s.Turns, s.Rounds, f.Start, f.Seed)
	f.known.mu.Lock()
	defer f.known.mu.Unlock()
	if f.known.kept == nil {
		f.known.kept = map[string]*drawnFrom{}
	}
	if f.known.kept[key] == nil {
		f.known.kept[key] = f.newDrawnFrom(o, profile)
	}
	return f.known.kept[key]
}

func (f *File) newDrawnFrom(o *Org, profile string) *drawnFrom {
	d, seed := new(drawnFrom), f.Seed
	if d.workload, d.err = f.changed(o, profile); d.err != nil {
		return d
	}
	d.flaws = sync.OnceValue(d.workload.Validate)
	d.generator = sync.OnceValues(func() (*synthetic.Generator, error) { return synthetic.NewGenerator(d.workload) })
	d.calls = sync.OnceValue(func() float64 {
		g, err := d.generator()
		if err != nil {
			return 0
		}
		return meanCalls(g, seed)
	})
	return d
}
