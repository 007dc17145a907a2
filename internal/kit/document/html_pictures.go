package document

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

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
		h.table(picture.Data.filled())
		h.raw("</details>\n")
	}
	return nil
}

// writePicture writes a picture of a kind.
func (h *markupWriter) writePicture(picture *Picture, kind string) {
	const pixels = 4. / 3 // of a page in a point
	h.raw(fmt.Sprintf("<figure class=\"picture %s\"><img width=\"%.0f\" height=\"%.0f\" alt=\"", kind, picture.Width*pixels, picture.Height*pixels))
	h.text(picture.Title).raw("\" src=\"data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(picture.SVG) + "\"></figure>\n")
}

// filled returns the columns of a table for machines that hold anything, for people: numbers have six digits.
func (t *Table) filled() *Table {
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
