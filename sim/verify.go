package sim

import (
	"errors"
	"fmt"
	"math"

	"github.com/compactsim/compactsim/sim/internal/course"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
)

// ErrInvariant is wrapped by errors that report a violated invariant or a layer that
// breaks its contract: a defect of the program, not of the input.
var ErrInvariant = errors.New("invariant violated")

// violate keeps the first violation; the run stops on it.
func (l *Loop) violate(t *thread, format string, args ...any) {
	if l.err == nil {
		l.failing = t.replay.session
		l.err = fmt.Errorf("thread %d round %d: %w: %s", t.Index, t.Round, ErrInvariant, fmt.Sprintf(format, args...))
	}
}

// validator is a server that can tell what the provider would refuse.
type validator interface{ Validate(*prompt.Request) error }

// verify checks what must hold for every call: tokens are conserved, markers
// are legal, and no tool call stands without its result.
func (l *Loop) verify(t *thread, c *call, out *prompt.Outcome) {
	r := &l.request
	if got, want := out.Usage.Input(), r.Tokens(); len(r.Deletions) == 0 && out.Deleted == 0 && got != want {
		l.violate(t, "read + writes + uncached = %d, the request holds %d tokens", got, want)
	}
	if v, ok := t.replay.server.(validator); ok {
		if err := v.Validate(r); err != nil {
			l.violate(t, "%v", err)
		}
	}
	if out.Usage.Input() != out.Effective || out.Effective > r.Tokens() {
		l.violate(t, "%d effective tokens of a request of %d", out.Effective, r.Tokens())
	}
	if u := out.Usage; min(u.Uncached, u.Read, u.Write5m, u.Write1h, u.WriteOther) < 0 {
		l.violate(t, "a token class is negative: %+v", u)
	}
	if n := len(r.Markers); n > prompt.MaxMarkers {
		l.violate(t, "%d markers, at most %d are allowed", n, prompt.MaxMarkers)
	}
	for i, m := range r.Markers {
		if i > 0 && m.Position <= r.Markers[i-1].Position || int(m.Position) >= len(r.Entries) {
			l.violate(t, "marker %d at position %d is out of order", i, m.Position)
		}
	}
	if out.Miss == prompt.MissNone && out.Usage.Read < out.Expected {
		l.violate(t, "read %d of %d expected tokens without a reason", out.Usage.Read, out.Expected)
	}
	l.verifyRead(t, out)
	if !c.text {
		l.verifyMessages(t)
	}
}

// verifyRead checks that what a call read was once written: it lies within the longest prefix of the request that an
// earlier one of the cohort began with, or within its opening, which others of its version share. What the profile
// supplies from outside the cohort (Request.Shared) lies within what is ahead of the round's input, unless the recording
// shows that the server held more.
func (l *Loop) verifyRead(t *thread, out *prompt.Outcome) {
	r := &l.request
	ahead := int64(t.Ahead())
	if t.hidden.KnowsHeld() {
		ahead = r.Tokens() // readHeld
	}
	within := max(course.OpeningOf(r.Entries), min(int64(r.Shared), ahead))
	i := len(r.Entries) - 1
	for i >= 0 && !l.sent[r.Entries[i].Chain] {
		i--
	}
	last := i
	for t.replay.hidden.Automatic && last+1 < len(r.Entries) && r.Entries[last+1].Kind.Assistant() {
		last++ // the provider keeps what it answered
	}
	if last >= 0 {
		within = max(within, int64(r.Entries[last].Cum))
	}
	if out.Usage.Read > within {
		l.violate(t, "read %d tokens, of which only %d were written before", out.Usage.Read, within)
	}
	if l.sent == nil {
		l.sent = map[prompt.Digest]bool{}
	}
	for i++; i < len(r.Entries); i++ {
		l.sent[r.Entries[i].Chain] = true
	}
}

// verified is what is known of the entries of the last request that was checked. A request that
// begins with them is checked from there on, so that checking a session takes time in proportion
// to its length.
type verified struct {
	entries int           // of the request
	chain   prompt.Digest // the chained digest through the last entry
	first   prompt.Kind   // of the first message
	pending map[int32]bool
}

// verifyMessages checks the entries of the request at hand: messages exist,
// begin with a user message, and calls and results come in pairs.
func (l *Loop) verifyMessages(t *thread) {
	entries := l.request.Entries
	v := &t.verified
	if n := v.entries; n == 0 || n > len(entries) || entries[n-1].Chain != v.chain {
		*v = verified{pending: map[int32]bool{}}
	}
	for i := v.entries; i < len(entries); i++ {
		e := &entries[i]
		if e.Kind.Level() != prompt.LevelMessages {
			continue
		}
		if v.first == prompt.KindNone {
			v.first = e.Kind
		}
		b := t.Context.Block(e.Block)
		switch {
		case b.Call == 0:
		case e.Kind == prompt.KindToolUse:
			v.pending[b.Call] = true
		case e.Kind == prompt.KindToolResult && !v.pending[b.Call]:
			l.violate(t, "the result of call %d has no call before it", b.Call)
		case e.Kind == prompt.KindToolResult:
			delete(v.pending, b.Call)
		}
	}
	if v.entries = len(entries); v.entries > 0 {
		v.chain = entries[v.entries-1].Chain
	}
	switch {
	case v.first == prompt.KindNone:
		l.violate(t, "no messages")
	case v.first.Assistant():
		l.violate(t, "the first message is the assistant's")
	}
	for call := range v.pending {
		if t.replay.hasResult(t, call) {
			l.violate(t, "call %d has no result", call)
			return
		}
	}
}

// verifyRow checks the finished row: every recorded call was simulated, and
// tokens and costs add up over classes and sources.
func (l *Loop) verifyRow(s *replay) {
	r := &s.book.Row
	own := r.OwnCalls()
	if want := s.session.NumCalls() - r.N(results.UnsimulatedCalls) - s.leftOut(); own != want {
		l.err = fmt.Errorf("%w: %d calls of the recording were simulated, it has %d", ErrInvariant, own, want)
	}
	var usage prompt.Usage
	var cost float64
	for s := range results.Source(results.NumSources) {
		u := r.UsageBy(s)
		usage.Add(&u)
		cost += r.CostBy(s).Total()
	}
	if usage != r.Usage() || math.Abs(cost-r.CostByClass().Total()) > 1e-6*(1+cost) {
		l.err = fmt.Errorf("%w: sources add up to %+v and $%.6f, classes to %+v and $%.6f",
			ErrInvariant, usage, cost, r.Usage(), r.CostByClass().Total())
	}
}
