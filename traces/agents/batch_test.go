package agents

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/tools/tests/agenttest"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
)

// related writes recordings that have much to do with each other, far apart in the order of names:
// halves of sessions, copies, continuations, and exports whose parent is another file.
func related(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	keep := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i, agent := range agenttest.Agents() {
		for k, id := range []string{"x", "y", "z"} {
			text := agenttest.Sample(agent, id, uint64(3*i+k))
			keep("a-"+agent+id+".jsonl", text)
			keep("m-"+agent+id+".jsonl", agenttest.Sample(agent, id, uint64(50+3*i+k))) // another conversation under the same id
			switch lines := strings.SplitAfter(text, "\n"); {
			case k == 0:
				keep("z-copy-"+agent+".jsonl", text)
			case agent == facts.ClaudeCode && k == 1: // in two files, the later half first
				keep("a-"+agent+id+".jsonl", strings.Join(lines[len(lines)/2:], ""))
				keep("z-"+agent+id+".jsonl", strings.Join(lines[:len(lines)/2], ""))
			case agent == facts.ClaudeCode: // resumed: the history again, under another id
				keep("m-resumed.jsonl", strings.ReplaceAll(strings.Join(lines[:len(lines)/2], ""), `"z"`, `"resumed"`))
			case agent == facts.OpenCode:
				child := agenttest.Sample(agent, "child"+id, uint64(99+k))
				name := `"ses_child` + id + `"`
				keep("z-child"+id+".jsonl", strings.Replace(child, name, name+`,"parentID":"ses_`+id+`"`, 1))
			}
		}
	}
	return dir
}

// Sessions are the same whether all files are read before any session is made or one at a time.
func TestBatches(t *testing.T) {
	dirs := []string{related(t)}
	if recorded := filepath.Join("..", "..", "..", "shared", "traces"); !testing.Short() {
		if _, err := os.Stat(recorded); err == nil {
			dirs = append(dirs, recorded)
		}
	}
	for _, dir := range dirs {
		read := func(batch, workers int) *traces.Corpus {
			c, err := Read(t.Context(), traces.Options{Batch: batch, Workers: workers}, dir)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
			c.Inputs = nil
			return c
		}
		want := read(1<<30, 1)
		if len(want.Sessions) < 12 || dir == dirs[0] && want.Repeated == 0 {
			t.Fatalf("%d sessions, %d calls repeated", len(want.Sessions), want.Repeated)
		}
		batches := []int{1, 40, 500}
		if dir != dirs[0] {
			batches = batches[2:]
		}
		for _, batch := range batches {
			got := read(batch, 1+batch%3)
			for i, s := range got.Sessions {
				if i < len(want.Sessions) && !reflect.DeepEqual(s, want.Sessions[i]) {
					t.Fatalf("batches of %d lines: session %s differs", batch, s.ID)
				}
			}
			got.Problems, want.Problems = nil, nil // their order may be another
			if !reflect.DeepEqual(got, want) {
				t.Errorf("batches of %d lines: %d sessions, %d lines, %d problems; want %d, %d, %d", batch,
					len(got.Sessions), got.Lines, got.NumProblems, len(want.Sessions), want.Lines, want.NumProblems)
			}
		}
	}
}

// A log that its writer put aside under a number is read with the one that goes on from it: both hold the calls of
// the log before. A session whose first lines are elsewhere may be two.
func TestRotatedLogs(t *testing.T) {
	sum := func(files fstest.MapFS) (calls int, usage prompt.Usage, problems int) {
		c, err := ReadFS(t.Context(), traces.Options{}, files)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for _, s := range c.Sessions {
			calls += s.NumCalls()
			u := s.Usage()
			usage.Add(&u)
		}
		return calls, usage, c.NumProblems
	}
	for _, agent := range agenttest.Agents() {
		text := agenttest.Sample(agent, "rotated", 1)
		lines := strings.SplitAfter(text, "\n")
		if len(lines) < 8 { // one document
			continue
		}
		name := "app.jsonl"
		if agent == facts.Kimi {
			name = "sessions/repo/rotated/agents/main/wire.jsonl"
		}
		calls, usage, _ := sum(fstest.MapFS{name: {Data: []byte(text)}})
		for _, cut := range []int{len(lines) / 2, len(lines) * 2 / 3} {
			got, used, problems := sum(fstest.MapFS{
				name + ".1": {Data: []byte(strings.Join(lines[:cut], ""))}, name: {Data: []byte(strings.Join(lines[cut:], ""))},
			})
			if (got != calls || used != usage) && problems == 0 {
				t.Errorf("%s, rotated at line %d: %d calls, %+v; want %d, %+v", agent, cut, got, used, calls, usage)
			}
		}
	}
}
