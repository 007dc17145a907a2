package fleet

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/compactsim/compactsim/internal/kit/draws"
	"github.com/compactsim/compactsim/internal/loop"
	"github.com/compactsim/compactsim/internal/serving/changes"
	"github.com/compactsim/compactsim/internal/serving/client"
	"github.com/compactsim/compactsim/internal/study/studies"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// The purposes of draws in this package; they differ from those of internal/kit/draws.
const (
	drawArrival draws.Purpose = 64 + iota
	drawKind
	drawMCP
	drawProfile
	drawResume
	drawOverage
	drawUpgrade
	drawSession
)

// place is the stable id of the nth thing of a user.
func place(user, n int) uint64 { return uint64(user)<<32 ^ uint64(uint32(n))<<8 }

// source draws for the people of an organisation, by its name, so that other
// organisations can be added and removed.
func (f *File) source(o *Org) draws.Source {
	return draws.Source{Seed: f.Seed, Session: prompt.DigestString(o.Name).Lo}
}

// person is one user.
type person struct {
	org      int32
	kind     uint8 // index into Kinds
	mcp      bool
	upgrades [maxUpgrades]int64 // when the user has each, ns from the start
	overages []overage          // in order
}

// overage is a time for which a user is beyond the quota, ns from the start.
type overage struct{ from, to int64 }

// person draws a user of an organisation.
func (f *File) person(org, user int, src draws.Source) person {
	o := &f.Orgs[org]
	unit := func(p draws.Purpose, n int) float64 { return draws.Unit(src.Uint64(p, place(user, n))) }
	p := person{org: int32(org), kind: o.kindAt(unit(drawKind, 0)), mcp: unit(drawMCP, 0) < o.MCP}
	for i := range f.Upgrades {
		u := &f.Upgrades[i]
		p.upgrades[i] = int64(u.At) + int64(unit(drawUpgrade, i)*float64(u.Over))
	}
	return p
}

// kindAt returns the kind of the user at a share of all.
func (o *Org) kindAt(share float64) uint8 {
	last := uint8(0)
	for i, kind := range Kinds() {
		v := o.Kinds[kind]
		if v == 0 {
			continue
		}
		if share < v {
			return uint8(i)
		}
		share -= v
		last = uint8(i)
	}
	return last
}

// subscribes reports whether the user has a plan with a quota.
func (p *person) subscribes() bool { return Kinds()[p.kind] == KindSubscriber }

// provider returns the provider that serves the user's requests.
func (p *person) provider() string {
	switch Kinds()[p.kind] {
	case KindBedrock:
		return client.ProviderBedrock
	case KindThirdParty:
		return client.ProviderThirdParty
	}
	return client.ProviderFirstParty
}

// exceed draws when the user exceeds the quota: on a day with sessions, so long
// after the first of them. begins are the times at which the user's sessions
// begin or are resumed, in order.
func (f *File) exceed(p *person, user int, src draws.Source, begins []int64) {
	o := &f.Orgs[p.org]
	if o.Overage.Share == 0 || !p.subscribes() {
		return
	}
	last := int64(-1)
	for _, at := range begins {
		today := (at + int64(o.Arrivals.Offset) + day) / day // counted from 0, whatever the offset
		if today == last {
			continue
		}
		last = today
		if draws.Unit(src.Uint64(drawOverage, place(user, int(today)))) < o.Overage.Share {
			from := at + int64(o.Overage.After)
			p.overages = append(p.overages, overage{from, from + int64(o.Overage.Lasts)})
		}
	}
}

// over reports whether the user has exceeded the quota at a time.
func (p *person) over(at int64) bool {
	return slices.ContainsFunc(p.overages, func(v overage) bool { return v.from <= at && at < v.to })
}

// turns returns the times after one time and up to another at which the user
// exceeds the quota or gets it back, in order.
func (p *person) turns(after, through int64) []int64 {
	var list []int64
	for _, v := range p.overages {
		for _, at := range [...]int64{v.from, v.to} {
			if at > after && at <= through && p.over(at) != p.over(at-1) {
				list = append(list, at)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// resume continues the conversation of a with b, which follows it in time: the
// context of a replaces what b had before its first prompt. The numbers of b
// start at from; resume returns the first free ones after it. b must not be
// used afterwards.
func resume(a, b *traces.Session, from numbers) numbers {
	j := newJoint(a, b, from)
	next := numbersAfter(b.Blocks)
	a.Blocks = append(a.Blocks, b.Blocks...)
	for i := j.blocks; i < int32(len(a.Blocks)); i++ {
		x := &a.Blocks[i]
		x.Message += j.messages
		if x.Call > 0 {
			x.Call += j.calls
		}
		if x.Tool > 0 {
			x.Tool = uint16(j.tools[x.Tool])
		}
		if x.Object >= 0 {
			x.Object = int32(j.objects[x.Object])
		}
	}
	for i := range b.Threads {
		j.thread(&b.Threads[i], i == 0)
	}
	a.End = b.End
	a.Quality.Calls += b.Quality.Calls
	a.Quality.InputTokens += b.Quality.InputTokens
	a.Quality.UnseenTokens += b.Quality.UnseenTokens
	a.Quality.DerivedOutputs += b.Quality.DerivedOutputs
	return numbers{from.messages + next.messages, from.calls + next.calls}
}

// numbers are the free numbers of blocks, kept beside a session so that many
// resumptions need not search its blocks.
type numbers struct {
	messages, calls int32
}

func numbersAfter(blocks []prompt.Block) numbers {
	var n numbers
	for i := range blocks {
		n.messages = max(n.messages, blocks[i].Message+1)
		n.calls = max(n.calls, blocks[i].Call)
	}
	return n
}

// joint is where two sessions meet: what is added to the numbers of the second.
type joint struct {
	a *traces.Session
	numbers
	blocks, rounds, threads int32
	tools, objects, models  []int // by index in b
}

func newJoint(a, b *traces.Session, from numbers) *joint {
	j := &joint{
		a: a, numbers: from, blocks: int32(len(a.Blocks)),
		rounds: int32(len(a.Threads[0].Rounds)), threads: int32(len(a.Threads)) - 1,
	}
	a.Tools, j.tools = merge(a.Tools, b.Tools)
	a.Objects, j.objects = merge(a.Objects, b.Objects)
	a.Models, j.models = merge(a.Models, b.Models)
	return j
}

// merge adds the names of b that a lacks, and returns the index of each name of b.
func merge(a, b []string) (all []string, at []int) {
	all = slices.Clip(a)
	for _, name := range b {
		i := slices.Index(all, name)
		if i < 0 {
			i = len(all)
			all = append(all, name)
		}
		at = append(at, i)
	}
	return all, at
}

// thread moves a thread of b to a: the main one to the end of a's main thread.
func (j *joint) thread(t *traces.Thread, main bool) {
	for i := range t.Rounds {
		r := &t.Rounds[i]
		r.Input, r.Reply, r.Model = j.span(r.Input), j.span(r.Reply), uint16(j.models[r.Model])
	}
	for i := range t.Events {
		e := &t.Events[i]
		e.Summary = j.span(e.Summary)
		for k := range e.Cleared {
			e.Cleared[k] += j.blocks
		}
	}
	if main {
		j.goOn(t)
		return
	}
	x := *t
	x.Prefix = j.span(t.Prefix)
	switch {
	case t.Parent == 0:
		x.ParentRound += j.rounds
	case t.Parent > 0:
		x.Parent += j.threads
	}
	j.a.Threads = append(j.a.Threads, x)
}

// goOn appends the rounds of b's main thread to those of a's.
func (j *joint) goOn(t *traces.Thread) {
	main := &j.a.Threads[0]
	last := &main.Rounds[len(main.Rounds)-1]
	t.Rounds[0].Wait = max(0, t.Rounds[0].At-last.At-last.Stream)
	main.Rounds = append(main.Rounds, t.Rounds...)
	for i := range t.Events {
		e := t.Events[i]
		e.Round += j.rounds
		main.Events = append(main.Events, e)
	}
}

func (j *joint) span(s traces.Span) traces.Span {
	return traces.Span{From: s.From + j.blocks, To: s.To + j.blocks}
}

// variant is the fleet without something, named by a Without… constant of
// results; "" is the fleet as it is.
type variant string

// localClient never marks anything for everyone; it marks it for the
// organisation instead.
type localClient struct{ loop.Client }

// Mark marks as the client does, for the organisation.
func (c localClient) Mark(dst []prompt.Marker, entries []prompt.Entry, m client.Marks) []prompt.Marker {
	from := len(dst)
	dst = c.Client.Mark(dst, entries, m)
	for i := range dst[from:] {
		dst[from+i].Scope = prompt.ScopeOrg
	}
	return dst
}

// cast gives every session of a population its person in the simulation.
type cast struct {
	pop        *Population
	without    variant
	clients    map[string]loop.Client
	assemblies map[string]*loop.Assembly
}

// persons returns the person of each session, by index.
func (p *Population) persons(without variant) []loop.Person {
	c := cast{pop: p, without: without, clients: map[string]loop.Client{}, assemblies: map[string]*loop.Assembly{}}
	list := make([]loop.Person, len(p.Sessions))
	for i, s := range p.Sessions {
		u := p.of[i].user
		list[i] = loop.Person{
			Owner: uint32(p.people[u].org) + 1, User: u, Client: c.client(s.Version()), Assembly: c.assembly(i, s),
		}
	}
	return list
}

// client returns the client of a version, shared by all its users.
func (c *cast) client(version string) loop.Client {
	if known, ok := c.clients[version]; ok {
		return known
	}
	var made loop.Client = client.ForVersion(version)
	if !c.pop.file.Client.GlobalScope || c.without == studies.WithoutGlobalScope {
		made = localClient{made}
	}
	c.clients[version] = made
	return made
}

// assembly returns how the requests of a session are put together. Users in the
// same position share one.
func (c *cast) assembly(i int, s *traces.Session) *loop.Assembly {
	who, f := &c.pop.people[c.pop.of[i].user], c.pop.file
	over, events := false, c.pop.events(i, s, c.without)
	if c.without != studies.WithoutOverage {
		over = who.over(s.Start - f.Start.UnixNano())
	}
	o := &f.Orgs[who.org]
	var key strings.Builder
	fmt.Fprintf(&key, "%d %t %d %t %t", who.kind, who.mcp, o.MCPTools, o.Bedrock1h, over)
	for _, e := range events {
		fmt.Fprintf(&key, " %d %d %s %s", e.At.Round, e.At.After, e.Do, e.Value)
	}
	made := c.assemblies[key.String()]
	if made == nil {
		made = loop.Assemble(f.assembly(o, who, over), events)
		c.assemblies[key.String()] = made
	}
	return made
}

// assembly returns how the client of a user works at the start of a session.
func (f *File) assembly(o *Org, who *person, over bool) client.Assembly {
	a := client.DefaultAssembly()
	a.System = f.Client.System
	if who.mcp {
		a.System.MCPTools = o.MCPTools
	}
	a.TTL.Choice, a.TTL.Subscriber, a.TTL.Overage = client.ChoicePolicy, false, over
	a.TTL.Latch, a.TTL.Allow = f.Client.Latch, f.Client.Allow
	a.Provider = who.provider()
	switch Kinds()[who.kind] {
	case KindEmployee:
		a.TTL.Employee = true
	case KindSubscriber:
		a.TTL.Subscriber = true
	case KindBedrock:
		if o.Bedrock1h {
			a.Env.EnableBedrock1h = "1"
		}
	}
	return a
}

// events returns the events of a session that are not in its recording.
func (p *Population) events(i int, s *traces.Session, without variant) []client.Event {
	f, of := p.file, &p.of[i]
	who := &p.people[of.user]
	begin := of.runs[0]
	var list []client.Event
	if without != studies.WithoutUpgrades {
		for k := range f.Upgrades {
			if at, ok := of.runFrom(who.upgrades[k]); ok {
				list = append(list, event("system_change", fmt.Sprint(f.Upgrades[k].Static), at-begin))
			}
		}
	}
	if without != studies.WithoutOverage {
		for _, at := range who.turns(begin, last(s)-f.Start.UnixNano()) {
			value := "off"
			if who.over(at) {
				value = "on"
			}
			if len(list) < changes.Max {
				list = append(list, event("overage", value, at-begin))
			}
		}
	}
	return list
}

// unheard counts the flips beyond the largest number that a session can have.
func (p *Population) unheard() int {
	n := 0
	for i := range p.Sessions {
		turns := len(p.turns(i))
		if turns+len(p.file.Upgrades) <= changes.Max {
			continue
		}
		n += turns - p.heard(i)
	}
	return n
}

// heard counts the flips that reach a session.
func (p *Population) heard(i int) int {
	n := 0
	for _, e := range p.events(i, p.Sessions[i], "") {
		if e.Do == "overage" {
			n++
		}
	}
	return n
}

// event returns an event on the main conversation, so long after the session's start.
func event(do, value string, after int64) client.Event {
	e := client.Event{Do: do, Value: value, Threads: changes.ThreadsMain, At: client.When{After: time.Duration(after)}}
	if after == 0 {
		e.At = client.When{Round: 1}
	}
	return e
}

// runFrom returns the first time at or after a time at which the session began
// or was resumed; false for none.
func (s *stretch) runFrom(at int64) (int64, bool) {
	for _, run := range s.runs {
		if run >= at {
			return run, true
		}
	}
	return 0, false
}

// last returns the time of the last request of a session's main conversation, unix
// ns.
func last(s *traces.Session) int64 {
	rounds := s.Threads[0].Rounds
	return rounds[len(rounds)-1].At
}
