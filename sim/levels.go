package sim

import (
	"math"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// Levels are what a client shows of how full its window is, and what it does
// when it is full. Sizes are tokens. The zero value notes nothing.
type Levels struct {
	Warning int64 `yaml:"warning" min:"0" doc:"Tokens below the limit at which it warns: 20,000 in Claude Code." unit:"tokens"`
	Error   int64 `yaml:"error" min:"0" doc:"Tokens below the limit at which it warns in red: 20,000 in Claude Code." unit:"tokens"`
	// Blocking is how far below the effective window, that is the window less
	// the output kept free, the client stops taking input; Output is the most
	// it keeps free.
	Blocking int64 `yaml:"blocking" min:"0" doc:"Tokens below the effective window at which it takes no input. The effective window is the window less the output kept free: 177,000 of 200,000; never below where the strategy compacts by itself." unit:"tokens"`
	Output   int64 `yaml:"output_reserve" min:"0" doc:"The most output kept free, tokens." unit:"tokens"`
	Block    Block `yaml:"block" doc:"What happens to a prompt at that level: client (what the preset of the strategy says of its client; off where it says nothing), off (it is sent as in the recording, and counted), compact (the person asks for a compaction first, if the strategy has full-compact and it takes manual ones) or end (the session ends; what is not simulated is counted, and the row is not compared) or none (the client knows no such level: no call is counted)."`
}

// DefaultLevels returns the levels of Claude Code: 20,000 below its limit
// (001:230; E3), and 3,000 below the window less 20,000 of output (E3: 177,000
// of 200,000).
func DefaultLevels() Levels {
	return Levels{Warning: 20_000, Error: 20_000, Blocking: 3_000, Output: 20_000}
}

// Overflow is what happens to a request that the server refuses as longer than
// the window and that no layer can shorten.
type Overflow uint8

// What may happen to a request beyond the window.
const (
	// overflowStrategy ends the session under a strategy that shortens contexts, though a
	// setting may have switched that off. Others, and a replay of the recording, are
	// references and go on.
	overflowStrategy Overflow = iota
	OverflowAnswer            // it is answered and priced as if the window were larger
	overflowEnd               // the error reaches the person, and the session ends (002:281)
)

// Names returns the names of overflows in files.
func (Overflow) Names() []string { return []string{"strategy", "answer", "end"} }

// ends reports whether a refused request ends a session under a strategy.
func (o Overflow) ends(s *strategies.Strategy) bool {
	if o != overflowStrategy {
		return o == overflowEnd
	}
	return s.Shortens()
}

// Block is what happens to a prompt at the blocking level.
type Block uint8

// What may happen to a prompt at the blocking level.
const (
	blockClient  Block = iota // what the strategy's client does, off where it says nothing
	BlockOff                  // it is sent all the same, as in the recording; the call is counted
	BlockCompact              // the person asks for a compaction first
	BlockEnd                  // the session ends
	BlockNone                 // the client knows no such level: nothing is stopped or counted
)

// Names returns the names of blocks in files.
func (Block) Names() []string { return []string{"client", "off", "compact", "end", "none"} }

// Rules returns contradictions between the levels.
func (v Levels) Rules() []error {
	if v.Error > v.Warning {
		return []error{spec.Wrong("error", "%d lies further below the limit than warning %d", v.Error, v.Warning)}
	}
	return nil
}

// percentLeft returns what a client shows as left of a limit when used tokens
// are in the context, per cent (001:244).
func percentLeft(limit, used int64) int {
	if limit <= 0 {
		return 0
	}
	return max(0, int(math.Round(float64(limit-used)/float64(limit)*100)))
}

// of returns the levels that a count of tokens is at, a bit each: they are conditions
// of their own (001:256-276), and none is LevelNormal. limit is the client's: where it
// compacts by itself, else the window. Input never stops below it: 004:345 places
// blocking between the threshold and the window. All comparisons are ≥.
func (v *Levels) of(limit, window, maxOutput, used int64) levels {
	blocking := window - min(maxOutput, v.Output) - v.Blocking
	if limit < window {
		blocking = max(blocking, limit)
	}
	var at levels
	if used >= limit-v.Warning {
		at |= 1 << results.LevelWarning
	}
	if used >= limit-v.Error {
		at |= 1 << results.LevelError
	}
	if used >= blocking && v.Block != BlockNone {
		at |= 1 << results.LevelBlocking
	}
	if at == 0 {
		return 1 << results.LevelNormal
	}
	return at
}

// levels is a set of levels, a bit each.
type levels uint8

// has reports whether a level is among them.
func (at levels) has(l results.Level) bool { return at>>l&1 != 0 }

// gauge is what a thread's client shows of its window.
type gauge struct {
	limit   int64 // where the client compacts by itself, else the window, tokens
	limits  int32 // index of those under the strategies that the simulation stands for
	of      int32 // 1 + the model that limit is for, 0 for none yet
	at      levels
	since   int64 // when it came to these levels, ns on the cohort's clock
	shown   bool
	blocked bool // the round's prompt met the blocking level
}

// sight is what a client can show of a thread's window at one time.
type sight struct {
	now                     int64 // ns on the cohort's clock
	window, maxOutput, used int64
	thread, limits          int32
	sends                   bool // a request goes out
	blocked                 bool // as in gauge
	stops                   bool // no sight: a prompt was stopped
}

// count returns the client's count of a thread's tokens.
func (t *thread) count() int64 {
	if t.replay.count.Trailing {
		return t.counted + t.replay.count.Pad(t.trailing, t.replay.book.Models.Of(t.model()).Name)
	}
	return t.counted
}

// gauged reports whether a person sees how full a thread's window is.
func (t *thread) gauged() bool {
	return t.replay.gauged && !t.Agent()
}

// limitOf returns the limit of a thread's client.
func (l *Loop) limitOf(t *thread) int64 {
	g, s, model := &t.gauge, t.replay, t.model()
	kin := l.turn.Kin
	switch {
	case g.of != model+1:
	case kin != nil:
		return s.limits[int(g.limits)+kin.Runs]
	default:
		return g.limit
	}
	g.of, g.limit, g.limits = model+1, s.book.Models.Of(model).Window, int32(len(s.limits))
	if kin != nil {
		s.limits = append(s.limits, slices.Repeat([]int64{g.limit}, len(kin.All))...)
	}
	for _, h := range t.hooks.limits {
		l.refresh(t)
		limit, ok := h.do.AutoThreshold(&l.turn)
		if ok && kin != nil {
			kin.Limit(s.limits[g.limits:], t.layers[h.layer].Name(), limit, &l.turn.Reading)
		}
		if ok {
			g.limit = min(g.limit, limit)
		}
	}
	return g.limit
}

// see takes the sight of a thread's window, for v which is empty, and returns its limit.
func (l *Loop) see(t *thread, v *sight) (limit int64) {
	limit, m := l.limitOf(t), t.replay.book.Models.Of(t.model())
	v.now, v.window, v.maxOutput, v.used = l.clock.now, m.Window, m.MaxOutput, t.count()
	v.thread, v.limits, v.blocked = t.Index, t.gauge.limits, t.gauge.blocked
	return limit
}

// noteLevels notes the levels at a request, or after a response.
func (l *Loop) noteLevels(t *thread, sends bool) {
	if !t.gauged() {
		return
	}
	v := sight{sends: sends}
	l.show(t, l.see(t, &v), &v)
}

// show adds a sight to the row, or keeps it as long as the simulation stands for several strategies: their clients may
// have other limits.
func (l *Loop) show(t *thread, limit int64, v *sight) {
	s, kin := t.replay, l.turn.Kin
	if kin != nil && len(kin.Alike) > 1 {
		s.sights = append(s.sights, *v)
		return
	}
	for i := range s.sights {
		k := &s.sights[i]
		l.threads[s.base+k.thread].gauge.show(&s.book.Row, s.levels, s.limits[int(k.limits)+kin.Runs], k)
	}
	s.sights = s.sights[:0]
	t.gauge.show(&s.book.Row, s.levels, limit, v)
}

// show adds to a row the time at the present levels and what a request meets, and moves
// to the levels of v.
func (g *gauge) show(row *results.Row, levels *Levels, limit int64, v *sight) {
	if v.stops {
		row.Figures[results.BlockedCalls]++
		return
	}
	at := levels.of(limit, v.window, v.maxOutput, v.used)
	if v.sends {
		row.SeeLeft(percentLeft(limit, v.used))
		if at.has(results.LevelWarning) {
			row.Figures[results.WarningCalls]++
		}
		if at.has(results.LevelError) {
			row.Figures[results.ErrorCalls]++
		}
		if at.has(results.LevelBlocking) && !v.blocked {
			row.Figures[results.BlockedCalls]++
		}
	}
	if g.shown {
		seconds := float64(v.now-g.since) / 1e9
		for level := results.LevelNormal; level <= results.LevelBlocking; level++ {
			if g.at.has(level) {
				row.Figures[results.SecondsAt+results.ID(level)] += seconds
			}
		}
	}
	g.at, g.since, g.shown = at, v.now, true
}

// byHand is the compaction a person asks for when the client refuses the prompt.
var byHand = []traces.Event{{Kind: traces.EventCompact, Manual: true}}

// byProgram begins the ways in which programs start Claude Code (traces.Session.Entry): nobody is there to ask for a
// compaction, and the client ends with an error, amid a turn too (2.1.332 with DISABLE_AUTO_COMPACT: at 176,868 and
// 174,676 tokens, before a result that would pass 177,000).
const byProgram = "sdk"

// block stops a prompt at the blocking level if the client does: a compaction by hand
// comes first, or the session ends. It reports whether it did; the prompt goes on after
// the compaction, whatever became of that.
func (l *Loop) block(t *thread) bool {
	b := t.replay.levels.Block
	alone := b == BlockCompact && strings.HasPrefix(t.replay.session.Entry, byProgram)
	if b == BlockOff || b == BlockNone || b == blockClient || t.gauge.blocked || !t.gauged() || !alone && t.Current().Trigger != traces.TriggerPrompt {
		return false
	}
	if l.refresh(t); l.turn.Waits {
		return false
	}
	var v sight
	limit := l.see(t, &v)
	full := func(limit int64) bool {
		return t.replay.levels.of(limit, v.window, v.maxOutput, v.used).has(results.LevelBlocking)
	}
	if kin := l.turn.Kin; kin != nil {
		kin.Part(func(i int) bool { return full(t.replay.limits[int(v.limits)+i]) == full(limit) })
	}
	if !full(limit) {
		return false
	}
	t.gauge.blocked = true
	l.show(t, limit, &sight{stops: true})
	if b == BlockEnd || alone {
		l.cutOff(t)
		return true
	}
	for i, h := range t.hooks.before {
		if t.layers[h.layer].Name() == strategies.CompactName {
			l.compactByHand(t, i)
			return true
		}
	}
	return false
}

// compactByHand asks the layer of a hook for a compaction and then goes on.
func (l *Loop) compactByHand(t *thread, i int) {
	h := t.hooks.before[i]
	l.refresh(t)
	l.turn.Events = byHand
	out := h.do.BeforeRequest(&l.turn)
	l.noteOutcome(t, h.layer, "before_request", out)
	l.settle(t, h.layer)
	if out.Verdict == strategies.Pending {
		l.launch(t, h.layer)
		return
	}
	t.conclude(h.layer, out)
	l.send(t)
}

// cutOff ends a conversation before its request. A sub-agent's conversation ends alone:
// its parent goes on with the recorded results.
func (l *Loop) cutOff(t *thread) {
	l.noteLevels(t, false)
	t.replay.cut = true
	l.end(t)
}

// countUnsimulated counts the recorded calls that a session which ended early
// leaves out.
func (s *replay) countUnsimulated() {
	if s.cut {
		r := &s.book.Row
		r.Figures[results.EndedSessions] = 1
		r.Figures[results.UnsimulatedCalls] = float64(s.session.NumCalls() - r.OwnCalls() - s.leftOut())
	}
}
