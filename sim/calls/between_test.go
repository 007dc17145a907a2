package calls

import (
	"strings"
	"testing"
	"time"

	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/signs"
)

// fallen is a session whose third call fell to what the first one had read: of 110,000 tokens that were left for an hour it reads 20,000.
func fallen() *traces.Session {
	s := session(facts.ClaudeCode, "claude-opus-4-8", prompt.Usage{Read: 20_000, Write1h: 80_000}, prompt.Usage{Read: 100_000, Write1h: 10_000},
		prompt.Usage{Read: 20_000, Write1h: 95_000})
	s.Versions, s.Tools = []string{"2.1.216"}, []string{"", "ToolSearch", "Edit", "web_search"}
	s.Objects = []string{"/repo/CLAUDE.md", "/repo/main.go"}
	for i := range s.Threads[0].Rounds {
		s.Threads[0].Rounds[i].Trigger = traces.TriggerToolResult
	}
	return s
}

// blocks appends blocks to a session and returns where they are.
func blocks(s *traces.Session, b prompt.Block, n int) traces.Span {
	from := int32(len(s.Blocks))
	for range n {
		s.Blocks = append(s.Blocks, b)
	}
	return traces.Span{From: from, To: int32(len(s.Blocks))}
}

// What stands between two calls is found in the lines and blocks between them, and for a prompt in the turn before it.
func TestBetween(t *testing.T) {
	use := func(tool uint16, op op.Op, object int32) prompt.Block {
		return prompt.Block{Kind: prompt.KindToolUse, Tool: tool, Op: op, Object: object}
	}
	asked := func(r []traces.Round) { r[2].Trigger = traces.TriggerPrompt }
	sign := func(signs signs.Set) func(*traces.Session, []traces.Round) {
		return func(_ *traces.Session, r []traces.Round) { r[2].Signs = signs }
	}
	for _, test := range []struct {
		name string
		does func(s *traces.Session, r []traces.Round)
		want profile.Kinds
	}{
		{"nothing", func(*traces.Session, []traces.Round) {}, 0},
		{"servers", sign(signs.Servers), 1 << profile.KindServers},
		{"skills", sign(signs.Listing), 1 << profile.KindListing},
		{"a process lists its servers", sign(signs.Process | signs.Servers | signs.Listing), 1 << profile.KindProcess},
		{"resumed", sign(signs.Resume), 1 << profile.KindProcess},
		{"version", sign(signs.Version), 1 << profile.KindVersion},
		{"plan mode, effort", sign(signs.PlanMode | signs.Effort), 1<<profile.KindPlanMode | 1<<profile.KindEffort},
		{"branch, teammate", sign(signs.Branch | signs.Team), 1<<profile.KindBranch | 1<<profile.KindTeam},
		{"refused, model", sign(signs.Retry | signs.Model), 1<<profile.KindRetry | 1<<profile.KindChosen},
		{"prompt", func(_ *traces.Session, r []traces.Round) { asked(r) }, 1 << profile.KindPrompt},
		{"twenty blocks", func(s *traces.Session, r []traces.Round) {
			r[1].Reply, r[2].Input = blocks(s, use(2, 0, -1), 10), blocks(s, prompt.Block{Kind: prompt.KindToolResult}, 10)
		}, 0},
		{"a block more", func(s *traces.Session, r []traces.Round) {
			r[1].Reply, r[2].Input = blocks(s, use(2, 0, -1), 11), blocks(s, prompt.Block{Kind: prompt.KindToolResult}, 10)
		}, 1 << profile.KindLookBack},
		{"thinking is none", func(s *traces.Session, r []traces.Round) {
			r[1].Reply = blocks(s, prompt.Block{Kind: prompt.KindThinking}, 30)
		}, 0},
		{"first search", func(s *traces.Session, r []traces.Round) { r[1].Reply = blocks(s, use(1, 0, -1), 1) }, 1 << profile.KindLoaded},
		{"second search", func(s *traces.Session, r []traces.Round) {
			r[0].Reply, r[1].Reply = blocks(s, use(1, 0, -1), 1), blocks(s, use(1, 0, -1), 1)
		}, 0},
		{"the web", func(s *traces.Session, r []traces.Round) { r[1].Reply = blocks(s, use(3, 0, -1), 1) }, 1 << profile.KindSearch},
		{"a hook in the turn before", func(_ *traces.Session, r []traces.Round) { asked(r); r[1].Signs = signs.Hook }, 1 << profile.KindHook},
		{"a hook in this turn", func(_ *traces.Session, r []traces.Round) { r[1].Signs = signs.Hook }, 0},
		{"instructions edited", func(s *traces.Session, r []traces.Round) { r[1].Reply = blocks(s, use(2, op.Edit, 0), 1) }, 1 << profile.KindMemory},
		{"code edited", func(s *traces.Session, r []traces.Round) { r[1].Reply = blocks(s, use(2, op.Edit, 1), 1) }, 0},
		{"instructions edited earlier in this turn", func(s *traces.Session, r []traces.Round) { r[0].Reply = blocks(s, use(2, op.Edit, 0), 1) }, 0},
		{"instructions edited in the turn before", func(s *traces.Session, r []traces.Round) {
			asked(r)
			r[0].Reply = blocks(s, use(2, op.Edit, 0), 1)
		}, 1 << profile.KindMemory},
		{"a person interrupts", func(s *traces.Session, r []traces.Round) {
			r[2].Input = blocks(s, prompt.Block{Kind: prompt.KindPrompt}, 1)
		}, 1 << profile.KindSteered},
		{"more than half of an hour", func(_ *traces.Session, r []traces.Round) { r[2].Wait = 31 * minute }, 1 << profile.KindLate},
		{"the desktop client was closed", func(s *traces.Session, r []traces.Round) {
			asked(r)
			s.Entry, r[1].Signs = "claude-desktop", signs.TurnEnd
		}, 1 << profile.KindProcess},
		{"the desktop client ended the turn", func(s *traces.Session, r []traces.Round) {
			asked(r)
			s.Entry, r[1].Signs, r[2].Signs = "claude-desktop", signs.TurnEnd, signs.TurnEnd
		}, 1 << profile.KindPrompt},
		{"a client that never logs ends", func(s *traces.Session, r []traces.Round) { asked(r); s.Entry = "claude-desktop" }, 1 << profile.KindPrompt},
	} {
		s := fallen()
		test.does(s, s.Threads[0].Rounds)
		c := &Of(s, prices(t)).Threads[0][2]
		if got := c.Between(); got != test.want || !c.Comparable() || !c.Fell() {
			t.Errorf("%s: %021b, want %021b; comparable %v, fell %v", test.name, got, test.want, c.Comparable(), c.Fell())
		}
	}
}

// A cause that recordings make likely is named with its counts, and with the state that the read shows; of several the one that brings
// the others with it. What the server says leaves only causes that change what it names.
func TestLikelyCauses(t *testing.T) {
	for name, test := range map[string]struct {
		signs   signs.Set
		trigger traces.Trigger
		verdict signs.Verdict
		read    int64
		cause   Cause
		say     string
	}{
		"a new process":               {signs.Process | signs.Effort, traces.TriggerPrompt, 0, 20_000, "process", "expected); a client of 2.1.216 has the state of git in its system prompt"},
		"nothing":                     {0, traces.TriggerToolResult, 0, 20_000, CauseInside, "no visible reason, 1 m 00 s after the last response; the read fell to the head"},
		"to nothing":                  {0, traces.TriggerToolResult, 0, 0, CauseInside, "; the read fell to nothing"},
		"a refused request":           {signs.Retry, traces.TriggerToolResult, 0, 20_000, "retry", "likely because the server had refused a request before"},
		"nothing changed":             {signs.Process, traces.TriggerPrompt, signs.VerdictSame, 20_000, CauseInside, "no visible reason"},
		"the server and the log":      {signs.Process, traces.TriggerPrompt, signs.VerdictSystem, 20_000, CauseSystem, "the server says that the system prompt changed, 1 m 00 s after the last response; likely because the client was started anew (in recordings "},
		"the server against the log":  {signs.Servers, traces.TriggerToolResult, signs.VerdictMessages, 20_000, CauseMessages, "; the read fell to the head"},
		"a small fall is left as one": {signs.Process, traces.TriggerPrompt, 0, 108_500, CauseTail, "a small fall"},
	} {
		s := fallen()
		r := &s.Threads[0].Rounds[2]
		r.Signs, r.Trigger, r.Verdict, r.Usage = test.signs, test.trigger, test.verdict, prompt.Usage{Read: test.read, Write1h: 115_000 - test.read}
		c := &Of(s, prices(t)).Threads[0][2]
		if got := c.Evidence(); c.Cause() != test.cause || !strings.Contains(got, test.say) {
			t.Errorf("%s: %s, %q; want %s, %q", name, c.Cause(), got, test.cause, test.say)
		}
		confidence := map[Cause]Confidence{"process": Likely, "retry": Likely, CauseSystem: Seen, CauseMessages: Seen}[test.cause]
		if c.Cause().Confidence() != confidence || strings.HasPrefix(c.Cause().Text(), "likely (") != (confidence == Likely) {
			t.Errorf("%s: %q, %s", name, c.Cause().Confidence(), c.Cause().Text())
		}
	}
}

// After an hour and a half an automatic cache has forgotten, though the server had searched the web as well (Codex).
func TestHourBeforeSearch(t *testing.T) {
	for pause, want := range map[time.Duration]Cause{time.Minute: "web_search", 90 * time.Minute: "hour"} {
		s := fallen()
		s.Agent, s.Versions, s.Models = "codex", []string{"0.142.5"}, []string{"gpt-5.5"}
		r := s.Threads[0].Rounds
		for i := range r {
			r[i].Usage.Uncached, r[i].Usage.Write1h, r[i].Usage.Write5m = r[i].Usage.Uncached+r[i].Usage.Writes(), 0, 0
		}
		r[1].Reply = blocks(s, prompt.Block{Kind: prompt.KindToolUse, Tool: 3, Object: -1}, 1)
		r[2].Trigger, r[2].Wait, r[2].Usage = traces.TriggerToolResult, int64(pause), prompt.Usage{Uncached: 95_000, Read: 20_000}
		r[2].At = r[1].At + r[1].Stream + int64(pause)
		c := &Of(s, prices(t)).Threads[0][2]
		if c.Cause() != want {
			t.Errorf("after %v: %s, want %s; automatic %v, gap %v, between %b", pause, c.Cause(), want, c.Automatic(), time.Duration(c.Gap), c.Between())
		}
	}
}

// A read that stops where an earlier call of the thread had ended fell to that call's state.
func TestFloor(t *testing.T) {
	s := fallen()
	rounds := s.Threads[0].Rounds
	s.Threads[0].Rounds = append(rounds, traces.Round{Usage: prompt.Usage{Read: 110_000, Write1h: 12_000}, At: start + 3*minute, Wait: minute, Line: 4})
	rounds = s.Threads[0].Rounds
	rounds[2].Usage = prompt.Usage{Read: 110_000, Write1h: 20_000}
	if got, want := Of(s, prices(t)).Threads[0][3].Floor(), "what the call at line 2 had left"; got != want {
		t.Errorf("it fell to %q, want %q", got, want)
	}
}
