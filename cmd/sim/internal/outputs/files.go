package outputs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/compactsim/compactsim/cmd/sim/internal/console"
	"github.com/compactsim/compactsim/internal/kit/files"
	"github.com/compactsim/compactsim/reports/charts"
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

// DrawInto draws a chart into a file, with its data in a file beside it. What cannot be drawn is a warning. An interrupted command
// leaves the file as it was, since a chart does not say that it lacks sessions.
func DrawInto(ctx context.Context, file string, d charts.Drawing, form charts.Form, warn io.Writer) error {
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted before %s was written: %w", file, context.Cause(ctx))
	}
	list, err := drawMembers(d, form, file)
	if errors.Is(err, charts.ErrTooSmall) {
		return console.Misuse(fmt.Errorf("--size: %w", err))
	} else if err != nil {
		console.Say(warn, "warning: %s is not drawn: %v", file, err)
		return nil
	}
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() { // nothing lies beside a device or a pipe
		return files.Write(ctx, file, list[0].Write)
	}
	for i := range list {
		list[i].Name = filepath.Base(list[i].Name)
	}
	return files.WriteAll(ctx, filepath.Dir(file), list, nil)
}

// Ends of the names of the files beside a chart.
const (
	dataEnd    = "-data.csv"
	captionEnd = "-caption.txt"
)

// drawMembers returns a picture and what lies beside it: its data and, on paper, its caption.
func drawMembers(d charts.Drawing, form charts.Form, file string) ([]files.Member, error) {
	format, err := charts.ChartFormat(file)
	if err != nil {
		return nil, console.Misuse(err)
	}
	d = d.In(form)
	var b bytes.Buffer
	if err := d.Draw(&b, format); err != nil {
		return nil, err
	}
	data, caption, err := d.Beside()
	if err != nil {
		return nil, err
	}
	stem := strings.TrimSuffix(file, filepath.Ext(file))
	list := []files.Member{
		{Name: file, Write: func(w io.Writer) error { _, err := w.Write(b.Bytes()); return err }},
		{Name: stem + dataEnd, Write: func(w io.Writer) error { return data.Write(w, "csv") }},
	}
	if caption != "" {
		list = append(list, files.Member{Name: stem + captionEnd, Write: func(w io.Writer) error {
			_, err := io.WriteString(w, caption)
			return err
		}})
	}
	return list, nil
}
