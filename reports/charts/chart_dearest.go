package charts

import (
	"errors"
	"slices"
	"time"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/audit"
	"github.com/compactsim/compactsim/sim/calls"
	"github.com/compactsim/compactsim/sim/results"
)

// lossPitch is the height of a miss in a chart: a line of text, and a bar below it.
const lossPitch = 40

// knowledge is a way in which causes are known.
type knowledge struct {
	confidence calls.Confidence
	name       string
	color      document.Color
}

// ways are the ways in which causes of misses are known, with their names and colours in a chart.
var ways = []knowledge{
	{calls.Logged, "cause in the log", document.Blue}, {calls.Seen, "seen in bodies or said by the server", document.Navy},
	{calls.Likely, "likely by recordings", document.Orange}, {"", "no visible reason", document.Grey},
}

// dearestChart draws the dearest misses: when each was, what it lost and cost, and why. Without
// names it does not say which calls they are.
func dearestChart(losses []audit.Loss, zone string, facts []string, names bool) (*document.Chart, error) {
	if len(losses) == 0 {
		return nil, errors.New("no miss has a price")
	}
	most, usd := int64(0), []float64{}
	for i := range losses {
		most, usd = max(most, losses[i].Missed), append(usd, losses[i].USD)
	}
	money := document.Amounts(usd...)
	if zone == time.Local.String() {
		zone = "local"
	}
	p := document.Panel{Title: "Cause, cost and time (" + zone + ")", Height: lossPitch * float64(len(losses)), X: unitAxis(results.UnitTokens, 0, 1.02*float64(most), 6)}
	p.X.Title, p.X.Grid, p.Y.Bare = "tokens lost", true, true
	bars := make([]document.Series, len(ways))
	for k := range ways {
		bars[k] = document.Series{Name: ways[k].name, Data: "tokens lost", Mark: document.MarkBox, Style: document.Style{Color: ways[k].color}}
	}
	texts := document.Series{Mark: document.MarkText, Aid: true}
	for i := range losses {
		l := &losses[i]
		name := l.Cause.Short()
		if l.Because != "" {
			name += ", " + l.Because.Short()
		}
		if names {
			name += " · " + document.Printable(l.Name)
		}
		y := p.Y.Place(i, len(losses), name) // a long name takes several lines where there is little room
		k := slices.IndexFunc(ways, func(k knowledge) bool { return k.confidence == l.Confidence })
		bars[k].Box(0, y-0.4, float64(l.Missed), y-0.02, "")
		texts.Point(0, y+0.2, money(l.USD)+" · "+l.At)
	}
	p.Series = append(slices.DeleteFunc(bars, func(s document.Series) bool { return len(s.X) == 0 }), texts)
	return &document.Chart{Title: "The dearest misses of the cache", Width: barsWidth, Panels: []document.Panel{p}, Facts: facts,
		Source: "source: sim audit of recorded usage; tokens lost were left in the cache, and written again; a miss costs what writing took beyond a read"}, nil
}
