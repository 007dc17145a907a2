package document

import (
	"encoding/base64"
	"fmt"
)

// maxListed is the largest number of points of a picture that are also listed in a table below it; for more, the
// tables of the page suffice.
const maxListed = 250

func (h *markupWriter) figure(x *Figure) error {
	picture, err := x.Draw()
	if err != nil {
		h.element("<p>", fmt.Sprintf("%s is not drawn: %v", x.Name, err), "</p>\n")
		return nil
	}
	kind := "picture"
	if picture.Narrow != nil {
		kind += " broad"
	}
	if err := h.drawn(picture, kind); err != nil {
		return err
	}
	if picture.Narrow != nil {
		if err := h.drawn(picture.Narrow, "picture narrow"); err != nil {
			return err
		}
	}
	if n := len(picture.Spots); n > 0 && n <= maxListed { // for readers who cannot see the picture
		h.raw("<details><summary>Figures of this chart<span class=\"name\">: ").text(picture.Title)
		h.raw("</span></summary><div class=\"wide\"><table><tbody>")
		for _, spot := range picture.Spots {
			h.element("<tr><td>", spot.Text, "</td></tr>\n")
		}
		h.raw("</tbody></table></div></details>\n")
	}
	return nil
}

// drawn writes a picture and what a pointer finds on it.
func (h *markupWriter) drawn(picture *Picture, kind string) error {
	for i := range picture.Spots {
		picture.Spots[i].Text = Printable(picture.Spots[i].Text)
	}
	const pixels = 4. / 3 // of a page in a point
	h.raw(fmt.Sprintf("<figure class=\"%s\" data-width=\"%g\" data-height=\"%g\">\n<div class=\"drawn\"><img width=\"%.0f\" height=\"%.0f\" alt=\"",
		kind, picture.Width, picture.Height, picture.Width*pixels, picture.Height*pixels))
	h.text(picture.Title).raw("\" src=\"data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(picture.SVG))
	h.raw("\"><div class=\"tip\" role=\"status\" hidden></div></div>\n")
	if len(picture.Spots) > 0 {
		if err := h.data(picture.Spots); err != nil {
			return err
		}
	}
	h.raw("</figure>\n")
	return nil
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
