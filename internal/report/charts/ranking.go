package reports

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/study/studies"
)

// topRanked is the number of strategies of a ranking that are shown besides the agent's own.
const topRanked = 12

// Ranking reports strategies in order: the best and the agent's own, or all of them. CSV has a row for each strategy
// and view.
func Ranking(r *studies.Ranking, all bool) *document.Document {
	first, last := &r.Windows[0], &r.Windows[len(r.Windows)-1]
	most := topRanked
	if all {
		most = math.MaxInt
	}
	d := &document.Document{
		Title: "Strategies of other programs, ranked", Head: append(headLines(r.Run), comparedText(first), comparedText(last)),
		Data: func() *document.Table { return rankingData(r) },
	}
	if r.Stopped != "" {
		d.Head = append(d.Head, r.Stopped)
	}
	add := func(x *document.Table) {
		if len(x.Rows) > 0 {
			d.Sections = append(d.Sections, document.Section{Blocks: []document.Block{x}})
		}
	}
	add(rankingTable("", first.Standings, most))
	add(rankingGroups(slices.Concat(r.Windows[1:], r.Kinds, r.Servers), first.Standings, most))
	if all {
		add(rankingTable("Schedules that no program runs as they are, by themselves", first.Idealised, most))
		ended := &document.Table{Title: "Without a place: they end sessions that the agent's own strategy brings to their end",
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
	} else {
		var apart []string
		for _, x := range []struct {
			n    int
			what string
		}{{len(first.Idealised), "idealised"}, {len(first.Ended), "that end sessions early"}, {len(r.NotRun), "not run"}} {
			if x.n > 0 {
				apart = append(apart, fmt.Sprintf("%d %s", x.n, x.what))
			}
		}
		if len(apart) > 0 {
			d.Notes = append(d.Notes, "not ranked: "+strings.Join(apart, ", ")+"; --all lists each with its reason")
		}
	}
	d.Notes = append(d.Notes,
		"PLACE is 1 plus the number of strategies shown to be better, session by session, all pairs judged together (Holm); equal places "+
			"are ties. In brackets: the place by that figure alone. VS OWN: cost against the agent's own strategy. REGRET: cost above the best "+
			"schedule of full compaction.",
		fmt.Sprintf("Kinds and servers: at a window of %s%s; with fewer than %d sessions in which a strategy acts there is no order.", last.Name,
			rankingKey(slices.Concat(r.Kinds, r.Servers)), studies.LeastActing),
		"", errorLine(r.Run))
	return d
}

// rankingKey says what the names of views stand for.
func rankingKey(views []studies.View) string {
	text := ""
	for _, v := range views {
		if v.About != "" {
			text += "; " + v.Name + ": " + v.About
		}
	}
	return text
}

// comparedText says on what a view compares strategies, and what is left out for whom.
func comparedText(v *studies.View) string {
	text := fmt.Sprintf("window %s: %s in %s compared; some strategy acts in %s of them, which are ranked", v.Name,
		document.Count(v.Calls, "call"), document.Count(v.Sessions, "session"), document.Whole(v.Acting))
	if v.Over > 0 {
		text += fmt.Sprintf("; left out: %s in %s that the agent's own strategy cannot end", document.Count(v.OverCalls, "call"), document.Count(v.Over, "session"))
	}
	if v.Unpriced > 0 {
		text += fmt.Sprintf("; %s with models without a price", document.Count(v.Unpriced, "session"))
	}
	if !v.Ordered() {
		text += "; too few for an order"
	}
	return text
}

// placed is a place, or a dash where there is no order.
func placed(place int) string {
	if place == 0 {
		return "–"
	}
	return document.Whole(place)
}

// rankingTable has the best of a list, and the agent's own strategy.
func rankingTable(title string, list []studies.Standing, most int) *document.Table {
	t := &document.Table{Title: title, Fitted: true, Columns: []document.Column{{Title: "PLACE", Right: true}, {Title: "STRATEGY"}, {Title: "COST", Right: true},
		{Title: "VS OWN", Right: true}, {Title: "RECALL", Right: true}, {Title: "WAIT", Right: true}, {Title: "REGRET", Right: true},
		{Title: "WHY"}}}
	for i := range list {
		s := &list[i]
		if i >= most && s.Strategy != "own" {
			continue
		}
		recall, regret := any(nil), any(nil)
		if !math.IsNaN(s.Recall) {
			recall = document.Percent(s.Recall) + " (" + placed(s.PlaceRecall) + ")"
		}
		if !math.IsNaN(s.RegretUSD) {
			regret = document.USD(s.RegretUSD, 2)
		}
		t.Rows = append(t.Rows, []any{placed(s.Place), s.Strategy, document.USD(s.CostUSD, 2), document.SignedPercent(s.VsOwn), recall,
			document.Seconds(s.WaitSeconds) + " (" + placed(s.PlaceWait) + ")", regret, s.Why})
	}
	return t
}

// rankingGroups has the cost against the agent's own strategy and the place at the other window, by kind of session and
// by server. Views without an order are left out.
func rankingGroups(views []studies.View, list []studies.Standing, most int) *document.Table {
	views = slices.DeleteFunc(slices.Clone(views), func(v studies.View) bool { return !v.Ordered() })
	t := &document.Table{Title: "At another window, by kind of session and by server: cost against the agent's own strategy, and place", Fitted: true,
		Columns: []document.Column{{Title: "STRATEGY"}}}
	acting := []any{"acting sessions"}
	for i := range views {
		t.Columns, acting = append(t.Columns, document.Column{Title: strings.ToUpper(views[i].Name), Right: true}), append(acting, views[i].Acting)
	}
	for i := range list {
		if len(views) == 0 || i >= most && list[i].Strategy != "own" {
			continue
		}
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

// rankingData has a row for every standing of every view.
func rankingData(r *studies.Ranking) *document.Table {
	t := &document.Table{Columns: document.Columns("view", "acting_sessions", "place", "strategy", "idealised", "cost_usd", "vs_own",
		"needed_recall", "place_recall", "added_latency_seconds", "place_wait", "regret_usd", "why")}
	value := func(v float64) any {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
		return v
	}
	for _, v := range slices.Concat(r.Windows, r.Kinds, r.Servers) {
		for _, s := range slices.Concat(v.Standings, v.Idealised) {
			ideal := slices.ContainsFunc(v.Idealised, func(x studies.Standing) bool { return x.Strategy == s.Strategy })
			t.Rows = append(t.Rows, []any{v.Name, v.Acting, s.Place, s.Strategy, ideal, s.CostUSD, value(s.VsOwn), value(s.Recall), s.PlaceRecall,
				s.WaitSeconds, s.PlaceWait, value(s.RegretUSD), s.Why})
		}
	}
	return t
}

// RankingCharts returns the charts of a ranking, first what strategies cost and forget.
func RankingCharts(r *studies.Ranking) []Drawing { return TuningCharts(&studies.Tuning{Run: r.Run}) }
