package validate

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/signs"
)

// Facts are what the client of a session does, by name: both sums of a ratio.
type Facts map[string][2]float64

// The facts that can be priced.
const (
	FactLifetime      = "writes for an hour, conversations"
	FactLifetimeAgent = "writes for an hour, sub-agents"
	FactCompactedAt   = "tokens before a compaction"
)

// The facts that are told.
const (
	FactHead        = "tokens of tools and system prompt"
	FactHeadChanges = "calls behind a change of tools or system prompt"
	FactReached     = "largest context, tokens" // of itself no fact of a client: it bounds the level of a compaction
	factCompactions = "compactions per call"
	factClearings   = "clearings per call"
	factThinking    = "responses that think"
	FactOutput      = "output tokens per response" // priced in sessions that the baseline has too
	factPauses      = "pauses over the lifetime, per call"
	factAgents      = "share of calls by sub-agents" // none where a client keeps their files elsewhere
	factFirst       = "input that first calls of sub-agents read"
	FactModel       = "calls of " // before the name of a model
	factClient      = FactModel + "client "
)

// Levels of prices: USD for a million tokens of a fixed basket at the standard prices of the models that were called,
// so that neither the cache nor the length of responses moves them.
const (
	FactPrice      = "price of a million tokens, conversations"
	FactPriceAgent = "price of a million tokens, sub-agents"
)

// basket is what a million tokens of a call are in a level of prices: about the shares of the classes in recorded
// sessions of Claude Code, of which nine in ten input tokens are read from the cache. Tokens of each class per token.
var basket = results.Cost{measures.ClassUncached: 0.02, measures.ClassRead: 0.9, measures.ClassWrite5m: 0.06, measures.ClassWrite1h: 0.02, measures.ClassOutput: 0.02}

// Level reports whether a fact is a level of prices.
func Level(fact string) bool { return fact == FactPrice || fact == FactPriceAgent }

// AddPrices adds the levels of prices of a session whose body is in memory. rate returns the standard prices of a
// model, USD per million tokens, false for a model without a price, whose calls are left out.
func (f Facts) AddPrices(s *traces.Session, rate func(model string) (results.Cost, bool)) {
	each := make([]float64, len(s.Models)) // of a basket, 0 for unknown
	for i, model := range s.Models {
		if cost, ok := rate(model); ok {
			for class, share := range basket {
				each[i] += share * cost[class]
			}
		}
	}
	for i := range s.Threads {
		t := &s.Threads[i]
		name := FactPrice
		if agentThread(t) {
			name = FactPriceAgent
		}
		for r := range t.Rounds {
			u := &t.Rounds[r].Usage
			if usd, n := each[t.Rounds[r].Model], float64(u.Input()+u.Output); usd > 0 && n > 0 {
				f[name] = [2]float64{f[name][0] + usd*n, f[name][1] + n}
			}
		}
	}
}

// Set reports whether a fact is a setting of a client, which has a value in a session,
// and no habit of people or models, of which sessions have more or less.
func Set(fact string) bool {
	return fact == FactLifetime || fact == FactLifetimeAgent || fact == FactCompactedAt || fact == FactHead
}

// Named reports whether the name of a fact has the name of a client or a model in it. It is a
// share of calls, which a session without that client or model has as 0.
func Named(fact string) bool { return strings.HasPrefix(fact, FactModel) }

// Client returns the client and the version that a fact names.
func Client(fact string) (name string, ok bool) { return strings.CutPrefix(fact, factClient) }

// FactsOf returns the facts of a session whose body is in memory. A fact without a base is
// left out.
func FactsOf(s *traces.Session) Facts {
	f := Facts{}
	calls := float64(s.NumCalls())
	for i := range s.Threads {
		f.see(s, &s.Threads[i], calls)
	}
	f[factClient+s.Agent+" "+s.Version()] = [2]float64{calls, calls}
	for i, n := range s.ModelCalls() {
		f[FactModel+s.Models[i]] = [2]float64{float64(n), calls}
	}
	for _, name := range []string{FactLifetime, FactLifetimeAgent} { // a setting, however much was written
		if share := f[name]; share[1] > 0 {
			f[name] = [2]float64{share[0] / share[1], 1}
		}
	}
	maps.DeleteFunc(f, func(_ string, parts [2]float64) bool { return parts[1] == 0 })
	return f
}

// see adds what a thread shows.
func (f Facts) see(s *traces.Session, t *traces.Thread, calls float64) {
	add := func(name string, part, base float64) { f[name] = [2]float64{f[name][0] + part, f[name][1] + base} }
	lifetime := FactLifetime
	if agentThread(t) {
		lifetime = FactLifetimeAgent
	}
	side := 0.0
	if agentThread(t) {
		side = 1
	}
	for r := range t.Rounds {
		round := &t.Rounds[r]
		add(factAgents, side, 1)
		if side > 0 && r == 0 {
			add(factFirst, float64(round.Usage.Read), float64(round.Usage.Input()))
		}
		if round.Flags&signs.TierAssumed == 0 {
			add(lifetime, float64(round.Usage.Write1h), float64(round.Usage.Write1h+round.Usage.Write5m))
		}
		thinks := 0.0
		if s.Content(round).Thinks {
			thinks = 1
		}
		add(factThinking, thinks, 1)
		add(FactOutput, float64(round.Usage.Output), 1)
		pause := 0.0
		if r > 0 && time.Duration(round.Wait) > lasting(&t.Rounds[r-1].Usage) {
			pause = 1
		}
		add(factPauses, pause, 1)
		if all := float64(round.Usage.Input() + round.Usage.Output); !agentThread(t) {
			f[FactReached] = [2]float64{max(f[FactReached][0], all), 1}
		}
	}
	head := 0.0
	for b := t.Prefix.From; b < t.Prefix.To; b++ {
		if s.Blocks[b].Kind.Level() != prompt.LevelMessages {
			head += float64(s.Blocks[b].Tokens)
		}
	}
	if head > 0 && !agentThread(t) {
		add(FactHead, head, 1)
	}
	f[factCompactions] = [2]float64{f[factCompactions][0], calls}
	f[factClearings] = [2]float64{f[factClearings][0], calls}
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

// lasting returns for how long a call asks the cache to keep what it writes.
func lasting(u *prompt.Usage) time.Duration {
	if u.Write1h > 0 {
		return time.Hour
	}
	return 5 * time.Minute
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
