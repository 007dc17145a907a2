package charts

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/studies"
)

// rankedView is an order of a (own), b and c, each of places from–to.
func rankedView(name string, places ...studies.Place) studies.View {
	v := studies.View{Name: name, About: "about " + name, Sessions: 12, Acting: 12}
	for i, p := range places {
		v.Standings = append(v.Standings, studies.Standing{Strategy: string(rune('a' + i)), Own: i == 0, Place: p, CostUSD: 2, Recall: 0.9})
	}
	return v
}

// A place over all views reaches from the best to the worst that one leaves open, and is unknown where a strategy has none.
func TestPlacesUnderAssumptions(t *testing.T) {
	run := &results.Run{}
	r := &studies.Ranking{Run: run, Windows: []studies.View{rankedView("w", studies.Place{First: 1, Last: 2})}, Assumed: []studies.View{
		rankedView("as it is", studies.Place{First: 1, Last: 2}, studies.Place{First: 1, Last: 3}, studies.Place{First: 3, Last: 3}),
		rankedView("summary ½", studies.Place{First: 1, Last: 1}, studies.Place{First: 2, Last: 3}),
	}}
	table := rankingAssumed(r)
	last := len(table.Columns) - 1
	if len(table.Rows) != 4 || table.Columns[last].Title != "PLACE OVER ALL" || table.Rows[1][last] != "1–2" || table.Rows[2][last] != "1–3" || table.Rows[3][last] != nil {
		t.Errorf("%+v", table)
	}
	c, err := placesChart(r)
	if err != nil {
		t.Fatal(err)
	}
	boxes := c.Panels[0].Series
	if all := boxes[0]; len(all.X) != 2 || all.X[1] != 0.6 || all.X2[1] != 3.4 || len(boxes[1].X) != 3 || len(boxes[2].X) != 5 {
		t.Errorf("%+v", boxes)
	}
	if text := strings.Join(c.Facts, "\n"); !strings.HasSuffix(text, "assumptions: summary ½") {
		t.Error(text)
	}
	for _, c := range rankingData(r).Columns {
		if c.Name == "" {
			t.Errorf("a column of the rows has no name: %+v", c)
		}
	}
	if strings.Contains(rankingKey(r), "--sensitivity") {
		t.Error(rankingKey(r))
	}
	r.Assumed[0].Acting, r.Assumed[1].Acting = 9, 9 // too few for an order: the table is not there, and a note says why
	if text := rankingKey(r); len(rankingAssumed(r).Rows) > 0 || !strings.Contains(text, "--sensitivity: an order under other assumptions takes 10 acting sessions") {
		t.Error(text)
	}
	if r.Assumed = nil; len(rankingAssumed(r).Rows) > 0 {
		t.Error("a table of no assumptions")
	}
	if _, err := placesChart(r); err == nil || !strings.Contains(err.Error(), "sim rank --sensitivity") {
		t.Error(err)
	}
}

// People read the columns in another order than programs: what decides comes first, and in short a row says one reason, and a dash where no
// session ends early. Rows for programs keep 0 and all reasons.
func TestRankingIsShort(t *testing.T) {
	v := rankedView("w", studies.Place{First: 1, Last: 2})
	v.Standings[0].Why, v.Standings[0].Low, v.Standings[0].High = "shorter context; writes again after edits", -0.532, 0.0151
	table := rankingTable("", &v, v.Standings, false)
	var titles []string
	for _, c := range table.Columns {
		titles = append(titles, c.Title)
	}
	if !slices.Equal(titles, rankingOrder) {
		t.Errorf("columns %v", titles)
	}
	cell := func(x *document.Table, title string) any { return x.Rows[0][slices.Index(titles, title)] }
	if ends, _ := cell(table, "ENDS").(document.Cell); ends.Text != "–" || cell(table, "WHY") != any("shorter context") || cell(table, "95 % INTERVAL") != any("−53 % … +2 %") {
		t.Errorf("%v", table.Rows[0])
	}
	if all := rankingTable("", &v, v.Standings, true); cell(all, "WHY") != any(v.Standings[0].Why) {
		t.Errorf("%v", all.Rows[0])
	}
}

// The key explains the groups that a table has: a kind and a server without an order are in none.
func TestKeyExplainsTables(t *testing.T) {
	r := &studies.Ranking{Windows: []studies.View{rankedView("w")}, Kinds: []studies.View{rankedView("day")}, Servers: []studies.View{rankedView("openai")}}
	if text := rankingKey(r); !strings.Contains(text, "; kinds and servers are at a window of w; day: about day; openai: about openai;") {
		t.Error(text)
	}
	r.Kinds[0].Acting, r.Servers[0].Acting = 9, 9
	if text := rankingKey(r); strings.Contains(text, "day") || strings.Contains(text, "openai") || strings.Contains(text, "kinds and servers") {
		t.Error(text)
	}
}

// Of sixteen strategies a ranking shows the first twelve, and the strategies that its headline names.
func TestNamedAreShown(t *testing.T) {
	v := rankedView("w", make([]studies.Place, 16)...)
	for i := range v.Standings {
		v.Standings[i].Basis = "run"
	}
	r := &studies.Ranking{Run: &results.Run{}, Windows: []studies.View{v, v}, Named: []string{"o"}}
	d := Ranking(r, false)
	for i, rows := range []int{13, 14} { // a to l, and o; the table of groups also has a line of acting sessions
		table, _ := d.Sections[i].Blocks[0].(*document.Table)
		if table == nil || len(table.Rows) != rows || !slices.Contains(table.Rows[rows-1], any("o")) {
			t.Errorf("table %d: %+v", i, table)
		}
	}
	if text := strings.Join(d.Notes, "\n"); !strings.Contains(text, "not shown: 3 more in this order") {
		t.Error(text)
	}
}

// A strategy that ends one of twelve sessions early has a point in the chart of cost against recall, marked: at 0.5 of the $2 of
// the agent's own strategy.
func TestEndingEarlyIsDrawn(t *testing.T) {
	v := rankedView("w", studies.Place{First: 2, Last: 2}, studies.Place{First: 1, Last: 1}, studies.Place{First: 3, Last: 3})
	v.Standings[1].Ends, v.Standings[1].Lacks, v.Standings[1].VsOwn = 1, 1, -0.5
	points := endedPoints(&studies.Ranking{Windows: []studies.View{v}})
	if len(points) != 1 || points[0].usd != 1 || points[0].recall != 0.9 || points[0].cell.Sessions != 11 {
		t.Fatalf("%+v", points)
	}
	points = append(points, frontPoint{cell: &results.Cell{Cell: "x", Strategy: "x"}, usd: 3, recall: 0.95})
	d := frontDrawing(&results.Run{}, points...)
	if d == nil {
		t.Fatal("nothing is drawn")
	}
	var b bytes.Buffer
	if err := d.In(Form{}).Draw(&b, "svg"); err != nil || !strings.Contains(b.String(), "b †") || !strings.Contains(b.String(), "ends sessions early") {
		t.Errorf("%v: %.400s", err, b.String())
	}
}
