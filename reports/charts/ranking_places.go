package charts

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/studies"
)

// rankingGroups has the cost against the agent's own strategy and the place in each of some views. Views without an order are
// left out.
func rankingGroups(title string, views []studies.View, list []studies.Standing) *document.Table {
	views = slices.DeleteFunc(slices.Clone(views), func(v studies.View) bool { return !v.Ordered() })
	t := &document.Table{Title: title + ": cost against the agent's own strategy, and place", Fitted: true,
		Columns: []document.Column{{Title: "STRATEGY"}}}
	acting := []any{"acting sessions"}
	for i := range views {
		t.Columns, acting = append(t.Columns, document.Column{Title: strings.ToUpper(views[i].Name), Right: true}), append(acting, views[i].Acting)
	}
	if len(views) == 0 {
		return t
	}
	for i := range list {
		row := []any{list[i].Strategy}
		for k := range views {
			text := any(nil)
			if s := views[k].Of(list[i].Strategy); s != nil {
				share := document.Signed(math.Round(100*s.VsOwn), func(v float64) string { return fmt.Sprintf("%.0f %%", v) })
				text = cmp.Or(share, "±0 %") + " (" + placed(s.Place) + ")"
			}
			row = append(row, text)
		}
		t.Rows = append(t.Rows, row)
	}
	if len(t.Rows) > 0 {
		t.Rows = slices.Insert(t.Rows, 0, acting)
	}
	return t
}

// rankingAssumed has the strategies in front under other assumptions, with what all of them leave open of each place.
func rankingAssumed(r *studies.Ranking) *document.Table {
	if len(r.Assumed) == 0 {
		return &document.Table{}
	}
	t := rankingGroups("The strategies in front alone, under other assumptions", r.Assumed, r.Assumed[0].Standings)
	if len(t.Rows) == 0 {
		return t
	}
	t.Columns = append(t.Columns, document.Column{Title: "PLACE OVER ALL", Right: true})
	t.Rows[0] = append(t.Rows[0], nil)
	for i := range r.Assumed[0].Standings {
		text := any(nil)
		if open, ok := studies.Over(r.Assumed, r.Assumed[0].Standings[i].Strategy); ok {
			text = placeRange(open)
		}
		t.Rows[i+1] = append(t.Rows[i+1], text)
	}
	return t
}

// RankingKinds returns the kinds of charts of a ranking.
func RankingKinds() []string { return append(TuningKinds(), "places") }

// RankingCharts returns the charts of a ranking, first what strategies cost and forget.
func RankingCharts(r *studies.Ranking) []Drawing {
	list := TuningCharts(&studies.Tuning{Run: r.Run})
	if d := frontDrawing(r.Run.Replicated(), endedPoints(r)...); d != nil {
		list[0] = *d
	}
	return append(list, drawing("places", func() (*document.Chart, error) { return placesChart(r) }))
}

// endedPoints returns where strategies that end sessions early stand in the chart of cost against recall: by their cost as on the
// sessions that they bring to their end, and by what they keep there.
func endedPoints(r *studies.Ranking) (points []frontPoint) {
	v := &r.Windows[0]
	own := slices.IndexFunc(v.Standings, func(s studies.Standing) bool { return s.Own })
	if own < 0 {
		return nil
	}
	for i := range v.Standings {
		s := &v.Standings[i]
		if s.Ends == 0 || math.IsNaN(s.Recall) || math.IsNaN(s.VsOwn) {
			continue
		}
		points = append(points, frontPoint{
			cell: &results.Cell{Cell: s.Strategy, Strategy: s.Strategy, Sessions: v.Acting - s.Lacks},
			usd:  s.Whole(v.Standings[own].CostUSD), recall: s.Recall, ends: s.Ends,
		})
	}
	return points
}

// placesChart draws the place by cost of each strategy in front: the range that chance leaves open, first under the model and then
// under all assumptions, and a mark for its place under each assumption.
func placesChart(r *studies.Ranking) (*document.Chart, error) {
	if len(r.Assumed) < 2 || !r.Assumed[0].Ordered() {
		return nil, errors.New("places under other assumptions need sim rank --sensitivity, and ten sessions in which strategies act")
	}
	first := &r.Assumed[0]
	n := len(first.Standings)
	p := document.Panel{Height: 20 * float64(n), X: unitAxis(results.UnitCount, 0, float64(n)+1, 12)}
	p.X.Low, p.X.Title, p.X.Grid = 0.5, "place by cost among these strategies, 1 for the cheapest", true
	p.X.Ticks = slices.DeleteFunc(p.X.Ticks, func(t document.Tick) bool { return t.Value <= 1 || t.Value > float64(n) })
	p.X.Ticks = slices.Insert(p.X.Ticks, 0, document.Tick{Value: 1, Label: "1"})
	series := []document.Series{
		{Name: fmt.Sprintf("what chance leaves open, under %d other assumptions too", len(r.Assumed)-1), Mark: document.MarkBox, Style: document.Style{Color: 0xcde2f5}},
		{Name: "as the model has it", Mark: document.MarkBox, Style: document.Style{Color: document.Blue}},
		{Name: "order of cost under each", Mark: document.MarkDot, Style: document.Style{Color: document.Black, Marker: document.Circle, Size: 2}},
	}
	for i := range first.Standings {
		s := &first.Standings[i]
		y := p.Y.Place(i, n, document.Shortened(document.Printable(s.Strategy), maxNameRunes))
		if open, ok := studies.Over(r.Assumed, s.Strategy); ok {
			series[0].Box(float64(open.First)-0.4, y-0.36, float64(open.Last)+0.4, y+0.36, "")
		}
		series[1].Box(float64(s.Place.First)-0.4, y-0.18, float64(s.Place.Last)+0.4, y+0.18, "")
		for k := range r.Assumed {
			if at := slices.IndexFunc(r.Assumed[k].Standings, func(x studies.Standing) bool { return x.Strategy == s.Strategy }); at >= 0 {
				series[2].Point(float64(at+1), y, "")
			}
		}
	}
	p.Series = series
	c := runChart(r.Run, "Which places hold", errorLine(r.Run), barsWidth, []document.Panel{p})
	var names []string
	for _, v := range r.Assumed[1:] {
		names = append(names, v.Name)
	}
	c.Facts = append(c.Facts, "assumptions: "+strings.Join(names, ", "))
	return c, nil
}
