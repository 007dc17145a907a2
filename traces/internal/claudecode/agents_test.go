package claudecode

import (
	"testing"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/traces"
)

// agentLines writes what a sub-agent does: its task, one tool, an answer.
func agentLines(s *script) {
	s.prompt("Look for the bug.")
	s.call("a1", 12_000, readFile("ta", "/a"))
	s.result("ta", words(1000))
	s.call("a2", 12_500, text("found"))
}

// parentLines writes a session that starts a sub-agent between its two calls.
func parentLines(s *script, during func()) {
	s.prompt("fix it")
	s.call("m1", 20_000, use("t1", "Task", fields{"prompt": "Look for the bug.", "subagent_type": "Explore"}))
	during()
	s.result("t1", "found")
	s.call("m2", 20_300, text("done"))
}

const withAgent = "main: m1 m2\nagent a7 from main/m1: a1 a2"

func TestAgentInItsOwnFile(t *testing.T) {
	main, agent := newScript("S"), newScript("S")
	parentLines(main, func() {
		agent.clock = main.clock
		agent.agent = "a7"
		agentLines(agent)
		main.clock = agent.clock
	})
	got := sessionOf(t, main, agent)
	want(t, "threads", shape(got), withAgent)
	// The task's line comes a second after the line of the call that starts it.
	if d := time.Duration(got.Threads[1].Delay); d != time.Second {
		t.Errorf("delay %v, want 1s", d)
	}
	// All of the first call was read, but for the tail of three.
	want(t, "prefix", blocks(got, got.Threads[1].Prefix), "tools:8394 system:3598")
}

func TestAgentInProgressLines(t *testing.T) {
	main := newScript("S")
	parentLines(main, func() { wrapped(main, "t1") })
	want(t, "threads", shape(sessionOf(t, main)), withAgent)
}

// wrapped writes the sub-agent as progress lines of the main file.
func wrapped(main *script, tool string) {
	agent := newScript("S")
	agent.agent, agent.wrap, agent.clock = "a7", tool, main.clock
	agentLines(agent)
	main.lines = append(main.lines, agent.lines...)
	main.clock = agent.clock
}

func TestAgentInSidechainLines(t *testing.T) {
	for _, named := range []bool{true, false} {
		main := newScript("S")
		parentLines(main, func() {
			agent := newScript("S")
			agent.agent, agent.clock = "a7", main.clock
			agentLines(agent)
			main.clock = agent.clock
			for _, l := range agent.lines {
				if !named {
					l = dropField(l, "agentId")
				}
				main.raw(l)
			}
		})
		got := sessionOf(t, main)
		if !named {
			want(t, "name", got.Threads[1].ID, "sidechain-3")
			got.Threads[1].ID = "a7"
		}
		want(t, "threads", shape(got), withAgent)
	}
}

func TestAgentInProgressLinesAndFileIsOne(t *testing.T) {
	main, agent := newScript("S"), newScript("S")
	parentLines(main, func() {
		agent.agent, agent.clock = "a7", main.clock
		agentLines(agent)
		wrapped(main, "t1")
	})
	got := sessionOf(t, main, agent)
	want(t, "threads", shape(got), withAgent)
	want(t, "input", blocks(got, got.Threads[1].Rounds[1].Input), "tool_result:330 unseen:111")
}

func TestParallelAgentsWithEqualTasks(t *testing.T) {
	// Two calls with one prompt start two agents: each call starts one.
	main := newScript("S")
	task := fields{"prompt": "Look for the bug."}
	main.prompt("fix it")
	main.call("m1", 20_000, use("t1", "Task", task))
	main.result("t1", "one")
	main.call("m2", 20_200, use("t2", "Task", task))
	scripts := []*script{main}
	for i, id := range []string{"a1", "a2"} {
		agent := newScript("S")
		agent.agent = id
		agent.prompt("Look for the bug.")
		agent.call("c"+id, 12_000+i, text("no"))
		scripts = append(scripts, agent)
	}
	want(t, "threads", shape(sessionOf(t, scripts...)), "main: m1 m2\nagent a1 from main/m1: ca1\nagent a2 from main/m2: ca2")
}

func TestAgentOfAgent(t *testing.T) {
	main, outer, inner := newScript("S"), newScript("S"), newScript("S")
	outer.agent, inner.agent = "outer", "inner"
	main.prompt("go")
	main.call("m1", 20_000, use("t1", "Task", fields{"prompt": "outer task"}))
	outer.prompt("outer task")
	outer.call("o1", 12_000, use("t2", "Agent", fields{"prompt": "inner task"}))
	inner.prompt("inner task")
	inner.call("i1", 11_000, text("x"))
	want(t, "threads", shape(sessionOf(t, main, inner, outer)),
		"main: m1\nagent outer from main/m1: o1\nagent inner from outer/o1: i1")
}

func TestOrphanAgent(t *testing.T) {
	agent := newScript("S")
	agent.agent = "a7"
	agentLines(agent)
	got := sessionOf(t, agent)
	want(t, "threads", shape(got), "orphan a7: a1 a2")
	want(t, "session", got.ID, "S")
	if len(got.Problems) != 1 {
		t.Errorf("problems %v, want one that names the missing parent", got.Problems)
	}
}

func TestEqualPrefixesAreEqualAcrossSessions(t *testing.T) {
	digests := func(id string) (d []prompt.Digest) {
		main, agent := newScript(id), newScript(id)
		parentLines(main, func() { agent.agent = "a7"; agentLines(agent) })
		s := sessionOf(t, main, agent)
		for _, th := range s.Threads {
			d = append(d, s.Blocks[th.Prefix.From].Digest, s.Blocks[th.Prefix.From+1].Digest)
		}
		return d
	}
	a, b := digests("A"), digests("B")
	for i := range a {
		if a[i] != b[i] {
			t.Errorf("digest %d of the static prefixes differs between sessions", i)
		}
		for j := range i {
			if a[i] == a[j] {
				t.Errorf("digests %d and %d are equal within a session", i, j)
			}
		}
	}
}

func TestToolsObjectsAndOperations(t *testing.T) {
	s := newScript("S")
	s.prompt("go")
	tests := []struct {
		name, tool string
		input      fields
		object     string
		op         op.Op
		from, n    int32
		flags      prompt.Flags
	}{
		{"t1", "Read", fields{"file_path": "/a.go", "offset": 10, "limit": 50}, "/a.go", op.Read, 10, 50, 0},
		{"t2", "Edit", fields{"file_path": "/a.go", "old_string": "x", "new_string": "1\n234"}, "/a.go", op.Edit, 1, 4, 0},
		{"t11", "MultiEdit", fields{"file_path": "/a.go", "edits": []fields{
			{"old_string": "abc", "new_string": "a"}, {"old_string": "", "new_string": "dé"}}}, "/a.go", op.Edit, 0, 1, 0},
		{"t12", "Read", fields{"file_path": "/a.go", "limit": 50}, "/a.go", op.Read, 1, 50, 0},
		{"t13", "Read", fields{"file_path": "/a.go"}, "/a.go", op.Read, 0, 0, 0},
		{"t3", "NotebookEdit", fields{"notebook_path": "/n.ipynb"}, "/n.ipynb", op.Edit, 0, 0, 0},
		{"t4", "Write", fields{"file_path": "/b.go", "content": "yes\n"}, "/b.go", op.Write, 1, 4, 0},
		{"t5", "Bash", fields{"command": "ls"}, "", op.Exec, 0, 0, 0},
		{"t6", "Grep", fields{"pattern": "x/y", "path": "/src"}, "/src", op.Search, 0, 0, 0},
		{"t7", "Glob", fields{"pattern": "**/*.go"}, "", op.Search, 0, 0, 0},
		{"t8", "Glob", fields{"pattern": "cmd/main.go"}, "cmd/main.go", op.Search, 0, 0, 0},
		{"t9", "WebFetch", fields{"url": "https://x"}, "", op.Fetch, 0, 0, 0},
		{"t10", "mcp__db__query", fields{"sql": "s"}, "", op.None, 0, 0, prompt.FlagMCP},
	}
	for _, tt := range tests {
		s.call("m1", 20_000, use(tt.name, tt.tool, tt.input))
	}
	for _, tt := range tests {
		s.result(tt.name, "ok\nyes")
	}
	s.call("m2", 22_000, text("done"))
	got := sessionOf(t, s)
	uses, results := got.Threads[0].Rounds[0].Reply, got.Threads[0].Rounds[1].Input
	for i, tt := range tests {
		use, res := got.Blocks[int(uses.From)+i], got.Blocks[int(results.From)+i]
		if use.Call != int32(i+1) || res.Call != use.Call {
			t.Errorf("%s: pairs %d and %d, want both %d", tt.tool, use.Call, res.Call, i+1)
		}
		if tt.from == 0 && (tt.op == op.Read || tt.op == op.Exec) {
			if res.RangeLen != 2 {
				t.Errorf("%s: the result has %d lines, want 2", tt.tool, res.RangeLen)
			}
			res.RangeLen = tt.n
		}
		for _, b := range []prompt.Block{use, res} {
			object := ""
			if b.Object >= 0 {
				object = got.Objects[b.Object]
			}
			if got.Tools[b.Tool] != tt.tool || object != tt.object || b.Op != tt.op || b.RangeFrom != tt.from || b.RangeLen != tt.n || b.Flags&prompt.FlagMCP != tt.flags {
				t.Errorf("%s: %v on %q %v [%d,%d] flags %d", tt.tool, got.Tools[b.Tool], object, b.Op, b.RangeFrom, b.RangeLen, b.Flags)
			}
		}
	}
}

func TestDigests(t *testing.T) {
	s := newScript("S")
	s.prompt("same")
	s.call("m1", 20_000, text("same"), readFile("t1", "/a"), readFile("t2", "/a"))
	s.result("t1", "same")
	s.result("t2", "same")
	s.prompt("same")
	s.call("m2", 20_400, text("same"))
	got := sessionOf(t, s)
	r0, r1 := got.Threads[0].Rounds[0], got.Threads[0].Rounds[1]
	at := func(p traces.Span, i int32) prompt.Digest { return got.Blocks[p.From+i].Digest }
	if at(r0.Input, 0) != at(r1.Input, 2) || at(r0.Reply, 0) != at(r1.Reply, 0) {
		t.Error("equal content of one kind has unequal digests")
	}
	distinct := map[prompt.Digest]string{}
	for name, d := range map[string]prompt.Digest{
		"prompt": at(r0.Input, 0), "text": at(r0.Reply, 0), "call 1": at(r0.Reply, 1), "call 2": at(r0.Reply, 2),
		"result 1": at(r1.Input, 0), "result 2": at(r1.Input, 1),
	} {
		if other, ok := distinct[d]; ok {
			t.Errorf("%s and %s have one digest", name, other)
		}
		distinct[d] = name
	}
}
