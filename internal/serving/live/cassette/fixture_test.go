package cassette

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/compactsim/compactsim/internal/serving/live/wire"
	"github.com/compactsim/compactsim/sim/prompt"
)

// nth is one of any number of calls of a session.
func nth(n int) Call {
	return Call{
		Chain: prompt.Digest{Hi: uint64(n), Lo: 7}, Params: []string{"model=claude-opus-4-6", fmt.Sprintf("ordinal=%d", n)},
		Session: "S", Source: "compact", Model: "claude-opus-4-6", Round: int32(10 * n), Number: int32(n),
	}
}

// canary stands where somebody's words stand.
const canary = "c4n4ry"

// answered is a cassette with every field set.
func answered(call Call) *Cassette {
	return &Cassette{
		Call: call, Began: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC), Texts: true,
		Reply: &wire.Reply{
			ID: "msg_01", Model: "claude-opus-4-6", StopReason: "end_turn",
			Text:       "<analysis>\nI saw " + canary + ".\n</analysis>\n\n<summary>\n1. Primary Request: " + canary + "\n</summary>",
			Compaction: canary + " compacted", ToolCalls: []string{"mcp__" + canary},
			Usage:      wire.Usage{Uncached: 3, Read: 100_000, Write5m: 2000, Write1h: 10, Output: 900},
			Iterations: []wire.Iteration{{Type: "compaction", Usage: wire.Usage{Output: 400}}, {Type: "message", Usage: wire.Usage{Output: 500}}},
			First:      1500 * time.Millisecond, Total: 20 * time.Second, Attempts: 2,
			Estimated: true, Wasted: wire.Usage{Write1h: 70, Output: 8}, Thinking: 300,
		},
	}
}

// refused is a cassette of a call that failed, with every field set.
func refused(call Call, cause wire.Cause) *Cassette {
	return &Cassette{Call: call, Texts: true, Failure: &wire.Failure{
		Cause: cause, Status: 400, Message: "prompt is too long: " + canary, Excess: 1234, After: 3 * time.Second, Attempts: 3,
		Billed: wire.Usage{Uncached: 1},
	}}
}

func openFolder(t testing.TB, dir string, mode Mode, opts Options) *Folder {
	t.Helper()
	f, err := Open(dir, mode, opts)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// store records cassettes into a folder.
func store(t testing.TB, dir string, opts Options, list ...*Cassette) {
	t.Helper()
	f := openFolder(t, dir, Record, opts)
	for _, c := range list {
		if _, err := f.store(c); err != nil {
			t.Fatal(err)
		}
	}
}

// wantError checks that an error says something.
func wantError(t *testing.T, what string, err error, says ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: no error", what)
		return
	}
	for _, s := range says {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("%s: %q does not say %q", what, err, s)
		}
	}
}
