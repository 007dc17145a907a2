package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/cmd/sim/internal/console"
	"github.com/compactsim/compactsim/cmd/sim/internal/outputs"
	"github.com/compactsim/compactsim/internal/kit/nearest"
	"github.com/compactsim/compactsim/reports/charts"
)

// chartFlags say which pictures to draw, where and how.
type chartFlags struct {
	charts []string // as given: FILE, KIND=FILE, or with out KIND
	kinds  []string // that the verb draws
	out    string   // folder of the verb's files, "" for none
	style  string
	form   charts.Form
}

// bind binds the flags of a verb that draws some kinds of charts.
func (f *chartFlags) bind(cmd *cobra.Command, kinds ...string) {
	f.kinds = kinds
	cmd.Flags().StringArrayVar(&f.charts, "chart", nil, "draw the main chart into `FILE`.svg, .png, .pdf or .tex; KIND=FILE draws "+
		"another: "+strings.Join(kinds, ", ")+"; its data go into a file next to it; repeatable")
	completeFlag(cmd, "chart", func() (list []string) {
		for _, kind := range kinds {
			list = append(list, kind+"=")
		}
		return list
	})
	f.bindForm(cmd)
}

// outputFlags say where to write pictures and files.
type outputFlags struct {
	chartFlags // with the folder of --out, and what check accepts, which bind sets
	force      bool
}

// bind binds the flags; kinds are what --chart draws.
func (f *outputFlags) bind(cmd *cobra.Command, kinds ...string) {
	flags := cmd.Flags()
	f.chartFlags.bind(cmd, kinds...)
	flags.StringVar(&f.out, "out", "", "write figures, the resolved run, the report and the main chart into `DIR`; --chart KIND adds a chart")
	flags.BoolVar(&f.force, "force", false, "with --out: replace an earlier run in DIR; keep other files")
}

// kindAndFile divides a value of --chart. A name before = is a kind, not part of a path. A kind alone has no file: its chart
// goes into the folder of --out.
func (f *chartFlags) kindAndFile(text string) (kind, file string) {
	if slices.Contains(f.kinds, text) {
		return text, ""
	}
	before, after, ok := strings.Cut(text, "=")
	if !ok || strings.ContainsAny(before, "./\\ ") {
		return "", text
	}
	return before, after
}

// wants reports whether a chart of one of the kinds is asked for.
func (f *chartFlags) wants(kinds ...string) bool {
	return slices.ContainsFunc(f.charts, func(text string) bool {
		kind, _ := f.kindAndFile(text)
		return slices.Contains(kinds, kind)
	})
}

// check returns what is wrong with the charts asked for and their form.
func (f *chartFlags) check() error {
	errs := []error{f.checkForm()}
	for _, text := range f.charts {
		kind, file := f.kindAndFile(text)
		if file == "" && kind != "" && f.out != "" {
			continue
		} else if file == "" {
			where := ""
			if kind != "" {
				where = "; write " + kind + "=FILE"
			}
			errs = append(errs, fmt.Errorf("%s: no FILE given%s", strings.TrimSpace("--chart "+text), where))
			continue
		}
		if kind != "" && !slices.Contains(f.kinds, kind) {
			errs = append(errs, fmt.Errorf("--chart %s: unknown kind %q%s", text, kind, nearest.Among(kind, f.kinds)))
			continue
		}
		_, err := charts.ChartFormat(file)
		errs = append(errs, err, outputs.PlaceFor("--chart", file))
	}
	return errors.Join(errs...)
}

// oneChart returns an error for a picture of several strategies.
func (f *chartFlags) oneChart(strategies int) error {
	for _, text := range f.charts {
		if _, file := f.kindAndFile(text); file != "" && strategies > 1 {
			return fmt.Errorf("--chart %s: one strategy to a chart; --out draws one for each", text)
		}
	}
	return nil
}

// inFolder returns the drawings for the folder of --out: drawings of the main kind, which comes first, and of the kinds asked for.
func (f *chartFlags) inFolder(drawings []charts.Drawing) (list []charts.Drawing) {
	for _, d := range drawings {
		if d.Kind == drawings[0].Kind || slices.Contains(f.charts, d.Kind) {
			list = append(list, d)
		}
	}
	return list
}

// draw draws the charts asked for into their files. The first drawing is the main one. If there is nothing to draw, it warns.
func (f *chartFlags) draw(cmd *cobra.Command, drawings []charts.Drawing) error {
	for _, text := range f.charts {
		kind, file := f.kindAndFile(text)
		at := slices.IndexFunc(drawings, func(d charts.Drawing) bool { return kind == "" || d.Kind == kind })
		if at < 0 {
			console.Say(cmd.ErrOrStderr(), "warning: %s is not drawn: there is nothing for a chart of this kind", cmp.Or(file, kind))
			continue
		}
		if file == "" { // it is in the folder
			continue
		}
		if err := outputs.DrawInto(cmd.Context(), file, drawings[at], f.form, cmd.ErrOrStderr()); err != nil {
			return err
		}
	}
	return nil
}

// format returns the format of the charts of a folder.
func (f *chartFlags) format() string {
	if f.style == paperStyle {
		return "pdf"
	}
	return "svg"
}

// bindForm binds the flags that say how charts are drawn.
func (f *chartFlags) bindForm(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.style = screenStyle
	bindChoice(cmd, &f.style, "style", "`STYLE` of charts: screen, or paper, with 8-point text and the caption in a file next to the picture",
		[]string{screenStyle, paperStyle})
	flags.Var((*sizeFlag)(&f.form), "size",
		"`SIZE` of charts: column (84 mm), page (174 mm) or a width such as 120mm on paper, WxH pixels at 144 dots per inch on a screen")
}

// The styles of charts.
const (
	screenStyle = "screen"
	paperStyle  = "paper"
)

// checkForm returns an error for a wrong form of charts.
func (f *chartFlags) checkForm() error {
	paper, form := f.style == paperStyle, &f.form
	switch {
	case paper && form.Width > 0:
		return fmt.Errorf("--size %s: on paper a width in millimetres, column or page", (*sizeFlag)(form))
	case !paper && form.Millimetres > 0:
		return fmt.Errorf("--size %s: needs --style paper", (*sizeFlag)(form))
	case paper && form.Millimetres == 0:
		form.Millimetres = charts.ColumnWidth
	}
	return nil
}

// sizeFlag is the size of a form: WxH pixels, or a width on paper.
type sizeFlag charts.Form

// paperWidths are the widths on paper that have a name, mm.
var paperWidths = map[string]float64{"column": charts.ColumnWidth, "page": charts.PageWidth}

// String returns WxH or millimetres, or "" for no size.
func (s *sizeFlag) String() string {
	switch {
	case s == nil || s.Width == 0 && s.Millimetres == 0:
		return ""
	case s.Width == 0:
		return fmt.Sprintf("%gmm", s.Millimetres)
	}
	return fmt.Sprintf("%dx%d", s.Width, s.Height)
}

// Set takes a name of paperWidths, 40 to 1000 mm, or WxH, both from 100 to 20000 pixels.
func (s *sizeFlag) Set(text string) error {
	if s.Millimetres = paperWidths[text]; s.Millimetres > 0 {
		return nil
	}
	if number, ok := strings.CutSuffix(text, "mm"); ok {
		v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if s.Millimetres = v; err != nil || !(v >= 40 && v <= 1000) {
			return errors.New("want a width from 40mm to 1000mm, such as 120mm")
		}
		return nil
	}
	w, h, _ := strings.Cut(text, "x")
	var errs [2]error
	s.Width, errs[0] = strconv.Atoi(w)
	s.Height, errs[1] = strconv.Atoi(h)
	if errs != [2]error{} || min(s.Width, s.Height) < 100 || max(s.Width, s.Height) > 20_000 {
		return errors.New("want column, page, a width such as 120mm, or a width and a height from 100 to 20000 pixels, such as 1600x1000")
	}
	return nil
}

// Type returns the word for the value in help.
func (s *sizeFlag) Type() string { return "SIZE" }
