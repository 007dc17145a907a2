package caches

import (
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/traces/facts"
)

// read sends a request of 5,000 tokens and returns what it read.
func read(v Server, now int64) int64 {
	r := &exchange.Request{Thread: 1, Entries: []prompt.Entry{{Kind: prompt.KindPrompt, Tokens: 5000, Cum: 5000, Chain: prompt.DigestString("p")}}}
	r.Change.At = -1
	out := v.Begin(now, r)
	v.FirstToken(now, out.Ticket)
	v.End(now, out.Ticket, 0)
	return out.Usage.Read
}

// A copy has what each server of the other set holds, in whatever order both met their agents, and nothing that the other set lacks:
// 4,992 of 5,000 tokens are whole steps of 128.
func TestCopyInAnotherOrder(t *testing.T) {
	kind := func(cache facts.Cache) Server {
		if cache == facts.CacheMarked {
			return promptcache.New(promptcache.Config{})
		}
		return promptcache.NewOpenAI(promptcache.OpenAIConfig{})
	}
	from, to := Set{New: kind}, Set{New: kind}
	from.Of("claude-code", "anthropic", facts.CacheMarked)
	read(from.Of("codex", "openai", facts.CacheAutomatic), 1)
	read(to.Of("pi", "openai", facts.CacheAutomatic), 1)
	to.Of("codex", "openai", facts.CacheAutomatic)
	to.CopyFrom(&from)
	for agent, want := range map[string]int64{"codex": 4992, "pi": 0} {
		if got := read(to.Of(agent, "openai", facts.CacheAutomatic), 2); got != want {
			t.Errorf("the copy reads %d tokens for %s, want %d", got, agent, want)
		}
	}
}
