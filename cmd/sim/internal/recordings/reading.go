package recordings

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/compactsim/compactsim/cmd/sim/internal/console"
	"github.com/compactsim/compactsim/internal/kit/document"
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
