package outputs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/compactsim/compactsim/cmd/sim/internal/console"
	"github.com/compactsim/compactsim/internal/kit/files"
	"github.com/compactsim/compactsim/reports/charts"
)

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
