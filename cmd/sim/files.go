package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/document"
	"github.com/compactsim/compactsim/internal/nearest"
	"github.com/compactsim/compactsim/reports"
	"github.com/compactsim/compactsim/sim/results"
)

// printable words an error so that no file name in it speaks to the terminal.
func printable(err error) string {
	lines := strings.Split(err.Error(), "\n")
	for i := range lines {
		lines[i] = document.Printable(lines[i])
	}
	return strings.Join(lines, "\n")
}

// checkFormat returns an error that names the nearest known format.
func checkFormat(format string, known []string) error {
	for _, k := range known {
		if format == k {
			return nil
		}
	}
	return fmt.Errorf("unknown format %q%s; known: %s", format, nearest.Hint(format, known), strings.Join(known, ", "))
}

// priceTable returns the built-in prices with a file's merged in and aliases
// set.
func priceTable(file string, aliases []string) (*costmodel.Table, error) {
	table, err := costmodel.Default()
	if err != nil {
		return nil, err
	}
	if file != "" {
		over, err := loadPrices(file)
		if err != nil {
			return table, err
		}
		table = table.Merge(over)
	}
	as := map[string]string{}
	for _, a := range aliases {
		from, to, err := costmodel.ParseAlias(a)
		if err != nil {
			return table, err
		}
		as[from] = to
	}
	if len(as) == 0 {
		return table, nil
	}
	aliased, err := table.WithAliases(as)
	if err != nil {
		return table, err
	}
	return aliased, nil
}

func loadPrices(file string) (*costmodel.Table, error) {
	r, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read prices: %w", err)
	}
	defer r.Close()
	return costmodel.Load(r, file)
}

// writeChart draws the chart of a run into a file.
func writeChart(file string, run *results.Run) error {
	format, err := reports.ChartFormat(file)
	if err != nil {
		return usageError{err}
	}
	return writeFile(file, func(w io.Writer) error { return reports.Chart(w, format, run) })
}

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
