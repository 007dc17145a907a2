package check

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// Formats returns the formats of Report.Write.
func Formats() []string { return []string{"text", "markdown", "json"} }

// Write writes the report as a table for a terminal, as Markdown for a comment on a
// pull request and the page of a workflow run, or in the format json for programs.
func (r *Report) Write(w io.Writer, format string) error {
	var err error
	switch format {
	case "text":
		err = r.document().Write(w, "table")
	case "markdown":
		err = r.comment().Comment(w)
	case "json":
		err = r.document().Write(w, format)
	default:
		return fmt.Errorf("unknown report format %q (known: %s)", format, strings.Join(Formats(), ", "))
	}
	if err != nil {
		return fmt.Errorf("writing a check: %w", err)
	}
	return nil
}

// head says what was checked.
func (r *Report) head() string {
	return fmt.Sprintf("%s: %s, %s", r.File, document.Count(r.Sessions, "session"), document.Count(r.Calls, "call"))
}

// document returns the report as a document: the failures, then all comparisons.
func (r *Report) document() *document.Document {
	d := &document.Document{Head: append(r.first(), r.head()), Notes: append(slices.Clone(r.Notes), r.Verdict()), JSON: document.Indented(r)}
	for _, blocks := range r.failing() {
		d.Sections = append(d.Sections, document.Section{Blocks: blocks})
	}
	if len(r.Results) > 0 {
		d.Sections = append(d.Sections, document.Section{Blocks: []document.Block{r.table(func(*Result) bool { return true })}})
	}
	return d
}

// first returns the first lines: how the bill changed and, unless a rule that is broken says it, the client.
func (r *Report) first() (lines []string) {
	if r.Change != nil {
		lines = append(lines, r.Change.Text)
	}
	broken := slices.ContainsFunc(r.Results, func(s Result) bool { return s.Metric == factsMetric && s.Status == Breach })
	if len(r.Changed) > 0 && !broken {
		lines = append(lines, clientChanged+strings.Join(r.Changed, "; "))
	}
	return lines
}

// comment returns the report as a comment: how the bill changed, the verdict, the failures, and the
// rest folded.
func (r *Report) comment() *document.Document {
	mark := "✅"
	switch {
	case !r.OK:
		mark = "❌"
	case r.began != "":
		mark = "⚠️"
	}
	var first document.Section
	for _, line := range r.first() {
		first.Blocks = append(first.Blocks, document.Text{Lead: line})
	}
	first.Blocks = append(first.Blocks, document.Text{Lead: mark + " sim check: " + r.Verdict(), Text: " (" + r.head() + ")"})
	failing := r.failing()
	for _, blocks := range failing[:min(len(failing), mostTold)] {
		first.Blocks = append(first.Blocks, blocks...)
	}
	if more := len(failing) - mostTold; more > 0 {
		first.Blocks = append(first.Blocks, document.Text{Lead: fmt.Sprintf("and %s more", document.Whole(more))})
	}
	if t := r.table(func(s *Result) bool { return s.Status != OK }); len(t.Rows) > 0 {
		first.Blocks = append(first.Blocks, t)
	}
	d := &document.Document{Notes: r.Notes, Sections: []document.Section{first}}
	if t := r.table(func(s *Result) bool { return s.Status == OK }); len(t.Rows) > 0 {
		d.Sections = append(d.Sections, document.Section{
			Name: document.Count(len(t.Rows), "comparison") + " ok", Folded: true, Blocks: []document.Block{t}})
	}
	if len(r.History) > 1 {
		d.Sections = append(d.Sections, document.Section{
			Name: document.Count(len(r.History), "run"), Folded: true, Blocks: []document.Block{r.historyTable()}})
	}
	return d
}

// mostTold is how many failures a comment tells apart from its table: it has room for 65,000 characters.
const mostTold = 30

// failing returns a paragraph for each failure and each suspect, with what to look at.
func (r *Report) failing() (list [][]document.Block) {
	for _, f := range r.failures() {
		blocks := []document.Block{document.Text{Lead: f.lead, Text: " " + r.at(f.line) + f.message}}
		if f.look != "" {
			blocks = append(blocks, document.Text{Text: "look: " + f.look})
		}
		list = append(list, blocks)
	}
	return list
}

// at returns the place of a line in the check file, as a prefix.
func (r *Report) at(line int) string {
	if line == 0 {
		return r.File + ": "
	}
	return fmt.Sprintf("%s:%d: ", r.File, line)
}

// shortName is the least number of characters of a name that are kept.
const shortName = 12

// table lists the results that show selects.
func (r *Report) table(show func(*Result) bool) *document.Table {
	t := &document.Table{Fitted: true, Columns: []document.Column{
		{Name: "metric", Title: "METRIC", Break: true},
		{Name: "cell", Title: "CELL", Clip: shortName}, {Name: "group", Clip: shortName}, {Name: "rule", Title: "RULE"},
		{Name: "observed", Title: "OBSERVED", Right: true}, {Name: "bar", Title: "BAR", Right: true, Spare: 1},
		{Name: "margin", Title: "MARGIN", Right: true, Spare: 4}, {Name: "baseline", Title: "BASELINE", Right: true, Spare: 2},
		{Name: "noticed", Right: true, Spare: 3},
		{Name: "status", Title: "RESULT"},
	}}
	words := map[Status]string{OK: "ok", Breach: "FAIL", Suspect: "suspect", Undecided: "too few", Unjudged: "FAIL"}
	for i := range r.Results {
		v := &r.Results[i]
		if !show(v) {
			continue
		}
		if v.Group != "" {
			t.Columns[2].Title = "SESSIONS"
		}
		noticed := any("")
		if v.Noticed != nil {
			t.Columns[8].Title, noticed = "DETECTS", v.noticed()
		}
		status := document.Cell{Value: words[v.Status]}
		if v.Message != "" && (v.Status == Undecided || v.Status == OK) {
			status.Notes = []string{v.Message}
		}
		observed, bar := v.observed()
		t.Rows = append(t.Rows, []any{v.Metric, v.Cell, v.Group, v.Rule, observed, bar, v.margin(), v.text(v.Baseline, figure), noticed, status})
	}
	return t
}

// noticed returns the smallest change that shows, in per cent of the baseline where that is no ratio below 1.
func (s *Result) noticed() any {
	if s.Unit == measures.UnitRatio || s.Baseline == nil || *s.Baseline <= 0 {
		return difference(s.Unit, *s.Noticed)
	}
	return document.Detects(signedPoints(math.Round(1000**s.Noticed / *s.Baseline)/10), *s.Noticed, *s.Baseline)
}

// margin returns the distance to the bar. Differences between machines count as
// 0.
func (s *Result) margin() string {
	if s.Margin != nil && s.Bar != nil && math.Abs(*s.Margin) <= tolerance(*s.Bar) {
		return difference(s.Unit, 0)
	}
	return s.text(s.Margin, difference)
}

// text formats a figure if there is one.
func (s *Result) text(v *float64, as func(unit string, v float64) string) string {
	if v == nil {
		return document.Dash
	}
	return as(s.Unit, *v)
}

// observed returns the figure with half the width of its interval, and the bar.
func (s *Result) observed() (text, bar string) {
	text, bar = s.text(s.Observed, figure), s.text(s.Bar, figure)
	if s.Status == Breach && s.Observed != nil && s.Bar != nil {
		text, bar = document.Apart(s.Unit, *s.Observed, *s.Bar)
	}
	if s.Low != nil && s.High != nil && *s.High > *s.Low {
		text += " ± " + difference(s.Unit, (*s.High-*s.Low)/2)
	}
	return text, bar
}

// Annotate writes a workflow command of GitHub for every failure and suspect, which shows
// it at its line. file is the path of the check file in the repository.
func (r *Report) Annotate(w io.Writer, file string) error {
	var b bytes.Buffer
	if r.began != "" {
		fmt.Fprintf(&b, "::warning file=%s,title=sim check::%s\n", property(file), data(inert("nothing was held against an earlier run: this one began "+r.began)))
	}
	for _, f := range r.failures() {
		text := inert(f.message)
		if f.look != "" {
			text += "\n" + inert(f.look)
		}
		command := "error"
		if f.lead != "FAIL" {
			command = "warning"
		}
		fmt.Fprintf(&b, "::%s file=%s,line=%d,title=%s::%s\n", command, property(file), max(1, f.line), property(f.title), data(text))
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("writing annotations: %w", err)
	}
	return nil
}

// data escapes the text of a workflow command.
func data(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

// property escapes a property of a workflow command.
func property(s string) string { return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(data(s)) }

// The JUnit form: one test for each result and each problem.
type (
	junitSuite struct {
		XMLName  xml.Name    `xml:"testsuite"`
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		File    string        `xml:"file,attr"`
		Line    int           `xml:"line,attr,omitempty"`
		Failure *junitFailure `xml:"failure"`
		Skipped *junitSkipped `xml:"skipped"`
	}
	junitSkipped struct {
		Message string `xml:"message,attr"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes the report as a JUnit test suite.
func (r *Report) JUnit(w io.Writer) error {
	suite := junitSuite{Name: "sim check " + inert(r.File), Tests: len(r.Problems) + len(r.Results)}
	add := func(name string, line int, failure *junitFailure) {
		suite.Cases = append(suite.Cases, junitCase{Class: inert(r.File), Name: inert(name), File: inert(r.File), Line: line, Failure: failure})
		if failure != nil {
			suite.Failures++
		}
	}
	for _, p := range r.Problems {
		add("check", p.Line, &junitFailure{Message: inert(p.Text), Type: "problem"})
	}
	skip := func(why string) {
		suite.Cases[len(suite.Cases)-1].Skipped = &junitSkipped{inert(why)}
		suite.Skipped++
	}
	if r.began != "" {
		suite.Tests++
		add("baseline", 0, nil)
		skip("nothing was held against an earlier run: this one began " + r.began)
	}
	for i := range r.Results {
		s := &r.Results[i]
		var failure *junitFailure
		if r.fails(s.Status) {
			failure = &junitFailure{Message: inert(s.Message), Type: string(s.Status), Text: inert(s.Look)}
		}
		name := s.Metric + " " + s.Rule
		if s.Cell != "" {
			name += " of " + s.Cell
		}
		add(name+inGroup(s.Group), s.Line, failure)
		if failure == nil && s.Status != OK { // neither passed nor failed
			skip(string(s.Status) + ": " + s.Message)
		}
	}
	text, err := xml.MarshalIndent(struct {
		XMLName  xml.Name `xml:"testsuites"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Suite    junitSuite
	}{Tests: suite.Tests, Failures: suite.Failures, Suite: suite}, "", "  ")
	if err == nil {
		_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	}
	if err != nil {
		return fmt.Errorf("writing JUnit: %w", err)
	}
	return nil
}

// inert makes text safe for one line of a log: the runner of a workflow executes what has the form of a
// command, and names of cells, projects and files come from recordings. Documents do this by themselves.
func inert(s string) string { return string(document.Inert([]byte(document.Printable(s)))) }
