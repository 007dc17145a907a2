//go:build linux || darwin

package files

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// Lock waits until nobody else holds a folder, and holds it until release. The system gives the folder back when a process ends, however
// it ends, and nothing is left in it. File systems without such locks hold nothing. The error is the context's.
func Lock(ctx context.Context, dir string) (release func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return func() {}, nil // a folder to write into need not be one to list
	}
	release = func() { _ = f.Close() }
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return release, nil
		}
		select {
		case <-ctx.Done():
			release()
			return nil, context.Cause(ctx)
		case <-time.After(5 * time.Millisecond):
		}
	}
}
