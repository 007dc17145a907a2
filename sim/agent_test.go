package sim

import (
	"slices"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/servers"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/signs"
)

// forgetting is a session of three calls of an agent; ahead of the third, a
// prompt, the provider leaves out the thinking of the two before: 40 tokens each.
func forgetting(agent string) *traces.Session {
	b := newSession("forget-"+agent).turns(2, second, 5000)
	b.round(traces.TriggerPrompt, minute, 300)
	s := b.session()
	s.Agent = agent
	ev := traces.Event{Kind: traces.EventForget, Round: 2, Saved: 80}
	for _, r := range s.Threads[0].Rounds[:2] {
		ev.Cleared = append(ev.Cleared, r.Reply.From)
	}
	s.Threads[0].Events = []traces.Event{ev}
	return s
}

// contexts runs a session and returns the input tokens and misses of its calls.
func contexts(t *testing.T, c Config, s *traces.Session) (tokens []int64, misses []exchange.MissClass) {
	t.Helper()
	c.Record = func(r *results.CallRecord) {
		tokens = append(tokens, r.Context)
		misses = append(misses, r.Miss)
	}
	if _, err := NewLoop(c).Run(s); err != nil {
		t.Fatal(err)
	}
	return tokens, misses
}

// What the provider leaves out is left out under every strategy: prefix 18,000,
// prompt 300, reply 200, result 5,000, reply 200, prompt 300, less 80. The
// prefix changes at the first thinking, which is the edit's miss.
func TestForgetUnderEveryStrategy(t *testing.T) {
	for _, strategy := range []string{"recorded", "none", "auto-compact/167k"} {
		tokens, misses := contexts(t, testConfig(t, strategy), forgetting("claude-code"))
		if len(tokens) != 3 || tokens[2] != 18000+300+200+5000+200+300-80 {
			t.Errorf("%s: contexts %v, want 23,920 tokens at the third call", strategy, tokens)
		}
		if len(misses) != 3 || misses[1] != exchange.MissNone || misses[2] != exchange.MissEdit {
			t.Errorf("%s: misses %v, want an edit at the third call", strategy, misses)
		}
	}
}

// A log shows that the system prompt has grown by 50 tokens ahead of the second call: every strategy has them in its head, and misses what
// lies behind. Where the program edited its messages at the same time, the prompt is its own way to keep the context small: prefix
// 18,000, prompt 300, reply 200, prompt 300 remain, and no strategy but the recorded one misses anything.
func TestSystemPromptGrows(t *testing.T) {
	for _, tc := range []struct {
		strategy string
		own      bool
		want     int64
		miss     exchange.MissClass
	}{
		{"recorded", false, 18850, exchange.MissHead}, {"none", false, 18850, exchange.MissHead}, {"auto-compact/167k", false, 18850, exchange.MissHead},
		{"recorded", true, 18850, exchange.MissHead}, {"none", true, 18800, exchange.MissNone}, {"auto-compact/167k", true, 18800, exchange.MissNone},
	} {
		b := newSession("grows")
		b.unseen = true
		b.round(traces.TriggerPrompt, second, 300)
		b.round(traces.TriggerPrompt, minute, 300)
		s := b.session()
		r := &s.Threads[0].Rounds[1]
		s.Blocks[r.Input.To-1].Kind = prompt.KindSystem
		r.Verdict, r.Parted = signs.VerdictSystem, 12_001 // behind all of its 4,000 tokens, of three bytes
		if tc.own {
			s.Threads[0].Events = []traces.Event{{Kind: traces.EventMicrocompact, Round: 1}}
		}
		tokens, misses := contexts(t, testConfig(t, tc.strategy), s)
		if len(tokens) != 2 || tokens[1] != tc.want || misses[1] != tc.miss {
			t.Errorf("%s, own %v: contexts %v, misses %v, want %d and %v", tc.strategy, tc.own, tokens, misses, tc.want, tc.miss)
		}
	}
}

// A system prompt of 12,000 bytes of which all but the closing quote and brackets is as it was has grown within its block. The provider
// of a request with a breakpoint behind it reads whole blocks, so nothing; an automatic cache reads the 12,000 tokens of tools and the
// 4,000 of the prompt, unless its bill says that it read the tools alone: it then has breakpoints that the log lacks, and reads nothing.
func TestSystemBlockGrows(t *testing.T) {
	for _, tc := range []struct {
		marked     bool
		read, want int64
	}{{true, 0, 0}, {false, 16_000, 16_000}, {false, 12_000, 0}} {
		b := newSession("grows")
		b.round(traces.TriggerPrompt, second, 300)
		b.round(traces.TriggerPrompt, minute, 300)
		s := b.session()
		rounds := s.Threads[0].Rounds
		s.Blocks[rounds[1].Input.To-1].Kind = prompt.KindSystem
		rounds[1].Verdict, rounds[1].Parted, rounds[1].Usage = signs.VerdictSystem, 11_998, prompt.Usage{Read: tc.read, Uncached: 18_000 - tc.read}
		if tc.marked {
			s.Placements = []traces.Breakpoints{{}}
			s.Placements[0].Add(traces.Breakpoint{Level: prompt.LevelSystem, Share: 1})
			rounds[0].Placement, rounds[1].Placement = 1, 1
		}
		_, calls := run(t, testConfig(t, "recorded"), s)
		if got := calls[1].Usage.Read; got != tc.want {
			t.Errorf("breakpoints %v, billed %d: the second call reads %d tokens, want %d", tc.marked, tc.read, got, tc.want)
		}
	}
}

// A log shows that a request lacks a tool of 100 tokens, and the next one has it again. The first reads nothing, the second all that the
// request before both had left: 18,000 of the prefix and a prompt of 300; under every strategy.
func TestToolsComeBack(t *testing.T) {
	for _, strategy := range []string{"recorded", "none"} {
		b := newSession("tools")
		for range 3 {
			b.round(traces.TriggerPrompt, second, 300)
		}
		s := b.session()
		for r, tools := range []int32{0, -100, 100} {
			rd := &s.Threads[0].Rounds[r]
			if rd.Tools = tools; r > 0 {
				rd.Verdict, rd.Parted = signs.VerdictTools, int32(3-r)
			}
		}
		_, calls := run(t, testConfig(t, strategy), s)
		if got := calls[1].Usage; got.Read != 0 || got.Input() != 18_700 {
			t.Errorf("%s: the request without the tool reads %d of %d tokens, want none of 18,700", strategy, got.Read, got.Input())
		}
		if got := calls[2].Usage; got.Read != 18_300 || got.Input() != 19_300 {
			t.Errorf("%s: the next one reads %d of %d tokens, want 18,300 of 19,300", strategy, got.Read, got.Input())
		}
	}
}

// When the recording lost more than the thinking, the rest is what no line shows.
func TestForgetMoreThanThinking(t *testing.T) {
	s := forgetting("claude-code")
	s.Threads[0].Events[0].Saved = 1080
	result := s.Threads[0].Rounds[1].Input.From
	s.Blocks[result].Kind, s.Blocks[result].Call = prompt.KindUnseen, 0
	s.Blocks[s.Threads[0].Rounds[0].Reply.To-1].Call = 0
	tokens, _ := contexts(t, testConfig(t, "none"), s)
	if len(tokens) != 3 || tokens[2] != 18000+300+200+5000+200+300-1080 {
		t.Errorf("contexts %v, want 22,920 tokens at the third call", tokens)
	}
}

// Each session calls its own agent's server with its own agent's client; a loop
// makes a server once for an agent.
func TestServerOfAgent(t *testing.T) {
	made := map[facts.Cache]int{}
	c := testConfig(t, "none")
	c.Server = func(kind facts.Cache) Server {
		made[kind]++
		if kind == facts.CacheAutomatic {
			return promptcache.NewOpenAI(promptcache.OpenAIConfig{})
		}
		return promptcache.New(promptcache.Config{})
	}
	l := NewLoop(c)
	for range 2 {
		for _, agent := range []string{"claude-code", "codex"} {
			s := forgetting(agent)
			for i := range s.Threads[0].Rounds {
				if u := &s.Threads[0].Rounds[i].Usage; agent == "codex" { // its logs have no writes
					*u = u.Plain()
				}
			}
			row, err := l.Run(s)
			if err != nil {
				t.Fatal(err)
			}
			if u := row.Usage(); (u.Writes() > 0) != (agent == "claude-code") {
				t.Errorf("%s: %d tokens written to the cache", agent, u.Writes())
			}
			if want := map[string]int64{"claude-code": 200_000, "codex": 258_400}[agent]; l.Window("") != want {
				t.Errorf("%s: a window of %d, want %d", agent, l.Window(""), want)
			}
		}
	}
	if made[facts.CacheMarked] != 1 || made[facts.CacheAutomatic] != 1 {
		t.Errorf("servers made: %v, want one for an agent", made)
	}
}

// An agent that goes from one provider's model to another's goes to another kind of cache: its calls to Claude are marked and
// write, those to GPT write nothing and read in blocks of 128 tokens, and neither reads what the other kind holds:
// that is a miss by the model.
func TestTwoCachesInOneConversation(t *testing.T) {
	type call struct {
		reads, writes bool
		miss          exchange.MissClass
	}
	const none, model = exchange.MissNone, exchange.MissModel
	for i, tc := range []struct {
		models []uint16
		want   []call
	}{
		{[]uint16{0, 1, 1}, []call{{false, true, none}, {false, false, model}, {true, false, none}}},
		{[]uint16{1, 0, 0}, []call{{false, false, none}, {false, true, model}, {true, true, none}}},
		{[]uint16{0, 1, 0}, []call{{false, true, none}, {false, false, model}, {true, true, model}}},
	} {
		s := forgetting("pi")
		s.Threads[0].Events = nil
		s.Models = []string{"claude-sonnet-4-5", "gpt-5"}
		for k, model := range tc.models {
			r := &s.Threads[0].Rounds[k]
			if r.Model = model; model == 1 {
				r.Usage = r.Usage.Plain()
			}
		}
		c := testConfig(t, "none")
		c.Server = func(kind facts.Cache) Server {
			if kind == facts.CacheAutomatic {
				return promptcache.NewOpenAI(promptcache.OpenAIConfig{})
			}
			return promptcache.New(promptcache.Config{})
		}
		if l := NewLoop(c); i == 0 { // the window is the one of the model that answers, as the table of models has it
			if _, err := l.Run(s); err != nil || l.Window("claude-sonnet-4-5") != 200_000 || l.Window("gpt-5") != 400_000 || l.Window("") != 200_000 {
				t.Errorf("windows of %d and %d tokens, %v; want 200,000 and 400,000", l.Window("claude-sonnet-4-5"), l.Window("gpt-5"), err)
			}
		}
		var got []call
		c.Record = func(r *results.CallRecord) {
			got = append(got, call{r.Usage.Read > 0, r.Usage.Writes() > 0, r.Miss})
			if tc.models[len(got)-1] == 1 && r.Usage.Read%128 != 0 {
				t.Errorf("models %v: call %d reads %d tokens, no blocks of 128", tc.models, len(got), r.Usage.Read)
			}
		}
		if _, err := NewLoop(c).Run(s); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("models %v: calls %v, want %v", tc.models, got, tc.want)
		}
	}
}

// The server that a conversation turns to is told its models: Google's reads come in blocks of 8,192 tokens whether or not an earlier
// session of the loop went there.
func TestServersKnowTheModelsThatAConversationTurnsTo(t *testing.T) {
	session := func(id string, models ...uint16) *traces.Session {
		s := forgetting("pi")
		s.ID, s.Models, s.Threads[0].Events = id, []string{"claude-sonnet-4-5", "gemini-2.5-pro"}, nil
		for i, model := range models {
			r := &s.Threads[0].Rounds[i]
			if r.Model = model; model == 1 {
				r.Usage = r.Usage.Plain()
			}
		}
		return s
	}
	var usage [2]prompt.Usage
	for i, before := range [][]*traces.Session{nil, {session("google", 1, 1, 1)}} {
		c := testConfig(t, "none")
		c.Server = func(kind facts.Cache) Server {
			if kind == facts.CacheAutomatic {
				return promptcache.NewOpenAI(promptcache.OpenAIConfig{Serving: servers.Recorded})
			}
			return promptcache.New(promptcache.Config{})
		}
		l := NewLoop(c)
		for _, s := range append(before, session("both", 0, 1, 1)) {
			row, err := l.Run(s)
			if err != nil {
				t.Fatal(err)
			}
			usage[i] = row.Usage()
		}
	}
	if usage[0] != usage[1] {
		t.Errorf("alone %+v, behind a session of Google's %+v", usage[0], usage[1])
	}
}
