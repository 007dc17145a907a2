package claudecode

import (
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/compactsim/compactsim/traces"
)

// Progress adds up to the bytes and files of the corpus, decompressed: here two
// files of 100 and 50 lines of 3 bytes, and one that is empty.
func TestProgress(t *testing.T) {
	files := fstest.MapFS{
		"a.jsonl": {Data: []byte(strings.Repeat("{}\n", 100))},
		"b.jsonl": {Data: []byte(strings.Repeat("{}\n", 50))},
		"c.jsonl": {},
	}
	var mu sync.Mutex
	var bytes int64
	var done int
	opts := traces.Options{Workers: 3, Progress: func(b int64, f int) {
		mu.Lock()
		defer mu.Unlock()
		bytes, done = bytes+b, done+f
	}}
	if c, err := ReadFS(t.Context(), opts, files); c != nil {
		defer c.Close()
	} else {
		t.Fatal(err)
	}
	if bytes != 450 || done != 3 {
		t.Errorf("%d bytes in %d files, want 450 in 3", bytes, done)
	}
}
