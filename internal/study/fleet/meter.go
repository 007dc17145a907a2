package fleet

import (
	"slices"

	"github.com/compactsim/compactsim/internal/serving/promptcache"
	"github.com/compactsim/compactsim/internal/study/studies"
	"github.com/compactsim/compactsim/sim/prompt"
)

// maxHours bounds the series: what happens later counts for the last hour.
const maxHours = 20_000

// scopes are the input tokens of calls by who shares them.
type scopes [studies.NumFleetScopes]studies.FleetTokens

// meter counts the requests to the servers of one run.
type meter struct {
	shift int64 // from the servers' clock to the fleet's, ns
	orgs  []scopes
	hours []studies.FleetHour
	calls spell             // of each call
	runOf []int32           // by thread: the run of a session that it belongs to
	mains map[uint32]*mains // by thread: main conversations of sessions that are resumed
	runs  []run
}

// run is a session from its beginning or a resumption until it is closed.
type run struct {
	began   int64 // first request, ns on the fleet's clock; -1 for none
	ended   int64 // end of the last response
	resumed bool  // it continues the session of the previous run
}

// mains counts the requests of a main conversation: it has one for each round.
type mains struct {
	sent int
	cuts []cut // ahead of resumptions to come
}

// spell are times at which things begin and end, ns on the fleet's clock.
type spell struct{ began, ended []int64 }

// newMeter returns a meter for some sessions of a population on one clock.
func newMeter(p *Population, sessions []int) *meter {
	m := &meter{orgs: make([]scopes, len(p.file.Orgs))}
	first, calls := p.Sessions[sessions[0]].Start, 0
	for _, k := range sessions {
		s := p.Sessions[k]
		first = min(first, s.Start)
		calls += s.NumCalls()
		m.expect(len(s.Threads), &p.of[k])
	}
	m.shift = first - p.file.Start.UnixNano()
	m.calls = spell{make([]int64, 0, calls), make([]int64, 0, calls)}
	return m
}

// expect makes room for a session of so many threads.
func (m *meter) expect(threads int, of *stretch) {
	if len(of.cuts) > 0 {
		if m.mains == nil {
			m.mains = map[uint32]*mains{}
		}
		m.mains[uint32(len(m.runOf))] = &mains{cuts: of.cuts}
	}
	at, from := int32(len(m.runs)), 0
	for _, c := range of.cuts {
		for range c.threads - from {
			m.runOf = append(m.runOf, at)
		}
		at, from = at+1, c.threads
	}
	for range threads - from {
		m.runOf = append(m.runOf, at)
	}
	for i := range of.runs {
		m.runs = append(m.runs, run{began: -1, resumed: i > 0})
	}
}

// run returns the run that a request of a thread belongs to, and counts it.
func (m *meter) run(thread uint32) int32 {
	if main := m.mains[thread]; main != nil {
		if main.sent++; len(main.cuts) > 0 && main.sent > main.cuts[0].rounds {
			main.cuts = main.cuts[1:]
			m.runOf[thread]++
		}
	}
	return m.runOf[thread]
}

// add adds the counts of another meter.
func (m *meter) add(o *meter) {
	m.calls.add(o.calls)
	m.runs = append(m.runs, o.runs...)
	for i := range m.orgs {
		for k := range m.orgs[i] {
			m.orgs[i][k].Add(o.orgs[i][k])
		}
	}
	for i := range o.hours {
		from, to := &o.hours[i], m.hour(int64(i)*hour)
		to.Calls += from.Calls
		to.Read += from.Read
		to.Uncached += from.Uncached
		for k := range to.Created {
			to.Created[k] += from.Created[k]
		}
	}
}

// metered is the server of a provider with a meter, which all of a run share.
type metered struct {
	*promptcache.Anthropic
	meter   *meter
	tickets []int32 // run of a ticket in flight, -1 for a layer's call
}

// Begin serves a request and counts it.
func (s *metered) Begin(t int64, r *prompt.Request) prompt.Outcome {
	out := s.Anthropic.Begin(t, r)
	m := s.meter
	run := int32(-1)
	if int(r.Thread) < len(m.runOf) {
		run = m.run(r.Thread)
		if v := &m.runs[run]; v.began < 0 {
			v.began = t + m.shift
		}
	}
	for int(out.Ticket) >= len(s.tickets) {
		s.tickets = append(s.tickets, -1)
	}
	s.tickets[out.Ticket] = run
	m.count(t, r, &out)
	return out
}

// End ends a request.
func (s *metered) End(t int64, ticket int32, output int64) {
	m := s.meter
	m.calls.ended = append(m.calls.ended, t+m.shift)
	if i := s.tickets[ticket]; i >= 0 {
		m.runs[i].ended = max(m.runs[i].ended, t+m.shift)
	}
	s.Anthropic.End(t, ticket, output)
}

func (m *meter) count(t int64, r *prompt.Request, out *prompt.Outcome) {
	m.calls.began = append(m.calls.began, t+m.shift)
	parts := divide(r, out)
	h := m.hour(t + m.shift)
	h.Calls++
	h.Read += out.Usage.Read
	h.Uncached += out.Usage.Uncached
	org := &m.orgs[r.Owner-1]
	for i := range parts {
		h.Created[i] += parts[i].Written
		org[i].Add(parts[i])
	}
}

// hour returns the hour of a time of the fleet's clock, ns.
func (m *meter) hour(at int64) *studies.FleetHour {
	i := int(min(max(at, 0)/hour, maxHours-1))
	for len(m.hours) <= i {
		m.hours = append(m.hours, studies.FleetHour{Hour: len(m.hours)})
	}
	return &m.hours[i]
}

// divide divides the input of a call by scope. Everyone shares the part before
// the last global marker, the organisation the rest before the last marker of
// the head. In both, the read part comes first, then what is written, then the
// rest.
func divide(r *prompt.Request, out *prompt.Outcome) scopes {
	var ends [studies.NumFleetScopes]int64
	for i := range r.Markers {
		k := &r.Markers[i]
		e := &r.Entries[k.Position]
		end := int64(e.Cum) + int64(k.Shift)
		switch {
		case k.Scope == prompt.ScopeGlobal:
			ends[studies.FleetGlobal] = max(ends[studies.FleetGlobal], end)
		case e.Kind.Level() != prompt.LevelMessages:
			ends[studies.FleetOrgs] = max(ends[studies.FleetOrgs], end)
		}
	}
	ends[studies.FleetOwn] = out.Usage.Input()
	read, written := out.Usage.Read, out.Usage.Writes()
	var parts scopes
	from := int64(0)
	for i, end := range ends {
		end = min(max(end, from), out.Usage.Input())
		v := studies.FleetTokens{Scope: studies.FleetScope(i)}
		v.Read = overlap(from, end, 0, read)
		v.Written = overlap(from, end, read, read+written)
		v.Uncached = end - from - v.Read - v.Written
		parts[i], from = v, end
	}
	return parts
}

// overlap returns the length of the intersection of two half-open intervals.
func overlap(a, b, c, d int64) int64 { return max(0, min(b, d)-max(a, c)) }

func (s *spell) add(o spell) {
	s.began, s.ended = append(s.began, o.began...), append(s.ended, o.ended...)
}

// sessions returns when the sessions with a request were open. A session that is closed
// and resumed counts once for each time, unless it was still being answered.
func (m *meter) sessions() spell {
	var s spell
	for i := range m.runs {
		v := &m.runs[i]
		n := len(s.ended) - 1
		switch {
		case v.began < 0:
		case v.resumed && m.runs[i-1].began >= 0 && v.began <= s.ended[n]:
			s.ended[n] = max(s.ended[n], v.ended)
		default:
			s.began, s.ended = append(s.began, v.began), append(s.ended, v.ended)
		}
	}
	return s
}

// peak returns the largest number in progress at once, and sorts s. What begins
// when another ends overlaps with it.
func (s *spell) peak() studies.FleetPeak {
	slices.Sort(s.began)
	slices.Sort(s.ended)
	var peak studies.FleetPeak
	gone := 0
	for i, at := range s.began {
		for gone < len(s.ended) && s.ended[gone] < at {
			gone++
		}
		if n := i + 1 - gone; n > peak.Count {
			peak = studies.FleetPeak{Count: n, At: float64(at) / 1e9}
		}
	}
	return peak
}
