package rank

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/numbers"
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/scenarios/choose"
	"github.com/compactsim/compactsim/scenarios/tried"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/studies"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// againstOwn estimates what each cell costs more than the agent's own strategy in other sessions like these, drawn by sessions or
// by the units that are least sure.
func (r *ranker) againstOwn(list []*ranked, own *ranked, noise func(now, was []float64) float64) []stats.Estimate {
	sessions := map[string]*traces.Session{}
	for _, s := range r.sessions {
		sessions[s.ID] = s
	}
	units := func(rows []*results.Row) []stats.Units {
		some := make([]*traces.Session, len(rows))
		for i, row := range rows {
			if some[i] = sessions[row.Session]; some[i] == nil {
				return nil
			}
		}
		return choose.UnitsOf(some)
	}
	all := units(own.rows)
	pairs := make([]stats.Pair, len(list))
	for i, x := range list {
		rows := own.on(x)
		pairs[i] = stats.Pair{Base: costFigure(rows), Other: costFigure(x.on(own)), Units: all}
		if len(rows) < len(own.rows) {
			pairs[i].Units = units(rows)
		}
	}
	out := stats.Estimator{Student: true, Among: r.among - 1}.Judged(pairs)
	for i := range out {
		if noise != nil {
			out[i] = out[i].Blurred(noise(pairs[i].Other.Part, pairs[i].Base.Part))
		}
	}
	return out
}

// costFigure and waitFigure are what rows cost and how long they wait, by session.
func costFigure(rows []*results.Row) (f stats.Figure) {
	for _, row := range rows {
		f.Part = append(f.Part, row.CostUSD())
	}
	return f
}

func waitFigure(rows []*results.Row) (f stats.Figure) {
	for _, row := range rows {
		f.Part = append(f.Part, row.Figures[measures.AddedLatency])
	}
	return f
}

// placesBy returns the place of each cell by a figure of its rows, session by session: all pairs are judged together,
// each on the sessions of both, among the pairs of so many cells. noise is the error of the figures on top of the sampling error; nil for none.
func placesBy(
	list []*ranked, figure func([]*results.Row) stats.Figure, better stats.Verdict, noise func(now, was []float64) float64, among int,
) []studies.Place {
	places := make([]studies.Place, len(list))
	sides := make([]stats.Figure, len(list))
	for i, x := range list {
		sides[i] = figure(x.rows)
	}
	pairs := make([]stats.Pair, 0, len(list)*(len(list)-1)/2)
	for i, x := range list {
		places[i] = studies.Place{First: 1, Last: len(list)}
		for j, y := range list[:i] {
			p := stats.Pair{Base: sides[i], Other: sides[j]}
			if rows := x.on(y); len(rows) < len(x.rows) || len(x.rows) < len(y.rows) {
				p.Base, p.Other = figure(rows), figure(y.on(x))
			}
			pairs = append(pairs, p)
		}
	}
	if len(pairs) == 0 {
		return places
	}
	estimates := stats.Estimator{Student: true, Verdicts: true, Among: among * (among - 1) / 2}.Judged(pairs)
	at := 0
	for i := range list {
		for j := range list[:i] {
			e, p := estimates[at], &pairs[at]
			at++
			if noise != nil {
				e = e.Blurred(noise(p.Other.Part, p.Base.Part))
			}
			worse, ahead := i, j
			switch {
			case e.Verdict <= stats.Chance:
				continue
			case e.Verdict != better:
				worse, ahead = j, i
			}
			places[worse].First++
			places[ahead].Last--
		}
	}
	return places
}

// fired is how many of the automatic compactions of Claude Code in the first set of docs/validation.md sim validate --strategy own
// finds at the very call. TestFired measures both.
var fired = struct{ exact, automatic int }{8, 9}

// rankLimits says in two sentences what a ranking cannot say, with what is known of how far it may be off: docs/validation.md has
// both figures.
func rankLimits() string {
	text := "No agent was run under two strategies: every cost is simulated, and recall stands for what an agent still knows. "
	list := tried.List()
	if len(list) == 0 {
		return text
	}
	pairs, mean, worst := 0, 0.0, 0.0
	for _, t := range list {
		pairs, mean, worst = pairs+t.Pairs, mean+float64(t.Pairs)*t.Closed[0], max(worst, t.Closed[1])
	}
	return text + fmt.Sprintf("What is known of the error: under own, sim validate finds %d of %d automatic compactions of Claude Code at the "+
		"very call, and in %s of real clients under one setting and another the cost was predicted within %s on average, %s at worst; the model was improved on these pairs, and no library is among them (docs/validation.md).",
		fired.exact, fired.automatic, document.Count(pairs, "pair"), document.Percent(mean/float64(pairs)), document.Percent(worst))
}

// survival is which strategies are shown to cost less than the agents' own in the most views that have an order.
type survival struct {
	names []string
	shows [][]string // for each of names, the views that show it: as many of each
	views []string
	front bool // some views are of the strategies in front alone
	below int  // most views in which a strategy's interval is below the agents' own cost
	alone int  // strategies of which so many views have it so
}

// survivors looks through all views of a ranking, those under other assumptions among them.
func survivors(r *studies.Ranking) (out survival) {
	views := slices.Concat(r.Windows, r.Kinds, r.Servers)
	out.front = r.Front || len(r.Assumed) > 0
	if len(r.Assumed) > 0 {
		views = append(views, r.Assumed[1:]...) // the first is the first window's, of fewer strategies
	}
	views = slices.DeleteFunc(views, func(v studies.View) bool { return !v.Ordered() })
	if len(views) == 0 {
		return out
	}
	for i := range views {
		out.views = append(out.views, views[i].Name)
	}
	most := 1
	for i := range views[0].Standings {
		name := views[0].Standings[i].Strategy
		var shows []string
		ranked, below := true, 0
		for k := range views {
			s := views[k].Of(name)
			if ranked = ranked && s != nil; s == nil {
				continue
			}
			if s.Cheaper {
				shows = append(shows, views[k].Name)
			}
			if s.High < 0 {
				below++
			}
		}
		if below > out.below {
			out.below, out.alone = below, 0
		}
		if below == out.below {
			out.alone++
		}
		if len(shows) < most || out.front && !ranked {
			continue
		}
		if len(shows) > most {
			most, out.names, out.shows = len(shows), nil, nil
		}
		out.names, out.shows = append(out.names, name), append(out.shows, shows)
	}
	return out
}

// text is the headline of a ranking, "" where no view has an order.
func (s survival) text() string {
	const none = "What survives: no strategy"
	switch {
	case len(s.views) == 0:
		return ""
	case len(s.names) == 0 && s.front && len(s.views) > 1:
		return none + " that all views rank is shown to cost less than the agents' own in any view."
	case len(s.names) == 0:
		return none + " is shown to cost less than the agents' own in any view."
	}
	names, named := s.names, min(len(s.names), mostNamed)
	if more := len(names) - named; more > 0 {
		names = append(names[:named:named], fmt.Sprintf("%d more", more))
	}
	than, below := "and no other strategy in as many", "in all "+document.Count(len(s.views), "view")+" below"
	switch {
	case len(s.views) == 1:
		than, below = "and no other strategy is", "in the one view below"
	case s.front:
		than = "more than any other strategy that all views rank"
	}
	if held := len(s.shows[0]); held < len(s.views) {
		return fmt.Sprintf("%s is shown to cost less than the agents' own %s. %s in %d of them, %s%s.",
			none, below, are(names), held, than, s.where())
	}
	return fmt.Sprintf("What survives: %s shown to cost less than the agents' own strategy %s, %s.", are(names), below, than)
}

// byThemselves says how many strategies have an interval below the agents' own cost in the most views, each judged by itself: of many
// strategies some do by chance, so that fewer are shown to cost less where all are judged together.
func (s survival) byThemselves() string {
	if s.below == 0 {
		return ""
	}
	return fmt.Sprintf(" Judged each by itself, %s a 95 %% interval below the agents' own cost in %d of %s; shown is what holds with all judged together (Holm).",
		numbers.Counted(s.alone, "strategy has", "strategies have"), s.below, document.Count(len(s.views), "view"))
}

// are joins names with the verb behind them.
func are(names []string) string {
	if len(names) == 1 {
		return names[0] + " is"
	}
	return document.And(names) + " are"
}

// where says which views show it of which names, of names with the same views together; "" for many groups, and for several where
// the headline does not name all.
func (s survival) where() string {
	var groups []string
	told := make([]bool, len(s.names))
	for i := range s.names {
		if told[i] {
			continue
		}
		var same []string
		for k := i; k < len(s.names); k++ {
			if slices.Equal(s.shows[k], s.shows[i]) {
				same, told[k] = append(same, s.names[k]), true
			}
		}
		text := "in " + strings.Join(s.shows[i], ", ")
		if 2*len(s.shows[i]) > len(s.views) {
			text = "not in " + strings.Join(slices.DeleteFunc(slices.Clone(s.views), func(v string) bool { return slices.Contains(s.shows[i], v) }), ", ")
		}
		if len(same) < len(s.names) {
			text = document.And(same) + " " + text
		}
		groups = append(groups, text)
	}
	if len(groups) > mostWhere || len(groups) > 1 && len(s.names) > mostNamed {
		return ""
	}
	return ": " + strings.Join(groups, "; ")
}

// mostNamed is how many strategies a headline names, and mostWhere of how many it says which views show it, where these differ.
const mostNamed, mostWhere = 6, 2

// assumption is something that the model takes from little evidence, or by chance, taken otherwise.
type assumption struct {
	name, about string
	set         func(s *scenarios.Scenario) []string // as arguments of sim run --set
}

// assumptions returns what a ranking may rest on: sizes of summaries, what is fetched again, how much longer agents work whose
// observations were summarised (0.18 of the rounds after compactions: The Complexity Trap, arXiv 2508.21433), lifetimes, and draws
// other than by a seed. usual is how long summaries are where the scenario does not say it, tokens.
func assumptions(seed uint64, usual float64) (list []assumption) {
	scaled := func(name, of string, factor float64) assumption {
		return assumption{name, of, func(s *scenarios.Scenario) []string {
			return []string{fmt.Sprintf("summarizer.median=%v", factor*cmp.Or(s.Summarizer.Median, usual)), fmt.Sprintf("summarizer.share=%v", min(factor*s.Summarizer.Share, 1))}
		}}
	}
	live := func(name, of string, factor float64) assumption {
		return assumption{name, of, func(s *scenarios.Scenario) []string {
			return []string{fmt.Sprintf("server.lifetime_5m=%gs", factor*s.Server.Lifetime5m.Seconds()), fmt.Sprintf("server.lifetime_1h=%gs", factor*s.Server.Lifetime1h.Seconds())}
		}}
	}
	to := func(name, of, set string) assumption {
		return assumption{name, of, func(*scenarios.Scenario) []string { return []string{set} }}
	}
	list = append(list,
		scaled("summary ½", "summaries that are drawn are half as long", 0.5), scaled("summary ×2", "twice as long", 2),
		to("fetches low", "agents fetch again what the low end of the fitted interval says", "agent.refetch=low"), to("fetches high", "its high end", "agent.refetch=high"),
		to("rounds +18 %", "so many more rounds after compactions", "agent.elongation=0.18"),
		live("lifetime ½", "entries of 5 minutes and of an hour live half as long", 0.5), live("lifetime ×2", "twice as long", 2))
	for other := seed + 1; other <= seed+2; other++ {
		list = append(list, to(fmt.Sprintf("seed %d", other), "other draws of what is drawn", fmt.Sprintf("seed=%d", other)))
	}
	return list
}

// assume ranks the strategies in front on the sessions of the first view: as the model has it, in a run of all strategies, and under
// each assumption.
func (r *ranker) assume(ctx context.Context, corpus *traces.Corpus, out *studies.Ranking) (list []studies.View, err error) {
	if r.front == nil {
		r.pick(out)
	}
	everywhere := func(string) bool { return true }
	asIs := *out.Run
	asIs.Cells = slices.DeleteFunc(slices.Clone(asIs.Cells), func(c results.Cell) bool { return !r.front[c.Cell] })
	v, _ := r.view("as it is", &asIs, everywhere)
	list = append(list, v)
	usual := 0.
	for _, s := range r.sessions {
		usual += agents.Of(s.Agent).Summary() / float64(len(r.sessions))
	}
	for _, a := range assumptions(r.design.Scenario.Seed, usual) {
		design, err := r.design.With(a.set(&r.design.Scenario))
		if err != nil {
			return nil, err
		}
		run, err := r.runDesign(ctx, corpus, r.plan.Prices, design, nil)
		if err != nil {
			return nil, err
		}
		v, _ := r.view(a.name, run, everywhere)
		v.About = a.about
		list = append(list, v)
	}
	return list, nil
}
