package recordings

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/compactsim/compactsim/traces"
)

// 30 MB in 2 s are 15 MB/s.
func TestReadingText(t *testing.T) {
	var r reading
	r.add(20e6, 0)
	r.add(10e6, 3)
	const want = "3 files · 30 MB · 15 MB/s"
	if got := r.text(2 * time.Second); got != "reading: "+want {
		t.Errorf("%q, want %q", got, want)
	}
	r.all.Store(12) // of which 3 took 2 s: the other 9 take 6
	if got := r.text(2 * time.Second); got != "reading: 25 % · "+want+" · 6s left" {
		t.Errorf("%q, want a share of %q", got, want)
	}
}

// A small heap may grow by 400 %; with 100 MiB in memory it could reach 500, so that the growth is set to what leads to 160 MiB,
// 60 %, or the least that is asked for. When the 100 MiB are given up it may grow by more again. Tests before this one add to
// what is in memory.
func TestPace(t *testing.T) {
	const least, tries = 50, 100
	end := pace(least, 160<<20)
	defer func() { debug.SetGCPercent(end()) }()
	percent := func() int { return int(measure("/gc/gogc:percent")) }
	settle := func(done func(percent int) bool) {
		for i := 0; i < tries && !done(percent()); i++ {
			runtime.GC() // what looks at the heap runs after it, in a goroutine of its own
		}
	}
	if got := percent(); got != 400 {
		t.Fatalf("a small heap grows by %d %%, not 400", got)
	}
	held := make([]byte, 100<<20)
	settle(func(p int) bool { return p <= 60 })
	if got := percent(); got < least || got > 60 {
		t.Errorf("with 100 MiB in memory the heap grows by %d %%, not by 50 to 60", got)
	}
	runtime.KeepAlive(held)
	settle(func(p int) bool { return p > 100 })
	if got := percent(); got <= 100 {
		t.Errorf("after 100 MiB were given up the heap grows by %d %%, as before", got)
	}
}

// The heap at which garbage is collected is a third of the size of all files, but at least 32 and at most 96 MiB; standard
// input has no size before it is read. The files are sparse: two of 100 MB are 200 MB, of which a third is 66,666,666 bytes.
func TestHeapFor(t *testing.T) {
	for _, c := range []struct {
		sizes []int64
		want  int
	}{
		{nil, 96 << 20},
		{[]int64{5e6}, 32 << 20},
		{[]int64{100e6, 100e6}, 66_666_666},
		{[]int64{100e6, 1e9}, 96 << 20},
		{[]int64{5e6, -1}, 96 << 20},
	} {
		dir := t.TempDir()
		var paths []string
		for i, size := range c.sizes {
			path := filepath.Join(dir, string(rune('a'+i))+".jsonl")
			if size < 0 {
				path = "-"
			} else if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			} else if err := os.Truncate(path, size); err != nil {
				t.Fatal(err)
			}
			paths = append(paths, path)
		}
		var inputs *traces.Inputs
		if paths != nil {
			var err error
			if inputs, err = traces.Find(context.Background(), traces.Options{Stdin: strings.NewReader("")}, paths...); err != nil {
				t.Fatal(err)
			}
		}
		if got := heapFor(inputs); got != c.want {
			t.Errorf("files of %v bytes: garbage is collected at %d bytes, not at %d", c.sizes, got, c.want)
		}
		if inputs != nil {
			if err := inputs.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
