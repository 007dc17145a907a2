package reports

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/results/studies"
)

// topRanked is the number of strategies of a ranking that are shown besides the agent's own.
const topRanked = 12

// Ranking reports strategies in order: the best and the agent's own, or all of them. CSV has a row for each strategy
// and view.
func Ranking(r *studies.Ranking, all bool) *document.Document {
	first := &r.Windows[0]
	most := topRanked
	if all {
		most = math.MaxInt
	}
	d := &document.Document{
		Title: "Strategies of other programs, ranked", Head: append(headLines(r.Run), comparedTexts(r.Windows)...),
		Data: func() *document.Table { return rankingData(r) },
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
	} else if hidden := hiddenText(r, most); hidden != "" {
		d.Notes = append(d.Notes, "not shown: "+hidden+"; --all lists them, with reasons")
	}
	d.Notes = append(d.Notes,
		"PLACE a–b: a − 1 strategies are shown to cost less, and b − 1 may, as all pairs are judged together, session by session (Holm). "+
			"In brackets: the same a, by that figure. VS OWN: cost against the agent's own strategy. WAIT: waiting that it adds, negative "+
			"where shorter contexts answer sooner. REGRET: cost above the best schedule of full compactions.",
		rankingKey(r), "", errorLine(r.Run))
	return d
}

// hiddenText counts what the short form leaves out.
func hiddenText(r *studies.Ranking, most int) string {
	first, more := &r.Windows[0], 0
	for i := range first.Standings {
		if i >= most && !first.Standings[i].Own {
			more++
		}
	}
	var list []string
	for _, x := range []struct {
		n    int
		what string
	}{{more, "more in this order"}, {len(first.Idealised), "idealised"}, {len(first.Ended), "that end sessions early"}, {len(r.NotRun), "not run"}} {
		if x.n > 0 {
			list = append(list, document.Whole(x.n)+" "+x.what)
		}
	}
	return strings.Join(list, ", ")
}

// rankingKey says what the names of groups stand for, of several that stand for the same once.
func rankingKey(r *studies.Ranking) string {
	text := fmt.Sprintf("Groups of fewer than %d acting sessions have no order", studies.LeastActing)
	if len(r.Kinds) > 0 {
		text += "; kinds and servers are at a window of " + r.Windows[len(r.Windows)-1].Name
	}
	groups, names := slices.Concat(r.Kinds, r.Servers), ""
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

// rankingTable has the best of a list, and the agent's own strategy.
func rankingTable(title string, list []studies.Standing, most int) *document.Table {
	t := &document.Table{Title: title, Fitted: true, Columns: []document.Column{{Title: "PLACE", Right: true}, {Title: "STRATEGY"}, {Title: "COST", Right: true},
		{Title: "VS OWN", Right: true}, {Title: "RECALL", Right: true}, {Title: "WAIT", Right: true}, {Title: "REGRET", Right: true},
		{Title: "WHY"}}}
	for i := range list {
		s := &list[i]
		if i >= most && !s.Own {
			continue
		}
		recall, regret := any(nil), any(nil)
		if !math.IsNaN(s.Recall) {
			recall = document.Percent(s.Recall) + " (" + placed(s.PlaceRecall) + ")"
		}
		if !math.IsNaN(s.RegretUSD) {
			regret = document.USD(s.RegretUSD, 2)
		}
		t.Rows = append(t.Rows, []any{placeRange(s.Place), s.Strategy, document.USD(s.CostUSD, 2), document.SignedPercent(s.VsOwn), recall,
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
		if len(views) == 0 || i >= most && !list[i].Own {
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
	t := &document.Table{Columns: document.Columns("view", "acting_sessions", "place", "place_last", "strategy", "idealised", "cost_usd", "vs_own",
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
			t.Rows = append(t.Rows, []any{v.Name, v.Acting, s.Place.First, s.Place.Last, s.Strategy, ideal, s.CostUSD, value(s.VsOwn), value(s.Recall), s.PlaceRecall.First,
				s.WaitSeconds, s.PlaceWait.First, value(s.RegretUSD), s.Why})
		}
	}
	return t
}

// RankingCharts returns the charts of a ranking, first what strategies cost and forget.
func RankingCharts(r *studies.Ranking) []Drawing { return TuningCharts(&studies.Tuning{Run: r.Run}) }
