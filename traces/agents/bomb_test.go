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

// A file of some kilobytes that unpacks to 65 MiB of lines or more is one unread file: the sessions beside it count, and nothing that the file holds.
func TestBombIsOneUnreadFile(t *testing.T) {
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		t.Fatal(err)
	}
	sample := agenttest.Sample(facts.ClaudeCode, "bomb", 2)
	lines := []byte(sample + strings.Repeat(`{"type":"mode","sessionId":"bomb","x":"`+strings.Repeat("x", 1000)+"\"}\n", 1000))
	for n := 0; n < 66<<20; n += len(lines) {
		if _, err := z.Write(lines); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	whole := agenttest.Sample(facts.ClaudeCode, "whole", 1)
	fsys := fstest.MapFS{"whole.jsonl": {Data: []byte(whole)}, "bomb.jsonl.zst": {Data: b.Bytes()}}
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
}
