package synthetic

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/traces"
)

// Every problem of a file is named at once, with its line: first what cannot be
// read, then values out of bounds, then what does not go together.
func TestWorkloadNamesEveryProblemWithItsLine(t *testing.T) {
	const head = "version: 2.1.62\nproject: /x\nstart: 2026-03-02T09:00:00Z\nlifetime: 5m\nstatic: 20000\nread_limit: 6000\n"
	for _, tt := range []struct {
		text string
		want []string
	}{
		{"turnz: 5\nimages: often\nagents: {static: 3.5}\n", []string{
			`p.yaml:7: unknown key "turnz" (did you mean "turns"?)`, `p.yaml:8: images: want a number, not "often"`,
			`p.yaml:9: agents.static: want a whole number, not "3.5"`,
		}},
		{`turns: {median: -4, sigma: 0.5}
rounds: {median: 7, sigma: 3}
prompt: {quantiles: [5, 3]}
answer: {quantiles: [5]}
thinking: {median: 3, quantiles: [1, 2]}
tools: [{name: Read, weight: -1}]
pauses:
  - {share: 0.7, length: {median: 1e300}}
  - {share: 0.7, length: {min: 9, max: 5}}
text_share: 1.5
speed: {median: 60, sigma: 9, max: 90}
parallel: 0.95
`, []string{
			"p.yaml:7: turns -4 is out of range", "p.yaml:8: rounds has a tail beyond 1e+06", "p.yaml:9: prompt has quantiles that fall",
			"p.yaml:10: answer has one quantile", "p.yaml:11: thinking has both quantiles and a median", "p.yaml:12: tools[0].weight -1",
			"p.yaml:14: pauses[0].length 1e+300", "p.yaml:15: pauses[1].length has a minimum of 9 above", "p.yaml:16: text_share 1.5",
			"p.yaml:17: speed draws", "p.yaml:18: parallel 0.95",
		}},
		{`speed: {median: 60}
models: []
reminders: {min: 59990}
tools:
  - {name: Raed, weight: 3}
  - {name: Edit, weight: 1}
  - {name: Task, weight: 1}
pauses:
  - {share: 0.7, length: {median: 10}}
  - {share: 0.7, length: {median: 10}}
`, []string{
			"p.yaml:8: models is empty", `p.yaml:11: tools[0].name "Raed" is unknown (did you mean "Read"?)`,
			"files is 0, and tools work on files", "agents.tools is empty", "turns is missing", "rounds is missing",
			"p.yaml:15: pauses has shares that sum to 1.4",
		}},
	} {
		_, err := parseWorkload([]byte(head+tt.text), "p.yaml")
		if err == nil {
			t.Fatal("no error")
		}
		for _, want := range tt.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("error does not say %q:\n%v", want, err)
			}
		}
	}
}

// Values that do not go together are refused.
func TestWorkloadContradictions(t *testing.T) {
	for _, tt := range []struct {
		want string
		edit func(*Workload)
	}{
		{"turns: make sessions of 2.5e+07 calls", func(w *Workload) { w.Turns, w.Rounds = Dist{Median: 5000}, Dist{Median: 5000} }},
		{"agents.rounds: make sessions", func(w *Workload) { manyAgents(w); w.Agents.Rounds = Dist{Min: 1e5} }},
		{"threshold: 40000 is no more than what a compaction", func(w *Workload) { w.Threshold = 40_000 }},
		{"threshold: 250000 lies above the window", func(w *Workload) { w.Threshold = 250_000 }},
		{"reminders: come to 70000", func(w *Workload) { w.Static, w.Reminders = 40_000, Dist{Median: 30_000} }},
		{"start: 1999", func(w *Workload) { w.Start = w.Start.AddDate(-27, 0, 0) }},
		{"spread: -1", func(w *Workload) { w.Spread = -1 }},
		{"turns: is missing", func(w *Workload) { w.Turns = Dist{} }},
		{"rounds: is missing", func(w *Workload) { w.Rounds = Dist{Max: 0.5, Median: 3} }},
		{"prompt: is missing", func(w *Workload) { w.Prompt = Dist{} }},
		{`project: "": want a folder`, func(w *Workload) { w.Project = "" }},
		{`version: "2.1": want three numbers`, func(w *Workload) { w.Version = "2.1" }},
		{`lifetime: unknown value "10m"`, func(w *Workload) { w.Lifetime = "10m" }},
		{"speed: NaN", func(w *Workload) { w.Speed.Median = math.NaN() }},
		{"agents.tools: starts sub-agents", func(w *Workload) { manyAgents(w); w.Agents.Tools = w.Tools }},
	} {
		w := workload(t, "short-fix")
		tt.edit(w)
		_, err := NewGenerator(w)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("want %q, error %v", tt.want, err)
		}
	}
}

// manyAgents lets a workload start sub-agents.
func manyAgents(w *Workload) {
	w.Tools = append(w.Tools[:len(w.Tools):len(w.Tools)], WorkTool{Name: toolTask, Weight: 3})
	w.Agents = WorkAgents{Type: "Plan", Static: 3000, Rounds: Dist{Min: 2}, Report: Dist{Min: 50}, Tools: w.Tools[:2]}
}

// A value that cannot be read is the one problem: nothing is said of others that
// are in order, nor of what would follow from it.
func TestWorkloadInventsNoProblems(t *testing.T) {
	good, err := WorkloadText("fan-out")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ was, is, want string }{
		{"start: 2026-03-02T09:00:00Z", "start: 2026", `start: want a time, not "2026"`},
		{"start: 2026-03-02T09:00:00Z", "start: null", "start: no value"},
		{"start: 2026-03-02T09:00:00Z", "start: [1, 2]", "start takes one value, not a list"},
		{"version: ", "version: [1] # ", "version takes one value, not a list"},
		{"files: ", "files: many # ", `files: want a whole number, not "many"`},
		{"static: 20000", "static: much", `static: want a whole number, not "much"`},
		{"window: ", "window: wide # ", `window: want a whole number, not "wide"`},
		{"speed: ", "speed: 60 # ", `speed takes keys and values, not "60"`},
		{"{name: Read, weight: 2,", "{name: Read, weight: most,", `tools[0].weight: want a number, not "most"`},
		{"turns: {median: 4, sigma: 0.4, min: 2, max: 10}", "turns: {quantiles: [1, x, 3]}", `turns.quantiles[1]: want a number, not "x"`},
	} {
		text := strings.Replace(string(good), tt.was, tt.is, 1)
		if text == string(good) {
			t.Errorf("the profile has no %q", tt.was)
			continue
		}
		_, err := parseWorkload([]byte(text), "p.yaml")
		if err == nil || !strings.Contains(withoutLines(err), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: want %q alone, error %v", tt.is, tt.want, err)
		}
	}
}

// withoutLines returns the text of an error without the places in p.yaml.
func withoutLines(err error) string {
	return regexp.MustCompile(`p\.yaml:\d+: `).ReplaceAllString(err.Error(), "")
}

// The profile that sim calibrate writes is recognised, and the way to one that
// sessions are generated from is told.
func TestWorkloadOfTheOtherKind(t *testing.T) {
	_, err := parseWorkload([]byte("name: mine\nswitches:\n  thinking: true\n"), "cal.yaml")
	if err == nil || !strings.Contains(err.Error(), "cal.yaml:3: this profile of sim calibrate is for") || !strings.Contains(err.Error(), "sim traces fit") || strings.Contains(err.Error(), "unknown key") {
		t.Errorf("error %v", err)
	}
}

// A file without an end, or one that is no profile by its size, is not read into
// memory.
func TestWorkloadFileIsBounded(t *testing.T) {
	name := filepath.Join(t.TempDir(), "large.yaml")
	if err := errors.Join(os.WriteFile(name, nil, 0o600), os.Truncate(name, 64<<20+1)); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadWorkload(name); err == nil || !strings.Contains(err.Error(), "more than 64 MiB") {
		t.Errorf("error %v", err)
	}
}

// A profile, a seed and a number give the same bytes whatever the workers, and
// another seed gives other sessions.
func TestCorpusDoesNotDependOnWorkers(t *testing.T) {
	w := workload(t, "fan-out")
	g := generator(t, w)
	text := func(seed uint64, workers int) []byte {
		c, err := g.Corpus(context.Background(), 150, seed, workers)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		for _, s := range c.Sessions[:3] {
			for _, f := range w.Transcripts(s) {
				if err := f.Write(&b); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, s := range c.Sessions {
			b.WriteString(s.ID)
		}
		return b.Bytes()
	}
	one := text(1, 1)
	if !bytes.Equal(one, text(1, 4)) {
		t.Error("one worker and four give different sessions")
	}
	if bytes.Equal(one, text(2, 1)) {
		t.Error("seeds 1 and 2 give the same sessions")
	}
}

func TestCorpusStopsWhenInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := generator(t, workload(t, "chat")).Corpus(ctx, 1000, 1, 2); err == nil {
		t.Error("an interrupted corpus is no error")
	}
	if _, err := generator(t, workload(t, "chat")).Corpus(context.Background(), 0, 1, 2); err == nil {
		t.Error("no sessions are no error")
	}
}

// What each profile stresses is in its sessions.
func TestProfilesStressWhatTheySay(t *testing.T) {
	observed := map[string]map[string][]float64{}
	for _, name := range WorkloadNames() {
		c, err := generator(t, workload(t, name)).Corpus(context.Background(), 60, 1, 2)
		if err != nil {
			t.Fatal(err)
		}
		o := observe(c.Sessions)
		for _, s := range c.Sessions {
			agents, compactions := 0, 0
			for i := range s.Threads {
				t := &s.Threads[i]
				if t.Kind == traces.ThreadAgent {
					agents++
				}
				for k := range t.Events {
					if t.Events[k].Kind == traces.EventCompact {
						compactions++
					}
				}
			}
			o.add("sub-agents per session", float64(agents))
			o.add("compactions per session", float64(compactions))
		}
		slices.Sort(o.values["sub-agents per session"])
		slices.Sort(o.values["compactions per session"])
		observed[name] = o.values
	}
	at := func(profile, dimension string, u float64) float64 {
		return stats.Quantile(observed[profile][dimension], u)
	}
	for _, tt := range []struct {
		name string
		ok   bool
	}{
		{"short fixes never compact", at("short-fix", "compactions per session", 1) == 0},
		{"half of the refactorings compact more than once", at("long-refactor", "compactions per session", 0.5) >= 2},
		{"exploring returns large searches", at("exploration", "result of Grep", 0.5) > 2000},
		{"a night's turns are long", at("overnight", "calls per turn", 0.5) > 25},
		{"a night's pauses pass the 1h lifetime", at("overnight", "idle gap", 0.8) > 3600},
		{"chats pause for a day or more", at("chat", "idle gap", 1) > 24*3600},
		{"chats have few calls a turn", at("chat", "calls per turn", 0.5) <= 2},
		{"a fan-out has several agents", at("fan-out", "sub-agents per session", 0.5) >= 3},
	} {
		if !tt.ok {
			t.Error("not so: " + tt.name)
		}
	}
}

// A block takes the 64 bytes of prompt.Block and nothing besides: blocks are
// laid out in one list of exactly their number.
func TestBlocksAreLaidOutExactly(t *testing.T) {
	g := generator(t, workload(t, "fan-out"))
	for i := range 50 {
		if s := g.Session(1, i); cap(s.Blocks) != len(s.Blocks) {
			t.Fatalf("session %d has room for %d blocks and %d blocks", i, cap(s.Blocks), len(s.Blocks))
		}
	}
}

// BenchmarkTenThousand holds 10,000 sessions of 100 calls in memory.
func BenchmarkTenThousand(b *testing.B) {
	w := workload(b, "long-refactor")
	w.Turns, w.Rounds = Dist{Median: 10}, Dist{Median: 10}
	g := generator(b, w)
	var c *traces.Corpus
	for b.Loop() {
		var err error
		if c, err = g.Corpus(context.Background(), 10_000, 1, 0); err != nil {
			b.Fatal(err)
		}
	}
	size, blocks, rounds := corpusBytes(c)
	b.ReportMetric(float64(size)/1e6, "MB")
	b.ReportMetric(float64(size)/float64(blocks), "bytes/block")
	b.ReportMetric(float64(rounds), "rounds")
}

// corpusBytes measures what stays on the heap for a corpus.
func corpusBytes(c *traces.Corpus) (size uint64, blocks, rounds int) {
	var with, without runtime.MemStats
	for _, s := range c.Sessions {
		blocks += len(s.Blocks)
		rounds += s.NumCalls()
	}
	runtime.GC()
	runtime.ReadMemStats(&with)
	runtime.KeepAlive(c)
	clear(c.Sessions)
	runtime.GC()
	runtime.ReadMemStats(&without)
	return with.HeapAlloc - without.HeapAlloc, blocks, rounds
}
