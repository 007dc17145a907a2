// Package gauge follows what clients show of how full their windows are: the levels at which requests are sent, and the time at
// each level.
package gauge

import (
	"slices"

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

// Open begins a round of a conversation: the client takes the prompt at any level once more.
func (s *Session) Open(thread int32) { s.threads[thread].blocked = false }

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
	if s.Kin != nil && s.Kin.Watches() {
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
