// Package gauge follows what clients show of how full their windows are: the levels at which requests are sent, and the time at
// each level.
package gauge

import (
	"math"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies"
)

// Thread is a conversation whose window is shown.
type Thread interface {
	// Thresholds calls f with the name of every layer that compacts by itself, the size at which it does, tokens, and
	// the limits of the model.
	Thresholds(f func(layer string, tokens int64, r *strategies.Reading))
	// Turn returns the turn of the conversation.
	Turn() *strategies.Turn
}

// View is how full a window is. Sizes are tokens.
type View struct {
	Now               int64 // ns on the cohort's clock
	Model             int32 // index of the session's models
	Window, MaxOutput int64
	Used              int64 // by the client's count
}

// Session is what the clients of a session's conversations show. It keeps its storage between sessions.
type Session struct {
	Levels *Levels
	Kin    *strategies.Kin // the strategies that the run stands for; nil for one
	Row    *results.Row    // of the session

	threads []gauge
	sights  []sight // where the run stands for several strategies
	limits  []int64 // of their clients, by strategy
}

// gauge is what the client of a conversation shows of its window.
type gauge struct {
	limit   int64 // where the client compacts by itself, else the window, tokens
	limits  int32 // index of those under the strategies that the simulation stands for
	of      int32 // 1 + the model that limit is for, 0 for none yet
	at      At
	since   int64 // when it came to these levels, ns on the cohort's clock
	shown   bool
	blocked bool // the round's prompt met the blocking level
}

// sight is what a client can show of a conversation's window at one time.
type sight struct {
	View
	thread, limits int32
	sends          bool // a request goes out
	blocked        bool // as in gauge
	stops          bool // no sight: a prompt was stopped
}

// Begin makes s a session of so many conversations at its beginning.
func (s *Session) Begin(threads int) {
	s.threads = append(s.threads[:0], make([]gauge, threads)...)
	s.sights, s.limits = s.sights[:0], s.limits[:0]
}

// CopyFrom makes s go on from what o has seen, keeping s's storage, row and strategies.
func (s *Session) CopyFrom(o *Session) {
	s.Levels = o.Levels
	s.threads = append(s.threads[:0], o.threads...)
	s.sights, s.limits = append(s.sights[:0], o.sights...), append(s.limits[:0], o.limits...)
}

// Shows reports whether anything is shown.
func (s *Session) Shows() bool { return *s.Levels != Levels{} }

// BeginRound begins a round of a conversation: the client takes the prompt at any level once more.
func (s *Session) BeginRound(thread int32) { s.threads[thread].blocked = false }

// Blocked reports whether the prompt of a conversation's round has met the blocking level.
func (s *Session) Blocked(thread int32) bool { return s.threads[thread].blocked }

// Note notes the levels of a conversation at a request, which is sent, or after a response.
func (s *Session) Note(thread int32, sends bool, v *View, t Thread) {
	limit, seen := s.see(thread, v, t)
	seen.sends = sends
	s.show(limit, &seen)
}

// Stops reports whether the client does not take the prompt of a conversation's round, as its window is full, and notes it.
// A run that stands for several strategies goes on with those whose clients agree.
func (s *Session) Stops(thread int32, v *View, t Thread) bool {
	limit, seen := s.see(thread, v, t)
	full := func(limit int64) bool {
		return s.Levels.At(limit, v.Window, v.MaxOutput, v.Used).Has(measures.LevelBlocking)
	}
	if s.Kin != nil {
		s.Kin.Part(func(i int) bool { return full(s.limits[int(seen.limits)+i]) == full(limit) })
	}
	if !full(limit) {
		return false
	}
	s.threads[thread].blocked = true
	s.show(limit, &sight{thread: thread, stops: true})
	return true
}

// Full returns which strategies that the run stands for have clients that do not take the prompt of a conversation's round.
func (s *Session) Full(thread int32, v *View, t Thread) func(strategy int) bool {
	_, seen := s.see(thread, v, t)
	return func(strategy int) bool {
		return s.Levels.At(s.limits[int(seen.limits)+strategy], v.Window, v.MaxOutput, v.Used).Has(measures.LevelBlocking)
	}
}

// limit returns the limit of a conversation's client.
func (s *Session) limit(g *gauge, v *View, t Thread) int64 {
	switch {
	case g.of != v.Model+1:
	case s.Kin != nil:
		return s.limits[int(g.limits)+s.Kin.Runs]
	default:
		return g.limit
	}
	g.of, g.limit, g.limits = v.Model+1, v.Window, int32(len(s.limits))
	if s.Kin != nil {
		s.limits = append(s.limits, slices.Repeat([]int64{g.limit}, len(s.Kin.All))...)
	}
	if s.Kin != nil && s.Kin.Rests() {
		s.Kin.Thresholds(s.limits[g.limits:], t.Turn())
		return s.limits[int(g.limits)+s.Kin.Runs]
	}
	t.Thresholds(func(layer string, tokens int64, r *strategies.Reading) {
		if s.Kin != nil {
			s.Kin.Limit(s.limits[g.limits:], layer, tokens, r)
		}
		g.limit = min(g.limit, tokens)
	})
	return g.limit
}

// see takes the sight of a conversation's window, and returns its client's limit with it.
func (s *Session) see(thread int32, v *View, t Thread) (limit int64, seen sight) {
	g := &s.threads[thread]
	limit = s.limit(g, v, t)
	return limit, sight{View: *v, thread: thread, limits: g.limits, blocked: g.blocked}
}

// show adds a sight to the row, or keeps it as long as the run stands for several strategies: their clients may
// have other limits.
func (s *Session) show(limit int64, v *sight) {
	if s.Kin != nil && len(s.Kin.Alike) > 1 {
		s.sights = append(s.sights, *v)
		return
	}
	if len(s.sights) > 0 {
		s.showUnder(s.Kin.Runs, s.Row, s.threads)
		s.sights = s.sights[:0]
	}
	s.threads[v.thread].show(s.Row, s.Levels, limit, v)
}

// showUnder adds to a row the sights that were kept, under one of the strategies that the run stood for.
func (s *Session) showUnder(strategy int, row *results.Row, threads []gauge) {
	for i := range s.sights {
		v := &s.sights[i]
		threads[v.thread].show(row, s.Levels, s.limits[int(v.limits)+strategy], v)
	}
}

// Under adds to a row what clients show under one of the strategies that the run stood for.
func (s *Session) Under(strategy int, row *results.Row) {
	s.showUnder(strategy, row, make([]gauge, len(s.threads)))
}

// show adds to a row the time at the present levels and what a request meets, and moves
// to the levels of v.
func (g *gauge) show(row *results.Row, levels *Levels, limit int64, v *sight) {
	if v.stops {
		row.Figures[measures.BlockedCalls]++
		return
	}
	at := levels.At(limit, v.Window, v.MaxOutput, v.Used)
	if v.sends {
		row.SeeLeft(percentLeft(limit, v.Used))
		if at.Has(measures.LevelWarning) {
			row.Figures[measures.WarningCalls]++
		}
		if at.Has(measures.LevelError) {
			row.Figures[measures.ErrorCalls]++
		}
		if at.Has(measures.LevelBlocking) && !v.blocked {
			row.Figures[measures.BlockedCalls]++
		}
	}
	if g.shown {
		seconds := float64(v.Now-g.since) / 1e9
		for level := measures.LevelNormal; level <= measures.LevelBlocking; level++ {
			if g.at.Has(level) {
				row.Figures[measures.SecondsAt+measures.ID(level)] += seconds
			}
		}
	}
	g.at, g.since, g.shown = at, v.Now, true
}

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

// Block is what happens to a prompt at the blocking level.
type Block uint8

// What may happen to a prompt at the blocking level.
const (
	byClient     Block = iota // what the strategy's client does, off where it says nothing
	BlockOff                  // it is sent all the same, as in the recording; the call is counted
	BlockCompact              // the person asks for a compaction first
	BlockEnd                  // the session ends
	BlockNone                 // the client knows no such level: nothing is stopped or counted
)

// Names returns the names of blocks in files.
func (Block) Names() []string { return []string{"client", "off", "compact", "end", "none"} }

// Stops reports whether a prompt is not sent.
func (b Block) Stops() bool { return b == BlockCompact || b == BlockEnd }

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

// At returns the levels that a count of tokens is at: they are conditions
// of their own (001:256-276), and none is LevelNormal. limit is the client's: where it
// compacts by itself, else the window. Input never stops below it: 004:345 places
// blocking between the threshold and the window. All comparisons are ≥.
func (v *Levels) At(limit, window, maxOutput, used int64) At {
	blocking := window - min(maxOutput, v.Output) - v.Blocking
	if limit < window {
		blocking = max(blocking, limit)
	}
	var at At
	if used >= limit-v.Warning {
		at |= 1 << measures.LevelWarning
	}
	if used >= limit-v.Error {
		at |= 1 << measures.LevelError
	}
	if used >= blocking && v.Block != BlockNone {
		at |= 1 << measures.LevelBlocking
	}
	if at == 0 {
		return 1 << measures.LevelNormal
	}
	return at
}

// At is a set of levels, a bit each.
type At uint8

// Has reports whether a level is among them.
func (at At) Has(l measures.Level) bool { return at>>l&1 != 0 }
