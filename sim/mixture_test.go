package sim

import (
	"fmt"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/sim/summarizer"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/strategies/standard"
	"github.com/compactsim/compactsim/traces"
	"gopkg.in/yaml.v3"
	"pgregory.net/rapid"
)

// mixTools are tools of every kind that layers tell apart.
var mixTools = []string{"", "Read", "Bash", "Edit", "Write", "Grep", "Task", "mcp__db__query", "WebFetch", "Skill", "TodoWrite"}

var mixOps = map[string]op.Op{"Read": op.Read, "Edit": op.Edit, "Write": op.Write, "Bash": op.Exec, "Grep": op.Search, "Task": op.Agent}

// exchange adds a call to the last thread that answers all open tool calls, or a
// prompt when there are none, and that makes calls of its own to some tools.
func (b *sessionBuilder) exchange(rt *rapid.T, open []int32, tools int) []int32 {
	t := &b.s.Threads[len(b.s.Threads)-1]
	waits := []int64{0, second, 20 * second, 2 * minute, 10 * minute, 70 * minute, 26 * 60 * minute}
	r := traces.Round{ID: fmt.Sprintf("%s-%d", t.ID, len(t.Rounds)), Trigger: traces.TriggerPrompt, First: second, Stream: 3 * second, At: b.s.Start, Wait: second}
	r.Input.From = int32(len(b.s.Blocks))
	for _, use := range open {
		call := b.s.Blocks[use]
		i := b.block(prompt.KindToolResult, rapid.SampledFrom([]int32{5, 300, 4000, 20000, 45000}).Draw(rt, "result"))
		result := &b.s.Blocks[i]
		result.Call, result.Op, result.Tool, result.Object, result.Flags = call.Call, call.Op, call.Tool, call.Object, call.Flags
		r.Trigger = traces.TriggerToolResult
	}
	if len(open) == 0 {
		r.Wait = rapid.SampledFrom(waits).Draw(rt, "gap")
		b.block(prompt.KindPrompt, rapid.Int32Range(0, 900).Draw(rt, "prompt"))
	}
	r.Input.To = int32(len(b.s.Blocks))
	r.Reply.From = r.Input.To
	b.block(prompt.KindThinking, rapid.Int32Range(1, 400).Draw(rt, "thinking"))
	b.block(prompt.KindText, rapid.Int32Range(1, 600).Draw(rt, "text"))
	var uses []int32
	for range tools {
		i := b.block(prompt.KindToolUse, 80)
		u := &b.s.Blocks[i]
		u.Tool = uint16(rapid.IntRange(1, len(mixTools)-1).Draw(rt, "tool"))
		u.Call, u.Op, u.Object = i+1, mixOps[mixTools[u.Tool]], int32(rapid.IntRange(0, 3).Draw(rt, "object"))
		if strings.HasPrefix(mixTools[u.Tool], "mcp") {
			u.Flags |= prompt.FlagMCP
		}
		uses = append(uses, i)
	}
	r.Reply.To = int32(len(b.s.Blocks))
	r.Usage = prompt.Usage{Write5m: 1, Output: 400}
	if rapid.IntRange(0, 9).Draw(rt, "tier") > 4 {
		r.Usage = prompt.Usage{Write1h: 1, Output: 400}
	}
	t.Rounds = append(t.Rounds, r)
	return uses
}

// loops adds turns of a person to the last thread.
func (b *sessionBuilder) loops(rt *rapid.T, most int) {
	for range rapid.IntRange(1, most).Draw(rt, "turns") {
		open := b.exchange(rt, nil, rapid.IntRange(0, 3).Draw(rt, "tools"))
		for n := rapid.IntRange(0, 12).Draw(rt, "rounds"); len(open) > 0; n-- {
			tools := 0
			if n > 0 {
				tools = rapid.IntRange(1, 3).Draw(rt, "tools")
			}
			open = b.exchange(rt, open, tools)
		}
	}
}

// mixedSession draws a session with sub-agents and an abandoned branch.
func mixedSession(rt *rapid.T, id string) *traces.Session {
	b := newSession(id)
	b.s.Tools, b.s.Objects = mixTools, []string{"/a.go", "/b.go", "/memory/MEMORY.md", "/CLAUDE.md"}
	b.loops(rt, 6)
	main := len(b.s.Threads[0].Rounds)
	for i := range rapid.IntRange(0, 2).Draw(rt, "agents") {
		b.thread(traces.Thread{
			ID: fmt.Sprint("agent", i), Kind: traces.ThreadAgent, Parent: 0, Delay: second,
			ParentRound: int32(rapid.IntRange(0, main-1).Draw(rt, "from")),
		})
		agent := &b.s.Threads[len(b.s.Threads)-1]
		agent.Prefix.From = b.block(prompt.KindTools, 6000)
		agent.Prefix.To = b.block(prompt.KindSystem, 2000) + 1
		b.loops(rt, 2)
	}
	if rapid.Bool().Draw(rt, "branch") {
		if from := b.ended(rt, main); from >= 0 {
			b.thread(traces.Thread{ID: "branch", Kind: traces.ThreadBranch, Parent: 0, ParentRound: from, Delay: second})
			b.loops(rt, 2)
		}
	}
	return b.session()
}

// ended returns a round of the main thread that ended a turn, where a person can
// go back to; -1 for none.
func (b *sessionBuilder) ended(rt *rapid.T, main int) int32 {
	r := rapid.IntRange(0, main-1).Draw(rt, "back to")
	reply := b.s.Threads[0].Rounds[r].Reply
	if b.s.Blocks[reply.To-1].Kind == prompt.KindToolUse {
		return -1
	}
	return int32(r)
}

// mixture draws a strategy: some of all layers, switches as they are or turned,
// triggers low enough to fire. It is nil when the parameters contradict each
// other.
func mixture(rt *rapid.T, registry *strategies.Registry) *strategies.Strategy {
	var text strings.Builder
	text.WriteString("layers:\n")
	n := 0
	for _, name := range registry.Layers() {
		if name == standard.Recorded || !rapid.Bool().Draw(rt, name) {
			continue
		}
		n++
		def, _ := registry.Definition(name)
		settings := map[string]any{}
		spec.Fields(def.Params(), func(p *spec.Field) {
			on, bool := p.Value.Interface().(bool)
			switch {
			case !bool || p.Path == "enabled":
			case rapid.IntRange(0, 5).Draw(rt, name+"."+p.Path) == 0:
				set(settings, p.Path, !on)
			case p.Path == "auto" || p.Path == "manual" || p.Path == "reactive":
				set(settings, p.Path, true)
			}
		})
		if strings.Contains(fmt.Sprintf("%+v", def.Params()), "Trigger:{") && name != "time-microcompact" {
			settings["trigger"] = map[string]any{"measure": "client_tokens", "fixed": rapid.IntRange(30000, 150000).Draw(rt, "trigger")}
		}
		body, err := yaml.Marshal(settings)
		if err != nil {
			rt.Fatal(err)
		}
		fmt.Fprintf(&text, "  - %s:\n      enabled: true\n", name)
		if len(settings) > 0 {
			for line := range strings.Lines(string(body)) {
				text.WriteString("      " + line)
			}
		}
	}
	if n == 0 {
		return nil
	}
	var node yaml.Node
	if err := yaml.Unmarshal([]byte(text.String()), &node); err != nil {
		rt.Fatalf("%v in\n%s", err, text.String())
	}
	s, err := registry.Compose("mixture", node.Content[0], "mixture")
	if err != nil {
		return nil // parameters that contradict each other are refused, as they should be
	}
	rt.Logf("%s", text.String())
	return s
}

// set puts a value at a path with dots.
func set(m map[string]any, path string, value any) {
	key, rest, nested := strings.Cut(path, ".")
	if !nested {
		m[key] = value
		return
	}
	below, _ := m[key].(map[string]any)
	if below == nil {
		below = map[string]any{}
		m[key] = below
	}
	set(below, rest, value)
}

// Whatever layers stand together, with whatever switches: no call is orphaned,
// tokens are conserved, no layer breaks its contract, every recorded call is
// made, and a cohort of such sessions gives the same rows twice.
func TestAnyMixtureOfLayersKeepsTheInvariants(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	registry, err := strategies.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	base := testConfig(t, "none")
	tried, run := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		tried++
		c := base
		if c.Strategy = mixture(rt, registry); c.Strategy == nil {
			return
		}
		run++
		c.Window = rapid.SampledFrom([]int64{0, 60_000, 110_000}).Draw(rt, "window")
		c.HintAt = rapid.SampledFrom([]int64{0, 40_000}).Draw(rt, "hints from")
		stub := *summarizer.Default()
		stub.FailureRate = rapid.SampledFrom([]float64{0, 0.3, 1}).Draw(rt, "failures")
		stub.Failures = map[string]summarizer.Failures{"fork": {TooLong: stub.FailureRate / 2, API: stub.FailureRate / 2}}
		c.Summarizer = &stub
		sessions := []*traces.Session{mixedSession(rt, "a"), mixedSession(rt, "b")}
		sessions[1].Start += rapid.SampledFrom([]int64{0, minute, 90 * minute, 30 * 60 * minute}).Draw(rt, "start")
		loop := NewLoop(c)
		rows, err := loop.RunCohort(sessions)
		if err != nil {
			rt.Fatal(err)
		}
		first := fmt.Sprintf("%+v", rows)
		rows, err = NewLoop(c).RunCohort(sessions)
		if err != nil || fmt.Sprintf("%+v", rows) != first {
			rt.Fatalf("the second run differs (%v):\n%s\n%+v", err, first, rows)
		}
	})
	if run*4 < tried {
		t.Errorf("only %d of %d mixtures could be run", run, tried)
	}
}
