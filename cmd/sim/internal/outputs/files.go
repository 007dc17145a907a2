package outputs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/files"
)

// PlaceFor returns an error if no file can be written under the name that a
// flag gives, before anything is computed.
func PlaceFor(flag, file string) error {
	if file == "" {
		return nil
	}
	if IsFolder(file) {
		return fmt.Errorf("%s %s: it is a folder", flag, file)
	}
	if dir := filepath.Dir(file); !IsFolder(dir) {
		return fmt.Errorf("%s %s: there is no folder %s", flag, file, dir)
	}
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return nil // a device or a pipe is written to
	}
	if err := files.Writable(filepath.Dir(file)); err != nil {
		return fmt.Errorf("%s %s: %w", flag, file, err)
	}
	return nil
}

// because returns the cause of an error of a file, without the file's name.
func because(err error) error {
	var failed *fs.PathError
	if errors.As(err, &failed) {
		return failed.Err
	}
	return err
}

// IsFolder reports whether there is a folder with a name.
func IsFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// SameFile reports whether two paths are or will be the same file.
func SameFile(a, b string) bool {
	one, errA := os.Stat(a)
	other, errB := os.Stat(b)
	if errA == nil && errB == nil {
		return os.SameFile(one, other)
	}
	return errA != nil && errB != nil && place(a) == place(b)
}

// place returns the path of a file that does not exist yet, with the links to
// its folder resolved, in lower case: some file systems ignore case.
func place(file string) string {
	dir := filepath.Dir(file)
	if full, err := filepath.Abs(dir); err == nil {
		dir = full
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return strings.ToLower(filepath.Join(dir, filepath.Base(file)))
}

// IsThere reports whether there is a file or folder with a name.
func IsThere(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}
