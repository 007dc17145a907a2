package live

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/needs"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/recall"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/tools/tests/needstest"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/synthetic"
	"github.com/compactsim/compactsim/traces/texts"
)

// readingOf opens the texts of a corpus.
func readingOf(corpus *traces.Corpus) func(context.Context, *traces.Session) (Texts, error) {
	return func(ctx context.Context, s *traces.Session) (Texts, error) { return texts.Open(ctx, corpus, s) }
}

// simulate runs sessions under a strategy with a summariser.
func simulate(
	t *testing.T, strategy string, corpus *traces.Corpus, l *Summarizer, change ...func(*sim.Config),
) []results.Row {
	t.Helper()
	registry, err := strategies.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	s, err := registry.Strategy(strategy)
	if err != nil {
		t.Fatal(err)
	}
	prices, err := costmodel.Default()
	if err != nil {
		t.Fatal(err)
	}
	c := sim.Config{
		Strategy: s, Summarizer: l, Prices: prices, Seed: 1, Watch: sim.Watch{Verify: true},
		Server: func(facts.Cache) sim.Server { return promptcache.New(promptcache.Config{}) },
	}
	for _, f := range change {
		f(&c)
	}
	rows, err := sim.Runner{}.Run(t.Context(), corpus.Sessions, []sim.Config{c})
	if err != nil {
		t.Fatal(err)
	}
	return rows[0]
}

// asked is a server of which only the calls are counted.
type asked struct {
	n    atomic.Int64
	look func(r *Request)
}

func (a *asked) Do(_ context.Context, r *Request) (*Reply, error) {
	a.n.Add(1)
	a.look(r)
	return good(), nil
}

// The simulation of the samples has its summaries written by a server; a replay
// gives the same rows.
func TestSamples(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	corpus, err := agents.ReadFS(t.Context(), traces.Options{}, synthetic.Samples())
	if err != nil {
		t.Fatal(err)
	}
	defer corpus.Close()
	for _, name := range []string{"auto-compact/167k", "auto-compact/small-model"} {
		_, web := serve(t)
		dir := t.TempDir()
		l := newLive(t, Options{Backend: web, Texts: readingOf(corpus), Calls: folder(t, dir, Make)})
		made := simulate(t, name, corpus, l)
		// The samples are compacted four times under these strategies.
		if r := l.opts.Shared.Report(); r.Made != 4 || len(r.Failures) > 0 || r.Missing > 0 || r.Composed.Lost > 0 {
			t.Errorf("%s: report %+v", name, r)
		}
		replayed := simulate(t, name, corpus, newLive(t, Options{Texts: readingOf(corpus), Calls: folder(t, dir, Replay)}))
		if d := cmp.Diff(made, replayed); d != "" {
			t.Errorf("%s: the replay gives other rows (-made +replayed):\n%s", name, cut(d, 2000))
		}
	}
}

// What a model has written is looked into: of two names that are used behind a compaction the summary has one. A replay
// of the stored call finds the same.
func TestWhatASummaryKeepsIsMeasured(t *testing.T) {
	var talk needstest.Talk
	talk.Person("go on")
	talk.Call("Bash", `{"command":"make"}`, "undefined: frobnicateAll and unfrobnicateAny")
	for i := range 30 {
		talk.Call("Bash", fmt.Sprintf(`{"command":"step-%d"}`, i), fmt.Sprintf("unrelated_%d ", i)+strings.Repeat("and so on ", 300))
	}
	talk.Call("Bash", `{"command":"grep frobnicateAll"}`, "ok")
	talk.Call("Bash", `{"command":"grep unfrobnicateAny"}`, "ok")
	corpus, _ := talk.Read(t)
	kept := func(l *Summarizer) recall.NeedTally {
		t.Helper()
		row := simulate(t, "auto-compact/167k", corpus, l, func(c *sim.Config) {
			c.Needs, c.Window = needs.NewLibrary(t.Context(), corpus).Of, 70_000
		})[0]
		if row.N(measures.Compactions) != 1 {
			t.Fatalf("%d compactions, want one", row.N(measures.Compactions))
		}
		return *(*recall.Needs)(row.Figures[measures.Needs:]).Kind(recall.NeedName)
	}
	server := &fakeServer{answer: func(int, *Request) (*Reply, error) {
		r := good()
		r.Text = words("<summary>" + full("The build says undefined: `frobnicateAll`.") + "</summary>")
		return r, nil
	}}
	stored := t.TempDir()
	real := Options{Backend: server, Texts: readingOf(corpus)}
	real.Calls = folder(t, stored, Make)
	made := kept(newLive(t, real))
	if made[recall.Count] != 2 || made[recall.Weight] != 2000 || made[recall.Verbatim] != 1000 ||
		made[recall.Summarized] != 0 || made[recall.Most] != 0 {
		t.Errorf("live: %+v, want one name of two there and nothing expected of the other", made)
	}
	replayed := Options{Texts: readingOf(corpus), Calls: folder(t, stored, Replay)}
	if again := kept(newLive(t, replayed)); again != made {
		t.Errorf("replayed: %+v, want %+v", again, made)
	}
}

// faults returns what the Messages API would refuse of messages.
func faults(list []Message) string {
	if len(list) == 0 || list[0].Role != roleUser || list[len(list)-1].Role != roleUser {
		return "a message of the user must be the first and the last"
	}
	for i, m := range list {
		if len(m.Content) == 0 || i > 0 && list[i-1].Role == m.Role {
			return "an empty message, or roles that do not alternate"
		}
		for _, b := range m.Content {
			if strings.TrimSpace(b.Text) == "" {
				return "empty text"
			}
		}
	}
	return ""
}

// Whatever strategies make of recorded sessions, the API would take it.
func TestRecordings(t *testing.T) {
	if testing.Short() {
		t.Skip("recorded sessions take long")
	}
	folder := filepath.Join("..", "..", "..", "shared", "traces")
	if _, err := fs.Stat(os.DirFS(folder), "."); err != nil {
		t.Skipf("no recordings at %s", folder)
	}
	corpus, err := agents.Read(t.Context(), traces.Options{}, folder)
	if err != nil {
		t.Fatal(err)
	}
	defer corpus.Close()
	for _, name := range []string{"partial/from", "claude-code/2026-03"} {
		server := &asked{look: func(r *Request) {
			if f := faults(r.Messages); f != "" {
				t.Errorf("%s: %s", name, f)
			}
		}}
		simulate(t, name, corpus, newLive(t, Options{Backend: server, Texts: readingOf(corpus)}))
		if server.n.Load() == 0 {
			t.Errorf("%s: no call was made", name)
		}
	}
}

// BenchmarkCompose composes a call of some 160,000 tokens, BenchmarkReplay takes
// its answer from a cassette.
func BenchmarkCompose(b *testing.B) {
	s, l := benchmarked(b, Options{Backend: &asked{look: func(*Request) {}}})
	bench(b, s, l)
}

func BenchmarkReplay(b *testing.B) {
	dir := b.TempDir()
	record, err := OpenFolder(dir, Make)
	if err != nil {
		b.Fatal(err)
	}
	s, l := benchmarked(b, Options{Backend: &fakeServer{}, Calls: record})
	if _, err := l.Compose(b.Context(), s.call()); err != nil {
		b.Fatal(err)
	}
	replay, err := OpenFolder(dir, Replay)
	if err != nil {
		b.Fatal(err)
	}
	s, l = benchmarked(b, Options{Calls: replay})
	bench(b, s, l)
}

func benchmarked(b *testing.B, o Options) (*script, *Summarizer) {
	s := newScript("bench")
	s.say(prompt.KindPrompt, "Go.")
	for range 400 {
		s.result(s.use(1, `{"file_path":"/src/a.go"}`), string(make([]byte, 1500)))
	}
	s.fill()
	o.Texts = library(s)
	return s, New(o)
}

func bench(b *testing.B, s *script, l *Summarizer) {
	c := s.call()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Compose(b.Context(), c); err != nil {
			b.Fatal(err)
		}
	}
}
