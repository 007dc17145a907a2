package charts

import (
	"bytes"
	"image"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// onPaper is a drawing of a width, mm.
func onPaper(d Drawing, millimetres float64) Drawing {
	d.Form = Form{Millimetres: millimetres}
	return d
}

// The golden pictures of both styles: of every kind the text of the SVG on paper, and of two the raster of both.
func TestPaperPictures(t *testing.T) {
	for _, run := range []*results.Run{lineSweep(), mapSweep()} {
		kind := map[int]string{1: "line", 2: "map"}[len(sweeps(run)[0].axes)]
		for _, d := range Charts(run, twoCells(40)) {
			if d.Kind == "recall" || d.Kind == "misses" || kind == "map" && !strings.HasPrefix(d.Name, "sweep-cost") {
				continue // these runs have none, or the other run has them
			}
			var svg bytes.Buffer
			if err := onPaper(d, ColumnWidth).Draw(&svg, "svg"); err != nil {
				t.Errorf("%s: %v", d.Name, err)
				continue
			}
			golden(t, filepath.Join("paper", kind+"-"+d.Name+".svg"), svg.Bytes())
			if d.Kind == "sweep" && kind == "line" {
				for _, width := range []float64{0, PageWidth} {
					d.Form = Form{Millimetres: width, DPI: 72}
					raster(t, filepath.Join("paper", kind+"-"+d.Name+"-"+strconv.Itoa(int(width))+".png"), d)
				}
			}
		}
	}
}

// raster holds a PNG against a golden one: on average a channel differs by at most a hundredth of its range.
func raster(t *testing.T, file string, d Drawing) {
	t.Helper()
	var b bytes.Buffer
	if err := d.Draw(&b, "png"); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var images [2]image.Image
	for i, text := range [][]byte{text, b.Bytes()} {
		if images[i], err = png.Decode(bytes.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	area := images[0].Bounds()
	if images[1].Bounds() != area {
		t.Fatalf("%s: %v, want %v", file, images[1].Bounds(), area)
	}
	var off float64
	for x := range area.Dx() {
		for y := range area.Dy() {
			r, g, b, _ := images[0].At(x, y).RGBA()
			r2, g2, b2, _ := images[1].At(x, y).RGBA()
			off += math.Abs(float64(r)-float64(r2)) + math.Abs(float64(g)-float64(g2)) + math.Abs(float64(b)-float64(b2))
		}
	}
	if off /= float64(3*area.Dx()*area.Dy()) * math.MaxUint16; off > 0.01 {
		t.Errorf("%s differs by %.3f on average", path, off)
	}
}

// On paper a picture has the width asked for to a tenth of a millimetre, texts of 8 points alone, and neither title nor
// source: its caption has them.
func TestPaper(t *testing.T) {
	size := regexp.MustCompile(`<svg width="([0-9.]+)pt"`)
	for _, millimetres := range []float64{60, ColumnWidth, 120, PageWidth} {
		for _, d := range Charts(lineSweep(), twoCells(40))[:5] {
			d = onPaper(d, millimetres)
			var b bytes.Buffer
			if err := d.Draw(&b, "svg"); err != nil {
				t.Fatal(err)
			}
			width, err := strconv.ParseFloat(string(size.FindSubmatch(b.Bytes())[1]), 64)
			if err != nil || math.Abs(width/72*25.4-millimetres) > 0.1 {
				t.Errorf("%s is %.2f mm wide, want %v", d.Name, width/72*25.4, millimetres)
			}
			sizes := regexp.MustCompile(`font-size:([0-9.]+)px`).FindAllSubmatch(b.Bytes(), -1)
			for _, s := range sizes {
				if string(s[1]) != "8" {
					t.Fatalf("%s has a text of %s points", d.Name, s[1])
				}
			}
			chart, err := d.chart()
			if err != nil || len(sizes) == 0 {
				t.Fatal(err)
			}
			absentTexts(t, b.Bytes(), chart.Title, "source:")
			_, caption, err := d.Beside()
			if err != nil || !strings.HasPrefix(caption, chart.Title+".\n") || !strings.Contains(caption, "source: 45 sessions") {
				t.Errorf("%v, the caption of %s:\n%s", err, d.Name, caption)
			}
		}
	}
	if err := onPaper(Chart(bill()), 20).Draw(io.Discard, "pdf"); err == nil || !strings.Contains(err.Error(), "20 mm is too small for its texts; try 84") {
		t.Errorf("20 mm: %v", err)
	}
}

// Each format draws the same chart the same way twice; TeX takes no character of a text for a command.
func TestPaperFormats(t *testing.T) {
	run := bill()
	run.Cells[4].Cell = `50% of $5 & {x_y} \ − #1`
	for format, start := range map[string]string{"svg": "<?xml", "png": "\x89PNG", "pdf": "%PDF-", "tex": "%% gonum/plot"} {
		var a, b bytes.Buffer
		for _, w := range []io.Writer{&a, &b} {
			if err := onPaper(Chart(run), PageWidth).Draw(w, format); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.HasPrefix(a.Bytes(), []byte(start)) || !bytes.Equal(a.Bytes(), b.Bytes()) {
			t.Errorf("%s begins with %q, or differs from drawing to drawing", format, a.Bytes()[:8])
		}
		if want := `50\% of \$5 \& \{x\_y\} \textbackslash{} $-$ \#1`; format == "tex" && !strings.Contains(a.String(), want) {
			t.Errorf("no %s in %s", want, a.String())
		}
	}
}

// The data of a chart hold what it draws. By hand, see bill and lineSweep: none costs $1,262.50 of which reads are
// $657.50; auto-compact at 100k costs $900.
func TestChartData(t *testing.T) {
	for want, d := range map[string]Drawing{
		",cache read,52 %,none,,,,657.5,,,\n": Chart(bill()),
		",total,,none,,,,1262.5,,,2\n":        Chart(bill()),
		// Of 45 equal sessions only the error of the model of 3.77 % differs: 1.96·3.77 %/√45 of $900 is $9.91.
		"Cost (USD),auto-compact,,100000,,,,900,890.086530066,909.913469934,45\n": sweepDrawings(lineSweep(), "cost_usd")[0],
		"keep,cost_usd,$950.00,120000,,,0.2,950,,,45\n":                           sweepDrawings(mapSweep(), "cost_usd")[0],
	} {
		data, caption, err := d.Beside()
		if err != nil || caption != "" {
			t.Fatal(err, caption)
		}
		var b bytes.Buffer
		if err := data.Write(&b, "csv"); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

// An axis over several magnitudes is logarithmic, with labels at round values.
func TestLogAxis(t *testing.T) {
	a := valueAxis(measures.UnitUSD, []float64{0.5, 3, 40}, 6)
	var labels []string
	for _, tick := range a.Ticks {
		labels = append(labels, tick.Label)
	}
	if got := strings.Join(labels, " "); !a.Log || got != "$0.5 $1 $2 $5 $10 $20" {
		t.Errorf("log %v, labels %s", a.Log, got)
	}
	if a := valueAxis(measures.UnitUSD, []float64{2, 40}, 6); a.Log {
		t.Error("a factor of 20 needs no logarithm")
	}
}
