package sim

import (
	"slices"
	"testing"

	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/signs"
)

// firstShared is what the first call of the sessions below has read: the head that
// it shares with other sessions, part of the 16,000 tokens of tools and system.
const firstShared = 14_000

// signed begins a session whose first call is recorded to have found the head of
// the prompt in the cache.
func signed() *sessionBuilder {
	b := newSession("signs")
	b.s.Versions, b.s.Tools = []string{"2.1.220"}, append(b.s.Tools, "ToolSearch")
	return b
}

// turn adds a prompt of 300 tokens, some results of 1,000, and an answer, a minute
// after the last one; the first call of the turn has signs.
func (b *sessionBuilder) turn(results int, signs signs.Set) *sessionBuilder {
	at := len(b.s.Threads[0].Rounds)
	b.turns(1+results, minute, 1000).answer()
	b.s.Threads[0].Rounds[at].Signs = signs
	return b
}

// first is signed with what the first call read.
func (b *sessionBuilder) first() *sessionBuilder {
	b.s.Threads[0].Rounds[0].Usage.Read = firstShared
	return b
}

// at gives the call of an index, from 0, more signs.
func (b *sessionBuilder) at(call int, signs signs.Set) *sessionBuilder {
	b.s.Threads[0].Rounds[call].Signs |= signs
	return b
}

// ruled returns a cell whose profile has one rule on or none; the first call finds
// nothing.
func ruled(t *testing.T, r profile.Rule, on bool) Config {
	c := testConfig(t, "recorded")
	c.Profile = &profile.Profile{Weight: 1, Switches: profile.Switches{Thinking: true, Hidden: true, Shared: true}}
	if on {
		c.Profile.Force = profile.Set(0).With(r)
	}
	return c
}

// readsOf returns what the conversation's calls read, tokens.
func readsOf(t *testing.T, c Config, s *traces.Session) []int64 {
	t.Helper()
	_, calls := run(t, c, s)
	var reads []int64
	for i := range calls {
		if calls[i].Round >= 0 {
			reads = append(reads, calls[i].Usage.Read)
		}
	}
	return reads
}

// Each rule changes the read of the calls it speaks of, and of no other. A first
// call sends 12,000 tokens of tools, 4,000 of system prompt, 2,000 of reminders
// and a prompt of 300; a response adds 200, a result 1,000, a prompt 300. The
// system prompt has a breakpoint at 16,000.
func TestRulesChangeReads(t *testing.T) {
	desktop := func(b *sessionBuilder) *sessionBuilder { b.s.Entry = "claude-desktop"; return b }
	searching := func(b *sessionBuilder, calls ...int) *sessionBuilder {
		for _, i := range calls {
			b.s.Blocks[b.s.Threads[0].Rounds[i].Input.From].Tool = 2
		}
		return b
	}
	shrinking := func(b *sessionBuilder, round int32, kind traces.EventKind) *sessionBuilder {
		b.s.Threads[0].Events = []traces.Event{{Kind: kind, Round: round, Saved: 500}}
		return b
	}
	expanding := func(b *sessionBuilder, call int) *sessionBuilder {
		b.s.Blocks[b.s.Threads[0].Rounds[call].Input.From].Flags |= prompt.FlagMeta
		return b
	}
	late := func(b *sessionBuilder, call int) *sessionBuilder {
		b.s.Threads[0].Rounds[call].Wait = 10 * minute
		return b
	}
	const end, none = signs.TurnEnd, signs.Set(0)
	for _, tc := range []struct {
		name    string
		rule    profile.Rule
		session *sessionBuilder
		off, on []int64
	}{
		// The prompt ahead of which a command was expanded goes without thinking: of
		// the messages nothing is read. What the turn does then reads what it left.
		{"thinking: a command expands", profile.RuleThinking, expanding(signed().turn(0, none).turn(1, none), 1),
			[]int64{0, 18_300, 18_800}, []int64{0, 16_000, 18_800}},
		{"thinking: a plan starts", profile.RuleThinking, signed().turn(0, none).turn(1, signs.Plan),
			[]int64{0, 18_300, 18_800}, []int64{0, 16_000, 18_800}},
		{"thinking: a line switches it off", profile.RuleThinking,
			signed().turn(0, none).turn(0, signs.ThinkingTold|signs.ThinkingOff), []int64{0, 18_300}, []int64{0, 16_000}},
		{"thinking: a line says that a command thinks", profile.RuleThinking,
			expanding(signed().turn(0, none).turn(0, signs.ThinkingTold), 1), []int64{0, 18_300}, []int64{0, 18_300}},
		// The result of the second call is another one for the prompt: it reads what the first call left.
		{"tool hook, 7 blocks back", profile.RuleHook, signed().turn(1, none).turn(1, none).at(1, signs.Hook),
			[]int64{0, 18_300, 19_500, 20_000}, []int64{0, 18_300, 18_300, 20_000}},
		// Two rounds behind the hook are four blocks each: 15 back.
		{"tool hook, 15 blocks back", profile.RuleHook, signed().turn(3, none).turn(0, none).at(1, signs.Hook),
			[]int64{0, 18_300, 19_500, 20_700, 21_900}, []int64{0, 18_300, 19_500, 20_700, 18_300}},
		// Six rounds later it is out of reach of the 20 positions, and the head is what is left.
		{"tool hook, 31 blocks back", profile.RuleHook, signed().turn(7, none).turn(0, none).at(1, signs.Hook),
			[]int64{0, 18_300, 19_500, 20_700, 21_900, 23_100, 24_300, 25_500, 26_700},
			[]int64{0, 18_300, 19_500, 20_700, 21_900, 23_100, 24_300, 25_500, 16_000}},
		// What was sent in its last form is not changed again.
		{"tool hook: once", profile.RuleHook, signed().turn(1, none).turn(0, none).turn(0, none).at(1, signs.Hook),
			[]int64{0, 18_300, 19_500, 20_000}, []int64{0, 18_300, 18_300, 20_000}},
		// Another head reads what the first call had found of that head.
		{"restart", profile.RuleRestart, desktop(signed().turn(0, none).turn(0, end).turn(0, none).first()),
			[]int64{0, 18_300, 18_800}, []int64{0, 18_300, firstShared}},
		{"restart: nothing known of the head", profile.RuleRestart,
			desktop(signed().turn(0, none).turn(0, end).turn(0, none)),
			[]int64{0, 18_300, 18_800}, []int64{0, 18_300, 0}},
		{"restart: not of another client", profile.RuleRestart, signed().turn(0, none).turn(0, end).turn(0, none).first(),
			[]int64{0, 18_300, 18_800}, []int64{0, 18_300, 18_800}},
		{"restart: ends of turns are not logged", profile.RuleRestart,
			desktop(signed().turn(0, none).turn(0, none).turn(0, none).first()),
			[]int64{0, 18_300, 18_800}, []int64{0, 18_300, 18_800}},
		{"restart: interrupted", profile.RuleRestart,
			desktop(signed().turn(0, none).turn(0, end).turn(0, signs.Interrupt).first()),
			[]int64{0, 18_300, 18_800}, []int64{0, 18_300, 18_800}},
		{"tool search: the first", profile.RuleToolSearch, searching(signed().turn(3, none).first(), 1, 2),
			[]int64{0, 18_300, 19_500, 20_700}, []int64{0, firstShared, 19_500, 20_700}},
		// 500 tokens leave the result of the second call, so that what the first one left is read; with the rule
		// all that is left ahead of the prompt was cached: 18,300 + 200 + 500 + 200.
		{"shrink", profile.RuleShrink, shrinking(signed().turn(1, none).turn(0, none), 2, traces.EventShrink),
			[]int64{0, 18_300, 18_300}, []int64{0, 18_300, 19_200}},
		{"shrink: not with a command", profile.RuleShrink,
			shrinking(signed().turn(1, none).turn(0, signs.Command), 2, traces.EventShrink),
			[]int64{0, 18_300, 18_300}, []int64{0, 18_300, 18_300}},
		{"shrink: not at a result", profile.RuleShrink, shrinking(signed().turn(2, none), 2, traces.EventShrink),
			[]int64{0, 18_300, 18_300}, []int64{0, 18_300, 18_300}},
		// The last response, 200 tokens, is cached too.
		{"away", profile.RuleAway, signed().turn(0, none).turn(0, signs.Away), []int64{0, 18_300}, []int64{0, 18_500}},
		{"away: nobody was", profile.RuleAway, signed().turn(0, end).turn(0, end), []int64{0, 18_300}, []int64{0, 18_300}},
		// Ten minutes are past the lifetime of five.
		{"warm head", profile.RuleWarm, late(signed().turn(0, none).turn(1, none).first(), 1),
			[]int64{0, 0, 18_800}, []int64{0, firstShared, 18_800}},
		{"warm head: nothing known of it", profile.RuleWarm, late(signed().turn(0, none).turn(1, none), 1),
			[]int64{0, 0, 18_800}, []int64{0, 0, 18_800}},
		// The second and the third call of a teammate read the head of 16,000; a person's conversation is none.
		{"teammate", profile.RuleTeam, signed().turn(3, none).at(0, signs.Team),
			[]int64{0, 18_300, 19_500, 20_700}, []int64{0, 16_000, 16_000, 20_700}},
		{"teammate: another one wrote later", profile.RuleTeam, signed().turn(3, none).at(1, signs.Team),
			[]int64{0, 18_300, 19_500, 20_700}, []int64{0, 18_300, 19_500, 20_700}},
		{"warm head: nothing expired", profile.RuleWarm, signed().turn(0, none).turn(1, none).first(),
			[]int64{0, 18_300, 18_800}, []int64{0, 18_300, 18_800}},
	} {
		for on, want := range map[bool][]int64{false: tc.off, true: tc.on} {
			if got := readsOf(t, ruled(t, tc.rule, on), tc.session.session()); !slices.Equal(got, want) {
				t.Errorf("%s, rule on %v: reads %v, want %v", tc.name, on, got, want)
			}
		}
	}
}

// A session that goes on with another one, or a file that is cut behind the end of
// a turn, reads all that stands ahead of its prompt within the lifetime of five
// minutes, and what others' first calls tell behind it: here nothing.
func TestFirstCallReadsItsHistory(t *testing.T) {
	c := testConfig(t, "recorded")
	c.Profile = &profile.Profile{Switches: profile.Switches{First: true}}
	for _, tc := range []struct {
		name  string
		since int64 // of the thread
		signs signs.Set
		at    int64 // of the first call, after the session's start
		want  int64
	}{
		{"a session of its own", 0, 0, 4 * minute, 0},
		{"continued after 4 minutes", 4 * minute, signs.TurnEnd, 0, 18_000},
		{"continued after 4 minutes amid a turn", 4 * minute, 0, 0, 0},
		{"continued after 6", 6 * minute, signs.TurnEnd, 0, 0},
		{"cut, after 4 minutes", 0, signs.TurnEnd, 4 * minute, 18_000},
		{"cut, after 6", 0, signs.TurnEnd, 6 * minute, 0},
	} {
		b := signed().turn(1, tc.signs)
		b.s.Threads[0].Since = tc.since
		b.s.Threads[0].Rounds[0].At += tc.at
		if got := readsOf(t, c, b.session()); !slices.Equal(got, []int64{tc.want, 18_300}) {
			t.Errorf("%s: reads %v, want %d and 18,300", tc.name, got, tc.want)
		}
	}
}

// The first call of a session that goes on with another one misses what it does not read of the 18,000 tokens that the
// other session left, as a call in the middle of a session does, and not what that session had beyond them. The first
// call of a session of its own is neither a hit nor a miss.
func TestFirstCallMissesItsHistory(t *testing.T) {
	c := testConfig(t, "recorded")
	c.Profile = &profile.Profile{Switches: profile.Switches{First: true}}
	for _, tc := range []struct {
		name  string
		left  int64
		model bool
		since int64
		signs signs.Set
		lost  float64
		why   exchange.MissClass
	}{
		{"a session of its own", 0, false, 0, 0, 0, exchange.MissNone},
		{"continued after 4 minutes", 18_000, true, 4 * minute, signs.TurnEnd, 0, exchange.MissNone},
		{"with more left than is sent", 40_000, true, 4 * minute, signs.TurnEnd, 0, exchange.MissNone},
		{"amid a turn, as another process", 18_000, true, 4 * minute, 0, 18_000, exchange.MissHead},
		{"after 6", 18_000, true, 6 * minute, signs.TurnEnd, 18_000, exchange.MissExpiry},
		{"after 6 by another model", 17_000, false, 6 * minute, signs.TurnEnd, 17_000, exchange.MissModel},
	} {
		b := signed().turn(1, tc.signs)
		th := &b.s.Threads[0]
		th.Since, th.Left = tc.since, traces.LeftBehind{Usage: prompt.Usage{Read: tc.left}, Gap: tc.since, Model: tc.model}
		row, calls := run(t, c, b.session())
		var want results.Row
		want.CountMiss(exchange.MissNone, 0) // the second call reads what the first wrote
		if tc.left > 0 {
			want.CountMiss(tc.why, int64(tc.lost))
		}
		for _, f := range []measures.ID{measures.LaterCalls, measures.HitCalls, measures.Misses, measures.MissedTokens} {
			if row.Figures[f] != want.Figures[f] {
				t.Errorf("%s: figure %v is %v, want %v", tc.name, f, row.Figures[f], want.Figures[f])
			}
		}
		if calls[0].Miss != tc.why {
			t.Errorf("%s: the first call misses by %v, want %v", tc.name, calls[0].Miss, tc.why)
		}
	}
	b := signed()
	summary := b.block(prompt.KindSummary, 3000)
	th := &b.s.Threads[0]
	th.Left = traces.LeftBehind{Usage: prompt.Usage{Read: 160_000}, Gap: minute, Model: true}
	th.Events = []traces.Event{{Kind: traces.EventCompact, Summary: traces.Span{From: summary, To: summary + 1}, Kept: 9000, Wait: minute}}
	_, calls := run(t, c, b.turn(1, 0).session())
	if first := calls[1]; first.Miss != exchange.MissCompaction || first.Expected-first.Usage.Read != 9300 { // behind the summary call
		t.Errorf("behind a compaction the first call misses %d by %v, want 9,300", first.Expected-first.Usage.Read, first.Miss)
	}
}

// A call notes the rules that said something about it, whether they hold or not: the evidence is
// counted over these.
func TestCallsNoteRules(t *testing.T) {
	s := signed().turn(1, 0).turn(0, 0).turn(0, signs.Away).at(1, signs.Hook).session()
	for _, on := range []bool{false, true} {
		_, calls := run(t, ruled(t, profile.RuleHook, on), s)
		want := []profile.Set{0, 0, profile.Set(0).With(profile.RuleHook), profile.Set(0).With(profile.RuleAway)}
		for i, w := range want {
			if got := profile.Set(calls[i].Rules); got != w {
				t.Errorf("rule on %v: call %d notes %b, want %b", on, i+1, got, w)
			}
		}
		miss := exchange.MissNone
		if on {
			miss = exchange.MissEdit
		}
		if calls[2].Miss != miss {
			t.Errorf("rule on %v: the prompt behind a hook misses by %v, want %v", on, calls[2].Miss, miss)
		}
	}
}

// A client whose log forgets what it says ahead of the first prompt of a process sends that prompt otherwise from the next process on: the call reads
// tools and system prompt, 16,000 tokens, as no breakpoint lies between these and that prompt. Within the process nothing changes, and the process after it
// does the same to its first prompt. A client whose log has all goes on.
func TestForgottenOpening(t *testing.T) {
	const anew = signs.Process
	for name, tc := range map[string]struct {
		agent   string
		session *sessionBuilder
		want    []int64
	}{
		"Qwen Code":          {facts.Qwen, signed().turn(0, 0).turn(0, 0).turn(0, anew).turn(0, 0), []int64{0, 18_300, 16_000, 19_300}},
		"the next process":   {facts.Qwen, signed().turn(0, 0).turn(0, anew).turn(0, 0).turn(0, anew), []int64{0, 16_000, 18_800, 16_000}},
		"a log that has all": {facts.Pi, signed().turn(0, 0).turn(0, 0).turn(0, anew).turn(0, 0), []int64{0, 18_300, 18_800, 19_300}},
	} {
		tc.session.s.Agent = tc.agent
		if got := readsOf(t, testConfig(t, "recorded"), tc.session.session()); !slices.Equal(got, tc.want) {
			t.Errorf("%s: reads %d, want %d", name, got, tc.want)
		}
	}
}
