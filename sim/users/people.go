package users

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/compactsim/compactsim/internal/kit/draws"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/changes"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
)

// Cast gives the sessions that Draw returned to their users in the simulation.
type Cast struct {
	settings   *Settings
	assembly   client.Assembly // of all clients
	events     []client.Event  // that happen to every session
	mu         sync.Mutex
	list       map[string]*staff // by organisation
	assemblies map[string]*sim.Assembly
	clients    map[string]sim.Client // by version
}

// staff is an organisation in the simulation.
type staff struct {
	Organisation
	name   string
	owner  uint32
	first  int32 // number of its first user
	src    draws.Source
	begins func(user int) []int64
}

// Cast returns the users, whose clients assemble requests as a says but for what the users differ
// in, with events that happen to every session.
func (s *Settings) Cast(a client.Assembly, events []client.Event) (*Cast, error) {
	c := &Cast{settings: s, assembly: a, events: events, list: map[string]*staff{},
		assemblies: map[string]*sim.Assembly{}, clients: map[string]sim.Client{}}
	first := int32(0)
	for i, name := range s.names() {
		o := &staff{Organisation: s.Organisations[name], name: name, owner: uint32(i) + 1, first: first, src: s.source(name)}
		var err error
		if o.begins, err = o.schedule(s, o.src); err != nil {
			return nil, fmt.Errorf("organisation %s: %w", name, err)
		}
		c.list[name] = o
		first += int32(o.Users)
	}
	return c, nil
}

// Person returns p as the user of a session. A session that no user began belongs to nobody, which
// a loop refuses.
func (c *Cast) Person(p sim.Person, s *traces.Session) sim.Person {
	o := c.list[s.Project]
	rest, ok := strings.CutPrefix(s.ID, s.Project+"-")
	number, _, _ := strings.Cut(rest, "-")
	user, err := strconv.Atoi(number)
	if o == nil || !ok || err != nil {
		return sim.Person{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	who := c.settings.person(o, user)
	p.Owner, p.Organisation, p.User = o.owner, o.name, o.first+int32(user)
	if !c.settings.GlobalScope {
		p.Client = c.local(p.Client, s.Version())
	}
	p.Assembly = c.assemble(p.Assembly, &who, s)
	return p
}

// local returns a client that marks nothing for everyone; nil stands for the client of a version.
func (c *Cast) local(of sim.Client, version string) sim.Client {
	if of != nil {
		return localClient{of}
	}
	if c.clients[version] == nil {
		c.clients[version] = localClient{client.ForVersion(version)}
	}
	return c.clients[version]
}

// localClient marks for the organisation what its client marks for everyone.
type localClient struct{ sim.Client }

// Mark marks as the client does, for the organisation.
func (c localClient) Mark(dst []exchange.Marker, entries []prompt.Entry, m client.Marks) []exchange.Marker {
	from := len(dst)
	dst = c.Client.Mark(dst, entries, m)
	for i := range dst[from:] {
		dst[from+i].Scope = exchange.ScopeOrg
	}
	return dst
}

// assemble returns how the requests of a session are put together: as worn, or for nil as all
// clients do, but for what the user differs in. Users in the same position share one.
func (c *Cast) assemble(worn *sim.Assembly, who *person, s *traces.Session) *sim.Assembly {
	begin, end := s.Start-c.settings.Start.UnixNano(), last(s)-c.settings.Start.UnixNano()
	events := slices.Clone(c.events)
	for _, at := range who.turns(begin, end) {
		if len(events) < changes.Max {
			events = append(events, quotaEvent(who.over(at), at-begin))
		}
	}
	over := who.over(begin)
	var key strings.Builder
	fmt.Fprintf(&key, "%p %s %d %t %t", worn, who.kind, who.mcp, who.bedrock1h, over)
	for _, e := range events[len(c.events):] {
		fmt.Fprintf(&key, " %d %s", e.At.After, e.Value)
	}
	made := c.assemblies[key.String()]
	if made == nil {
		a := c.assembly
		if worn != nil {
			a = worn.Assembly
		}
		made = sim.Assemble(who.assembly(a, over), events)
		c.assemblies[key.String()] = made
	}
	return made
}

// quotaEvent is that the user passes the quota, or has it back, so long after the session's start.
func quotaEvent(over bool, after int64) client.Event {
	value := "off"
	if over {
		value = "on"
	}
	return client.Event{Do: "overage", Value: value, Threads: changes.ThreadsMain, At: client.When{After: time.Duration(after)}}
}

// last returns the time of the last request of a session's main conversation, unix ns.
func last(s *traces.Session) int64 {
	rounds := s.Threads[0].Rounds
	return rounds[len(rounds)-1].At
}

// person is what one user differs in from others.
type person struct {
	kind      string
	mcp       int32 // tokens of tools of MCP servers
	bedrock1h bool
	overages  []overage // in order
}

// overage is a time for which a user is beyond the quota, ns from the start.
type overage struct{ from, to int64 }

// person draws a user of an organisation.
func (s *Settings) person(o *staff, user int) person {
	unit := func(p draws.Purpose) float64 { return draws.Unit(o.src.Uint64(p, place(user, 0))) }
	p := person{kind: o.kindAt(unit(drawKind)), bedrock1h: o.Bedrock1h}
	if unit(drawMCP) < o.MCP {
		p.mcp = o.MCPTools
	}
	if s.Overage && p.kind == kindSubscriber && o.Overage.Share > 0 {
		p.overages = o.overages(user, o.begins(user))
	}
	return p
}

// kindAt returns the kind of the user at a share of all.
func (o *Organisation) kindAt(share float64) (last string) {
	for _, kind := range kinds {
		v := o.Kinds[kind]
		if v == 0 {
			continue
		}
		if last = kind; share < v {
			break
		}
		share -= v
	}
	return last
}

// overages draws when a user exceeds the quota: on a day with sessions, so long after the first
// session. begins are the times at which sessions begin or are resumed, in order.
func (o *staff) overages(user int, begins []int64) (list []overage) {
	last := int64(-1)
	for _, at := range begins {
		today := (at + int64(o.Arrivals.Offset) + day) / day // counted from 0, whatever the offset
		if today == last {
			continue
		}
		last = today
		if draws.Unit(o.src.Uint64(drawOverage, place(user, int(today)))) < o.Overage.Share {
			from := at + int64(o.Overage.After)
			list = append(list, overage{from, from + int64(o.Overage.Lasts)})
		}
	}
	return list
}

// over reports whether the user has exceeded the quota at a time.
func (p *person) over(at int64) bool {
	return slices.ContainsFunc(p.overages, func(v overage) bool { return v.from <= at && at < v.to })
}

// turns returns the times after one time and up to another at which the user exceeds the quota or
// gets it back, in order.
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

// assembly returns a as the client of the user has it at the start of a session.
func (p *person) assembly(a client.Assembly, over bool) client.Assembly {
	a.System.MCPTools = p.mcp
	a.TTL.Choice = client.ChoicePolicy
	a.TTL.Employee, a.TTL.Subscriber, a.TTL.Overage = p.kind == kindEmployee, p.kind == kindSubscriber, over
	switch p.kind {
	case kindBedrock:
		a.Provider = client.ProviderBedrock
		if p.bedrock1h {
			a.Env.EnableBedrock1h = "1"
		}
	case kindThirdParty:
		a.Provider = client.ProviderThirdParty
	default:
		a.Provider = client.ProviderFirstParty
	}
	return a
}

// Meter counts in the rows of sessions what users share: how many calls of all users are in
// flight, and the input by who shares it. It is a sim.Meter of one loop.
type Meter struct{ flying int64 }

// Reset begins again without calls in flight.
func (m *Meter) Reset() { m.flying = 0 }

// Began counts a request that a server answers.
func (m *Meter) Began(row *results.Row, r *exchange.Request, out *exchange.Outcome) {
	m.flying++
	row.Most(measures.PeakCallsInFlight, m.flying)
	// Divide the input of a call by who shares it: everyone the part before the last global marker, the organisation the
	// rest before the last marker ahead of the messages. In every part what is read comes first, then what is written.
	u := &out.Usage
	var ends [measures.SharingNone + 1]int64
	for i := range r.Markers {
		k := &r.Markers[i]
		e := &r.Entries[k.Position]
		end := int64(e.Cum) + int64(k.Shift)
		switch {
		case k.Scope == exchange.ScopeGlobal:
			ends[measures.SharingGlobal] = max(ends[measures.SharingGlobal], end)
		case e.Kind.Level() != prompt.LevelMessages:
			ends[measures.SharingOrganisation] = max(ends[measures.SharingOrganisation], end)
		}
	}
	ends[measures.SharingNone] = u.Input()
	from, written := int64(0), u.Read+u.Writes()
	for s, end := range ends {
		end = min(max(end, from), u.Input())
		row.Shares(measures.Sharing(s), overlap(from, end, 0, u.Read), overlap(from, end, u.Read, written))
		from = end
	}
}

// Ended counts the end of a response.
func (m *Meter) Ended() { m.flying-- }

// overlap returns the length of the intersection of two half-open intervals.
func overlap(a, b, c, d int64) int64 { return max(0, min(b, d)-max(a, c)) }
