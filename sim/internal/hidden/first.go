package hidden

import (
	"github.com/compactsim/compactsim/sim/calls"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// describeFirst adds to the first request of a session, neither Claude Code's nor Codex's, the part that other sessions of its agent keep warm.
func (t *Thread) describeFirst(q *prompt.Request, model string) {
	p, s := t.of.Fitted, t.Session
	if p == nil || t.Started || t.Trace.Kind != traces.ThreadMain || agents.ClaudeCode(s) || t.codex() || t.of.Abroad {
		return
	}
	at := t.of.gatherShown(t.Current(), model)
	q.Shared = int32(min(int64(p.FirstShare(&at)*float64(q.Tokens())), t.Opening()))
}

// foundFirst returns what the first call of a thread finds in the cache of what
// other conversations have left, tokens: a draw, or the expected value when
// nothing is drawn, so that the cost of many sessions comes out right. It looks
// at the version alone, never at the call.
func (t *Thread) foundFirst(p *profile.Profile) int32 {
	if t.Trace.Kind == traces.ThreadBranch || t.Forked {
		return 0
	}
	if n, ok := t.history(p); ok {
		return n
	}
	share, tokens := t.firstCall(p)
	tokens = min(tokens, t.Opening())
	if !t.of.Draw {
		return int32(share * float64(tokens))
	}
	if t.expects(3, share) {
		return int32(tokens)
	}
	return 0
}

// firstCall returns how often the first call of a thread finds something that
// others have cached, and how large that is.
func (t *Thread) firstCall(p *profile.Profile) (share float64, tokens int64) {
	s := t.Session
	if t.Agent() {
		return p.FirstOfAgent(s.Version())
	}
	return p.FirstCall(t.firstRead())
}

// firstRead returns what a profile predicts the read of a thread's first call from.
func (t *Thread) firstRead() *profile.FirstRead {
	s := t.Session
	return &profile.FirstRead{
		User: profile.Key(s.User()), Version: profile.Name(s.Version()), Model: profile.Name(s.Models[t.Current().Model]),
		Entry:   profile.Name(s.Entry),
		Session: profile.Key(prompt.DigestString(s.ID)), At: t.Current().At / 1e9,
	}
}

// history returns what the first call of a thread reads when it goes on where another
// session ended a turn, or in a file that begins with the end of one: all that was left,
// if the time since then is within the lifetime (recorded: a file whose first line is the
// end of a turn is warm exactly within it). A thread that leaves another session amid a
// turn is another process, with a head of its own.
func (t *Thread) history(p *profile.Profile) (int32, bool) {
	r, left := t.Current(), &t.Trace.Left
	if left.Usage.Input() > 0 && left.Model && left.Gap >= 0 && left.Gap <= profile.Life(left.TTL) &&
		profile.Compare(t.of.Version, calls.LastGitState) > 0 {
		return t.Ahead(), true
	}
	since := t.Trace.Since
	if since == 0 && r.At > 0 {
		since = r.At - t.Session.Start
	}
	if !r.Signs.Has(traces.SignTurnEnd) || since == 0 || since > profile.Life(t.TTL) || t.InputAt == 0 {
		return 0, false
	}
	return t.Ahead(), true
}

// Resume compares the first call of a thread that goes on where a call of another session ended with what that call
// left: the simulated cache holds no other session, and so cannot tell of a miss there.
func (t *Thread) Resume(out *prompt.Outcome) {
	left := &t.Trace.Left
	held := left.Usage.Read + left.Usage.Writes()
	if t.of.Automatic || t.of.Unwritten {
		held = left.Usage.Input()
	}
	held = min(held, out.Effective)
	if t.Chain == 0 {
		held = min(held, int64(t.Ahead()))
	}
	if held == 0 {
		return
	}
	out.Expected = held
	switch {
	case out.Usage.Read >= held:
	case t.Chain > 0:
		out.Miss = prompt.MissCompaction
	case !left.Model:
		out.Miss = prompt.MissModel
	case left.Gap > profile.Life(left.TTL):
		out.Miss = prompt.MissExpiry
	case t.of.Automatic:
		out.Miss = prompt.MissEviction
	default: // another process, with a head of its own
		out.Miss = prompt.MissHead
	}
}
