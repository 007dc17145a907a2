package synthetic

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

func workload(t testing.TB, name string) *Workload {
	t.Helper()
	w, err := LoadWorkload(name)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func generator(t testing.TB, w *Workload) *Generator {
	t.Helper()
	g, err := NewGenerator(w)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// transcripts returns the files of a session as they would stand on disk.
func transcripts(t testing.TB, w *Workload, s *traces.Session) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	for _, f := range w.Transcripts(s) {
		var b bytes.Buffer
		if err := f.Write(&b); err != nil {
			t.Fatal(err)
		}
		files[f.Name] = &fstest.MapFile{Data: b.Bytes()}
	}
	return files
}

func readBack(t testing.TB, files fs.FS) *traces.Session {
	t.Helper()
	c, err := agents.ReadFS(context.Background(), traces.Options{Strict: true}, files)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if len(c.Sessions) != 1 || c.NumProblems > 0 {
		t.Fatalf("%d sessions, problems %v %v", len(c.Sessions), c.Problems, c.Sessions[0].Problems)
	}
	return c.Sessions[0]
}

// sameSession compares a session with what was read back. Places in files are
// left out. Digests of content are names: a bijection must hold between the digests of the two;
// digests of prefixes and unseen tokens, which sessions share or a reader
// derives, must be equal.
func sameSession(a, b *traces.Session) error {
	if x, y := fmt.Sprint(a.ID, a.Agent, a.Versions, a.Project, a.Window, a.Start, a.End, a.Tools, a.Models, a.Objects),
		fmt.Sprint(b.ID, b.Agent, b.Versions, b.Project, b.Window, b.Start, b.End, b.Tools, b.Models, b.Objects); x != y {
		return fmt.Errorf("head %s\nand %s", x, y)
	}
	qa, qb := a.Quality, b.Quality
	qa.Lines, qb.Lines = 0, 0
	if !reflect.DeepEqual(qa, qb) {
		return fmt.Errorf("quality %+v\nand %+v", qa, qb)
	}
	if len(a.Threads) != len(b.Threads) || len(a.Blocks) != len(b.Blocks) {
		return fmt.Errorf("%d threads %d blocks and %d %d", len(a.Threads), len(a.Blocks), len(b.Threads), len(b.Blocks))
	}
	for i := range a.Threads {
		if err := sameThread(a.Threads[i], b.Threads[i]); err != nil {
			return fmt.Errorf("thread %d (%s): %w", i, a.Threads[i].Kind, err)
		}
	}
	to, from := map[prompt.Digest]prompt.Digest{}, map[prompt.Digest]prompt.Digest{}
	for i := range a.Blocks {
		x, y := a.Blocks[i], b.Blocks[i]
		if x.Flags&prompt.FlagDerived == 0 {
			if to[x.Digest] != from[y.Digest] && (to[x.Digest] != y.Digest || from[y.Digest] != x.Digest) {
				return fmt.Errorf("block %d: content equals others in one session alone", i)
			}
			to[x.Digest], from[y.Digest] = y.Digest, x.Digest
			x.Digest, y.Digest = prompt.Digest{}, prompt.Digest{}
		}
		x.Line, x.File, x.Place = 0, 0, 0
		y.Line, y.File, y.Place = 0, 0, 0
		switch { // a generator plans no texts, and so counts no lines
		case x.Op == op.Edit || x.Op == op.Write:
			y.RangeFrom = x.RangeFrom
		case x.Kind == prompt.KindToolResult && x.RangeFrom == 0:
			y.RangeLen = x.RangeLen
		}
		if x != y {
			return fmt.Errorf("block %d: %+v\nand %+v", i, x, y)
		}
	}
	return nil
}

func sameThread(a, b traces.Thread) error {
	ra, rb, ea, eb := a.Rounds, b.Rounds, a.Events, b.Events
	a.Rounds, b.Rounds, a.Events, b.Events = nil, nil, nil, nil
	if x, y := fmt.Sprintf("%+v", a), fmt.Sprintf("%+v", b); x != y {
		return fmt.Errorf("%s\nand %s", x, y)
	}
	if len(ra) != len(rb) || len(ea) != len(eb) {
		return fmt.Errorf("%d rounds %d events and %d %d", len(ra), len(ea), len(rb), len(eb))
	}
	for i := range ra {
		x, y := ra[i], rb[i]
		x.Line, x.File, y.Line, y.File = 0, 0, 0, 0
		if x != y {
			return fmt.Errorf("round %d: %+v\nand %+v", i, x, y)
		}
	}
	for i := range ea {
		x, y := ea[i], eb[i]
		x.Line, x.File, y.Line, y.File = 0, 0, 0, 0
		if s, t := fmt.Sprintf("%+v", x), fmt.Sprintf("%+v", y); s != t {
			return fmt.Errorf("event %d: %s\nand %s", i, s, t)
		}
	}
	return nil
}

// readsBack fails unless a session is in order and its transcripts read back as
// the same.
func readsBack(t testing.TB, w *Workload, s *traces.Session) error {
	if err := s.Check(); err != nil {
		return err
	}
	return sameSession(s, readBack(t, transcripts(t, w, s)))
}

// What is emitted in the parsed form is what the reader makes of the
// transcripts: for the profiles that come with the program …
func TestTranscriptsReadBackAsTheSession(t *testing.T) {
	for _, name := range WorkloadNames() {
		w := workload(t, name)
		g := generator(t, w)
		for i := range 4 {
			if err := readsBack(t, w, g.Session(7, i)); err != nil {
				t.Errorf("%s, session %d: %v", name, i, err)
			}
		}
	}
}

// … and for profiles of any kind: old and new clients, small windows, everything
// that happens between turns often.
func TestRandomWorkloadsReadBackAsTheSession(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := drawWorkload(rt)
		if errs := w.Validate(); len(errs) > 0 {
			rt.Fatal(errs)
		}
		s := generator(t, w).Session(rapid.Uint64().Draw(rt, "seed"), rapid.IntRange(0, 1<<20).Draw(rt, "index"))
		if err := readsBack(t, w, s); err != nil {
			rt.Fatal(err)
		}
	})
}

// Among the profiles drawn so there is everything that a session can hold.
func TestRandomWorkloadsHoldEverything(t *testing.T) {
	met := map[string]int{}
	profiles := rapid.Custom(drawWorkload)
	for seed := range 100 {
		s := generator(t, profiles.Example(seed)).Session(uint64(seed), seed)
		for i := range s.Threads {
			met[s.Threads[i].Kind.String()]++
			met["compaction"] += len(s.Threads[i].Events)
		}
		for i := range s.Blocks {
			met[s.Blocks[i].Kind.String()]++
		}
		met["two models"] += len(s.Models) - 1
	}
	for _, what := range []string{"main", "branch", "agent", "compaction", "image", "unseen", "thinking", "summary", "two models"} {
		if met[what] == 0 {
			t.Errorf("no session has %s", what)
		}
	}
}

func drawWorkload(t *rapid.T) *Workload {
	w, err := LoadWorkload(rapid.SampledFrom(WorkloadNames()).Draw(t, "base"))
	if err != nil {
		t.Fatal(err)
	}
	share := func(name string) float64 { return rapid.Float64Range(0, 0.5).Draw(t, name) }
	w.Version = rapid.SampledFrom([]string{"2.0.76", "2.1.17", "2.1.42", "2.1.62"}).Draw(t, "version")
	w.Lifetime = rapid.SampledFrom([]string{"5m", "1h"}).Draw(t, "lifetime")
	w.Turns = Dist{Median: float64(rapid.IntRange(1, 8).Draw(t, "turns"))}
	w.Rounds = Dist{Median: 3, Sigma: 0.8, Min: 1, Max: 9}
	w.Models = []WorkModel{{"claude-opus-4-6", 1}, {"claude-sonnet-4-6", 1}}
	w.SwitchModel, w.Images, w.Connects = share("switch"), share("images"), share("connects")
	w.Rewinds, w.Resumes, w.Parallel = share("rewinds"), share("resumes"), share("parallel")
	w.TextShare, w.ThinkingShare, w.WarmStart = share("text"), share("thinking"), share("warm")
	w.ImageBytes = Dist{Median: float64(rapid.SampledFrom([]int{1, 30, 2000}).Draw(t, "image bytes")), Sigma: 1, Min: 1, Max: 9000}
	w.Text = Dist{Min: float64(rapid.IntRange(0, 3).Draw(t, "least text")), Median: 5, Sigma: 2, Max: 500}
	w.Project = rapid.OneOf(rapid.SampledFrom(projects), rapid.StringN(1, 30, 60)).Draw(t, "project")
	w.Files = rapid.IntRange(1, 40).Draw(t, "files")
	w.FileSize = drawDist(t, "file size", 1, 60_000)
	w.ReadLimit = rapid.IntRange(100, 30_000).Draw(t, "read limit")
	w.Reread = share("reread")
	// Answers of one length, call after call, are counts that a reader doubts and leaves out.
	w.Answer = Dist{Median: float64(rapid.IntRange(50, 500).Draw(t, "answer")), Sigma: 1, Max: 2000}
	w.Prompt, w.Thinking = drawDist(t, "prompt", 1, 3000), drawDist(t, "thinking", 0, 2000)
	w.Tools = drawMix(t, "tool", w.Tools)
	w.Static = 20_000
	w.Reminders = Dist{Median: float64(rapid.IntRange(0, 9000).Draw(t, "reminders")), Sigma: 0.2, Max: 16_000}
	w.Restored, w.Summary = Dist{Median: 2000, Sigma: 0.5, Max: 6000}, Dist{Median: 900, Sigma: 1, Min: 1, Max: 3000}
	w.Threshold = rapid.SampledFrom([]int{-1, 0, 46_000}).Draw(t, "threshold")
	if rapid.Bool().Draw(t, "agents") {
		w.Agents = WorkAgents{Type: "Plan", Static: 3000, Rounds: Dist{Median: 2, Sigma: 1, Max: 5}, Report: drawDist(t, "report", 0, 900), Tools: drawMix(t, "agent's tool", w.Tools[:2])}
		w.Agents.Type = rapid.SampledFrom([]string{"Plan", `a "b" <c> & \d`, "é\u2028"}).Draw(t, "agent type")
		w.Tools = append(w.Tools[:len(w.Tools):len(w.Tools)], WorkTool{Name: toolTask, Weight: 2, Input: Dist{Median: 60, Sigma: 1, Max: 900}})
	}
	return w
}

// projects are folders whose names JSON writes in another length than they have.
var projects = []string{"/home/dev/parcel", `C:\dev`, `C:\dev\`, "/home/a&b<c>", `/home/"a"/b`, "/home/a\tb\nc", "/home/\u2028\u2029", "/home/é/日本", "/"}

// drawDist draws sizes up to a largest: a constant, a heavy tail, or quantiles.
func drawDist(t *rapid.T, name string, least, largest int) Dist {
	least = rapid.IntRange(least, min(largest, least+20)).Draw(t, "least "+name)
	middle := float64(rapid.IntRange(least, largest).Draw(t, name))
	switch rapid.IntRange(0, 2).Draw(t, "kind of "+name) {
	case 0:
		return Dist{Min: middle}
	case 1:
		return Dist{Median: max(1, middle/4), Sigma: 2, Min: float64(least), Max: float64(largest)}
	}
	return Dist{Quantiles: []float64{float64(least), float64(least), middle, float64(largest)}}
}

// drawMix gives tools other sizes, times and errors.
func drawMix(t *rapid.T, name string, tools []WorkTool) []WorkTool {
	tools = slices.Clone(tools)
	for i := range tools {
		w := &tools[i]
		w.Input, w.Result = drawDist(t, name+"'s input", 0, 3000), drawDist(t, name+"'s result", 0, 9000)
		w.Time = drawDist(t, name+"'s time", 0, 700)
		w.Errors = rapid.SampledFrom([]float64{0, 0.3, 1}).Draw(t, name+"'s errors")
	}
	return tools
}

func BenchmarkSession(b *testing.B) {
	for _, name := range WorkloadNames() {
		b.Run(name, func(b *testing.B) {
			g := generator(b, workload(b, name))
			b.ReportAllocs()
			rounds, blocks := 0, 0
			for i := 0; b.Loop(); i++ {
				s := g.Session(1, i)
				rounds += s.NumCalls()
				blocks += len(s.Blocks)
			}
			b.ReportMetric(float64(rounds)/b.Elapsed().Seconds(), "rounds/s")
			b.ReportMetric(float64(blocks)/float64(rounds), "blocks/round")
		})
	}
}

// BenchmarkCorpus makes corpora that stay in memory, as a run needs them, with one
// worker.
func BenchmarkCorpus(b *testing.B) {
	for _, name := range WorkloadNames() {
		b.Run(name, func(b *testing.B) {
			g := generator(b, workload(b, name))
			rounds := 0
			for b.Loop() {
				c, err := g.Corpus(context.Background(), 1000, 1, 1)
				if err != nil {
					b.Fatal(err)
				}
				for _, s := range c.Sessions {
					rounds += s.NumCalls()
				}
			}
			b.ReportMetric(float64(rounds)/b.Elapsed().Seconds(), "rounds/s")
		})
	}
}
