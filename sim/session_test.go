package sim

import (
	"fmt"
	"testing"
	"time"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/kit/draws"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/sim/summarizer"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
)

const (
	second = int64(time.Second)
	minute = int64(time.Minute)
)

// sessionBuilder writes sessions in the parsed form, with made-up but exact
// token counts.
type sessionBuilder struct {
	s traces.Session
	// unseen adds a second block to the input of every other round.
	unseen bool
}

// newSession begins a session whose main thread has 12,000 tokens of tools,
// 4,000 of system prompt and 2,000 of reminders.
func newSession(id string) *sessionBuilder {
	b := &sessionBuilder{s: traces.Session{
		ID: id, Agent: "claude-code", Versions: []string{"2.1.25"}, Start: time.Date(2026, 2, 1, 9, 0, 0, 0, time.UTC).UnixNano(),
		Tools: []string{"", "Read"}, Models: []string{"claude-opus-4-5"},
	}}
	b.thread(traces.Thread{ID: "main", Kind: traces.ThreadMain, Parent: -1, ParentRound: -1})
	main := &b.s.Threads[0]
	main.Prefix.From = b.block(prompt.KindTools, 12000)
	b.block(prompt.KindSystem, 4000)
	main.Prefix.To = b.block(prompt.KindReminder, 2000) + 1
	return b
}

func (b *sessionBuilder) thread(t traces.Thread) { b.s.Threads = append(b.s.Threads, t) }

func (b *sessionBuilder) block(k prompt.Kind, tokens int32) int32 {
	i := int32(len(b.s.Blocks))
	b.s.Blocks = append(b.s.Blocks, prompt.Block{
		Kind: k, Tokens: tokens, Bytes: tokens * 3, Object: -1, Line: i + 1,
		Digest: prompt.DigestString(fmt.Sprint(b.s.ID, k, i)),
	})
	return i
}

// round adds a call to the last thread: a prompt or the results of the calls
// before, and a response of 200 tokens with as many tool calls as the next
// round has results.
func (b *sessionBuilder) round(trigger traces.Trigger, wait int64, input int32) *traces.Round {
	t := &b.s.Threads[len(b.s.Threads)-1]
	r := traces.Round{
		ID: fmt.Sprintf("%s-%d", t.ID, len(t.Rounds)), Trigger: trigger, Wait: wait,
		First: 2 * second, Stream: 5 * second, At: b.s.Start,
	}
	r.Input.From = int32(len(b.s.Blocks))
	if trigger == traces.TriggerPrompt {
		b.block(prompt.KindPrompt, input)
	} else {
		i := b.block(prompt.KindToolResult, input)
		call := &b.s.Blocks[b.lastUse(t)]
		b.s.Blocks[i].Call, b.s.Blocks[i].Op, b.s.Blocks[i].Object = call.Call, op.Read, i
	}
	if b.unseen && len(t.Rounds)%2 == 1 {
		b.block(prompt.KindUnseen, 50)
	}
	r.Input.To = int32(len(b.s.Blocks))
	r.Reply.From = r.Input.To
	b.block(prompt.KindThinking, 40)
	b.block(prompt.KindText, 60)
	use := b.block(prompt.KindToolUse, 100)
	b.s.Blocks[use].Call = use + 1
	r.Reply.To = int32(len(b.s.Blocks))
	r.Usage = prompt.Usage{Write5m: int64(input), Output: 200}
	r.Logged = 200
	t.Rounds = append(t.Rounds, r)
	return &t.Rounds[len(t.Rounds)-1]
}

// lastUse returns the block of the last tool call of a thread.
func (b *sessionBuilder) lastUse(t *traces.Thread) int32 {
	return t.Rounds[len(t.Rounds)-1].Reply.To - 1
}

// turns adds a prompt followed by n−1 rounds of tool results.
func (b *sessionBuilder) turns(n int, wait int64, result int32) *sessionBuilder {
	b.round(traces.TriggerPrompt, wait, 300)
	for range n - 1 {
		b.round(traces.TriggerToolResult, second, result)
	}
	return b
}

func (b *sessionBuilder) session() *traces.Session { return &b.s }

// testConfig returns a cell of a built-in strategy with the default server,
// summariser and prices, all invariants checked.
func testConfig(t testing.TB, strategy string) Config {
	t.Helper()
	registry, err := strategies.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	s, err := registry.Strategy(strategy)
	if err != nil {
		t.Fatal(err)
	}
	prices, err := costmodel.Default()
	if err != nil {
		t.Fatal(err)
	}
	return Config{
		Strategy:   s,
		Server:     func(facts.Cache) Server { return promptcache.New(promptcache.Config{}) },
		Summarizer: summarizer.Default(),
		Prices:     prices,
		Seed:       1,
		Watch:      Watch{Verify: true},
	}
}

// failing is a summariser that never gives a summary.
type failing struct{}

func (failing) Summarize(*prompt.Intent, draws.Source, uint64, prompt.Digest) prompt.Answer {
	return prompt.Answer{Failed: "no usable summary", First: second, Total: second}
}
