package sim

import (
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
)

// agentSession is a conversation of two calls with a sub-agent of so many, whose
// prefix is 6,000 tokens: its n-th request behind the first holds 6,300 + n × (200 +
// result).
func agentSession(rounds int, result int32) *traces.Session {
	b := newSession("s").turns(2, 0, 100)
	b.thread(traces.Thread{ID: "agent", Kind: traces.ThreadAgent, Parent: 0, ParentRound: 1})
	agent := &b.s.Threads[1]
	agent.Prefix.From = b.block(prompt.KindTools, 6000)
	agent.Prefix.To = agent.Prefix.From + 1
	return reading(b.turns(rounds, 0, result).session())
}

// At a window of 200,000 and an output limit of 32,000 a reserve of 13,000 starts
// a layer at 187,000, and at 155,000 when the output is kept free too. Ahead of
// its n-th request behind the first the client counts 17,300 + 4,200 n: the last
// request without the layer is the 40th of 186,300 tokens, or the 32nd of 152,700.
func TestReserveOutput(t *testing.T) {
	const trigger = "trigger: {reserve: 13000, reserve_output: "
	for name, layer := range map[string]string{
		"full-compact":    "  - full-compact: {" + trigger,
		"session-memory":  "  - session-memory: {" + trigger,
		"microcompact":    "  - microcompact: {" + trigger,
		"truncate-oldest": "  - truncate-oldest: {" + trigger,
	} {
		for kept, want := range map[string]int64{"false": 186_300, "true": 152_700} {
			s := reading(newSession("s").turns(45, 0, 4000).session())
			row, _ := run(t, written(t, layer+kept+"}}\n"), s)
			if int64(row.N(measures.PeakContext)) != want || row.Firings[name] == 0 {
				t.Errorf("%s, reserve_output %s: largest request %d, firings %v; want %d", name, kept, row.N(measures.PeakContext), row.Firings, want)
			}
		}
	}
}

// Layers of the context as they act and as if they were not there: what one
// request holds. Results of 1,000 tokens make 18,300 + 1,200 n, of 10,000 18,300 +
// 10,200 n.
func TestContextLayersEnabled(t *testing.T) {
	small := func() *traces.Session { return reading(newSession("s").turns(14, 0, 1000).session()) }
	large := func() *traces.Session { return reading(newSession("s").turns(22, 0, 10_000).session()) }
	late := func() *traces.Session {
		return reading(newSession("s").turns(14, 0, 1000).turns(1, 61*minute, 0).session())
	}
	micro := func() *traces.Session { // the recording cleared 19,000 tokens ahead of its tenth request
		b := newSession("s").turns(10, 0, 4000)
		b.s.Threads[0].Events = []traces.Event{{Kind: traces.EventMicrocompact, Round: 9, Saved: 19_000}}
		return b.session()
	}
	for name, tc := range map[string]struct {
		params  string
		session *traces.Session
		request int
		on, off int64
	}{
		// Seven of twelve results are deleted, in a block of 7 × 25 tokens.
		"cached-microcompact": {"", small(), 12, 32_700 - 7000 + 175, 32_700},
		// Eight of thirteen are cleared, to 12 tokens each.
		"time-microcompact": {"", late(), 14, 34_400 - 8*988, 34_400},
		// Fifteen of eighteen are more than 140,000 tokens.
		"api-context":     {"", large(), 18, 201_900 - 15*9988, 201_900},
		"server-hint":     {"", large(), 10, 120_300 - 5*9960, 120_300}, // hinted at 115,000: five of ten stay, the cleared five leave 40 tokens each
		"recorded":        {"", micro(), 9, 18_300 + 9*4200 - 19_000, 18_300 + 9*4200},
		"truncate-oldest": {"trigger: {measure: tokens, fixed: 180000}, ", large(), 16, 181_500 - 9*10_200, 181_500}, // down to 90,000
	} {
		for enabled, want := range map[string]int64{"true": tc.on, "false": tc.off} {
			c := written(t, "  - "+name+": {"+tc.params+"enabled: "+enabled+"}\n")
			c.Window, c.HintAt = 1_000_000, 115_000
			row, calls := run(t, c, tc.session)
			if got := mainContexts(calls)[tc.request]; got != want || (row.Firings[name] > 0) != (enabled == "true") {
				t.Errorf("%s enabled %s: request %d holds %d, want %d; firings %v", name, enabled, tc.request, got, want, row.Firings)
			}
		}
	}
}

// Sub-agents clear too, or not. Microcompact counts 69,000 tokens in 23 results
// when the count passes 100,000, and clears ten results, down to 39,000; the
// server clears fifteen of eighteen results of 10,000.
func TestSubagentsClear(t *testing.T) {
	for layer, tc := range map[string]struct {
		session *traces.Session
		cleared int64
	}{
		"microcompact: {trigger: {fixed: 100000}, ": {agentSession(26, 4000), 10},
		"api-context: {": {agentSession(20, 10_000), 15},
	} {
		for subagents, want := range map[string]int64{"true": tc.cleared, "false": 0} {
			c := written(t, "  - "+layer+"subagents: "+subagents+"}\n")
			c.Window = 1_000_000
			row, _ := run(t, c, tc.session)
			if got := int64(row.N(measures.ClearedResults)); got != want {
				t.Errorf("%ssubagents: %s}: %d results cleared, want %d", layer, subagents, got, want)
			}
		}
	}
}

// Which edits the client asks the server for. At its trigger of 180,000 tokens
// the edit for writing tools clears thirteen of sixteen results and the inputs of
// their calls, 9,988 and 40 tokens each. The other edit leaves inputs alone unless
// told to.
func TestAPIContextEdits(t *testing.T) {
	writes := func() *traces.Session { return using(newSession("s").turns(22, 0, 10_000).session(), "Write") }
	reads := func() *traces.Session { return reading(newSession("s").turns(22, 0, 10_000).session()) }
	for changes, tc := range map[string]struct {
		session *traces.Session
		request int
		want    int64
	}{
		"clear_uses: {clear_at_least: 1000}":                           {writes(), 16, 181_500 - 13*(9988+40)},
		"clear_uses: {clear_at_least: 1000, clear_tool_inputs: false}": {writes(), 16, 181_500 - 13*9988},
		"clear_uses: {clear_at_least: 1000, enabled: false}":           {writes(), 16, 181_500},
		"clear_results: {clear_tool_inputs: false}":                    {reads(), 18, 201_900 - 15*9988},
		"clear_results: {clear_tool_inputs: true}":                     {reads(), 17, 191_700 - 14*(9988+40)}, // fourteen are 140,000 then
		"clear_results: {enabled: false}":                              {reads(), 18, 201_900},
	} {
		c := written(t, "  - api-context: {"+changes+"}\n")
		c.Window = 1_000_000
		_, calls := run(t, c, tc.session)
		if got := mainContexts(calls)[tc.request]; got != tc.want {
			t.Errorf("%s: request %d holds %d, want %d", changes, tc.request, got, tc.want)
		}
	}
}

// What was cleared lowers what the trigger of a compaction reads, or the old
// usage is still read. Ahead of the twelfth request behind the first the client
// counts 32,450 tokens; the seven results deleted there, and the eight that are
// cleared after an hour of 34,850, bring that below the trigger.
func TestPendingClearsLowerTheCount(t *testing.T) {
	late := reading(newSession("s").turns(14, 0, 1000).turns(1, 61*minute, 0).session())
	for layer, tc := range map[string]struct {
		session *traces.Session
		trigger string
	}{
		"cached-microcompact: {": {reading(newSession("s").turns(13, 0, 1000).session()), "32000"},
		"time-microcompact: {":   {late, "34000"},
	} {
		for pending, want := range map[string]int{"true": 0, "false": 1} {
			row, _ := run(t, written(t, "  - "+layer+"count_pending_clears: "+pending+"}\n"+
				"  - full-compact: {trigger: {fixed: "+tc.trigger+"}, attachments: {files: {count: 0}}}\n"), tc.session)
			if row.N(measures.Compactions) != want || row.N(measures.Microcompactions) != 1 {
				t.Errorf("%scount_pending_clears: %s}: %d compactions behind %d clearings, want %d behind 1", layer, pending,
					row.N(measures.Compactions), row.N(measures.Microcompactions), want)
			}
		}
	}
}
