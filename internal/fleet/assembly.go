package fleet

import (
	"fmt"
	"strings"

	"github.com/compactsim/compactsim/internal/studies"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// variant is the fleet without something, named by a Without… constant of
// results; the empty one is the fleet as it is.
type variant string

// localClient never marks anything for everyone: what it would is for the
// organisation.
type localClient struct{ sim.Client }

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
	clients    map[string]sim.Client
	assemblies map[string]*sim.Assembly
}

// persons returns who has each session, by index.
func (p *Population) persons(without variant) []sim.Person {
	c := cast{pop: p, without: without, clients: map[string]sim.Client{}, assemblies: map[string]*sim.Assembly{}}
	list := make([]sim.Person, len(p.Sessions))
	for i, s := range p.Sessions {
		u := p.of[i].user
		list[i] = sim.Person{
			Owner: uint32(p.people[u].org) + 1, User: u, Client: c.client(s.Version()), Assembly: c.assembly(i, s),
		}
	}
	return list
}

// client returns the client of a version, one for all its users.
func (c *cast) client(version string) sim.Client {
	if known, ok := c.clients[version]; ok {
		return known
	}
	var made sim.Client = client.ForVersion(version)
	if !c.pop.file.Client.GlobalScope || c.without == studies.WithoutGlobalScope {
		made = localClient{made}
	}
	c.clients[version] = made
	return made
}

// assembly returns how the requests of a session are put together. Users in the
// same position share one.
func (c *cast) assembly(i int, s *traces.Session) *sim.Assembly {
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
		made = sim.Assemble(f.assembly(o, who, over), events)
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

// events returns what happens to a session beside what it says.
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
			if len(list) < client.MaxEvents {
				list = append(list, event("overage", value, at-begin))
			}
		}
	}
	return list
}

// unheard counts the flips that sessions of very many of them are not told of.
func (p *Population) unheard() int {
	n := 0
	for i := range p.Sessions {
		turns := len(p.turns(i))
		if turns+len(p.file.Upgrades) <= client.MaxEvents {
			continue
		}
		n += turns - p.heard(i)
	}
	return n
}

// heard counts the flips that a session is told of.
func (p *Population) heard(i int) int {
	n := 0
	for _, e := range p.events(i, p.Sessions[i], "") {
		if e.Do == "overage" {
			n++
		}
	}
	return n
}

// event is one on the main conversation, that long behind the session's start.
func event(do, value string, after int64) client.Event {
	e := client.Event{Do: do, Value: value, Threads: client.ThreadsMain, At: client.When{After: client.Span(after)}}
	if after == 0 {
		e.At = client.When{Round: 1}
	}
	return e
}

// runFrom returns the first time that the session began or was resumed at or
// behind a time; false for none.
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
