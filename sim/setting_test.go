package sim

import (
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
)

// recordedAt returns a session whose requests have the sizes of inputs and whose client compacted before each request that comes
// after a size in counts: the count that the client logged.
func recordedAt(agent string, inputs []int64, counts map[int]int32) *traces.Session {
	s := &traces.Session{Agent: agent, Versions: []string{"2.1.332"}, Models: []string{"claude-sonnet-4-6"}, Threads: []traces.Thread{{}}}
	t := &s.Threads[0]
	for i, n := range inputs {
		t.Rounds = append(t.Rounds, traces.Round{At: int64(i + 1), Usage: prompt.Usage{Read: n, Output: 400}})
		if count, ok := counts[i]; ok {
			t.Events = append(t.Events, traces.Event{Kind: traces.EventCompact, Round: int32(i), PreTokens: count})
		}
	}
	return s
}

// A client of Claude Code compacts at 200,000 − 20,000 − 13,000 = 167,000 tokens by default, pi at 200,000 − 16,384 = 183,616. The setting
// is the roundest that lies between what went on and what compacted: half of 180,000 is 90,000, and a window of 100,000
// compacts at 67,000, that is at no whole per cent.
func TestSettingIsFoundInTheRecording(t *testing.T) {
	reserve, pi := int64(13_000), int64(16_384)
	claude := &strategies.Trigger{Reserve: &reserve, ReserveOutput: true, OutputCap: 20_000}
	for name, c := range map[string]struct {
		agent   string
		trigger *strategies.Trigger
		inputs  []int64
		counts  map[int]int32
		want    []Setting
		unfit   bool
	}{
		"the default":      {facts.ClaudeCode, claude, []int64{150_000, 166_000, 40_000}, map[int]int32{2: 167_100}, nil, false},
		"never":            {facts.ClaudeCode, claude, []int64{50_000, 90_000}, nil, nil, false},
		"a per cent":       {facts.ClaudeCode, claude, []int64{80_000, 89_000, 40_000}, map[int]int32{2: 90_300}, []Setting{{Name: "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", Value: 50, Tokens: 90_000}}, false},
		"a window":         {facts.ClaudeCode, claude, []int64{60_000, 66_700, 66_700, 40_000}, map[int]int32{3: 67_020}, []Setting{{Name: "CLAUDE_CODE_AUTO_COMPACT_WINDOW", Value: 100_000, Tokens: 67_000}}, false},
		"none is so round": {facts.ClaudeCode, claude, []int64{60_000, 70_010, 70_010, 40_000}, map[int]int32{3: 70_030}, []Setting{{Tokens: 70_020}}, false},
		"a reserve":        {facts.Pi, &strategies.Trigger{Reserve: &pi}, []int64{80_000, 99_500, 99_500, 40_000}, map[int]int32{3: 101_000}, []Setting{{Name: "compaction.reserveTokens", Value: 100_000, Tokens: 100_000}}, false},
		"a limit": {facts.Codex, &strategies.Trigger{Fixed: 180_000}, []int64{60_000, 79_000, 79_000, 40_000}, map[int]int32{3: 81_000},
			[]Setting{{Name: "model_auto_compact_token_limit", Value: 80_000, Tokens: 80_000}}, false},
		// The first part ends with the request of 150,000, which would have compacted at 90,000.
		"two in turn": {facts.ClaudeCode, claude, []int64{80_000, 89_000, 40_000, 89_000, 40_000, 150_000, 166_000, 40_000}, map[int]int32{2: 90_300, 4: 90_400, 7: 167_100},
			[]Setting{{Name: "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", Value: 50, Tokens: 90_000}, {From: 7}}, false},
		"fits no setting": {facts.ClaudeCode, claude, []int64{89_000, 40_000, 150_000, 155_000, 40_000, 89_000, 40_000, 150_000, 155_000, 40_000},
			map[int]int32{1: 90_300, 4: 156_000, 6: 90_300, 9: 156_000}, nil, true},
	} {
		s := recordedAt(c.agent, c.inputs, c.counts)
		got := SettingsOf(s, c.trigger, &strategies.Reading{Window: 200_000, MaxOutput: 32_000})
		if got.Unfit != c.unfit || len(got.List) != len(c.want) {
			t.Errorf("%s: %+v, want %+v, unfit %t", name, got, c.want, c.unfit)
			continue
		}
		for i, g := range got.List {
			w := c.want[i]
			if g.Name != w.Name || g.Value != w.Value || g.Tokens != w.Tokens || g.From != w.From {
				t.Errorf("%s: setting %d is %+v, want %+v", name, i, g, w)
			}
		}
	}
}

// Of two conversations in one file the earlier is a branch from the beginning. Its compactions count: two at 90,000 ahead of the
// one at 167,100, which the setting of both would deny.
func TestSettingOfTwoConversations(t *testing.T) {
	s := recordedAt(facts.ClaudeCode, []int64{80_000, 89_000, 40_000, 89_000, 40_000, 150_000, 166_000, 40_000}, map[int]int32{2: 90_300, 4: 90_400, 7: 167_100})
	earlier, later := s.Threads[0], s.Threads[0]
	earlier.Kind, earlier.ParentRound = traces.ThreadBranch, -1
	earlier.Rounds, earlier.Events = earlier.Rounds[:5], earlier.Events[:2]
	later.Rounds, later.Events = later.Rounds[5:], []traces.Event{{Kind: traces.EventCompact, Round: 2, PreTokens: 167_100}}
	s.Threads = []traces.Thread{later, earlier}
	reserve := int64(13_000)
	got := SettingsOf(s, &strategies.Trigger{Reserve: &reserve, ReserveOutput: true, OutputCap: 20_000}, &strategies.Reading{Window: 200_000, MaxOutput: 32_000})
	if len(got.List) != 2 || got.List[0].Tokens != 90_000 || got.List[0].Firings != 2 || got.List[1].Tokens != 0 || got.List[1].From != 7 {
		t.Errorf("%+v, want 90,000 by two compactions, then the default from the time 7 on", got)
	}
}

// Codex counts the last usage and what followed at four bytes a token: 124,220 + 400 + 8,800/4 = 126,820, which compacted, so that of the limits
// above 122,475 the roundest is 125,000. Where the log lacks the calls that write summaries, not all that followed may be there, and 130,000 is rounder.
func TestSettingOfCodexByItsOwnCount(t *testing.T) {
	for summaries, want := range map[int]int64{1: 125_000, 0: 130_000} {
		s := recordedAt(facts.Codex, []int64{122_475, 124_220, 14_000}, map[int]int32{2: 0})
		s.Summaries = make([]traces.SummaryCall, summaries)
		s.Blocks = []prompt.Block{{Kind: prompt.KindToolResult, Tokens: 1000, Bytes: 8800}}
		s.Threads[0].Rounds[2].Input, s.Threads[0].Events[0].Absorbed = traces.Span{To: 1}, 1
		got := SettingsOf(s, &strategies.Trigger{Fixed: 244_800}, &strategies.Reading{Window: 272_000, MaxOutput: 32_000})
		if len(got.List) != 1 || got.List[0].Tokens != want {
			t.Errorf("%d summaries: %+v, want %d", summaries, got, want)
		}
	}
}
