//go:build linux || darwin || freebsd || openbsd || netbsd || dragonfly

package files

import (
	"os"
	"syscall"
)

// errInvalid is the error of file systems that cannot sync a folder.
const errInvalid = syscall.EINVAL

// nonblock opens a FIFO without waiting for its other end.
const nonblock = syscall.O_NONBLOCK

// hold marks a file or folder as in use until release, or the end of the process.
func hold(name string) (release func()) {
	f, err := os.Open(name)
	if err != nil {
		return func() {}
	}
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_SH) // best effort: a file system may have no locks
	return func() { f.Close() }
}

// abandoned reports whether no process holds a file or folder.
func abandoned(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
