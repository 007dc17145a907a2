package strategies

import (
	"errors"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/ask"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies/standard"
)

// dreamParams are the parameters of dream. Sizes are tokens.
type dreamParams struct {
	Switch       `yaml:",inline"`
	Hours        float64      `yaml:"hours" doc:"hours since the last consolidation" min:"0" max:"1e6"`
	ScanMinutes  float64      `yaml:"scan_minutes" doc:"minutes from one look at the list of sessions to the next, per session" min:"0" max:"1e6"`
	Sessions     int          `yaml:"sessions" doc:"sessions with a response since the last consolidation" min:"0"`
	CountOwn     bool         `yaml:"count_own" doc:"the session that asks counts among them; assumed"`
	PastSessions int          `yaml:"past_sessions" doc:"sessions before the first one simulated that count until the first consolidation; assumed" min:"0"`
	StaleMinutes float64      `yaml:"stale_minutes" doc:"minutes from which the lock of a session that has ended is taken over" min:"0" max:"1e6"`
	Reread       bool         `yaml:"reread" doc:"the lock is read again once written: one of two sessions at once gives way" needs:"race_seconds"`
	RaceSeconds  float64      `yaml:"race_seconds" doc:"seconds in which another session does not see that the lock was written; assumed" min:"0" max:"1e6"`
	Phases       dreamPhases  `yaml:"phases" doc:"responses by phase"`
	Instruction  int32        `yaml:"instruction" doc:"tokens of the instruction; assumed" unit:"tokens" min:"0"`
	TurnInput    int32        `yaml:"turn_input" doc:"tokens of the tool results between two responses; assumed" unit:"tokens" min:"0"`
	TurnOutput   int32        `yaml:"turn_output" doc:"tokens of one response; assumed" unit:"tokens" min:"0"`
	Lifetime     callLifetime `yaml:"lifetime" doc:"lifetime class its markers ask for: client, 5m or 1h"`
	Failure      float64      `yaml:"failure" doc:"share of dreams that the server refuses, 0…1; assumed" unit:"share" min:"0" max:"1"`
	Killed       float64      `yaml:"killed" doc:"share of dreams that a person ends half-way, 0…1; assumed" unit:"share" min:"0" max:"1"`
	SurvivesExit bool         `yaml:"survives_exit" doc:"a dream goes on when its session has ended; off, it is lost and the lock stays; assumed"`
	Pruned       float64      `yaml:"pruned" doc:"share of the lines of the index that a dream takes out, 0…1; assumed" unit:"share" min:"0" max:"1"`
	Index        indexParams  `yaml:"index" doc:"what a prompt holds of the index of memory files"`
}

// dreamPhases are the responses that the phases of a dream take (003:2440-2478).
type dreamPhases struct {
	Orient      int32 `yaml:"orient" doc:"responses that read the memory files; assumed" unit:"responses" min:"0"`
	Gather      int32 `yaml:"gather" doc:"responses that search logs and transcripts; assumed" unit:"responses" min:"0"`
	Consolidate int32 `yaml:"consolidate" doc:"responses that write memory files; assumed" unit:"responses" min:"0"`
	Prune       int32 `yaml:"prune" doc:"responses that shorten the index; assumed" unit:"responses" min:"0"`
}

// turns returns the responses of all phases.
func (p *dreamPhases) turns() int32 { return p.Orient + p.Gather + p.Consolidate + p.Prune }

// Rules returns contradictions between the parameters.
func (p *dreamPhases) Rules() []error {
	if p.turns() < 1 {
		return []error{errors.New("no responses, at least one is needed")}
	}
	return nil
}

// Units of parameters, ns.
const (
	secondSpan = 1e9
	minuteSpan = 60 * secondSpan
	hourSpan   = 60 * minuteSpan
)

// span returns a number of units as ns.
func span(n, unit float64) int64 { return int64(n * unit) }

// defaultDream has the documents' gates (003:2418-2438; leaked client:
// minHours 24, minSessions 5, scans every 10 minutes, stale after an hour).
func defaultDream() dreamParams {
	return dreamParams{
		Switch: on, Hours: 24, ScanMinutes: 10, Sessions: 5, StaleMinutes: 60, Reread: true,
		Phases: dreamPhases{Orient: 2, Gather: 3, Consolidate: 3, Prune: 2}, Instruction: 2000, TurnInput: 2500, TurnOutput: 400,
		Lifetime: callLifetime(ask.Lifetime5m), SurvivesExit: true, Pruned: 0.3, Index: defaultIndex,
	}
}

var dreamDefinition = Define(standard.Dream,
	"consolidates the memory files of a user's sessions now and then, by a call beside the conversation on its own prefix",
	defaultDream(),
	func(p dreamParams) Layer { return &dream{params: p} }).with(Traits{Draws: true})

// dream is the state of the layer on one thread; the lock is the user's.
type dream struct {
	params  dreamParams
	shown   uint32 // state of the index that the thread's head was given
	scanned int64  // last look at the list of sessions, ns since the epoch; 0 for never
	taken   int64  // mtime that this thread gave the lock
	before  int64  // mtime to go back to
	killed  bool   // the dream under way will be
	answer  prompt.Answer
}

var (
	_ EndOfLoop        = (*dream)(nil)
	_ BackgroundResult = (*dream)(nil)
)

func (l *dream) Name() string { return standard.Dream }
func (l *dream) Clone() Layer { c := *l; return &c }
func (l *dream) Copy() Layer  { return l.Clone() }
func (l *dream) Reset()       { *l = dream{params: l.params} }

// EndOfLoop goes through the gates, cheapest first, and dreams after the last.
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
		return t.Refuse(standard.Dream, reason)
	}
	l.acquire(t, now, seen)
	l.killed = t.Draw(standard.Dream, drawKilled) < l.params.Killed
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

// sessions counts the sessions with a response since a time.
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

// acquire writes the lock: the holder, and the time of its consolidation.
func (l *dream) acquire(t *Turn, now, seen int64) {
	l.before, l.taken = seen, now
	t.User.Dream = dreamLock{Last: now, Before: seen, Holder: t.Session + 1}
}

func (l *dream) call(t *Turn) prompt.Intent {
	p := &l.params
	turns := p.Phases.turns()
	l.answer = prompt.Answer{Output: p.TurnOutput}
	if t.Draw(standard.Dream, drawFails) < p.Failure {
		l.answer.Failed = ask.FailAPI
	}
	if l.killed {
		turns = (turns + 1) / 2
	}
	return prompt.Intent{
		Source: "dream", Way: wayFork.String(), Instruction: p.Instruction,
		Turns: turns, TurnInput: p.TurnInput, Lifetime: ask.Lifetime(p.Lifetime), Known: &l.answer,
	}
}

// BackgroundResult gives the lock back: its time stays when the dream ended well, and goes back to
// the time of the last dream when not (003:2432-2434).
func (l *dream) BackgroundResult(t *Turn, r *prompt.Result) Outcome {
	u := t.User
	if !l.params.SurvivesExit && !u.lives(t.Session) {
		return t.Refuse(standard.Dream, "its session ended")
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
		return t.Refuse(standard.Dream, reason)
	}
	t.Count(measures.Dreams, 1)
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
