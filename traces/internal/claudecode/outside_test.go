package claudecode

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/compactsim/compactsim/traces"
)

// Lines that are in no conversation are not kept one by one, however many there are: the first and the last tell when their session
// was used.
func TestLinesOutsideConversations(t *testing.T) {
	s := good()
	first := `{"type":"mode","sessionId":"S","timestamp":"2026-01-01T00:00:00Z"}`
	last := `{"type":"mode","sessionId":"S","timestamp":"2026-12-31T00:00:00Z"}`
	s.lines = append(s.lines, first, strings.TrimSpace(strings.Repeat(first+"\n", 1000)), last)
	inputs, err := traces.FindFS(fstest.MapFS{"S.jsonl": {Data: s.bytes()}})
	if err != nil {
		t.Fatal(err)
	}
	src, err := scan(t.Context(), traces.Options{}.WithDefaults(), inputs.Files[0])
	if err != nil {
		t.Fatal(err)
	}
	if n := len(src.records); n != 5 || src.Lines != 1005 {
		t.Errorf("%d records of %d lines, want 5 of 1005", n, src.Lines)
	}
	if r := group([]*source{src}); len(r) != 1 || r[0].start >= src.records[0].at || r[0].end <= src.records[2].at {
		t.Errorf("the session spans %d to %d", r[0].start, r[0].end)
	}
}
