package sim

import (
	"testing"

	"github.com/compactsim/compactsim/sim/internal/account"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// Three commands, of which the second fails and the third repeats the first: outputs of 1,000, 200 and 5,000 tokens, commands of
// 100. Through 2.1.49 the client asks about two different commands, 830 + 100 tokens each; through 2.1.62 it sends two outputs
// with 300 and the command. From 2.1.20 on the one of 5,400 is written, as Haiku 4.5 keeps 4,096 and more. So runs of Claude Code
// 1.0.128 to 2.1.62 show (2026-11-28).
func TestCommandsOfOldClients(t *testing.T) {
	for _, c := range []struct {
		version string
		calls   int
		plain   int64
		written int64
		model   string
	}{
		{"1.0.17", 4, 2*930 + 1400 + 5400, 0, "claude-haiku-3-5"},
		{"2.0.77", 4, 2*930 + 1400 + 5400, 0, "claude-haiku-4-5"},
		{"2.1.20", 4, 2*930 + 1400, 5400, "claude-haiku-4-5"},
		{"2.1.62", 2, 1400, 5400, "claude-haiku-4-5"},
		{"2.1.63", 0, 0, 0, ""},
		{"", 0, 0, 0, ""},
	} {
		b := newSession("commands")
		b.s.Versions, b.s.Tools = []string{c.version}, []string{"", "Read", "Bash"}
		b.turns(4, minute, 1000)
		rounds := b.s.Threads[0].Rounds
		for i, tokens := range []int32{1000, 200, 5000} {
			use, result := &b.s.Blocks[rounds[i].Reply.To-1], &b.s.Blocks[rounds[i+1].Input.From]
			use.Tool, result.Tokens = 2, tokens
			if i == 1 {
				result.Flags |= prompt.FlagError
			}
		}
		b.s.Blocks[rounds[2].Reply.To-1].Digest = b.s.Blocks[rounds[0].Reply.To-1].Digest
		s := b.session()
		var sum prompt.Usage
		list := account.CommandCalls(s)
		for i := range list {
			sum.Add(&list[i].Usage)
			if list[i].Model != c.model {
				t.Errorf("%s: asks %s, want %s", c.version, list[i].Model, c.model)
			}
		}
		if len(list) != c.calls || sum.Uncached != c.plain || sum.Write5m != c.written {
			t.Errorf("%q: %d calls, %d plain and %d written tokens, want %d, %d and %d", c.version, len(list), sum.Uncached, sum.Write5m, c.calls, c.plain, c.written)
		}
		cell := testConfig(t, "none")
		cell.Profile = &profile.Profile{Weight: 1, Switches: profile.Switches{Hidden: true}}
		if row, _ := run(t, cell, s); row.CallsBy(measures.SourceOther) != c.calls {
			t.Errorf("%q: %d calls beside the conversation, want %d", c.version, row.CallsBy(measures.SourceOther), c.calls)
		}
		s.Summed = true
		if n := len(account.CommandCalls(s)); n != 0 {
			t.Errorf("%q: %d calls although the client sums all", c.version, n)
		}
	}
}
