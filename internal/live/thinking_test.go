package live

import (
	"testing"

	"github.com/compactsim/compactsim/internal/live/api"
	"github.com/compactsim/compactsim/internal/live/cassette"
	"github.com/compactsim/compactsim/internal/live/devserver"
	"github.com/compactsim/compactsim/internal/live/wire"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/summarizer"
	"github.com/compactsim/compactsim/traces"
)

// thinks makes the script's thread one whose recorded answers show thinking:
// block 3 of conversation.
func (s *script) thinks() {
	s.session.Threads = []traces.Thread{{Rounds: []traces.Round{{Reply: traces.Span{From: 3, To: 6}}}}}
}

// A call on the conversation's own prefix says of thinking what the conversation
// did, in the form that the model takes; others say nothing, unless they are told
// to. Room for it stands beyond the answer's: 31,999 tokens of 20,000 + 31,999,
// within what the model and its window allow.
func TestThinkingOfCalls(t *testing.T) {
	adaptive := wire.Thinking{Mode: wire.ThinkingAdaptive}
	budget := func(n int) wire.Thinking { return wire.Thinking{Mode: wire.ThinkingBudget, Budget: n} }
	answering := func(s *script, _ *summarizer.Call) { // the last message calls a tool
		s.context.Truncate(9, prompt.CauseNone)
		s.instruct(sourceCompact)
	}
	event := func(value string) func(*script, *summarizer.Call) {
		return func(_ *script, c *summarizer.Call) { c.Thinking = summarizer.Setting{Set: true, Value: value} }
	}
	unrecorded := func(then func(*script, *summarizer.Call)) func(*script, *summarizer.Call) {
		return func(s *script, c *summarizer.Call) {
			s.session.Threads = nil
			then(s, c)
		}
	}
	for _, tc := range []struct {
		what   string
		model  string
		o      Options
		edit   func(s *script, c *summarizer.Call)
		want   wire.Thinking
		tokens int
	}{
		{"as recorded", "claude-opus-4-6", Options{}, nil, adaptive, 51_999},
		{"a later model", "claude-sonnet-5", Options{}, nil, adaptive, 51_999},
		{"a model with a date", "claude-opus-4-5-20251101", Options{}, nil, budget(31_999), 51_999},
		{"an early model", "claude-3-7-sonnet-20250219", Options{}, nil, budget(31_999), 51_999},
		{"one that cannot think", "claude-3-5-haiku-20241022", Options{}, nil, wire.Thinking{}, 20_000},
		{"a model of somebody else", "gpt-5", Options{}, nil, wire.Thinking{}, 20_000},
		{"a bound of the model", "claude-opus-4-5", Options{MaxOutputOf: func(string) int { return 32_000 }}, nil, budget(12_000), 32_000},
		{"no room", "claude-opus-4-5", Options{MaxOutputOf: func(string) int { return 20_500 }}, nil, wire.Thinking{}, 20_000},
		{"no room to adapt to", "claude-opus-4-6", Options{MaxOutputOf: func(string) int { return 20_500 }}, nil, adaptive, 20_500},
		{"a window", "claude-opus-4-6", Options{}, func(_ *script, c *summarizer.Call) { c.Window = 30_000 }, adaptive, 0},
		{"a budget behind tool calls", "claude-opus-4-5", Options{}, answering, wire.Thinking{}, 20_000},
		{"none recorded", "claude-opus-4-6", Options{}, func(s *script, _ *summarizer.Call) { s.session.Threads = nil }, wire.Thinking{}, 20_000},
		{"recorded later", "claude-opus-4-6", Options{}, func(s *script, _ *summarizer.Call) {
			s.session.Threads[0].Rounds = append([]traces.Round{{}}, s.session.Threads[0].Rounds...)
		}, wire.Thinking{}, 20_000},
		{"a prompt of its own", "claude-opus-4-6", Options{}, func(_ *script, c *summarizer.Call) { c.Intent.Own = true }, wire.Thinking{}, 20_000},
		{"another key", "claude-opus-4-6", Options{}, func(_ *script, c *summarizer.Call) { c.Intent.Rekey = true }, wire.Thinking{}, 20_000},
		{"thinking stripped", "claude-opus-4-6", Options{}, func(_ *script, c *summarizer.Call) { c.Intent.Strip = prompt.StripThinking }, wire.Thinking{}, 20_000},
		{"told not to", "claude-opus-4-6", Options{Settings: Settings{Thinking: "off"}}, nil, wire.Thinking{}, 20_000},
		{"told to forbid it", "claude-sonnet-5", Options{Settings: Settings{Thinking: "disabled"}}, nil, wire.Thinking{Mode: wire.ThinkingDisabled}, 20_000},
		{"told to, under a prompt of its own", "claude-opus-4-6", Options{Settings: Settings{Thinking: "adaptive"}}, func(_ *script, c *summarizer.Call) { c.Intent.Own = true }, adaptive, 51_999},
		{"forbidden by an event", "claude-opus-4-6", Options{}, event("disabled"), wire.Thinking{Mode: wire.ThinkingDisabled}, 20_000},
		{"no word by an event", "claude-opus-4-6", Options{}, event("off"), wire.Thinking{}, 20_000},
		{"a budget by an event", "claude-opus-4-5", Options{}, event("4000"), budget(4000), 24_000},
		{"on by an event", "claude-opus-4-5", Options{}, unrecorded(event("on")), budget(31_999), 51_999},
		{"on by an event, for a later model", "claude-opus-4-6", Options{}, unrecorded(event("on")), adaptive, 51_999},
		{"an event and what all calls say", "claude-opus-4-6", Options{Settings: Settings{Thinking: "off"}}, event("adaptive"), adaptive, 51_999},
		{"an event without a value", "claude-opus-4-6", Options{}, event(""), adaptive, 51_999},
		{"an event, under a prompt of its own", "claude-opus-4-6", Options{}, func(s *script, c *summarizer.Call) {
			event("adaptive")(s, c)
			c.Intent.Own = true
		}, wire.Thinking{}, 20_000},
		{"an event, for another model", "claude-opus-4-6", Options{}, func(s *script, c *summarizer.Call) {
			event("adaptive")(s, c)
			c.Intent.Model = "claude-opus-4-6"
		}, wire.Thinking{}, 20_000},
		{"an event, for one who has no word for it", "claude-opus-4-6", Options{Settings: Settings{Provider: OpenAI}}, event("adaptive"), wire.Thinking{}, 20_000},
		{"told how much", "claude-opus-4-5", Options{Settings: Settings{Thinking: "4000"}}, nil, budget(4000), 24_000},
	} {
		s := conversation("alpha")
		s.thinks()
		c := s.call()
		c.Model = tc.model
		if tc.edit != nil {
			tc.edit(s, c)
		}
		server := &fakeServer{}
		tc.o.Backend, tc.o.Texts = server, library(s)
		l := newLive(t, tc.o)
		compose(t, l, c)
		r := server.last()
		if tc.tokens == 0 { // what the window leaves
			sent := s.context.Tokens()
			tc.tokens = 30_000 - sent - sent/estimateError
		}
		if r.Thinking != tc.want || r.MaxTokens != tc.tokens {
			t.Errorf("%s: thinking %v within %d tokens, want %v within %d", tc.what, r.Thinking, r.MaxTokens, tc.want, tc.tokens)
		}
		if n := l.opts.Shared.Report().Composed.Unthought; (n > 0) != (tc.what == "no room" || tc.what == "a budget behind tool calls") {
			t.Errorf("%s: %d calls without the thinking they should have", tc.what, n)
		}
	}
}

// A real server takes thinking and effort; what is thought is billed as output and
// is no part of the summary's size.
func TestThinkingOverHTTP(t *testing.T) {
	sizes := map[bool]int32{}
	for _, on := range []bool{false, true} {
		_, web := serve(t, devserver.Options{})
		dir := t.TempDir()
		s := conversation("alpha")
		if on {
			s.thinks()
		}
		o := Options{Backend: web, Texts: library(s), Settings: Settings{Effort: "low"}, Calls: folder(t, dir, cassette.Record, cassette.Options{Redact: true, Keep: Titles()})}
		l := newLive(t, o)
		a := compose(t, l, s.call())
		call := l.opts.Shared.Report().Calls[0]
		if a.Failed != "" || (call.Thought > 0) != on || int64(a.Output) != a.Measured.Usage.Output || call.Effort != "low" {
			t.Fatalf("thinking %v: %+v, call %+v", on, a, call)
		}
		sizes[on] = a.Summary
		o.Backend, o.Calls = nil, folder(t, dir, cassette.Replay, cassette.Options{})
		again := compose(t, newLive(t, o), s.recall())
		if again.Summary != a.Summary || again.Output != a.Output {
			t.Errorf("thinking %v: %d tokens of %d replayed, %d of %d made", on, again.Summary, again.Output, a.Summary, a.Output)
		}
	}
	if d := sizes[true] - sizes[false]; d < -1 || d > 1 {
		t.Errorf("the same summary has %d tokens with thinking, %d without", sizes[true], sizes[false])
	}
}

// The effort of a call on the conversation's own prefix is the conversation's, which
// an event has set; that of others, and of a conversation without such an event, is
// what all calls ask for. Calls that differ in it have other keys.
func TestEffortOfCalls(t *testing.T) {
	keys := map[string]string{}
	for _, tc := range []struct {
		what string
		edit func(c *summarizer.Call)
		want string
	}{
		{"none set", func(*summarizer.Call) {}, "low"},
		{"an event", func(c *summarizer.Call) { c.Effort = summarizer.Setting{Set: true, Value: "high"} }, "high"},
		{"another event", func(c *summarizer.Call) { c.Effort = summarizer.Setting{Set: true, Value: "max"} }, "max"},
		{"without a value", func(c *summarizer.Call) { c.Effort = summarizer.Setting{Set: true} }, "low"},
		{"under a prompt of its own", func(c *summarizer.Call) {
			c.Effort, c.Intent.Own = summarizer.Setting{Set: true, Value: "high"}, true
		}, "low"},
	} {
		s := conversation("alpha")
		server := &fakeServer{}
		l := newLive(t, Options{Settings: Settings{Effort: "low"}, Backend: server, Texts: library(s)})
		c := s.call()
		tc.edit(c)
		compose(t, l, c)
		call := l.opts.Shared.Report().Calls[0]
		if got := server.last().Effort; got != tc.want || call.Effort != tc.want {
			t.Errorf("%s: effort %q asked for, %q told, want %q", tc.what, got, call.Effort, tc.want)
		}
		if c.Intent.Own {
			continue
		}
		key := call.key.String()
		if was, ok := keys[key]; ok && was != tc.want {
			t.Errorf("%s: the key of effort %s", tc.what, was)
		}
		keys[key] = tc.want
	}
	if len(keys) != 3 {
		t.Errorf("%d keys of three efforts", len(keys))
	}
}

// recall is the call of a script that has its instruction already.
func (s *script) recall() *summarizer.Call {
	s.context.Truncate(s.context.Len()-1, prompt.CauseNone)
	return s.call()
}

// Which models take a word of effort is told from their version: Opus did one
// version earlier.
func TestTakesEffort(t *testing.T) {
	for model, want := range map[string]bool{
		"claude-haiku-4-5-20251001": false, "claude-sonnet-4-5": false, "claude-opus-4-5": true, "claude-opus-4-1-20250805": false,
		"claude-sonnet-4-6": true, "claude-opus-5": true, "dev-model": true, "claude-opus-4-1": false, "claude-opus-4-10": true,
	} {
		if got, _ := api.AbilityOf(model); got.Effort != want {
			t.Errorf("%s: %v, want %v", model, got, want)
		}
	}
}

// Which modes a model takes is told from its version.
func TestTakes(t *testing.T) {
	for model, want := range map[string][2]bool{
		"claude-haiku-4-5-20251001": {false, true}, "claude-opus-4-6": {true, true}, "claude-sonnet-4-6": {true, true}, "claude-opus-4-7": {true, false},
		"claude-fable-5": {true, false}, "claude-opus-4-10": {true, false}, // behind 4.9
		"claude-sonnet-5-5": {true, false}, "claude-sonnet-4-20250514": {false, true}, "claude-3-5-sonnet-20241022": {false, false}, "dev-model": {true, true},
	} {
		if got, _ := api.AbilityOf(model); got.Adaptive != want[0] || got.Budget != want[1] {
			t.Errorf("%s: %+v; want %v", model, got, want)
		}
	}
}

// A server that offers no compaction is not asked for one: the call fails at once,
// for the strategy to go on, and is not estimated.
func TestNoCompactionOffered(t *testing.T) {
	server := &fakeServer{}
	s := conversation("alpha")
	l := newLive(t, Options{Backend: server, Texts: library(s), Settings: Settings{Provider: OpenAI}})
	c := s.call()
	c.Intent.Way = wayServer
	if a := compose(t, l, c); a.Failed != prompt.FailAPI || len(server.requests) != 0 {
		t.Errorf("%d requests, %+v", len(server.requests), a)
	}
	if e := l.Estimate(c); e != (Estimate{}) {
		t.Errorf("estimated %+v", e)
	}
	if r := l.opts.Shared.Report(); r.Failures[whyNotOffered] != 1 || r.Made != 0 {
		t.Errorf("report %+v", r)
	}
	c = s.recall()
	if a := compose(t, l, c); a.Failed != "" || len(server.requests) != 1 {
		t.Errorf("the next way: %d requests, %+v", len(server.requests), a)
	}
}
