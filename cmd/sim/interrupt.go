package main

import (
	"context"
	"io"
	"sync"
)

// interruptible is a reader that ends with the error of its context: reading
// standard input may wait for ever, and nothing else would end it.
type interruptible struct {
	ctx  context.Context
	r    io.Reader
	once sync.Once
	pipe *io.PipeReader
}

// Read reads from r, which is left alone until the first call.
func (i *interruptible) Read(p []byte) (int, error) {
	i.once.Do(func() {
		from, to := io.Pipe()
		i.pipe = from
		context.AfterFunc(i.ctx, func() { to.CloseWithError(i.ctx.Err()) })
		go func() {
			_, err := io.Copy(to, i.r)
			to.CloseWithError(err) // nil is the end
		}()
	})
	return i.pipe.Read(p)
}
