package charts

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// On the screen of a phone the titles of panels say what their axes do, names of rows are whole, in more lines than
// one where they are long, and every text is held to a width inside the picture, so that no font cuts it.
func TestPhone(t *testing.T) {
	const long = "claude-code/2026-11 with a small-model"
	run := lineSweep()
	run.Cells[len(run.Cells)-2].Cell, run.Cells[len(run.Cells)-2].Strategy = long, long
	seen := ""
	for _, d := range Drawings(run, nil) {
		picture, err := d.picture()
		if err != nil {
			t.Fatal(err)
		}
		svg := string(picture.Narrow.SVG)
		texts := regexp.MustCompile(`<text textLength="([\d.]+)" lengthAdjust="spacingAndGlyphs" x="([\d.]+)"[^>]*>([^<]*)`).FindAllStringSubmatch(svg, -1)
		if len(texts) == 0 || len(texts) != strings.Count(svg, "<text") {
			t.Errorf("%s: %d of %d texts have a width", d.Name, len(texts), strings.Count(svg, "<text"))
		}
		for _, x := range texts {
			wide, _ := strconv.ParseFloat(x[1], 64)
			at, _ := strconv.ParseFloat(x[2], 64)
			if at+wide > picture.Narrow.Width+0.5 {
				t.Errorf("%s: %q ends at %.1f of %.1f points", d.Name, x[3], at+wide, picture.Narrow.Width)
			}
			seen += x[3] + "\n"
		}
	}
	for _, want := range []string{"Cost (USD), axis does not begin at 0\n", "claude-code/2026-11 with a\nsmall-model\n"} {
		if !strings.Contains(seen, want) {
			t.Errorf("no picture has %q in\n%s", want, seen)
		}
	}
	if strings.Contains(seen, "…") {
		t.Error("a name of a row is shortened")
	}
}
