package fleet

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/compactsim/compactsim/internal/draws"
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

// stretch is a session as its user had it.
type stretch struct {
	user int32   // index into people
	runs []int64 // when the session began and was resumed, ns from the fleet's start
	cuts []cut   // ahead of each resumption
}

// cut is what a session holds when it is resumed.
type cut struct {
	rounds  int // of the main conversation
	threads int
}

// ErrNoSessions says that a fleet has nobody who begins a session.
var ErrNoSessions = errors.New("no session begins")

// member is what generation makes of one user.
type member struct {
	person   person
	sessions []*traces.Session
	of       []stretch // by session, without the user
	next     []numbers // that the sessions leave free; zero until one is resumed
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
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(workers, len(jobs)) {
		wg.Go(func() {
			for ctx.Err() == nil {
				k := next.Add(1) - 1
				if k >= int64(len(jobs)) {
					return
				}
				jobs[k].run(&mixes[jobs[k].org], members)
			}
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("generate a fleet: %w", err)
	}
	return f.population(members)
}

// batchUsers is the number of users generated between two looks at the context.
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

// byUser deals the times of a trace to the users: those of nobody in turn.
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

// member makes one user with the sessions that begin at the times given.
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

// population gathers what was made of the users, in order.
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
			f.Name, ErrNoSessions, daysOf(f.Days), f.Seed)
	}
	return p, nil
}
