package audit

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/synthetic"
)

const (
	// opus costs 5 $ a million tokens, 6.25 to write for 5 minutes, 10 for an hour,
	// 0.50 to read and 25 for output (facts C1).
	opus   = "claude-opus-4-5-20251101"
	minute = int64(time.Minute)
)

func auditPrices(t testing.TB) *costmodel.Table {
	t.Helper()
	table, err := costmodel.Default()
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// corpora returns the samples, and the recordings where they are. They are read
// once: sessions are immutable.
func corpora(t *testing.T) map[string][]*traces.Session {
	t.Helper()
	all, err := readCorpora()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 1 {
		t.Log("no recordings at ", recordings)
	}
	return all
}

var recordings = filepath.Join("..", "..", "..", "shared", "traces")

var readCorpora = sync.OnceValues(func() (map[string][]*traces.Session, error) {
	ctx := context.Background()
	samples, err := agents.ReadFS(ctx, traces.Options{}, synthetic.Samples())
	if err != nil {
		return nil, err
	}
	defer samples.Close()
	all := map[string][]*traces.Session{"samples": samples.Sessions}
	for _, name := range []string{"claude-code", "codex"} {
		folder := filepath.Join(recordings, name)
		if _, err := os.Stat(folder); err != nil {
			continue
		}
		corpus, err := agents.Read(ctx, traces.Options{}, folder)
		if err != nil {
			return nil, err
		}
		defer corpus.Close()
		all[name] = corpus.Sessions
	}
	return all, nil
})

// scene builds a session of one thread, call by call.
type scene struct {
	s   *traces.Session
	now int64
}

func newScene(id string) *scene {
	start := time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC).UnixNano()
	s := &traces.Session{
		ID: id, Agent: facts.ClaudeCode, Versions: []string{"2.1.30"}, Project: "/src/api", Files: []string{"logs/" + id + ".jsonl"},
		Start: start, Models: []string{opus}, Tools: []string{"", "Read", "Bash"}, Objects: []string{"/src/api/main.go"},
		Threads: []traces.Thread{{ID: "main", Parent: -1, ParentRound: -1}},
	}
	return &scene{s, start}
}

// call adds a call after a pause; it takes ten seconds.
func (k *scene) call(pause int64, u prompt.Usage) *traces.Round {
	const took = 10 * int64(time.Second)
	t := &k.s.Threads[0]
	k.now += pause
	t.Rounds = append(t.Rounds, traces.Round{
		ID: string(rune('a' + len(t.Rounds))), Usage: u, Logged: u.Output, At: k.now, Wait: pause, First: took / 2, Stream: took,
		Line: int32(10 * (len(t.Rounds) + 1)),
	})
	k.now += took
	return &t.Rounds[len(t.Rounds)-1]
}

// result adds a tool result to the input of the last call.
func (k *scene) result(tool uint16, does op.Op, tokens int32) {
	t := &k.s.Threads[0]
	r := &t.Rounds[len(t.Rounds)-1]
	if r.Input.Len() == 0 {
		r.Input.From = int32(len(k.s.Blocks))
	}
	object := int32(-1)
	if does == op.Read || does == op.Edit {
		object = 0
	}
	k.s.Blocks = append(k.s.Blocks, prompt.Block{
		Kind: prompt.KindToolResult, Tool: tool, Op: does, Object: object, Tokens: tokens, Bytes: 3 * tokens, Line: int32(len(k.s.Blocks) + 1),
	})
	r.Input.To = int32(len(k.s.Blocks))
}

// event lets the agent act ahead of the next call.
func (k *scene) event(ev traces.Event) {
	t := &k.s.Threads[0]
	ev.Round = int32(len(t.Rounds))
	t.Events = append(t.Events, ev)
}

func (k *scene) audit(t testing.TB) *Report {
	t.Helper()
	return ran(t, []*traces.Session{k.s}, Options{Prices: auditPrices(t)})
}

// finding returns one by name.
func (r *Report) finding(name string) *Finding {
	for i := range r.Findings {
		if r.Findings[i].Name == name {
			return &r.Findings[i]
		}
	}
	return nil
}

func wantUSD(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9 {
		t.Errorf("%s: $%.6f, want $%.6f", what, got, want)
	}
}

// ran audits sessions that are in memory.
func ran(t interface {
	Helper()
	Fatal(...any)
}, sessions []*traces.Session, o Options) *Report {
	t.Helper()
	r, err := Run(sessions, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
