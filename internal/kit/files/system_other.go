//go:build !(linux || darwin || freebsd || openbsd || netbsd || dragonfly)

package files

import (
	"os"
	"syscall"
	"time"
)

const (
	errInvalid = syscall.EINVAL
	nonblock   = 0
)

// hold does nothing here: abandoned uses the age.
func hold(string) (release func()) { return func() {} }

// abandoned reports whether a file or folder is older than any write takes.
func abandoned(name string) bool {
	info, err := os.Lstat(name)
	return err == nil && time.Since(info.ModTime()) > 24*time.Hour
}
