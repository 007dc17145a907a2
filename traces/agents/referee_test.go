package agents

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/tools/tests/agenttest"
	"github.com/compactsim/compactsim/traces"
)

// referee is a script beside the recordings that adds up the token counts of files without this program: a line for each, with
// the sums in columns behind its name.
type referee struct {
	script, folder                           string
	calls, uncached, read, written, answered int // columns
}

var referees = []referee{
	{"gemini_cli.py", "gemini-cli", 1, 2, 3, 4, 5},
	{"copilot_cli.py", "copilot-cli", 1, 5, 6, 7, 2},
	{"deepseek_harness.py", "deepseek-harness", 1, 2, 3, 4, 5},
	{"cline.py", "cline", 1, 2, 3, 4, 5},
	{"otel.py", "otel", 1, 2, 3, 4, 5},
	{"otel.py", "copilot-cli-otel", 1, 2, 3, 4, 5},
	{"request_log.py", "request-log", 1, 3, 4, 5, 6},
	{"atif.py", "atif", 1, 2, 3, 4, 5},
}

// sums runs the script on files.
func (r *referee) sums(t *testing.T, tools string, files []string) (list []agenttest.Sum) {
	t.Helper()
	out, err := exec.Command("python3", append([]string{filepath.Join(tools, r.script)}, files...)...).Output()
	if err != nil {
		t.Fatalf("%s: %v", r.script, err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	for _, line := range lines[1:] {
		words := strings.Fields(line)
		number := func(column int) int64 {
			n, err := strconv.ParseInt(words[column], 10, 64)
			if err != nil {
				t.Fatalf("%s: %v", r.script, err)
			}
			return n
		}
		list = append(list, agenttest.Sum{
			Calls: int(number(r.calls)), Uncached: number(r.uncached), Read: number(r.read), Written: number(r.written), Answered: number(r.answered),
		})
	}
	if len(list) != len(files) {
		t.Fatalf("%s: %d sums of %d files", r.script, len(list), len(files))
	}
	return list
}

// beyond is what the bills of recordings have beyond the sums of the scripts, and why.
var beyond = map[string]struct {
	agenttest.Sum
	why string
}{
	"53f7dfca1c.events.jsonl.zst":         {agenttest.Sum{Calls: 1, Uncached: 2, Read: 15_130, Written: 157_093, Answered: 5117}, "the call that made a summary"},
	"62a857fcc6.events.jsonl.zst":         {agenttest.Sum{Calls: 1, Uncached: 2, Read: 14_777, Written: 139_926, Answered: 4769}, "the call that made a summary"},
	"small.jsonl":                         {agenttest.Sum{Calls: 1}, "messages of two agents have one id, which was made unreadable"},
	"large.jsonl":                         {agenttest.Sum{Calls: -4}, "no call has counts: they are left out without --estimate"},
	"success.messages.json":               {agenttest.Sum{Calls: 1}, "a call without counts of its own shares those of its turn"},
	"openai_agents_genai_adot_spans.json": {agenttest.Sum{Calls: 3, Uncached: 692, Answered: 102}, "the script reads no list of spans with a head"},
}

// The bill of every recording at hand is what an independent script adds up from the file, to the token, unless the reason is named.
// With -v it prints the two side by side.
func TestReferees(t *testing.T) {
	const shared = "../../../shared"
	tools := filepath.Join(shared, "traces-4", "tools")
	if _, err := os.Stat(tools); err != nil {
		t.Skip("no recordings")
	}
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3")
	}
	met := 0
	for _, r := range referees {
		for _, corpus := range []string{"traces-3", "traces-4"} {
			var files []string
			err := filepath.WalkDir(filepath.Join(shared, corpus, r.folder), func(file string, d fs.DirEntry, err error) error {
				if err == nil && !d.IsDir() && !strings.HasSuffix(file, ".expected.json") {
					files = append(files, file)
				}
				return err
			})
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range r.sums(t, tools, files) {
				name := strings.TrimPrefix(filepath.ToSlash(files[i]), shared+"/")
				c, err := Read(t.Context(), traces.Options{}, files[i])
				if err != nil && !errors.Is(err, traces.ErrNoSessions) {
					t.Fatal(err)
				}
				got, more := agenttest.Total(c), beyond[filepath.Base(name)]
				c.Close()
				if more.why != "" {
					met++
				}
				want.Add(more.Sum)
				if t.Logf("%s: %+v %s", name, got, more.why); got != want {
					t.Errorf("%s: the bill has %+v, the script %+v", name, got, want)
				}
			}
		}
	}
	if met != len(beyond) {
		t.Errorf("%d of %d recordings that are billed otherwise were met", met, len(beyond))
	}
}
