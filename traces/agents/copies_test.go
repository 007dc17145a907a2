package agents_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/tools/tests/agenttest"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/facts"
)

// A copy that was made while a session was under way, at whatever line, adds nothing to what the whole log is billed, or it is told.
func TestCopyMadeMeanwhile(t *testing.T) {
	t.Parallel()
	read := func(files fstest.MapFS) (sum prompt.Usage, told int) {
		c, err := agents.ReadFS(t.Context(), traces.Options{}, files)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range c.Sessions {
			for i := range s.Threads {
				for _, r := range s.Threads[i].Rounds {
					sum.Add(&r.Usage)
				}
			}
			for i := range s.Summaries {
				sum.Add(&s.Summaries[i].Usage)
			}
		}
		return sum, c.NumProblems
	}
	for _, agent := range agenttest.Agents() {
		name := func(folder string) string {
			if agent == facts.Kimi { // whose sessions are named by their folders
				return folder + "/sessions/repo/session/agents/main/wire.jsonl"
			}
			return folder + "/" + agent + ".jsonl"
		}
		whole := agenttest.Sample(agent, "s", 1)
		want, _ := read(fstest.MapFS{name("a"): {Data: []byte(whole)}})
		lines := strings.SplitAfter(whole, "\n")
		for n := 1; n < len(lines); n += 1 + len(whole)/60_000 {
			folders := [...]string{"a", "b"}
			copied := strings.Join(lines[:n], "")
			got, told := read(fstest.MapFS{name(folders[n%2]): {Data: []byte(whole)}, name(folders[1-n%2]): {Data: []byte(copied)}})
			if got != want && told == 0 {
				t.Errorf("%s, %d of %d lines in %s: %+v, want %+v", agent, n, len(lines), folders[1-n%2], got, want)
			}
		}
	}
}
