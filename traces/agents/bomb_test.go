package agents_test

import (
	"bytes"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/klauspost/compress/zstd"

	"github.com/compactsim/compactsim/tools/tests/agenttest"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/facts"
)

// A file of some kilobytes that unpacks to 65 MiB or more is one unread file, whether these are lines, one line, blank lines or zeros: the
// sessions beside it count, and nothing that the file holds.
func TestBombIsOneUnreadFile(t *testing.T) {
	sample := agenttest.Sample(facts.ClaudeCode, "bomb", 2)
	for name, text := range map[string]string{
		"lines":       strings.Repeat(`{"type":"mode","sessionId":"bomb","x":"`+strings.Repeat("x", 1000)+"\"}\n", 1000),
		"one line":    strings.Repeat("x", 1<<20),
		"blank lines": strings.Repeat(strings.Repeat(" ", 99)+"\n", 10_000),
		"zeros":       strings.Repeat("\x00", 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			fsys := fstest.MapFS{
				"whole.jsonl":    {Data: []byte(agenttest.Sample(facts.ClaudeCode, "whole", 1))},
				"bomb.jsonl.zst": {Data: bomb(t, sample, text)},
			}
			c, err := agents.ReadFS(t.Context(), traces.Options{}, fsys)
			if err != nil {
				t.Fatal(err)
			}
			if len(c.Sessions) != 1 || c.Sessions[0].ID != "whole" || c.Unread != 1 || len(c.Problems) != 1 ||
				!c.Problems[0].Unread || !strings.Contains(c.Problems[0].String(), "bomb.jsonl.zst: ") || !strings.Contains(c.Problems[0].Text, "taken for a bomb") {
				t.Errorf("%d sessions, %d files unread, problems %v", len(c.Sessions), c.Unread, c.Problems)
			}
			if _, err := agents.ReadFS(t.Context(), traces.Options{Strict: true}, fsys); err == nil || !strings.Contains(err.Error(), "taken for a bomb") {
				t.Errorf("strict: %v", err)
			}
		})
	}
}

// bomb compresses a text, and another one behind it until both are 66 MiB or more.
func bomb(t *testing.T, head, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < 66<<20; head = text {
		m, err := z.Write([]byte(head))
		if n += m; err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
