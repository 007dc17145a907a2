package sim

import (
	"fmt"
	"testing"

	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
)

// 003:1783: agents keep persistent memory "in three scopes". Two sessions two minutes
// apart start a sub-agent whose 8,000 tokens of tools and system prompt are alike; the
// memory of 600 stands behind them, under the same marker. The second agent reads all
// 8,600 where the memory is of its scope too, and nothing where it is another's: the
// entry behind the system prompt ends with it.
func TestAgentMemoryAndSharedPrefixes(t *testing.T) {
	with := func(id, project string) *traces.Session {
		b := newSession(id)
		b.turns(2, 0, 1000)
		b.subagent(0, 0, 0)
		s := b.session()
		prefix := s.Threads[1].Prefix
		for i := prefix.From; i < prefix.To; i++ {
			s.Blocks[i].Digest.Hi, s.Blocks[i].Digest.Lo = 9, uint64(i-prefix.From)
		}
		s.Project = project
		return s
	}
	for _, tc := range []struct {
		scope   string
		project string // of the second session; the first is in /a
		user    int32  // of the second session; the first is of user 0
		tokens  int32
		want    int64
	}{
		{client.MemoryOfProject, "/a", 0, 600, 8600},
		{client.MemoryOfProject, "/a", 1, 600, 8600}, // everybody who works on it
		{client.MemoryOfProject, "/b", 0, 600, 0},
		{client.MemoryOfUser, "/b", 0, 600, 8600}, // in all projects
		{client.MemoryOfUser, "/a", 1, 600, 0},
		{client.MemoryLocal, "/a", 0, 600, 8600},
		{client.MemoryLocal, "/b", 0, 600, 0},
		{client.MemoryLocal, "/a", 1, 600, 0},
		{client.MemoryLocal, "/b", 1, 0, 8000}, // without a memory
	} {
		a, b := with("a", "/a"), with("b", tc.project)
		b.Start = a.Start + 2*minute
		c := testConfig(t, "none")
		assembly := client.DefaultAssembly()
		assembly.System.AgentMemory.Tokens, assembly.System.AgentMemory.Scope = tc.tokens, tc.scope
		c.Assembly = &assembly
		c.Person = func(i int, _ *traces.Session) Person { return Person{Owner: 1, User: int32(i) * tc.user} }
		var read []int64
		c.Record = func(r *results.CallRecord) {
			if r.Source == measures.SourceAgent && r.First {
				read = append(read, r.Usage.Read)
			}
		}
		if _, err := NewLoop(c).RunCohort([]*traces.Session{a, b}); err != nil {
			t.Fatal(err)
		}
		if got, want := fmt.Sprint(read), fmt.Sprint([]int64{0, tc.want}); got != want {
			t.Errorf("%s, second session in %s of user %d: first reads %s, want %s", tc.scope, tc.project, tc.user, got, want)
		}
	}
}

// The memory is beside the recorded prompt, of sub-agents alone.
func TestAgentMemoryWeighs(t *testing.T) {
	b := newSession("s").turns(2, 0, 1000)
	b.subagent(0, 0, 0)
	sizes := func(tokens int32) (main, agent int64) {
		c := testConfig(t, "none")
		assembly := client.DefaultAssembly()
		assembly.System.AgentMemory.Tokens = tokens
		c.Assembly = &assembly
		_, calls := run(t, c, b.session())
		return callsOf(calls, measures.SourceMain)[0].Context, callsOf(calls, measures.SourceAgent)[0].Context
	}
	main, agent := sizes(0)
	if m, a := sizes(600); m != main || a != agent+600 {
		t.Errorf("contexts of %d and %d tokens, want %d and %d", m, a, main, agent+600)
	}
}
