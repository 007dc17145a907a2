package reports

import (
	"cmp"
	"math"
	"strings"

	"gonum.org/v1/plot/vg/draw"

	"github.com/compactsim/compactsim/internal/kit/document"
)

// maxSpots is the largest number of points of a series that describe themselves; of more, every n-th does.
const maxSpots = 1500

// find records the places of the points of a panel.
func (s *sketch) find(p *panel, data draw.Canvas) {
	size := data.Size()
	for i := range p.Series {
		x := &p.Series[i]
		if x.Aid || x.Mark == document.MarkBand || x.Mark == document.MarkLevel || x.Mark == document.MarkText {
			continue
		}
		every := 1 + (len(x.X)-1)/maxSpots
		for j := 0; j < len(x.X); j += every {
			if math.IsNaN(x.Y[j]) {
				continue
			}
			left, upper := p.X.At(x.X[j])*size.X.Points(), p.Y.At(x.Y[j])*size.Y.Points()
			spot := document.Spot{Text: p.says(x, j, s.panels[len(s.panels)-1].X.Title)}
			if x.Mark == document.MarkBox {
				right, lower := p.X.At(x.X2[j])*size.X.Points(), p.Y.At(x.Y2[j])*size.Y.Points()
				spot.Width, spot.Height = math.Abs(right-left)/2, math.Abs(lower-upper)/2
				left, upper = (left+right)/2, (upper+lower)/2
			}
			spot.X, spot.Y = tenth(data.Min.X.Points()+left), tenth((s.height-data.Min.Y).Points()-upper)
			spot.Width, spot.Height = tenth(spot.Width), tenth(spot.Height)
			s.spots = append(s.spots, spot)
		}
	}
}

func tenth(v float64) float64 { return math.Round(10*v) / 10 }

// shortTitle returns a title without its explanation and its unit.
func shortTitle(title string) string {
	title, _, _ = strings.Cut(title, ":")
	title, _, _ = strings.Cut(title, " (")
	return title
}

// says describes a point of a series. A panel without an axis title uses that of the lowest panel.
func (p *panel) says(x *document.Series, j int, below string) string {
	var parts []string
	add := func(text string) {
		if text != "" && !strings.Contains(strings.Join(parts, " · "), text) {
			parts = append(parts, text)
		}
	}
	add(x.Name)
	at, up := x.X[j], x.Y[j]
	if x.Mark == document.MarkBox {
		if at = x.X2[j]; p.Y.Names {
			up = (x.Y[j] + x.Y2[j]) / 2
		} else {
			up = x.Y2[j]
		}
		if p.X.Names {
			at = (x.X[j] + x.X2[j]) / 2
		}
	}
	if !p.Y.Names {
		add(strings.TrimSpace(shortTitle(cmp.Or(p.X.Title, below)) + " " + p.X.Write(at)))
		add(strings.TrimSpace(shortTitle(p.Title) + " " + p.Y.Write(up)))
	} else {
		add(p.Y.Write(up))
		if x.Mark == document.MarkBox && !p.X.Names && len(x.Shade) == 0 {
			add(p.X.Write(math.Abs(x.X2[j] - x.X[j])))
		} else {
			add(p.X.Write(at))
		}
	}
	if len(x.Texts) > 0 {
		add(x.Texts[j])
	}
	return strings.Join(parts, " · ")
}
