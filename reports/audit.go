package reports

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/internal/audit"
)

// AuditOptions say how a bill explained is written.
type AuditOptions struct {
	// Top is how many lines of a list, and how many findings in full, people see;
	// audit.DefaultTop when 0. JSON has all that the report has, CSV too.
	Top     int
	Remarks []string // on what was read, above the figures
	Prices  string   // the name of a price file, "" for the prices built in
}

// Audit writes a bill explained in a format of Formats.
func Audit(w io.Writer, format string, r *audit.Report, o AuditOptions) error {
	if o.Top <= 0 {
		o.Top = audit.DefaultTop
	}
	switch format {
	case "json":
		b, err := json.Marshal(r, json.Deterministic(true), jsontext.WithIndent("  "), jsontext.AllowInvalidUTF8(true))
		if err != nil {
			return fmt.Errorf("encoding an audit: %w", err)
		}
		_, err = w.Write(append(b, '\n'))
		return err
	case "csv":
		return auditLines(r).Write(w, format)
	case "table", "markdown":
	default:
		return fmt.Errorf("unknown report format %q (known: %s)", format, strings.Join(Formats(), ", "))
	}
	p := auditPage{report: r, options: o, markdown: format == "markdown", paths: newPaths(r)}
	if err := p.write(); err != nil {
		return err
	}
	return flush(w, &p.out)
}

// auditPage is an audit for people while it is written.
type auditPage struct {
	report   *audit.Report
	options  AuditOptions
	markdown bool
	paths    paths
	out      bytes.Buffer
}

func (p *auditPage) write() error {
	p.head()
	for _, sheets := range []func() error{
		p.findings, p.bill, p.reconciled, p.misses, p.lifetimes, p.compactions, p.content, p.results,
	} {
		if err := sheets(); err != nil {
			return err
		}
	}
	p.defects()
	p.section("How to read it")
	for _, note := range auditNotes {
		p.line(note)
	}
	return nil
}

// auditNotes stand below every audit.
var auditNotes = []string{
	"Prices are those of the API at each call's date, in USD: with a subscription nothing of it is billed.",
	"LIMITED: tokens that count against the input rate limit, those not read from the cache.",
	"Findings overlap: one token can be in several, so they do not add up. COST is what the thing itself cost; SAVES what the advice would have saved.",
	"Nothing is simulated. Savings by lifetime are arithmetic over the recorded pauses; ± is how far the same arithmetic for the recorded lifetimes is from the bill. Savings smaller than that are marked ~.",
}

// section begins a part of the page.
func (p *auditPage) section(title string) {
	if p.markdown {
		fmt.Fprintf(&p.out, "\n## %s\n", escapeMarkdown(title))
		return
	}
	fmt.Fprintf(&p.out, "\n%s\n", strings.ToUpper(title))
}

// line writes one line of text.
func (p *auditPage) line(text string) {
	text = Printable(text)
	if p.markdown {
		fmt.Fprintf(&p.out, "\n%s\n", escapeMarkdown(text))
		return
	}
	for _, l := range Wrap(text, TextWidth) {
		fmt.Fprintln(&p.out, l)
	}
}

// sheet writes a table.
func (p *auditPage) sheet(s *Sheet) error {
	if len(s.Rows) == 0 {
		return nil
	}
	format := "table"
	if p.markdown {
		format = "markdown"
		p.out.WriteString("\n")
	}
	return s.Write(&p.out, format)
}

// paths shortens names of files by the folder they have in common.
type paths struct{ folder string }

func newPaths(r *audit.Report) paths {
	folder, first := "", true
	for _, place := range auditPlaces(r) {
		at := strings.LastIndexAny(place.File, `/\`) + 1
		if first {
			folder, first = place.File[:at], false
		}
		for !strings.HasPrefix(place.File, folder) {
			folder = folder[:strings.LastIndexAny(folder[:len(folder)-1], `/\`)+1]
		}
	}
	return paths{folder}
}

// auditPlaces returns every place a report points at.
func auditPlaces(r *audit.Report) []audit.Place {
	var list []audit.Place
	for i := range r.Findings {
		list = append(list, r.Findings[i].Places...)
	}
	for i := range r.Compactions {
		list = append(list, r.Compactions[i].Place)
	}
	for _, results := range [][]audit.Carried{r.Results, r.Duplicates} {
		for i := range results {
			list = append(list, results[i].Place)
		}
	}
	return list
}

// maxPath is the longest name of a file that is shown whole, in characters.
const maxPath = 56

// at names a line of a file.
func (p paths) at(place *audit.Place) string {
	name := []rune(strings.TrimPrefix(place.File, p.folder))
	if len(name) > maxPath {
		name = append([]rune("…"), name[len(name)-maxPath+1:]...)
	}
	return fmt.Sprintf("%s:%d", string(name), place.Line)
}
