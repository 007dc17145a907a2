package sim

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/ask"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/summarizer"
	"github.com/compactsim/compactsim/traces"
)

// composer answers every call alike and keeps what it was shown.
type composer struct {
	*summarizer.Stub
	answer prompt.Answer
	err    error

	mu    sync.Mutex
	calls []composed
}

// composed is what a composer saw of a call.
type composed struct {
	source, model string
	tokens        int
	last          prompt.Kind
	markers       []exchange.Marker
	chain         prompt.Digest
	session       string
	windowSize    int64
	summary       int32 // tokens of the block with the digest of the answer, 0 for none
}

func (c *composer) Compose(_ context.Context, k *summarizer.Call) (prompt.Answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entries := k.Context.Seal()
	last := entries[len(entries)-1]
	c.calls = append(c.calls, composed{
		source: k.Intent.Source, model: k.Model, tokens: k.Context.Tokens(), last: last.Kind, chain: last.Chain,
		markers: slices.Clone(k.Markers), session: k.Session.ID, windowSize: k.Window,
	})
	for i := range entries {
		if k.Context.BlockAt(i).Digest == c.answer.Digest {
			c.calls[len(c.calls)-1].summary = k.Context.BlockAt(i).Tokens
		}
	}
	return c.answer, c.err
}

// A compaction at 167,000 tokens shows the composer the whole conversation with
// the instruction behind it, and what a server said of the call stands in the
// row; the summary weighs what the composer says.
func TestComposerSeesTheCall(t *testing.T) {
	c := testConfig(t, "auto-compact/167k")
	k := &composer{Stub: summarizer.Default(), answer: prompt.Answer{
		Summary: 2500, Bytes: 9000, Output: 4000, First: second, Total: 20 * second, Digest: prompt.DigestString("summary"),
		Measured: &prompt.Measured{
			Usage:      prompt.Usage{Uncached: 11, Read: 150_000, Write5m: 5000, Write1h: 600, Output: 4000},
			Iterations: 1, Attempts: 3, Missing: 2, Cut: 1,
		},
	}}
	c.Summarizer = k
	s := newSession("s").turns(40, 0, 4000).session()
	row, _ := run(t, c, s)
	if len(k.calls) != 1 || row.N(measures.Compactions) != 1 {
		t.Fatalf("%d calls, %d compactions, want 1 of each", len(k.calls), row.N(measures.Compactions))
	}
	call := k.calls[0]
	if call.source != "compact" || call.model != "claude-opus-4-5" || call.session != "s" || call.windowSize != 200_000 {
		t.Errorf("%+v", call)
	}
	if call.tokens < 167_000 || call.tokens > 200_000 || call.last != prompt.KindPrompt || len(call.markers) == 0 {
		t.Errorf("a call of %d tokens that ends with %v and has %d markers", call.tokens, call.last, len(call.markers))
	}
	want := results.Figures{
		measures.RestoredFiles: 5, measures.NetNegativeCompactions: 1,
		measures.LiveCalls: 1, measures.LiveAttempts: 3, measures.LiveIterations: 1,
		measures.LiveUncachedTokens: 11, measures.LiveReadTokens: 150_000, measures.LiveWriteTokens: 5600, measures.LiveOutputTokens: 4000,
		measures.SectionsMissing: 2, measures.SectionsCut: 1,
	}
	for id := measures.StoredResults; id < measures.CallsBySource; id++ {
		if row.Figures[id] != want[id] {
			t.Errorf("count %d is %g, want %g", id, row.Figures[id], want[id])
		}
	}
	if got := row.UsageBy(measures.SourceCompact).Output; got != 4000 {
		t.Errorf("the call bills %d output tokens, want 4,000", got)
	}
}

// What a server says of a prompt that is too long decides how much the next try
// leaves out: the fork and the streaming call that follows it are refused, and the
// next fork has less by the gap.
func TestComposerRefusesWithAGap(t *testing.T) {
	c := testConfig(t, "auto-compact/167k")
	k := &composer{Stub: summarizer.Default(), answer: prompt.Answer{Failed: ask.FailTooLong, Excess: 30_000}}
	c.Summarizer = k
	run(t, c, newSession("s").turns(38, 0, 4000).session())
	if len(k.calls) < 3 {
		t.Fatalf("%d calls, want a third one with the oldest rounds dropped", len(k.calls))
	}
	if less := k.calls[0].tokens - k.calls[2].tokens; less < 30_000 || less > 40_000 {
		t.Errorf("the third call has %d tokens less, want 30,000 or the next whole round above", less)
	}
}

// An error of the composer ends the run by name, and what is finished stays: of
// two sessions the first one needs no summary.
func TestComposerErrorKeepsWhatIsFinished(t *testing.T) {
	c := testConfig(t, "auto-compact/167k")
	broken := errors.New("the budget is spent")
	c.Summarizer = &composer{Stub: summarizer.Default(), err: broken}
	sessions := []*traces.Session{newSession("short").turns(3, 0, 4000).session(), newSession("long").turns(40, 0, 4000).session()}
	rows, err := Runner{Workers: 1}.Run(context.Background(), sessions, []Config{c})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "session long") {
		t.Fatalf("%v, want the composer's error and its session", err)
	}
	if rows[0][0].N(measures.Calls) != 3 || rows[0][1].Strategy != "" {
		t.Errorf("%d calls of the finished session, want 3; the other one: %+v", rows[0][0].N(measures.Calls), rows[0][1].Strategy)
	}
}
