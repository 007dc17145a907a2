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
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/studies"
)

// Ranking reports strategies in order: the best and the agent's own, or every one. CSV has a row for each strategy
// and view.
func Ranking(r *studies.Ranking, all bool) *document.Document {
	first := &r.Windows[0]
	most := studies.Front
	if all {
		most = math.MaxInt
	}
	d := &document.Document{
		Title: "Strategies of other programs, ranked", Head: rankingHead(r),
		Data: func() *document.Table { return rankingData(r) },
	}
	add := func(x *document.Table) {
		if len(x.Rows) > 0 {
			d.Sections = append(d.Sections, document.Section{Blocks: []document.Block{x}})
		}
	}
	run, other := studies.ByBasis(first.Standings)
	run, other = r.Foremost(run, most), r.Foremost(other, most)
	add(rankingTable("Of programs and libraries that were run", first, run, all))
	add(rankingTable("Of this program's own, or read in sources, on pages and in reports, and not run", first, other, all))
	title := "At another window, by kind of session and by server"
	if r.Front {
		title = "The strategies in front alone, at another window, by kind of session and by server"
	}
	add(rankingGroups(title, slices.Concat(r.Windows[1:], r.Kinds, r.Servers), slices.Concat(run, other)))
	add(rankingAssumed(r))
	if all {
		add(rankingTable("Schedules that no program runs as they are, by themselves", first, first.Idealised, all))
		ended := &document.Table{Title: "Without a place: they end every session that the agent's own strategy brings to its end",
			Columns: document.Left("STRATEGY", "WINDOW", "SESSIONS", "CALLS NOT ANSWERED")}
		for _, v := range r.Windows {
			for _, e := range v.Ended {
				ended.Rows = append(ended.Rows, []any{e.Strategy, v.Name, e.Sessions, e.Calls})
			}
		}
		add(ended)
		idle := &document.Table{Title: "Not run", Columns: document.Left("STRATEGY", "WHY")}
		for _, x := range r.NotRun {
			idle.Rows = append(idle.Rows, []any{x.Strategy, x.Reason})
		}
		add(idle)
	} else if hidden := hiddenText(r, len(run)+len(other)); hidden != "" {
		d.Notes = append(d.Notes, "not shown: "+hidden+"; --all lists them, with reasons")
	}
	if len(r.Unranked) > 0 {
		d.Notes = append(d.Notes, "without a place: "+document.And(r.Unranked)+"; strategies are held against the agent's own here, and by sim run against the recording")
	}
	d.Notes = append(d.Notes, comparedTexts(r.Windows)[1:]...)
	d.Notes = append(d.Notes,
		"PLACE 3–7: at least 2 strategies cost less, and at most 6, as all pairs are judged together, session by session (Holm). "+
			"VS OWN: cost against the agent's own strategy; 95 % INTERVAL: of VS OWN for other sessions like these, drawn by the units that are "+
			"least sure (DRAWN BY: sessions, blocks of time, projects or people). WAIT: waiting that it adds, negative where shorter contexts answer "+
			"sooner. ENDS: sessions that it ends early; two strategies are compared on the sessions that both bring to their end. BASIS: how the "+
			"algorithm is known. WHY: what saves the most, or costs the most."+overBestText(first),
		rankingKey(r))
	d.Notes = append(append(d.Notes, r.Lost...), "", errorLine(r.Run))
	return d
}

// rankingHead has what survives and what the ranking cannot say, then on what it is.
func rankingHead(r *studies.Ranking) (list []string) {
	for _, text := range []string{r.Survives, r.Limits} {
		if text != "" {
			list = append(list, text)
		}
	}
	return slices.Concat(list, headLines(r.Run), comparedTexts(r.Windows)[:1])
}

// overBestText says what OVER BEST is measured from, and how near to it a schedule came.
func overBestText(v *studies.View) string {
	if v.FoundUSD == 0 {
		return ""
	}
	return fmt.Sprintf(" OVER BEST: cost above the best schedule of full compactions that was found with the future known, %s; none comes below "+
		"%s, from which REGRET of sim run --bound is measured. "+
		"Below 0 are strategies that do other things, such as clearing or summaries by a cheaper model.",
		document.USD(v.FoundUSD, 2), document.USD(v.LeastUSD, 2))
}

// hiddenText counts what the short form leaves out, which shows so many standings.
func hiddenText(r *studies.Ranking, shown int) string {
	first := &r.Windows[0]
	more := len(first.Standings) - shown
	var list []string
	for _, x := range []struct {
		n    int
		what string
	}{{more, "more in this order"}, {len(first.Idealised), "idealised"}, {len(first.Ended), "that end every session early"}, {len(r.NotRun), "not run"}} {
		if x.n > 0 {
			list = append(list, document.Whole(x.n)+" "+x.what)
		}
	}
	return strings.Join(list, ", ")
}

// rankingKey says what the names of groups stand for, of several that stand for the same once.
func rankingKey(r *studies.Ranking) string {
	text := fmt.Sprintf("Groups of fewer than %d acting sessions have no order", studies.LeastActing)
	if slices.ContainsFunc(slices.Concat(r.Kinds, r.Servers), func(v studies.View) bool { return v.Ordered() }) {
		text += "; kinds and servers are at a window of " + r.Windows[len(r.Windows)-1].Name
	}
	names, groups := "", slices.DeleteFunc(slices.Concat(r.Kinds, r.Servers, r.Assumed), func(v studies.View) bool { return !v.Ordered() })
	for i, v := range groups {
		if v.About == "" {
			continue
		}
		if names += v.Name; i+1 < len(groups) && groups[i+1].About == v.About {
			names += ", "
			continue
		}
		text, names = text+"; "+names+": "+v.About, ""
	}
	if len(r.Assumed) > 0 && !r.Assumed[0].Ordered() {
		text += fmt.Sprintf("; --sensitivity: an order under other assumptions takes %d acting sessions too; the costs are in --format csv and json", studies.LeastActing)
	}
	if len(r.Assumed) == 0 && r.Windows[0].Ordered() {
		text += "; --sensitivity: the strategies in front again, under other assumptions"
	}
	return text + "."
}

// comparedTexts says on what each window compares strategies, and what is left out for whom.
func comparedTexts(windows []studies.View) (list []string) {
	names := ""
	for i := range windows {
		text := comparedText(&windows[i])
		if names += windows[i].Name; i+1 < len(windows) && comparedText(&windows[i+1]) == text {
			names += ", "
			continue
		}
		list, names = append(list, "window "+names+": "+text), ""
	}
	return list
}

func comparedText(v *studies.View) string {
	text := fmt.Sprintf("compared on %s of %s, ranked on the %s in which a strategy acts", document.Count(v.Calls, "call"),
		document.Count(v.Sessions, "session"), document.Whole(v.Acting))
	if !v.Ordered() {
		text += ", too few for an order"
	}
	if v.Over > 0 {
		text += fmt.Sprintf("; left out: %s of %s that the agent's own strategy ends early", document.Count(v.OverCalls, "call"), document.Count(v.Over, "session"))
	}
	if v.Unpriced > 0 {
		text += fmt.Sprintf("; left out: %s with models without a price", document.Count(v.Unpriced, "session"))
	}
	return text
}

// placed is the first place of a strategy, or a dash where there is no order.
func placed(p studies.Place) string {
	if p.First == 0 {
		return "–"
	}
	return document.Whole(p.First)
}

// placeRange is all that chance leaves open of a place.
func placeRange(p studies.Place) string {
	if p.Last <= p.First {
		return placed(p)
	}
	return placed(p) + "–" + document.Whole(p.Last)
}

// wholePercent is a share with its sign, in whole percents.
func wholePercent(share float64) string {
	return cmp.Or(document.Signed(math.Round(100*share), func(v float64) string { return fmt.Sprintf("%.0f %%", v) }), "±0 %")
}

// ranked is a standing with its view.
type ranked struct {
	*studies.Standing
	view  *studies.View
	ideal bool
}

// rankingColumns are the columns of standings. A column without a title is for machines alone.
func rankingColumns() []document.ColumnOf[ranked] {
	column := func(name, title string, right bool, of func(ranked) any) document.ColumnOf[ranked] {
		return document.ColumnOf[ranked]{Column: document.Column{Name: name, Title: title, Right: right}, Of: of}
	}
	figure := func(v float64, text string) any { // nothing where it is not known
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
		return document.Cell{Value: v, Text: text}
	}
	held := func(s ranked, v float64) float64 { // nothing where no session is ranked
		if s.view.Acting == 0 {
			return math.NaN()
		}
		return v
	}
	cost := func(s ranked) any {
		if math.IsNaN(held(s, s.CostUSD)) {
			return nil
		}
		c := document.Cell{Value: s.CostUSD, Text: document.USD(s.CostUSD, 2)}
		if s.Ends > 0 {
			c.Notes = append(c.Notes, "of the sessions that the strategy brings to their end; VS OWN compares these sessions")
		}
		if s.Unpriced > 0 {
			c.Notes = append(c.Notes, "without "+document.Count(s.Unpriced, "call")+" of models that have no price")
		}
		return c
	}
	place := func(n int) any { // nothing where there is no order
		if n == 0 {
			return nil
		}
		return n
	}
	between := func(s ranked) any {
		if math.IsNaN(s.Low) {
			return nil
		}
		if max(math.Abs(s.Low), math.Abs(s.High)) < 0.095 {
			return document.SignedPercent(s.Low) + " … " + document.SignedPercent(s.High)
		}
		return wholePercent(s.Low) + " … " + wholePercent(s.High)
	}
	drawn := func(s ranked) any {
		if math.IsNaN(s.Low) {
			return nil
		}
		return cmp.Or(s.Drawn, "session")
	}
	basis := func(s ranked) any {
		if s.Own {
			return nil
		}
		return cmp.Or(s.Basis, "this program")
	}
	return []document.ColumnOf[ranked]{
		column("view", "", false, func(s ranked) any { return s.view.Name }),
		column("acting_sessions", "", true, func(s ranked) any { return s.view.Acting }),
		column("place", "PLACE", true, func(s ranked) any { return document.Cell{Value: place(s.Place.First), Text: placeRange(s.Place)} }),
		column("place_last", "", true, func(s ranked) any { return place(s.Place.Last) }),
		column("strategy", "STRATEGY", false, func(s ranked) any { return s.Strategy }),
		column("idealised", "", false, func(s ranked) any { return s.ideal }),
		column("cost_usd", "COST", true, cost),
		column("vs_own", "VS OWN", true, func(s ranked) any { return figure(s.VsOwn, document.SignedPercent(s.VsOwn)) }),
		column("", "95 % INTERVAL", true, between),
		column("vs_own_low", "", true, func(s ranked) any { return figure(s.Low, "") }),
		column("vs_own_high", "", true, func(s ranked) any { return figure(s.High, "") }),
		column("drawn_by", "DRAWN BY", false, drawn),
		column("needed_recall", "RECALL", true, func(s ranked) any {
			return figure(s.Recall, document.Percent(s.Recall))
		}),
		column("place_recall", "", true, func(s ranked) any { return place(s.PlaceRecall.First) }),
		column("added_latency_seconds", "WAIT", true, func(s ranked) any {
			return figure(held(s, s.WaitSeconds), document.Seconds(s.WaitSeconds))
		}),
		column("place_wait", "", true, func(s ranked) any { return place(s.PlaceWait.First) }),
		column("over_best_usd", "OVER BEST", true, func(s ranked) any { return figure(s.OverBestUSD, document.USD(s.OverBestUSD, 2)) }),
		column("ended_sessions", "ENDS", true, func(s ranked) any {
			return document.Cell{Value: s.Ends, Text: cmp.Or(strings.TrimPrefix(document.Whole(s.Ends), "0"), "–")}
		}),
		column("unanswered_calls", "", true, func(s ranked) any { return s.Unanswered }),
		column("unpriced_calls", "", true, func(s ranked) any { return s.Unpriced }),
		column("basis", "BASIS", false, basis),
		column("why", "WHY", false, func(s ranked) any { return s.Why }),
	}
}

// rankingOrder are the columns that people read, the most important first: a narrow screen has no room for the last.
var rankingOrder = []string{"PLACE", "STRATEGY", "COST", "VS OWN", "95 % INTERVAL", "ENDS", "RECALL", "WAIT", "WHY", "BASIS", "OVER BEST", "DRAWN BY"}

// rankingTable has a row for each standing of a list. In short it has the first reason alone.
func rankingTable(title string, v *studies.View, list []studies.Standing, all bool) *document.Table {
	var rows []ranked
	for i := range list {
		s := &list[i]
		if !all {
			short := *s
			short.Why, _, _ = strings.Cut(s.Why, ";")
			s = &short
		}
		rows = append(rows, ranked{Standing: s, view: v})
	}
	columns := slices.DeleteFunc(rankingColumns(), func(c document.ColumnOf[ranked]) bool { return c.Title == "" })
	slices.SortFunc(columns, func(a, b document.ColumnOf[ranked]) int {
		return cmp.Compare(slices.Index(rankingOrder, a.Title), slices.Index(rankingOrder, b.Title))
	})
	t := document.TableOf(columns, rows)
	t.Title, t.Fitted = title, true
	return t
}

// rankingData has a row for every standing of every view. A column without a name is for people alone.
func rankingData(r *studies.Ranking) *document.Table {
	var rows []ranked
	for _, v := range slices.Concat(r.Windows, r.Kinds, r.Servers, r.Assumed) {
		for i, list := range [][]studies.Standing{v.Standings, v.Idealised} {
			for k := range list {
				rows = append(rows, ranked{&list[k], &v, i == 1})
			}
		}
	}
	named := slices.DeleteFunc(rankingColumns(), func(c document.ColumnOf[ranked]) bool { return c.Name == "" })
	return document.TableOf(named, rows)
}

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
				text = wholePercent(s.VsOwn) + " (" + placed(s.Place) + ")"
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
	p := document.Panel{Height: 20 * float64(n), X: unitAxis(measures.UnitCount, 0, float64(n)+1, 12)}
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
