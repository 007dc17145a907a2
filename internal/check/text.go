package check

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/internal/document"
)

// Formats returns the formats of Report.Write.
func Formats() []string { return []string{"text", "json"} }

// Write writes the report for people or, in the format json, for programs.
func (r *Report) Write(w io.Writer, format string) error {
	r = r.harmless()
	switch format {
	case "text":
		return r.text(w)
	case "json":
		return r.json(w)
	}
	return fmt.Errorf("unknown report format %q (known: %s)", format, strings.Join(Formats(), ", "))
}

func (r *Report) text(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: %s, %s\n", r.File, document.Count(r.Sessions, "session"), document.Count(r.Calls, "call"))
	if len(r.Results) > 0 {
		b.WriteByte('\n')
		table := r.sheet()
		if above := fit(table, document.Width); above != "" {
			lines(&b, "", above)
			b.WriteByte('\n')
		}
		if err := table.Write(&b, "table"); err != nil {
			return err
		}
	}
	for _, f := range r.failures() {
		b.WriteByte('\n')
		lines(&b, "FAIL ", r.at(f.line)+f.message)
		if f.look != "" {
			lines(&b, "     ", "look: "+f.look)
		}
	}
	b.WriteByte('\n')
	for _, n := range r.Notes {
		lines(&b, "", n)
	}
	lines(&b, "", r.Verdict())
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("writing a check: %w", err)
	}
	return nil
}

// lines writes text behind a mark, wrapped for a terminal, the further lines below
// the text.
func lines(b *bytes.Buffer, mark, text string) {
	for i, line := range document.Wrap(text, document.Width-len(mark)) {
		if i > 0 {
			mark = strings.Repeat(" ", len(mark))
		}
		fmt.Fprintln(b, mark+line)
	}
}

// at returns the place of a line in the check file, ready to stand in front.
func (r *Report) at(line int) string {
	if line == 0 {
		return r.File + ": "
	}
	return fmt.Sprintf("%s:%d: ", r.File, line)
}

// failure is one thing that fails a check.
type failure struct {
	line    int
	title   string
	message string
	look    string
}

// failures returns all that fails the check: rules that are broken first, for they
// say what a baseline of another scenario is about, then problems of the whole, then
// what was not judged and no problem tells of.
func (r *Report) failures() []failure {
	var all, unjudged []failure
	for i := range r.Results {
		s := &r.Results[i]
		switch {
		case s.Status == Breach:
			all = append(all, failure{s.Line, s.Metric, s.Message, s.Look})
		case s.Status == Unjudged && !s.told:
			where := s.Metric
			if s.Cell != "" {
				where += " of " + s.Cell
			}
			unjudged = append(unjudged, failure{s.Line, s.Metric, fmt.Sprintf("%s%s (%s): %s", where, inGroup(s.Group), s.Rule, s.Message), s.Look})
		}
	}
	for _, p := range r.Problems {
		all = append(all, failure{p.Line, "sim check", p.Text, ""})
	}
	return append(all, unjudged...)
}

// maxLines is how many results a table lists; of more it shows those that fail.
const maxLines = 100

// listed returns the results that a table shows, and how many it leaves out.
func (r *Report) listed() (shown []Result, left int) {
	if len(r.Results) <= maxLines {
		return r.Results, 0
	}
	for i := range r.Results {
		if r.Results[i].Status != OK {
			shown = append(shown, r.Results[i])
		}
	}
	return shown, len(r.Results) - len(shown)
}

// sheet lists the results.
func (r *Report) sheet() *document.Table {
	shown, left := r.listed()
	s := &document.Table{Columns: []document.Column{
		{Name: "metric", Title: "METRIC"}, {Name: "cell", Title: "CELL"}, {Name: "group", Title: noSessions},
		{Name: "rule", Title: "RULE"},
		{Name: "observed", Title: "OBSERVED", Right: true}, {Name: "bar", Title: "BAR", Right: true},
		{Name: "margin", Title: "MARGIN", Right: true}, {Name: "baseline", Title: "BASELINE", Right: true},
		{Name: "status", Title: "RESULT"},
	}}
	if left > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("%s that hold not listed; --format json has them", document.Count(left, "comparison")))
	}
	var marks footnotes
	for i := range shown {
		v := &shown[i]
		if v.Group != "" {
			s.Columns[2].Title = "SESSIONS"
		}
		status := "ok"
		if v.Status != OK {
			status = "FAIL"
		}
		if v.Note != "" {
			status += " " + marks.mark(v.Note)
		}
		observed, bar := v.observed()
		s.Rows = append(s.Rows, []any{v.Metric, v.Cell, v.Group, v.Rule, observed, bar, v.margin(), v.figure(v.Baseline), status})
	}
	s.Notes = append(s.Notes, marks...)
	return s
}

// footnotes are the notes below a table, each with its mark.
type footnotes []string

// mark returns the mark of a note: that of an equal one, else the next.
func (f *footnotes) mark(note string) string {
	for _, known := range *f {
		if mark, text, _ := strings.Cut(known, " "); text == note {
			return mark
		}
	}
	mark := strings.Map(func(r rune) rune { return []rune("⁰¹²³⁴⁵⁶⁷⁸⁹")[r-'0'] }, strconv.Itoa(len(*f)+1))
	*f = append(*f, mark+" "+note)
	return mark
}

// margin returns what is left to the bar. What figures differ by between machines
// is nothing.
func (s *Result) margin() string {
	if s.Margin == nil {
		return "–"
	}
	v := *s.Margin
	if s.Bar != nil && math.Abs(v) <= tolerance(*s.Bar) {
		v = 0
	}
	return difference(s.Unit, v)
}

func (s *Result) figure(v *float64) string {
	if v == nil {
		return "–"
	}
	return figure(s.Unit, *v)
}

// observed returns the figure with half the width of its interval, and the bar.
func (s *Result) observed() (text, bar string) {
	text, bar = s.figure(s.Observed), s.figure(s.Bar)
	if s.Status == Breach && s.Observed != nil && s.Bar != nil {
		text, bar = apart(s.Unit, *s.Observed, *s.Bar)
	}
	if s.Low != nil && s.High != nil && *s.High > *s.Low {
		text += " ± " + difference(s.Unit, (*s.High-*s.Low)/2)
	}
	return text, bar
}

func (r *Report) json(w io.Writer) error {
	text, err := json.Marshal(r, json.Deterministic(true), jsontext.Multiline(true), jsontext.WithIndent("  "))
	if err != nil {
		return fmt.Errorf("encoding a check: %w", err)
	}
	if _, err := w.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("writing a check: %w", err)
	}
	return nil
}
