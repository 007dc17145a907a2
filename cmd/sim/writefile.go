package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// writeFile writes a file whole or not at all: into a temporary file beside it
// that takes its name at the end. A link stays a link, a file that was there
// keeps its permissions, and what is no file (a device, a pipe) is written to.
func writeFile(name string, write func(io.Writer) error) error {
	target, mode := name, fs.FileMode(0)
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir():
		return fmt.Errorf("write %s: it is a folder", name)
	case err == nil && !info.Mode().IsRegular():
		return writeThrough(name, write)
	case err == nil:
		mode = info.Mode().Perm()
		if target, err = filepath.EvalSymlinks(name); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	default:
		if _, err := os.Readlink(name); err == nil { // a link to what is not there yet
			return writeThrough(name, write)
		}
	}
	if err := replaceFile(target, mode, write); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// replaceFile renames a new file over target. A mode of 0 leaves the permissions
// to what the user has set for new files.
func replaceFile(target string, mode fs.FileMode, write func(io.Writer) error) error {
	dir, base := filepath.Split(target)
	name := filepath.Join(dir, fmt.Sprintf(".%s-%08x", base, rand.Uint32()))
	tmp, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return cause(err)
	}
	defer os.Remove(name)
	err = write(tmp)
	if err == nil && mode != 0 {
		err = tmp.Chmod(mode)
	}
	if err := errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	return cause(os.Rename(name, target))
}

// writeThrough writes to what the name stands for without replacing it.
func writeThrough(name string, write func(io.Writer) error) error {
	w, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, cause(err))
	}
	if err := errors.Join(write(w), w.Close()); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// cause is what the system says of opening or renaming a file, without the path:
// that may be the temporary file's, and writeFile says which file it is about.
func cause(err error) error {
	path, link := (*fs.PathError)(nil), (*os.LinkError)(nil)
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}
