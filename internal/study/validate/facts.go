package validate

import (
	"slices"
	"strings"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// Facts are what the clients of sessions do, by name: for each session both sums of a
// ratio. A session without the base has none.
type Facts map[string][][2]float64

// The facts that can be priced.
const (
	FactLifetime      = "writes for an hour, conversations"
	FactLifetimeAgent = "writes for an hour, sub-agents"
	FactCompactedAt   = "tokens before a compaction"
)

// The facts that are told.
const (
	factCompactions = "compactions per call"
	factClearings   = "clearings per call"
	factHead        = "tokens of tools and system prompt"
	factClient      = "calls of "
)

// FactsOf returns the facts of sessions. Agents with their versions and models are shares of calls.
func FactsOf(sessions []*traces.Session) (Facts, error) {
	f := Facts{}
	for _, s := range sessions {
		s, err := s.Load()
		if err != nil {
			return nil, err
		}
		own := map[string][2]float64{}
		calls := float64(s.NumCalls())
		for i := range s.Threads {
			see(own, s, &s.Threads[i], calls)
		}
		own[factClient+s.Agent+" "+s.Version()] = [2]float64{calls, calls}
		for i, n := range s.ModelCalls() {
			own[factClient+s.Models[i]] = [2]float64{float64(n), calls}
		}
		for name, parts := range own {
			if parts[1] > 0 {
				f[name] = append(f[name], parts)
			}
		}
	}
	f.complete(len(sessions))
	return f, nil
}

// complete adds the sessions without a call of a client or a model to its share.
func (f Facts) complete(sessions int) {
	for name, parts := range f {
		if Named(name) {
			f[name] = append(parts, slices.Repeat([][2]float64{{0, 1}}, sessions-len(parts))...)
		}
	}
}

// Named reports whether the name of a fact has that of a client or a model in it.
func Named(fact string) bool { return strings.HasPrefix(fact, factClient) }

// see adds what a thread shows.
func see(own map[string][2]float64, s *traces.Session, t *traces.Thread, calls float64) {
	add := func(name string, part, base float64) {
		own[name] = [2]float64{own[name][0] + part, own[name][1] + base}
	}
	lifetime := FactLifetime
	if agentThread(t) {
		lifetime = FactLifetimeAgent
	}
	for r := range t.Rounds {
		if u := &t.Rounds[r].Usage; t.Rounds[r].Flags&traces.RoundTierAssumed == 0 {
			add(lifetime, float64(u.Write1h), float64(u.Write1h+u.Write5m))
		}
	}
	head := 0.0
	for b := t.Prefix.From; b < t.Prefix.To; b++ {
		if s.Blocks[b].Kind.Level() != prompt.LevelMessages {
			head += float64(s.Blocks[b].Tokens)
		}
	}
	if head > 0 && !agentThread(t) {
		add(factHead, head, 1)
	}
	own[factCompactions] = [2]float64{own[factCompactions][0], calls}
	own[factClearings] = [2]float64{own[factClearings][0], calls}
	for i := range t.Events {
		e := &t.Events[i]
		switch {
		case e.Kind == traces.EventMicrocompact:
			add(factClearings, 1, 0)
		case e.Kind == traces.EventCompact:
			add(factCompactions, 1, 0)
			if e.Round > 0 && !e.Manual {
				u := &t.Rounds[e.Round-1].Usage
				add(FactCompactedAt, float64(u.Input()+u.Output), 1)
			}
		}
	}
}

func agentThread(t *traces.Thread) bool {
	return t.Kind == traces.ThreadAgent || t.Kind == traces.ThreadOrphan
}

// Asking returns a copy of a session whose conversations, or sub-agents, ask for one
// lifetime: an hour or five minutes.
func Asking(s *traces.Session, subAgents, hour bool) (*traces.Session, error) {
	s, err := s.Load()
	if err != nil {
		return nil, err
	}
	own := *s
	own.Threads = slices.Clone(s.Threads)
	for i := range own.Threads {
		t := &own.Threads[i]
		if agentThread(t) != subAgents {
			continue
		}
		t.Rounds = slices.Clone(t.Rounds)
		for r := range t.Rounds {
			u := &t.Rounds[r].Usage
			written := u.Write5m + u.Write1h
			if u.Write5m, u.Write1h = written, 0; hour {
				u.Write5m, u.Write1h = 0, written
			}
		}
	}
	return &own, nil
}
