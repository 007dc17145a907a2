package rank

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim/results/studies"
)

// fired is how many of the automatic compactions of Claude Code in the first set of docs/validation.md sim validate --strategy own
// finds at the very call. TestFired measures both.
var fired = struct{ exact, automatic int }{8, 9}

// rankLimits says in two sentences what a ranking cannot say, with what is known of how far it may be off: docs/validation.md has
// both figures.
func rankLimits() string {
	text := "No agent was run under two strategies: every cost is simulated, and recall stands for what an agent still knows. "
	list := scenarios.Trials()
	if len(list) == 0 {
		return text
	}
	pairs, mean, worst := 0, 0.0, 0.0
	for _, t := range list {
		pairs, mean, worst = pairs+t.Pairs, mean+float64(t.Pairs)*t.Closed[0], max(worst, t.Closed[1])
	}
	return text + fmt.Sprintf("What is known of the error: sim validate --strategy own finds %d of %d automatic compactions of Claude Code at the "+
		"very call, and in %s of real clients under one setting and another the cost was predicted to %s on average, %s at worst (docs/validation.md).",
		fired.exact, fired.automatic, document.Count(pairs, "pair"), document.Percent(mean/float64(pairs)), document.Percent(worst))
}

// survival is which strategies are shown to cost less than the agents' own in the most views that have an order.
type survival struct {
	names []string
	held  int      // views in which each of names is
	lacks []string // views in which none of names is
	shows []string // the rest of the views
	views int
	front bool // some views are of the strategies in front alone
}

// survivors looks through all views of a ranking, those under other assumptions among them.
func survivors(r *studies.Ranking) (out survival) {
	views := slices.Concat(r.Windows, r.Kinds, r.Servers)
	if len(r.Assumed) > 0 {
		out.front, views = true, append(views, r.Assumed[1:]...) // the first is the first window's, of fewer strategies
	}
	views = slices.DeleteFunc(views, func(v studies.View) bool { return !v.Ordered() })
	if out.views = len(views); out.views == 0 {
		return out
	}
	for i := range views[0].Standings {
		name := views[0].Standings[i].Strategy
		var not []string
		for k := range views {
			if s := views[k].Of(name); s == nil || !s.Cheaper {
				not = append(not, views[k].Name)
			}
		}
		switch held := len(views) - len(not); {
		case held == 0 || held < out.held:
		case held > out.held:
			out.held, out.names, out.lacks = held, []string{name}, not
		default:
			out.names = append(out.names, name)
			out.lacks = slices.DeleteFunc(out.lacks, func(view string) bool { return !slices.Contains(not, view) })
		}
	}
	for i := range views {
		if !slices.Contains(out.lacks, views[i].Name) {
			out.shows = append(out.shows, views[i].Name)
		}
	}
	return out
}

// text is the headline of a ranking, "" where no view has an order.
func (s survival) text() string {
	switch {
	case s.views == 0:
		return ""
	case s.held == 0:
		return "What survives: no strategy is shown to cost less than the agents' own in any view."
	}
	names := s.names
	if n := len(names); n > mostNamed {
		names = append(names[:mostNamed:mostNamed], fmt.Sprintf("%d more", n-mostNamed))
	}
	are := "are"
	if len(names) == 1 {
		are = "is"
	}
	than := "and no other strategy in as many"
	if s.front {
		than = "more than any other strategy that all views rank"
	}
	text := fmt.Sprintf("What survives: %s %s shown to cost less than the agents' own strategy in %d of %s below, %s.",
		document.And(names), are, s.held, document.Count(s.views, "view"), than)
	switch {
	case len(s.lacks) > len(s.shows):
		text += " Only these views show it: " + strings.Join(s.shows, ", ") + "."
	case len(s.lacks) > 0:
		text += " No strategy named here is shown to cost less in: " + strings.Join(s.lacks, ", ") + "."
	}
	return text
}

// mostNamed is how many strategies a headline names.
const mostNamed = 6
