package texts

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// recordings reads the real sessions that lie beside the module.
func recordings(t testing.TB) *traces.Corpus {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, "..", "..", "..", "shared", "traces")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("no recorded sessions in ../shared/traces beside the module")
	}
	c, err := agents.Read(context.Background(), traces.Options{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// Every block of every recorded session that has a line is found on it, with
// the digest it was read with: 45 sessions of Claude Code in 50 files, 28 of
// Codex, 7 of OpenCode, 1 of pi (manifest.tsv).
func TestRecordings(t *testing.T) {
	c := recordings(t)
	if len(c.Sessions) != 45+28+7+1 {
		t.Errorf("%d sessions, want 81", len(c.Sessions))
	}
	var blocks, filler int
	for _, s := range c.Sessions {
		b, f := readAll(t, c, s)
		blocks, filler = blocks+b, filler+f
	}
	t.Logf("%d blocks with a line, %d of them withheld", blocks, filler)
}

// readAll reads all blocks of a session in order and checks their form. It
// returns how many have a line and how many of these show no text.
func readAll(t testing.TB, c *traces.Corpus, s *traces.Session) (blocks, withheld int) {
	t.Helper()
	r, err := Open(context.Background(), c, s)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for i := range s.Blocks {
		b := &s.Blocks[i]
		got, err := r.Block(int32(i))
		if err != nil {
			t.Fatalf("session %s, block %d (%s): %v", s.ID, i, b.Kind, err)
		}
		if b.Kind == prompt.KindToolUse && (!got.Input.IsValid() || got.Input.Kind() != '{') || !utf8.ValidString(got.Text) {
			t.Fatalf("session %s, block %d (%s): input %q, text %q", s.ID, i, b.Kind, got.Input, got.Text)
		}
		if b.Line == 0 {
			if !got.Filler {
				t.Fatalf("session %s, block %d (%s): no line shows it, and it is not filler", s.ID, i, b.Kind)
			}
			continue
		}
		blocks++
		if got.Filler {
			withheld++
			if b.Kind != prompt.KindThinking && b.Kind != prompt.KindSummary {
				t.Fatalf("session %s, block %d: the %s on line %d is filler", s.ID, i, b.Kind, b.Line)
			}
		}
	}
	return blocks, withheld
}

// BenchmarkRecordings reads the texts of all recorded sessions in order, as
// they lie there, gzipped. The bytes are those that parsing counts.
func BenchmarkRecordings(b *testing.B) {
	c := recordings(b)
	b.SetBytes(c.Bytes)
	b.ReportAllocs()
	for b.Loop() {
		for _, s := range c.Sessions {
			readAll(b, c, s)
		}
	}
}

// BenchmarkParsing is what reading the same sessions costs.
func BenchmarkParsing(b *testing.B) {
	for b.Loop() {
		b.SetBytes(recordings(b).Bytes)
	}
}
