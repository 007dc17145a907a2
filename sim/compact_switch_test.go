package sim

import (
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
)

// Switches that decide whether there is a compaction at all.
func TestCompactSwitches(t *testing.T) {
	long := func() *traces.Session { return newSession("s").turns(40, 0, 4000).session() }
	byHand := func() *traces.Session {
		s := newSession("s").turns(10, 0, 4000).turns(2, 0, 4000).session()
		s.Threads[0].Events = []traces.Event{{Kind: traces.EventCompact, Round: 10, Manual: true}}
		return s
	}
	agent := func() *traces.Session {
		b := newSession("s").turns(2, 0, 100)
		b.thread(traces.Thread{ID: "agent", Kind: traces.ThreadAgent, Parent: 0, ParentRound: 1})
		a := &b.s.Threads[1]
		a.Prefix.From = b.block(prompt.KindTools, 6000)
		a.Prefix.To = a.Prefix.From + 1
		return b.turns(40, 0, 4000).session()
	}
	for name, session := range map[string]func() *traces.Session{"enabled": long, "auto": long, "manual": byHand, "subagents": agent} {
		for _, on := range []string{"true", "false"} {
			row, _ := run(t, written(t, "  - full-compact: {trigger: {fixed: 100000}, "+name+": "+on+"}\n"), session())
			if (row.N(measures.Compactions) > 0) != (on == "true") {
				t.Errorf("%s: %s: %d compactions", name, on, row.N(measures.Compactions))
			}
		}
	}
}

// With the marker on the second-to-last message the fork writes the last
// response only; with it on the last one, the instruction too, which nobody
// reads again (002:103: that would waste cache creation).
func TestSkipCacheWrite(t *testing.T) {
	skipped, _ := partlyCompacted(t, "fork: {skip_cache_write: true}")
	written, _ := partlyCompacted(t, "fork: {skip_cache_write: false}")
	if skipped.Writes() != 200 || skipped.Uncached != 1500 || written.Writes() != 1700 || written.Uncached != 0 {
		t.Errorf("%+v and %+v", skipped, written)
	}
}

// What a small model's call leaves out: media but for a placeholder, skill
// listings, and thinking: 40 tokens of each response.
func TestStrippedFromSmallModel(t *testing.T) {
	s := newSession("s").turns(1, 0, 0).turns(60, 0, 4000).session()
	skills, image := s.Threads[0].Rounds[1].Input.From, s.Threads[0].Rounds[3].Input.From
	s.Blocks[skills].Kind, s.Blocks[skills].Flags = prompt.KindAttachment, prompt.FlagListing // 300 tokens
	s.Blocks[image].Flags |= prompt.FlagImage
	s.Blocks[image].Bytes = 300
	input := func(changes string) (tokens int64, responses int64) {
		_, calls := run(t, written(t, "  - full-compact: {trigger: {fixed: 150000}, call: [small-model], small_model: {"+changes+"}}\n"), s)
		for i, r := range calls {
			if r.Source == measures.SourceCompact {
				return r.Usage.Input(), int64(i)
			}
		}
		t.Fatal("no compaction")
		return 0, 0
	}
	stripped, responses := input("head: 20")
	for changes, more := range map[string]int64{
		"strip_media: false":    4000 - (3 + 300/3),
		"strip_listings: false": 300,
		"strip_thinking: false": 40 * responses,
	} {
		if got, _ := input(changes); got != stripped+more {
			t.Errorf("%s: %d tokens, want %d", changes, got, stripped+more)
		}
	}
}

// Plan, todos and hooks come back behind the summary, and each can be left out.
func TestCompactAttachmentSwitches(t *testing.T) {
	for name, tc := range map[string]struct {
		off, on string
		more    int64
	}{
		"plan":          {"attachments: {plan: false}", "attachments: {plan: true}", 100},
		"todos":         {"attachments: {todos: false}", "attachments: {todos: true}", 100},
		"skill listing": {"attachments: {resend_skill_listing: false}", "attachments: {resend_skill_listing: true}", 4000}, // 002:179
		"session start": {"hooks: {session_start: 0}", "hooks: {session_start: 80}", 80},
		"post compact":  {"hooks: {post_compact: 0}", "hooks: {post_compact: 70}", 70},
		"pointer":       {"summary: {pointer: 0}", "summary: {pointer: 60}", 60},
	} {
		const full = "  - full-compact: {trigger: {fixed: 150000}, "
		off := behindCompaction(t, full+tc.off+"}\n", plannedSession())
		on := behindCompaction(t, full+tc.on+"}\n", plannedSession())
		if on-off != tc.more {
			t.Errorf("%s: %d and %d tokens behind the compaction, want %d more", name, off, on, tc.more)
		}
	}
}
