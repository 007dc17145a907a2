package rank

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim/results/studies"
)

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
	return text + fmt.Sprintf("What is known of the error: sim validate --strategy own finds 8 of 9 automatic compactions of Claude Code at the "+
		"very call, and in %s of real clients under one setting and another the cost was predicted to %s on average, %s at worst (docs/validation.md).",
		document.Count(pairs, "pair"), document.Percent(mean/float64(pairs)), document.Percent(worst))
}

// survives says which strategies are shown to cost less than the agents' own in most of the views that have an order, and in
// which views they are not.
func survives(r *studies.Ranking) string {
	views := slices.DeleteFunc(slices.Concat(r.Windows, r.Kinds, r.Servers), func(v studies.View) bool { return !v.Ordered() })
	if len(views) == 0 {
		return ""
	}
	var names, lacks []string
	most := 0
	for i := range views[0].Standings {
		name := views[0].Standings[i].Strategy
		var not []string
		for k := range views {
			if s := views[k].Of(name); s == nil || !s.Cheaper {
				not = append(not, views[k].Name)
			}
		}
		switch held := len(views) - len(not); {
		case held == 0 || held < most:
		case held > most:
			most, names, lacks = held, []string{name}, not
		default:
			names = append(names, name)
			lacks = slices.DeleteFunc(lacks, func(view string) bool { return !slices.Contains(not, view) })
		}
	}
	if most == 0 {
		return "What survives: no strategy is shown to cost less than the agents' own in any view."
	}
	if n := len(names); n > mostNamed {
		names = append(names[:mostNamed:mostNamed], fmt.Sprintf("%d more", n-mostNamed))
	}
	text := fmt.Sprintf("What survives: %s cost less than the agents' own strategy in %d of %s below; no other strategy is shown to in as many.",
		strings.Join(names, ", "), most, document.Count(len(views), "view"))
	if len(lacks) > 0 {
		text += " No strategy named here is shown to cost less in: " + strings.Join(lacks, ", ") + "."
	}
	return text
}

// mostNamed is how many strategies a headline names.
const mostNamed = 6
