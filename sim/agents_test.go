package sim

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
)

// coordinated is a session whose first response starts sub-agents of a prefix of
// 8,000 tokens, a task of 300 and three rounds, 30 seconds apart; its second
// call comes ten minutes later with their results, and its third is a prompt.
func coordinated(agents int) *sessionBuilder {
	b := newSession("s").turns(1, 0, 0)
	b.round(traces.TriggerToolResult, 10*minute, 1000)
	b.answer().turns(1, minute, 0).answer()
	for i := range agents {
		b.subagent(0, 0, int64(i)*30*second)
	}
	return b
}

// subagent adds a sub-agent that starts some time after a round of its parent.
func (b *sessionBuilder) subagent(parent, round int32, delay int64) {
	i := len(b.s.Threads)
	b.thread(traces.Thread{ID: fmt.Sprint("agent", i), Kind: traces.ThreadAgent, Parent: parent, ParentRound: round, Delay: delay})
	t := &b.s.Threads[i]
	t.Prefix.From = b.block(prompt.KindTools, 5000)
	t.Prefix.To = b.block(prompt.KindSystem, 3000) + 1
	b.round(traces.TriggerPrompt, 0, 300)
	b.round(traces.TriggerToolResult, 40*second, 1000)
	b.round(traces.TriggerToolResult, 40*second, 1000)
	b.answer()
}

// firsts returns the usages of the first calls of the sub-agents.
func firsts(calls []results.CallRecord) []prompt.Usage {
	var list []prompt.Usage
	for _, c := range callsOf(calls, measures.SourceAgent) {
		if c.First {
			list = append(list, c.Usage)
		}
	}
	return list
}

// A sub-agent with a prefix of its own begins cold: 8,300 tokens. As a fork it
// reads the 18,300 tokens of its parent's call and writes the parent's response
// (200), a placeholder for its one call (12), the boilerplate (250) and its task
// (300).
func TestForkReadsItsParentsPrefix(t *testing.T) {
	s := coordinated(1).session()
	own := prompt.Usage{Write5m: 8300, Output: 200}
	fork := prompt.Usage{Read: 18300, Write5m: 200 + 12 + 250 + 300, Output: 200}
	for params, want := range map[string]prompt.Usage{
		"": fork, "enabled: false": own, "share: 0": own,
		"placeholder: 40, boilerplate: 0": {Read: 18300, Write5m: 200 + 40 + 300, Output: 200},
	} {
		row, calls := run(t, written(t, "  - agents: {"+params+"}\n"), s)
		if got := firsts(calls); len(got) != 1 || got[0] != want {
			t.Errorf("{%s}: %+v, want %+v", params, got, want)
		}
		if row.CallsBy(measures.SourceAgent) != 3 {
			t.Errorf("{%s}: %d calls", params, row.CallsBy(measures.SourceAgent))
		}
	}
}

// The sub-agents of a fork have a prefix of their own (003:2547); recursive, they fork the fork:
// their context is the fork's first call and a response.
func TestForksDoNotFork(t *testing.T) {
	b := coordinated(1)
	b.subagent(1, 0, 0)
	for params, want := range map[string]prompt.Usage{
		"":                {Write5m: 8300, Output: 200},
		"recursive: true": {Read: 18300 + 762, Write5m: 200 + 12 + 250 + 300, Output: 200},
	} {
		_, calls := run(t, written(t, "  - agents: {"+params+"}\n"), b.session())
		if got := firsts(calls); len(got) != 2 || got[1] != want {
			t.Errorf("{%s}: %+v, want the second %+v", params, got, want)
		}
	}
}

// Identical placeholders are to give concurrent forks as much as possible of a
// cached prefix (003:2551). In a cache with breakpoints they change nothing: the
// only entries are at the end of the parent's call and behind the first fork's
// task, so that siblings share up to the end of that call either way. In a cache that keeps every
// prefix, the second fork reads the first one's up to its task: 262 tokens
// more, of which 128 make a step.
func TestIdenticalPlaceholders(t *testing.T) {
	s := coordinated(2).session()
	read := func(identical bool, openAI bool) int64 {
		c := written(t, fmt.Sprintf("  - agents: {identical_placeholders: %v, placeholder: 400}\n", identical))
		if openAI {
			c.Server = func(facts.Cache) Server { return promptcache.NewOpenAI(promptcache.OpenAIConfig{}) }
		}
		_, calls := run(t, c, s)
		return firsts(calls)[1].Read
	}
	if same, apart := read(true, false), read(false, false); same != 18300 || apart != 18300 {
		t.Errorf("with breakpoints the second fork reads %d, with placeholders that differ %d; want 18,300", same, apart)
	}
	same, apart := read(true, true), read(false, true)
	if want := int64((18500 + 400 + 250) / 128 * 128); same != want {
		t.Errorf("without breakpoints the second fork reads %d, want %d", same, want)
	}
	if want := int64(18500 / 128 * 128); apart != want {
		t.Errorf("without breakpoints, placeholders that differ: %d, want %d", apart, want)
	}
}

// A sub-agent at work for some 95 seconds is summarised at 30, 60 and 90. Haiku
// shares no cache with Opus: each call sends head, conversation and instruction
// anew. Its own model on its own prefix reads what the conversation left.
func TestAgentSummaryOnTheClock(t *testing.T) {
	s := coordinated(1).session()
	// At 30 and 60 seconds the sub-agent waits for a tool: the response that
	// called it is not sent. At 90 its third call is on the way: the result is
	// there, and what the call writes cannot be read yet.
	sizes := []int64{300, 300 + 200 + 1000, 300 + 2*(200+1000)}
	row, calls := run(t, written(t, "  - agent-summary: {strip_thinking: false}\n"), s)
	list := callsOf(calls, measures.SourceOf("agent_summary"))
	if len(list) != len(sizes) || row.N(measures.AgentSummaries) != 3 {
		t.Fatalf("%d summaries, %v", len(list), row.Reasons)
	}
	for i, c := range list {
		if want := 1000 + sizes[i] + 150; c.Usage.Input() != want || c.Usage.Read != 0 || c.Model != "claude-haiku-4-5" || c.Usage.Output != 8 {
			t.Errorf("summary %d: %+v by %s, want %d tokens, none of them read", i, c.Usage, c.Model, want)
		}
	}
	row, calls = run(t, written(t, "  - agent-summary: {same_model: true}\n"), s)
	list = callsOf(calls, measures.SourceOf("agent_summary"))
	usages(t, "the same model", list,
		prompt.Usage{Read: 8300, Write5m: 150, Output: 8},
		prompt.Usage{Read: 9500, Write5m: 150, Output: 8},
		prompt.Usage{Read: 9500, Write5m: 200 + 1000 + 150, Output: 8})
	if own := row.UsageBy(measures.SourceAgent); own != (prompt.Usage{Read: 8300 + 9500, Write5m: 8300 + 2*1200, Output: 600}) {
		t.Errorf("the sub-agent's own calls: %+v", own)
	}
}

// Summaries, switch by switch.
func TestAgentSummarySwitches(t *testing.T) {
	for params, want := range map[string]int{"": 3, "enabled: false": 0, "seconds: 45": 2, "seconds: 10": 9} {
		row, _ := run(t, written(t, "  - agent-summary: {"+params+"}\n"), coordinated(1).session())
		if got := row.CallsBy(measures.SourceOf("agent_summary")); got != want {
			t.Errorf("{%s}: %d summaries, want %d (%v)", params, got, want, row.Reasons)
		}
	}
	row, _ := run(t, written(t, "  - agent-summary: {}\n"), newSession("alone").looping(3, 3).session())
	if got := row.CallsBy(measures.SourceOf("agent_summary")); got != 0 {
		t.Errorf("%d summaries of a conversation without sub-agents", got)
	}
	// The thinking of the responses sent, 40 tokens each, of which the second
	// summary has one and the third two, is left out (provider: Haiku 4.5).
	input := map[bool]int64{}
	for _, strip := range []bool{true, false} {
		row, _ := run(t, written(t, fmt.Sprintf("  - agent-summary: {strip_thinking: %v}\n", strip)), coordinated(1).session())
		u := row.UsageBy(measures.SourceOf("agent_summary"))
		input[strip] = u.Input()
	}
	if got := input[false] - input[true]; got != 3*40 {
		t.Errorf("stripping leaves out %d tokens of thinking, want 120", got)
	}
	// With a marker ahead of the instruction, and a conversation above Haiku's
	// minimum of 4,096 tokens, each summary reads the one before.
	big := coordinated(1).session()
	big.Blocks[big.Threads[1].Rounds[0].Input.From].Tokens = 20_000
	for params, reads := range map[string]bool{"": false, "skip_cache_write: true": true} {
		row, _ := run(t, written(t, "  - agent-summary: {strip_thinking: false, "+params+"}\n"), big)
		if u := row.UsageBy(measures.SourceOf("agent_summary")); (u.Read > 0) != reads {
			t.Errorf("{%s}: %+v", params, u)
		}
	}
}

// A message of 60 tokens from each of two sub-agents stands in the input of the
// parent's next round; one of progress behind each response as well. What the
// parent reads stays.
func TestMessagesReachTheParent(t *testing.T) {
	s := coordinated(2).session()
	plain := []int64{18300, 19500, 20000}
	for _, tc := range []struct {
		params   string
		more     int64
		messages int64
	}{
		{"", 120, 2},
		{"enabled: false", 0, 0},
		{"end: 500", 1000, 2},
		{"progress: 20", 120 + 6*20, 8},
		{"end: 0, progress: 20, every: 3", 2 * 20, 2},
	} {
		row, calls := run(t, written(t, "  - agent-messages: {"+tc.params+"}\n"), s)
		var got []int64
		for _, c := range callsOf(calls, measures.SourceMain) {
			got = append(got, c.Context)
		}
		want := []int64{plain[0], plain[1] + tc.more, plain[2] + tc.more}
		if fmt.Sprint(got) != fmt.Sprint(want) || int64(row.N(measures.AgentMessages)) != tc.messages {
			t.Errorf("{%s}: contexts %v with %d messages, want %v with %d", tc.params, got, row.N(measures.AgentMessages), want, tc.messages)
		}
	}
}

// Everything beside the conversation at once, in a cohort, with compactions in
// between: invariants hold, the row adds up, and a second run is the same.
func TestEverythingBesideTheConversation(t *testing.T) {
	const layers = "  - full-compact: {trigger: {fixed: 60000}}\n  - memory-extraction: {saves: 1}\n  - dream: {sessions: 1, hours: 0}\n" +
		"  - prompt-suggestion: {}\n  - speculation: {turns: 3}\n  - agents: {share: 0.5}\n  - agent-summary: {}\n  - agent-messages: {progress: 50}\n"
	var sessions []*traces.Session
	for i := range 3 {
		b := newSession(fmt.Sprint("s", i)).looping(6, 20)
		b.subagent(0, 1, 0)
		b.subagent(0, 30, second)
		b.subagent(1, 0, second)
		s := b.session()
		s.Start += int64(i) * 2 * minute
		sessions = append(sessions, s)
	}
	loop := NewLoop(written(t, layers))
	var rows [2][]results.Row
	for i := range rows {
		got, err := loop.RunCohort(sessions)
		if err != nil {
			t.Fatal(err)
		}
		rows[i] = append(rows[i], got...)
	}
	for i := range rows[0] {
		a, b := rows[0][i], rows[1][i]
		if a.Usage() != b.Usage() || !slices.Equal(a.Figures[measures.StoredResults:measures.CallsBySource],
			b.Figures[measures.StoredResults:measures.CallsBySource]) || !maps.Equal(a.Reasons, b.Reasons) {
			t.Errorf("session %d: a second run differs:\n%+v\n%+v", i, a, b)
		}
		if n := &a.Figures; n[measures.MemoryExtractions] == 0 || n[measures.Suggestions] == 0 || n[measures.AgentSummaries] == 0 ||
			n[measures.AgentMessages] == 0 || n[measures.BackgroundCalls] == 0 {
			t.Errorf("session %d: %+v", i, n)
		}
		if a.N(measures.Compactions) == 0 {
			t.Errorf("session %d: no compaction", i)
		}
	}
}

// A fork's client counts its parent's last usage (18,500 tokens) and what stands
// behind that: placeholder, boilerplate, and the 900 bytes of its task.
func TestForkClientCount(t *testing.T) {
	c := written(t, "  - agents: {}\n  - full-compact: {trigger: {fixed: 150000}}\n")
	var o checks
	c.Observer = &o
	if _, err := NewLoop(c).Run(coordinated(1).session()); err != nil {
		t.Fatal(err)
	}
	if got, want := o.measured[1], int64(18500+12+250+225); got != want {
		t.Errorf("the fork counts %d tokens, want %d", got, want)
	}
}

// contextsOf returns the contexts of a source's calls by thread, less the contexts of a run
// without messages.
func contextsOf(t *testing.T, c, plain Config, s *traces.Session) map[int32][]int64 {
	t.Helper()
	more := map[int32][]int64{}
	_, calls := run(t, c, s)
	_, before := run(t, plain, s)
	was := map[[2]int32]int64{}
	for _, r := range before {
		was[[2]int32{r.Thread, r.Round}] = r.Context
	}
	slices.SortFunc(calls, func(a, b results.CallRecord) int { return int(a.Round - b.Round) })
	for _, r := range calls {
		more[r.Thread] = append(more[r.Thread], r.Context-was[[2]int32{r.Thread, r.Round}])
	}
	return more
}

// 003:1702-1720: what agents send each other stands in the reader's requests. Two agents
// start 30 s apart and answer every 40 s or so: a broadcast behind each response finds the
// other at work four times of six. A leader's approval stands in the second request.
// Mailboxes are looked into at a prompt: the main conversation's third request. An event
// brings a message of any size to any thread.
func TestMessagesAmongAgents(t *testing.T) {
	type by = map[int32][]int64
	for name, tc := range map[string]struct {
		params string
		events []client.Event
		want   by
	}{
		"siblings":       {"end: 0, siblings: 40", nil, by{0: {0, 0, 0}, 1: {0, 40, 80}, 2: {0, 40, 80}}},
		"plan approval":  {"end: 0, plan_approval: 25", nil, by{0: {0, 0, 0}, 1: {0, 25, 25}, 2: {0, 25, 25}}},
		"shutdown":       {"end: 0, shutdown: 15", nil, by{0: {0, 30, 30}, 1: {0, 0, 0}, 2: {0, 0, 0}}},
		"queue":          {"end: 60", nil, by{0: {0, 120, 120}, 1: {0, 0, 0}, 2: {0, 0, 0}}},
		"mailbox":        {"end: 60, route: mailbox", nil, by{0: {0, 0, 120}, 1: {0, 0, 0}, 2: {0, 0, 0}}},
		"from elsewhere": {"enabled: false", []client.Event{{At: client.When{Round: 2}, Do: "message", Value: "70", Threads: "all"}}, by{0: {0, 70, 70}, 1: {0, 70, 70}, 2: {0, 70, 70}}},
	} {
		plain := written(t, "  - agent-messages: {enabled: false}\n")
		c := written(t, "  - agent-messages: {"+tc.params+"}\n")
		c.Events = tc.events
		if got := contextsOf(t, c, plain, coordinated(2).session()); !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: %v tokens more, want %v", name, got, tc.want)
		}
	}
}
