// Package verify checks a simulation: each request and what the server answered, the messages of conversations, and finished rows.
package verify

import (
	"maps"
	"math"

	"github.com/compactsim/compactsim/sim/internal/course"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
)

// Report is told what does not hold, as fmt.Sprintf is.
type Report func(format string, args ...any)

// validator is a server that can tell what the provider would refuse.
type validator interface{ Validate(*exchange.Request) error }

// Served is a request of a conversation with what the server made of it.
type Served struct {
	Request   *exchange.Request
	Outcome   *exchange.Outcome
	Automatic bool // by a cache that keeps what it answered
	Held      bool // the recording shows what the server held already (hidden.Thread.KnowsHeld)
}

// Cohort knows what requests of a cohort have sent.
type Cohort struct {
	sent map[prompt.Digest]bool // prefixes that requests began with
}

// Reset forgets all requests.
func (c *Cohort) Reset() { clear(c.sent) }

// Request checks what must hold for every call: tokens are conserved, markers
// are legal, and what was read was written.
func (c *Cohort) Request(of *course.Course, server any, a *Served, report Report) {
	r, out := a.Request, a.Outcome
	if got, want := out.Usage.Input(), r.Tokens(); len(r.Deletions) == 0 && out.Deleted == 0 && got != want {
		report("read + writes + uncached = %d, the request holds %d tokens", got, want)
	}
	if v, ok := server.(validator); ok {
		if err := v.Validate(r); err != nil {
			report("%v", err)
		}
	}
	if out.Usage.Input() != out.Effective || out.Effective > r.Tokens() {
		report("%d effective tokens of a request of %d", out.Effective, r.Tokens())
	}
	if u := out.Usage; min(u.Uncached, u.Read, u.Write5m, u.Write1h, u.WriteOther) < 0 {
		report("a token class is negative: %+v", u)
	}
	if n := len(r.Markers); n > exchange.MaxMarkers {
		report("%d markers, at most %d are allowed", n, exchange.MaxMarkers)
	}
	for i, m := range r.Markers {
		if i > 0 && m.Position <= r.Markers[i-1].Position || int(m.Position) >= len(r.Entries) {
			report("marker %d at position %d is out of order", i, m.Position)
		}
	}
	if out.Miss == exchange.MissNone && out.Usage.Read < out.Expected {
		report("read %d of %d expected tokens without a reason", out.Usage.Read, out.Expected)
	}
	c.Read(of, a, report)
}

// Read checks that what a call read was once written: it lies within the longest prefix of the request that an
// earlier one of the cohort began with, or within its opening, which others of its version share. What the profile
// supplies from outside the cohort (Request.Shared) lies within what is ahead of the round's input, unless the recording
// shows that the server held more.
func (c *Cohort) Read(of *course.Course, a *Served, report Report) {
	r, out := a.Request, a.Outcome
	ahead := int64(of.Ahead())
	if a.Held {
		ahead = r.Tokens() // hidden.Thread.ReadHeld
	}
	within := max(course.OpeningOf(r.Entries), min(int64(r.Shared), ahead))
	i := len(r.Entries) - 1
	for i >= 0 && !c.sent[r.Entries[i].Chain] {
		i--
	}
	last := i
	for a.Automatic && last+1 < len(r.Entries) && r.Entries[last+1].Kind.Assistant() {
		last++ // the provider keeps what it answered
	}
	if last >= 0 {
		within = max(within, int64(r.Entries[last].Cum))
	}
	if out.Usage.Read > within {
		report("read %d tokens, of which only %d were written before", out.Usage.Read, within)
	}
	if c.sent == nil {
		c.sent = map[prompt.Digest]bool{}
	}
	for i++; i < len(r.Entries); i++ {
		c.sent[r.Entries[i].Chain] = true
	}
}

// Thread is what is known of the entries of a conversation's last request that was checked. A request that
// begins with them is checked from there on, so that checking a session takes time in proportion
// to its length.
type Thread struct {
	entries int           // of the request
	chain   prompt.Digest // the chained digest through the last entry
	first   prompt.Kind   // of the first message's first block
	calls   bool          // the first message calls a tool
	behind  bool          // the first message is over
	pending map[int32]bool
}

// Part makes v independent of the conversation that it is a copy of.
func (v *Thread) Part() { v.pending = maps.Clone(v.pending) }

// Messages checks the entries of a request of a conversation: messages exist, begin with a user message or a call of a
// tool, unless any may be the first, and calls and results come in pairs.
func (v *Thread) Messages(of *course.Course, s *Session, entries []prompt.Entry, anyFirst bool, report Report) {
	if n := v.entries; n == 0 || n > len(entries) || entries[n-1].Chain != v.chain {
		*v = Thread{pending: map[int32]bool{}}
	}
	for i := v.entries; i < len(entries); i++ {
		e := &entries[i]
		if e.Kind.Level() != prompt.LevelMessages {
			continue
		}
		if v.first == prompt.KindNone {
			v.first = e.Kind
		}
		v.behind = v.behind || !e.Kind.Assistant()
		v.calls = v.calls || !v.behind && e.Kind == prompt.KindToolUse
		b := of.Context.Block(e.Block)
		switch {
		case b.Call == 0:
		case e.Kind == prompt.KindToolUse:
			v.pending[b.Call] = true
		case e.Kind == prompt.KindToolResult && !v.pending[b.Call]:
			report("the result of call %d has no call before it", b.Call)
		case e.Kind == prompt.KindToolResult:
			delete(v.pending, b.Call)
		}
	}
	if v.entries = len(entries); v.entries > 0 {
		v.chain = entries[v.entries-1].Chain
	}
	switch {
	case v.first == prompt.KindNone:
		report("no messages")
	case !anyFirst && v.first.Assistant() && !v.calls: // Strands 1.62.0 cuts at a call where no prompt follows, and the call's result is checked
		report("the first message is the assistant's")
	}
	for call := range v.pending {
		if s.hasResult(of, call) {
			report("call %d has no result", call)
			return
		}
	}
}

// Session knows which calls of tools have their results in a recording.
type Session struct {
	session  *traces.Session
	answered map[threadCall]int32 // rounds whose input has the result
}

// threadCall is a tool call of a thread, or of its parent.
type threadCall struct{ thread, call int32 }

// Begin notes which parallel calls have their results in the recording: the person may have
// interrupted some calls.
func (s *Session) Begin(session *traces.Session) {
	s.session, s.answered = session, map[threadCall]int32{}
	for i := range session.Threads {
		for r := range session.Threads[i].Rounds {
			in := session.Threads[i].Rounds[r].Input
			for b := in.From; b < in.To; b++ {
				if bl := &session.Blocks[b]; bl.Kind == prompt.KindToolResult && bl.Call != 0 {
					s.answered[threadCall{int32(i), bl.Call}] = int32(r)
				}
			}
		}
	}
}

// hasResult reports whether a thread has been given the result of a call, or its
// parent had been when it branched off.
func (s *Session) hasResult(t *course.Course, call int32) bool {
	at, round := t.Index, t.Round
	for {
		if r, ok := s.answered[threadCall{at, call}]; ok && r <= round {
			return true
		}
		th := &s.session.Threads[at]
		if th.Kind != traces.ThreadBranch || th.Parent < 0 {
			return false
		}
		at, round = th.Parent, th.ParentRound
	}
}

// Row checks the finished row of a session: every recorded call was simulated, and
// tokens and costs add up over classes and sources.
func Row(s *traces.Session, r *results.Row, leftOut int, report Report) {
	own := r.OwnCalls()
	if want := s.NumCalls() - r.N(measures.UnsimulatedCalls) - leftOut; own != want {
		report("%d calls of the recording were simulated, it has %d", own, want)
	}
	var usage prompt.Usage
	var cost float64
	for s := range measures.Source(measures.NumSources) {
		u := r.UsageBy(s)
		usage.Add(&u)
		cost += r.CostBy(s).Total()
	}
	if usage != r.Usage() || math.Abs(cost-r.CostByClass().Total()) > 1e-6*(1+cost) {
		report("sources add up to %+v and $%.6f, classes to %+v and $%.6f",
			usage, cost, r.Usage(), r.CostByClass().Total())
	}
}
