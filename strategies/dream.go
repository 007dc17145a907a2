package strategies

import (
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
)

// DreamName is the registry's name of the layer.
const DreamName = "dream"

var dreamDefinition = Define(DreamName,
	"consolidates the memory files of a user's sessions now and then, by a call beside the conversation on its own prefix",
	defaultDream(),
	func(p DreamParams) Layer { return &dream{params: p} })

// dream is the state of the layer on one thread; the lock is the user's.
type dream struct {
	params  DreamParams
	shown   uint32 // state of the index that the thread's head was given
	scanned int64  // last look at the list of sessions, ns since the epoch; 0 for never
	taken   int64  // mtime that this thread gave the lock
	before  int64  // mtime to go back to
	killed  bool   // the dream under way will be
	answer  prompt.Answer
}

func (l *dream) Name() string { return DreamName }
func (l *dream) Clone() Layer { c := *l; return &c }
func (l *dream) Reset()       { *l = dream{params: l.params} }

// EndOfLoop goes through the gates, cheapest first, and dreams behind the last.
func (l *dream) EndOfLoop(t *Turn) Outcome {
	switch {
	case isAgent(t.Kind):
		return Outcome{Declined, "sub-agents do not dream"}
	case t.User == nil:
		return Outcome{Declined, "no user whose sessions are known"}
	}
	now := t.Epoch + t.Now
	seen, reason := l.gate(t, now)
	if reason != "" {
		return t.Refuse(DreamName, reason)
	}
	l.acquire(t, now, seen)
	l.killed = t.Draw(DreamName, drawKilled) < l.params.Killed
	t.Background(l.call(t))
	return Outcome{Verdict: Done}
}

// Ordinal of the draw that says whether a person ends a dream, beside
// drawFails.
const drawKilled = 1

// gate returns the time of the lock as the session sees it, and why there is no
// dream, "" when there is one. The session sees neither time nor holder of a
// lock that another has just written.
func (l *dream) gate(t *Turn, now int64) (seen int64, reason string) {
	p, d := &l.params, &t.User.Dream
	seen = d.Last
	racing := d.Last > 0 && d.Last != l.taken && now-d.Last < span(p.RaceSeconds, secondSpan)
	if racing {
		seen = d.Before
	}
	switch {
	case seen > 0 && now-seen < span(p.Hours, hourSpan):
		return seen, "too soon after the last one"
	case l.scanned > 0 && now-l.scanned < span(p.ScanMinutes, minuteSpan):
		return seen, "sessions were looked at just now"
	}
	l.scanned = now
	switch {
	case l.sessions(t, seen) < p.Sessions:
		return seen, "too few sessions since the last one"
	case racing && p.Reread:
		return seen, "lost the race for the lock"
	case !racing && l.locked(t, now):
		return seen, "locked by another session"
	}
	return seen, ""
}

// sessions counts those with a response since a time.
func (l *dream) sessions(t *Turn, since int64) int {
	but := t.Session
	if l.params.CountOwn {
		but = -1
	}
	n := t.User.since(since, but)
	if since == 0 {
		n += l.params.PastSessions
	}
	return n
}

// locked reports whether another dream holds the lock: it is stale only when it
// is old and its holder is gone (003:2436).
func (l *dream) locked(t *Turn, now int64) bool {
	d := &t.User.Dream
	old := now-d.Last > span(l.params.StaleMinutes, minuteSpan)
	return d.Holder != 0 && !(old && !t.User.lives(d.Holder-1))
}

// acquire writes the lock: the holder, and the time as that of a consolidation.
func (l *dream) acquire(t *Turn, now, seen int64) {
	l.before, l.taken = seen, now
	t.User.Dream = Dream{Last: now, Before: seen, Holder: t.Session + 1}
}

func (l *dream) call(t *Turn) prompt.Intent {
	p := &l.params
	turns := p.Phases.turns()
	l.answer = prompt.Answer{Output: p.TurnOutput}
	if t.Draw(DreamName, drawFails) < p.Failure {
		l.answer.Failed = prompt.FailAPI
	}
	if l.killed {
		turns = (turns + 1) / 2
	}
	return prompt.Intent{
		Source: "dream", Way: WayFork.String(), Prefix: prompt.PrefixShared, Instruction: p.Instruction,
		Turns: turns, TurnInput: p.TurnInput, Lifetime: prompt.Lifetime(p.Lifetime), Known: &l.answer,
	}
}

// BackgroundResult gives the lock back: its time stays when the dream ended
// well, and goes back to that of the last one when not (003:2432-2434).
func (l *dream) BackgroundResult(t *Turn, r *prompt.Result) Outcome {
	u := t.User
	if !l.params.SurvivesExit && !u.lives(t.Session) {
		return t.Refuse(DreamName, "its session ended")
	}
	reason := r.Failed
	if reason == "" && l.killed {
		reason = "killed"
	}
	if u.Dream.Holder == t.Session+1 && u.Dream.Last == l.taken {
		u.Dream.Holder = 0
		if reason != "" {
			u.Dream.Last = l.before
		}
	}
	if reason != "" {
		return t.Refuse(DreamName, reason)
	}
	t.Count(results.CountDreams, 1)
	l.prune(t)
	return Outcome{Declined, "dream ended"}
}

// prune shortens the index, to what a prompt can hold at most.
func (l *dream) prune(t *Turn) {
	p, x := &l.params, &t.User.Memory
	lines := p.Index.loaded(x.Lines - int32(p.Pruned*float64(x.Lines)))
	if lines != x.Lines {
		x.Lines = lines
		x.Change++
	}
	l.shown = p.Index.show(t, x, l.shown)
}
