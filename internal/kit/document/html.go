package document

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"slices"
	"strconv"
	"strings"
)

// pageFiles are the style of a page and its scripts. uPlot (MIT, Leon Sorokin) draws tracks.
//
//go:embed page
var pageFiles embed.FS

// Page is what a page has besides a document.
type Page struct {
	Panel  string // markup before the document
	Script string // after the script of the page
	Live   bool   // the page may send requests to its own server
}

// writeHTML writes d as one page that needs nothing else.
func writeHTML(b *bytes.Buffer, d *Document) error { return d.WritePage(b, Page{}) }

// WritePage writes d as one page that makes no requests except those that p
// allows. Only its own script runs, whatever d contains.
func (d *Document) WritePage(w io.Writer, p Page) error {
	files, err := assets("uPlot.min.css", "page.css", "uPlot.iife.min.js", "page.js")
	if err != nil {
		return err
	}
	style, script := files[0]+files[1], strings.TrimSpace(files[2]+files[3]+p.Script)
	title := d.Title
	if title == "" {
		title = "sim"
	}
	connect := "'none'"
	if p.Live {
		connect = "'self'"
	}
	policy := fmt.Sprintf("default-src 'none'; img-src data:; style-src %s; script-src %s; connect-src %s; base-uri 'none'; form-action 'none'",
		hash(style), hash(script), connect)
	var h markupWriter
	h.raw("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
	h.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"")
	h.raw(policy + "\">\n<title>").text(title).raw("</title>\n<style>" + style + "</style>\n</head>\n<body>\n<header><h1>").text(title)
	h.raw("</h1>" + p.Panel + "</header>\n")
	if err := h.body(d); err != nil {
		return err
	}
	h.raw("<script>" + script + "</script>\n</body>\n</html>\n")
	_, err = w.Write(h.b.Bytes())
	return err
}

// WriteBody writes what a page has between its head and its script.
func (d *Document) WriteBody(w io.Writer) error {
	var h markupWriter
	if err := h.body(d); err != nil {
		return err
	}
	_, err := w.Write(h.b.Bytes())
	return err
}

// assets returns the contents of files.
func assets(names ...string) ([]string, error) {
	texts := make([]string, len(names))
	for i, name := range names {
		text, err := pageFiles.ReadFile("page/" + name)
		if err != nil {
			return nil, err
		}
		texts[i] = string(text)
	}
	return texts, nil
}

// hash returns the source expression of a content security policy for an inline text.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// markupWriter writes a document as HTML. The standard library's templates
// would do too, but they make the linker keep every method of every type: 7 MB.
type markupWriter struct {
	b     bytes.Buffer
	notes footnotes
	noted int    // of the notes that are written
	title string // of the section
}

// raw writes trusted markup.
func (h *markupWriter) raw(markup string) *markupWriter {
	h.b.WriteString(markup)
	return h
}

// text writes any text of a recording, escaped, also inside quotes.
func (h *markupWriter) text(text string) *markupWriter {
	return h.raw(html.EscapeString(Printable(text)))
}

// prose writes a text without what only a terminal can follow.
func (h *markupWriter) prose(text string) *markupWriter { return h.text(offTerminal(text)) }

// element writes an element with a text; nothing for an empty text.
func (h *markupWriter) element(open, text, end string) {
	if text != "" {
		h.raw(open).text(text).raw(end)
	}
}

// data writes values for the script of the page.
func (h *markupWriter) data(v any) error {
	text, err := json.Marshal(v) // < and > are escaped
	if err != nil {
		return err
	}
	h.raw("<script type=\"application/json\">" + string(text) + "</script>")
	return nil
}

// marks writes the marks of footnotes, each a link to its note.
func (h *markupWriter) marks(raised string) {
	for i, text := range h.notes {
		if slices.Contains(strings.Fields(raised), superscript(i+1)) {
			h.raw(fmt.Sprintf("<sup><a href=\"#note-%d\" title=\"", i+1)).prose(text).raw(fmt.Sprintf("\">%d</a></sup>", i+1))
		}
	}
}

func (h *markupWriter) body(d *Document) error {
	h.raw("<main>\n")
	for _, line := range d.Head {
		h.element("<p class=\"head\">", offTerminal(line), "</p>\n")
	}
	h.index(d.Sections)
	for i := range d.Sections {
		if err := h.section(&d.Sections[i]); err != nil {
			return err
		}
	}
	for _, line := range d.Notes {
		h.element("<p class=\"foot\">", offTerminal(line), "</p>\n")
	}
	h.raw("</main>\n")
	return nil
}

// leastIndexed is the number of titles from which a page has an index.
const leastIndexed = 4

// index lists the titles of sections, each a link.
func (h *markupWriter) index(sections []Section) {
	titled := slices.DeleteFunc(firstWay(sections), func(s Section) bool { return s.Title == "" })
	if len(titled) < leastIndexed {
		return
	}
	h.raw("<nav aria-label=\"Sections\">")
	for i := range titled {
		h.raw("<a href=\"#" + anchor(titled[i].Way+" "+titled[i].Title) + "\">").text(titled[i].Title).raw("</a> ")
	}
	h.raw("</nav>\n")
}

// anchor returns the name of the anchor of a title.
func anchor(title string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(title)), "-")
}

func (h *markupWriter) section(s *Section) error {
	raised, end := h.notes.mark(s.Notes), "</section>\n"
	heading := func(open, text, end string) {
		if text != "" {
			h.raw(open).text(text)
			h.marks(raised)
			h.raw(end)
			raised = ""
		}
	}
	h2, way := "<h2 id=\""+anchor(s.Way+" "+s.Title)+"\">", ""
	if s.Way != "" {
		way = " data-way=\"" + html.EscapeString(s.Way) + "\""
	}
	if s.Folded {
		h.raw("<details" + way + "><summary>")
		heading(h2, s.Title, "</h2>")
		heading("<h3>", s.Name, "</h3>")
		h.raw("</summary>\n")
		end = "</details>\n"
	} else {
		h.raw("<section" + way + ">\n")
		heading(h2, s.Title, "</h2>\n")
		heading("<h3>", s.Name, "</h3>\n")
	}
	h.title = cmp.Or(s.Title, s.Name)
	for _, b := range s.Blocks {
		if err := h.block(b); err != nil {
			return err
		}
	}
	h.footnotes()
	h.raw(end)
	return nil
}

// footnotes writes the notes that have had their first mark since it last did, where they are used.
func (h *markupWriter) footnotes() {
	if h.noted == len(h.notes) {
		return
	}
	h.raw(fmt.Sprintf("<div class=\"notes\" role=\"note\"><ol start=\"%d\">", h.noted+1))
	for ; h.noted < len(h.notes); h.noted++ {
		h.element(fmt.Sprintf("<li id=\"note-%d\">", h.noted+1), offTerminal(h.notes[h.noted]), "</li>")
	}
	h.raw("</ol></div>\n")
}

func (h *markupWriter) block(b Block) error {
	switch x := b.(type) {
	case Text:
		open, end := "<p>", "</p>\n"
		if x.Heading != "" {
			open, end = "<h3>", "</h3>\n"
		}
		h.raw(open).text(x.Heading)
		h.element("<b>", x.Lead, "</b>")
		h.prose(x.Text).marks(h.notes.mark(x.Notes))
		h.raw(end)
	case Raw:
		h.raw("<pre>")
		for i, line := range strings.Split(strings.TrimSuffix(string(x), "\n"), "\n") {
			if i > 0 {
				h.raw("\n")
			}
			h.text(line)
		}
		h.raw("</pre>\n")
	case List:
		h.raw("<ul>")
		for _, item := range x {
			h.raw("<li>")
			h.element("<b>", item.Label, "</b> ")
			if item.Whole {
				h.element("<code>", item.Text, "</code>")
			} else {
				h.prose(item.Text)
			}
			h.raw("</li>")
		}
		h.raw("</ul>\n")
	case *Table:
		h.table(x)
	case *Tracks:
		return h.tracks(x)
	case *Figure:
		return h.figure(x)
	}
	return nil
}

// maxNamed is the largest length of row names that are not wrapped, in characters.
const maxNamed = 32

func (h *markupWriter) table(t *Table) {
	g := t.grid(&h.notes)
	named := !slices.ContainsFunc(g.rows, func(row []field) bool { return len(row) > 0 && runes(row[0].text) > maxNamed })
	row := func(cell string, fields []field) {
		h.raw("<tr>")
		for i, f := range fields {
			h.raw("<" + cell)
			if !g.left(i) {
				h.raw(" class=\"r\"")
			} else if i == 0 && named {
				h.raw(" class=\"n\"")
			}
			h.raw(">").text(f.text).marks(f.mark)
			h.raw("</" + cell[:2] + ">")
		}
		h.raw("</tr>\n")
	}
	h.raw("<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-label=\"").text("Table: " + cmp.Or(t.Title, h.title, "figures"))
	h.raw("\"><table>")
	h.element("<caption>", t.Title, "</caption>")
	h.raw("<thead>")
	row("th scope=\"col\"", g.head)
	h.raw("</thead>\n<tbody>")
	for _, fields := range g.rows {
		row("td", fields)
	}
	h.raw("</tbody></table></div>\n")
	for _, note := range t.Notes {
		h.element("<p class=\"foot\">", offTerminal(note), "</p>\n")
	}
}

// Figure is a picture on a page. Text formats omit it.
type Figure struct {
	Name string // for a message if it cannot be drawn
	Draw func() (*Picture, error)
}

// Picture is a chart that has been drawn.
type Picture struct {
	Title         string
	SVG           []byte
	Width, Height float64  // of SVG, points
	Data          *Table   // what it shows
	Narrow        *Picture // the same for the screen of a phone; nil if this one fits
}

// Tracks are series over steps. A page shows one at a time, by group and
// variant. Text formats, and pages without scripts, omit them.
type Tracks struct {
	Step     string            `json:"step"`               // the word for a step
	Parts    []string          `json:"parts"`              // what is stacked, from bottom to top
	Commands map[string]string `json:"commands,omitempty"` // by variant: what explains step {n} of group {id}
	List     []Track           `json:"list"`
}

// Track is one series. Stack has a list for each part with a value for each step.
type Track struct {
	Group   string         `json:"group"`
	Label   string         `json:"label,omitempty"` // of the group, for people; "" for Group
	Variant string         `json:"variant"`
	Stack   [][]int64      `json:"stack"`
	Beside  int            `json:"beside,omitempty"` // steps that are not of the group's own
	When    []int64        `json:"when,omitempty"`   // s since the first
	USD     []float64      `json:"usd,omitempty"`
	Notes   map[int]string `json:"notes"` // what happened at a step; "miss…" has its own mark
}

// Raw is text shown unchanged, line by line. Text formats omit it.
type Raw string

func (*Figure) block() {}
func (*Tracks) block() {}
func (Raw) block()     {}

// maxListed is the largest number of points of a picture that are also listed in a table below it; for more, the
// tables of the page suffice.
const maxListed = 250

func (h *markupWriter) figure(x *Figure) error {
	picture, err := x.Draw()
	if err != nil {
		h.element("<p>", fmt.Sprintf("%s is not drawn: %v", x.Name, err), "</p>\n")
		return nil
	}
	if picture.Narrow == nil {
		h.writePicture(picture, "")
	} else {
		h.writePicture(picture, "broad")
		h.writePicture(picture.Narrow, "narrow")
	}
	if picture.Data != nil && len(picture.Data.Rows) <= maxListed { // for readers who cannot see the picture
		h.raw("<details><summary>Figures of this chart<span class=\"name\">: ").text(picture.Title).raw("</span></summary>")
		h.table(picture.Data.fill())
		h.raw("</details>\n")
	}
	return nil
}

func (h *markupWriter) writePicture(picture *Picture, kind string) {
	const pixels = 4. / 3 // of a page in a point
	h.raw(fmt.Sprintf("<figure class=\"picture %s\"><img width=\"%.0f\" height=\"%.0f\" alt=\"", kind, picture.Width*pixels, picture.Height*pixels))
	h.text(picture.Title).raw("\" src=\"data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(picture.SVG) + "\"></figure>\n")
}

// fill returns the columns of a table for machines that hold anything, for people: numbers have six digits.
func (t *Table) fill() *Table {
	out := &Table{Rows: make([][]any, len(t.Rows))}
	for i, c := range t.Columns {
		if !slices.ContainsFunc(t.Rows, func(row []any) bool { return row[i] != nil && row[i] != "" }) {
			continue
		}
		out.Columns = append(out.Columns, Column{Title: strings.ReplaceAll(c.Name, "_", " ")})
		for k, row := range t.Rows {
			v := row[i]
			if number, ok := number(v); ok {
				v = sixDigits(number)
			}
			out.Rows[k] = append(out.Rows[k], v)
		}
	}
	return out
}

// sixDigits formats a number with six significant digits, without an exponent.
func sixDigits(v float64) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64) // FormatFloat writes what ParseFloat reads
	return Plain(rounded)
}

func (h *markupWriter) tracks(x *Tracks) error {
	h.raw(`<div class="tracks" hidden>
<div class="choice"><label>Show <select class="group"></select></label> <label>under <select class="variant"></select></label> ` +
		`<label>and <select class="other"></select></label></div>
<div class="plot"></div>
<div class="choice"><button type="button" class="back">‹ event</button> <button type="button" class="next">event ›</button> ` +
		`<button type="button" class="whole">whole session</button></div>
<p class="step" role="status"></p>
<pre class="look" hidden></pre>
<div class="why"></div>
<details><summary></summary><div class="wide"><table></table></div></details>
`)
	if err := h.data(x); err != nil {
		return err
	}
	h.raw("\n</div>\n")
	return nil
}
