package backend

import (
	"bufio"
	"io"
	"net/http"
	"sync/atomic"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// body is the JSON of a request. It is written while it is sent: calls of
// 200,000 tokens would otherwise each hold another copy of their prompt for as
// long as they wait for an answer.
type body struct {
	value any
	size  int64
	pipe  *io.PipeReader // nil until the first Read
	left  int64          // bytes to read, once sent is set
	sent  *atomic.Bool   // set with the last byte that is read; nil for nobody to tell
}

// newBody returns the body of a value, which must not change any more.
func newBody(value any) (*body, error) {
	var n count
	if err := encode(&n, value); err != nil {
		return nil, err
	}
	return &body{value: value, size: int64(n)}, nil
}

func encode(w io.Writer, value any) error {
	// What recordings hold need not be valid text; such bytes go out as U+FFFD.
	return json.MarshalWrite(w, value, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
}

// count is a writer that counts bytes.
type count int64

// Write counts p.
func (c *count) Write(p []byte) (int, error) {
	*c += count(len(p))
	return len(p), nil
}

// Read returns the next bytes.
func (b *body) Read(p []byte) (int, error) {
	if b.pipe == nil {
		r, w := io.Pipe()
		b.pipe = r
		go func() {
			buf := bufio.NewWriterSize(w, 16<<10)
			err := encode(buf, b.value)
			if err == nil {
				err = buf.Flush()
			}
			w.CloseWithError(err)
		}()
	}
	n, err := b.pipe.Read(p)
	if b.left -= int64(n); b.left == 0 && b.sent != nil {
		b.sent.Store(true)
	}
	return n, err
}

// Close ends the writing.
func (b *body) Close() error {
	if b.pipe == nil {
		return nil
	}
	return b.pipe.Close()
}

// declare tells a request how long its body is, and how to read it again when
// the connection turns out to have been closed before anything was sent. What it
// returns tells whether all of the body was taken to be sent.
func declare(r *http.Request) *atomic.Bool {
	sent := &atomic.Bool{}
	b, ok := r.Body.(*body)
	if !ok {
		return sent
	}
	b.left, b.sent = b.size, sent
	r.ContentLength = b.size
	r.GetBody = func() (io.ReadCloser, error) {
		sent.Store(false)
		return &body{value: b.value, size: b.size, left: b.size, sent: sent}, nil
	}
	return sent
}
