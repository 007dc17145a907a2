package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// ErrNoFile is wrapped by the error of a name that is no regular file: a FIFO, a device, a socket,
// or a link to one. Opening one may block for ever, and reading one may never end.
var ErrNoFile = errors.New("only regular files are read")

// Open opens a regular file, without blocking. A file that WriteAll left in a
// journal is found under its own name.
func Open(name string) (*os.File, error) {
	path := Path(name)
	info, err := os.Stat(path)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: cause(err)}
	}
	if err := Regular(name, info); err != nil {
		return nil, err
	}
	// Between the check and the opening another file may have taken the name.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil {
		err = Regular(name, info)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Regular returns an error that wraps ErrNoFile unless info describes a regular file.
func Regular(name string, info fs.FileInfo) error {
	var kind string
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		kind = "folder"
	case mode&fs.ModeNamedPipe != 0:
		kind = "pipe"
	case mode&fs.ModeDevice != 0:
		kind = "device"
	case mode&fs.ModeSocket != 0:
		kind = "socket"
	default:
		kind = "special file"
	}
	return &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("it is a %s: %w", kind, ErrNoFile)}
}

// maxText is the largest file that is read as a whole, bytes: settings, prices,
// profiles and keys are far smaller.
const maxText = 64 << 20

// Read returns the content of a regular file of at most 64 MiB.
func Read(name string) ([]byte, error) {
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxText+1))
	if err == nil && len(text) > maxText {
		err = &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("it has more than %d MiB", maxText>>20)}
	}
	return text, err
}
