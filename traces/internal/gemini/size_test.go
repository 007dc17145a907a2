package gemini

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/compactsim/compactsim/traces"
)

// A message with an id that says nothing to the model keeps its place in the history (32 bytes), what tells a later record of its
// id from another one (24) and its id (12, in a table two thirds full): some 75, and a quarter more where slices have grown. With ids and
// times as texts it was 232.
func TestMessagesOfNothingAreSmall(t *testing.T) {
	const lines, most = 40_000, 130
	var text strings.Builder
	text.WriteString(head + "\n")
	for i := range lines {
		fmt.Fprintf(&text, `{"id":"%032x","timestamp":"2026-06-01T10:00:00.000Z","type":"info","content":"x"}`+"\n", i)
	}
	inputs, err := traces.FindFS(fstest.MapFS{"a.jsonl": {Data: []byte(text.String())}})
	if err != nil {
		t.Fatal(err)
	}
	before := live()
	f, err := scan(t.Context(), traces.Options{}.WithDefaults(), inputs.Files[0])
	if err != nil || f.Len() != lines {
		t.Fatalf("%d entries, %v", f.Len(), err)
	}
	if each := (live() - before) / lines; each > most {
		t.Errorf("%d bytes for each line, want %d at most", each, most)
	}
	runtime.KeepAlive(f)
	runtime.KeepAlive(inputs)
}

// live returns how much memory is in use, bytes.
func live() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
