package document

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
)

// pageFiles are the template of a page, its style and its scripts. uPlot (MIT, Leon Sorokin) draws tracks.
//
//go:embed page
var pageFiles embed.FS

// Figure is a picture on a page. Formats of text leave it out.
type Figure struct {
	Name string // what it shows, for a message when it cannot be drawn
	Draw func() (*Picture, error)
}

// Picture is a chart that is drawn.
type Picture struct {
	Title         string
	SVG           []byte
	Width, Height float64 // of SVG, points
	Spots         []Spot  // what a pointer finds
}

// Spot is a place of a picture, points from its upper left corner, half its size, and what stands there.
type Spot struct {
	X      float64 `json:"x"`
	Y      float64 `json:"y"`
	Width  float64 `json:"w,omitempty"`
	Height float64 `json:"h,omitempty"`
	Text   string  `json:"t"`
}

// Tracks are series over steps of which a page shows one at a time, by group and variant. Formats of text, and
// pages without scripts, leave them out.
type Tracks struct {
	Step  string   `json:"step"`  // what a step is called
	Parts []string `json:"parts"` // what is stacked, from the bottom
	List  []Track  `json:"list"`
}

// Track is one series. Stack has a list for each part with a value for each step.
type Track struct {
	Group   string         `json:"group"`
	Variant string         `json:"variant"`
	Stack   [][]int64      `json:"stack"`
	When    []int64        `json:"when,omitempty"` // s since the first
	USD     []float64      `json:"usd,omitempty"`
	Notes   map[int]string `json:"notes"`          // what happened at a step; one that begins with "miss" has a mark of its own
	Look    string         `json:"look,omitempty"` // a command that explains step {n}
}

// Raw is text shown as it is, line by line. Formats of text leave it out.
type Raw string

func (*Figure) block() {}
func (*Tracks) block() {}
func (Raw) block()     {}

// Page is what a page has beside a document.
type Page struct {
	Panel  template.HTML // ahead of the document
	Script string        // behind that of the page
	Live   bool          // it may ask the server that it came from
}

// writeHTML writes d as one page that needs nothing else.
func writeHTML(b *bytes.Buffer, d *Document) error { return d.WritePage(b, Page{}) }

// WritePage writes d as one page without a request to anywhere, but for what p allows. Nothing in it is carried
// out but its own script, whatever d holds.
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
	body, err := htmlBody(d)
	if err != nil {
		return err
	}
	connect := "'none'"
	if p.Live {
		connect = "'self'"
	}
	policy := fmt.Sprintf("default-src 'none'; img-src data:; style-src %s; script-src %s; connect-src %s; base-uri 'none'; form-action 'none'",
		hash(style), hash(script), connect)
	return execute(w, "page.html", map[string]any{
		"Title": Printable(title), "Policy": policy, "Style": template.CSS(style), "Script": template.JS(script), //nolint:gosec // embedded
		"Panel": p.Panel, "Body": body,
	})
}

// WriteBody writes what stands in a page between its head and its script.
func (d *Document) WriteBody(w io.Writer) error {
	body, err := htmlBody(d)
	if err != nil {
		return err
	}
	return execute(w, "body", body)
}

func execute(w io.Writer, name string, data any) error {
	t, err := template.ParseFS(pageFiles, "page/page.html")
	if err != nil {
		return err
	}
	return t.ExecuteTemplate(w, name, data)
}

// assets returns the texts of files.
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

// The parts of a page, as its template takes them.
type (
	pageBody struct {
		Head     []string
		Sections []pageSection
		Notes    []pageMark
		Foot     []string
	}
	pageSection struct {
		Title, Name string
		Marks       []pageMark
		Folded      bool
		Blocks      []pageBlock
	}
	pageBlock struct {
		Text    *pageText
		Raw     string
		List    List
		Table   *pageTable
		Picture *pagePicture
		Tracks  *Tracks
	}
	pageText struct {
		Heading, Lead, Text string
		Marks               []pageMark
	}
	pageTable struct {
		Title string
		Head  []pageCell
		Rows  [][]pageCell
		Below []string
	}
	pageCell struct {
		Text  string
		Right bool
		Marks []pageMark
	}
	pagePicture struct {
		*Picture
		Source template.URL
	}
	pageMark struct {
		N    int
		Text string
	}
)

// maxListed is how many points of a picture stand below it as a table: of more the tables of the page say enough.
const maxListed = 250

// Listed reports whether the points stand below the picture, for who cannot see it.
func (p *pagePicture) Listed() bool { return len(p.Spots) > 0 && len(p.Spots) <= maxListed }

// htmlBody lays out d for the template.
func htmlBody(d *Document) (*pageBody, error) {
	body := &pageBody{Head: present(d.Head), Foot: present(d.Notes)}
	var notes footnotes
	for i := range d.Sections {
		s := &d.Sections[i]
		section := pageSection{Title: Printable(s.Title), Name: Printable(s.Name), Folded: s.Folded, Marks: notes.numbered(s.Notes)}
		for _, b := range s.Blocks {
			block, err := htmlBlock(b, &notes)
			if err != nil {
				return nil, err
			}
			section.Blocks = append(section.Blocks, block)
		}
		body.Sections = append(body.Sections, section)
	}
	body.Notes = notes.numbered(notes)
	return body, nil
}

// printableLines returns lines without control characters.
func printableLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		lines[i] = indent + Printable(line[len(indent):])
	}
	return strings.Join(lines, "\n")
}

// present returns the texts that are not empty.
func present(texts []string) (list []string) {
	for _, text := range texts {
		if text != "" {
			list = append(list, Printable(text))
		}
	}
	return list
}

// numbered returns the marks of texts.
func (f *footnotes) numbered(texts []string) []pageMark { return f.marks(f.mark(texts)) }

// marks returns the notes that marks in raised digits stand for.
func (f *footnotes) marks(raised string) (marks []pageMark) {
	for i, text := range *f {
		if slices.Contains(strings.Fields(raised), superscript(i+1)) {
			marks = append(marks, pageMark{i + 1, Printable(text)})
		}
	}
	return marks
}

func htmlBlock(b Block, notes *footnotes) (block pageBlock, err error) {
	switch x := b.(type) {
	case Text:
		block.Text = &pageText{Printable(x.Heading), Printable(x.Lead), Printable(x.Text), notes.numbered(x.Notes)}
	case Raw:
		block.Raw = printableLines(string(x))
	case List:
		for _, item := range x {
			block.List = append(block.List, Item{Label: Printable(item.Label), Text: Printable(item.Text), Whole: item.Whole})
		}
	case *Table:
		block.Table = htmlTable(x, notes)
	case *Tracks:
		block.Tracks = x
	case *Figure:
		picture, err := x.Draw()
		if err != nil {
			block.Text = &pageText{Text: Printable(fmt.Sprintf("%s is not drawn: %v", x.Name, err))}
			return block, nil
		}
		picture.Title = Printable(picture.Title)
		for i := range picture.Spots {
			picture.Spots[i].Text = Printable(picture.Spots[i].Text)
		}
		block.Picture = &pagePicture{picture, template.URL("data:image/svg+xml;base64," + //nolint:gosec // base64 alone
			base64.StdEncoding.EncodeToString(picture.SVG))}
	}
	return block, nil
}

func htmlTable(t *Table, notes *footnotes) *pageTable {
	g := t.grid(notes)
	page := &pageTable{Title: Printable(t.Title), Below: present(t.Notes)}
	row := func(fields []field) (cells []pageCell) {
		for i, f := range fields {
			cells = append(cells, pageCell{f.text, !g.left(i), notes.marks(f.mark)})
		}
		return cells
	}
	page.Head = row(g.head)
	for _, fields := range g.rows {
		page.Rows = append(page.Rows, row(fields))
	}
	return page
}
