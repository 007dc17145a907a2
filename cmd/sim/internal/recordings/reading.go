package recordings

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"

	"github.com/compactsim/compactsim/cmd/sim/internal/console"
	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/traces"
)

// reading counts what was read.
type reading struct {
	bytes, files, all atomic.Int64
}

// add is a traces.Options.Progress.
func (r *reading) add(bytes int64, files int) {
	r.bytes.Add(bytes)
	r.files.Add(int64(files))
}

func (r *reading) text(elapsed time.Duration) string {
	n, files, all := r.bytes.Load(), r.files.Load(), r.all.Load()
	text := fmt.Sprintf("%s · %s · %.0f MB/s", document.Count(int(files), "file"), megabytes(n), float64(n)/1e6/elapsed.Seconds())
	if files == 0 || files > all {
		return "reading: " + text
	}
	return fmt.Sprintf("reading: %d %% · %s · %s left", 100*files/all, text, console.Left(elapsed, files, all))
}

// Interruptible is a reader that ends with the error of its context. Reading
// standard input may block for ever, and nothing else would end it.
type Interruptible struct {
	Ctx    context.Context
	Reader io.Reader
	once   sync.Once
	pipe   *io.PipeReader
}

// Read reads from r, which is not touched before the first call.
func (i *Interruptible) Read(p []byte) (int, error) {
	i.once.Do(func() {
		from, to := io.Pipe()
		i.pipe = from
		context.AfterFunc(i.Ctx, func() { to.CloseWithError(i.Ctx.Err()) })
		go func() {
			_, err := io.Copy(to, i.Reader)
			to.CloseWithError(err) // nil means the end
		}()
	})
	return i.pipe.Read(p)
}

// room is by how much the heap may grow between collections, whatever its size, bytes.
const room = 48 << 20

// roomy returns the growth in per cent at which garbage is collected: at least percent, and up to 100 while the heap is small.
func roomy(percent int) int {
	return max(percent, min(100, int(room*100/max(1, measure("/memory/classes/heap/objects:bytes")))))
}

// measure returns a metric of the runtime that is a number.
func measure(name string) uint64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// The heap may grow to leastHeap to mostHeap bytes between collections while recordings are read, and a small one by no more
// than seldom per cent. At a third of the size of 171 MB of recordings, `traces ls` takes the processor time of user and system that it
// takes at 160 MiB (0.52 s), and three fifths of the memory (85 MB of 140); at a quarter, 2 % more time and the same memory. Reading
// 450 MB takes a quarter less memory at mostHeap than at 160 MiB, and the same processor time.
const (
	leastHeap = 32 << 20
	mostHeap  = 96 << 20
	seldom    = 400
)

// drawnPercent is the growth at which garbage is collected while sessions are drawn and simulated: at 40 per cent the 10,000 sessions of
// ten-thousand take 511 MB and 11.1 s of user CPU, at 20 per cent 467 MB and 13.0 s (means of two turns).
const drawnPercent = 40

// heapFor returns at what size of the heap garbage is collected while recordings are read, bytes. Recordings whose size nobody
// knows ahead, from standard input for instance, count as large.
func heapFor(inputs *traces.Inputs) int {
	if inputs == nil {
		return mostHeap
	}
	total := int64(0)
	for i := range inputs.Files {
		info, err := os.Stat(inputs.Files[i].Path())
		if err != nil {
			return mostHeap
		}
		total += info.Size()
	}
	return int(min(mostHeap, max(leastHeap, total/3)))
}

// cycle is larger than what the runtime keeps together with other small things, which would keep it alive.
type cycle [4]uint64

// pace has garbage collected when the heap reaches so many bytes, or at a growth of so many per cent where that is more. The
// caller calls the result when all is read: it returns the growth that was before.
func pace(percent, heap int) (end func() (was int)) {
	was := debug.SetGCPercent(seldom)
	var mu sync.Mutex
	ended, set := false, seldom
	var look func(*cycle)
	look = func(c *cycle) { // after each collection, since nothing else holds c
		mu.Lock()
		defer mu.Unlock()
		if ended {
			return
		}
		live := max(1, int(measure("/gc/heap/live:bytes")))
		now := max(percent, min(seldom, (heap-live)*100/live))
		if now < set || now > set+set/4 { // setting it stops the program for a moment
			set = now
			debug.SetGCPercent(now)
		}
		runtime.SetFinalizer(c, look)
	}
	runtime.SetFinalizer(new(cycle), look)
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		ended = true
		return was
	}
}
