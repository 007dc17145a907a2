package validate

import (
	"maps"
	"slices"

	"github.com/compactsim/compactsim/sim/learning"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/traces"
)

// lossKind says how losses of a kind of cache are counted.
type lossKind struct {
	prompt, tool []float64 // ends of the rows by gap, seconds
	// late is the number of calls of a thread after which it loses less, and lateGap the largest gap of
	// the row of such calls, seconds.
	late    int
	lateGap float64
	// priorPrompt and priorTool are the prior shares; 0 stands for the share after tool results.
	priorPrompt, priorTool float64
	automatic              bool
}

var (
	// markedLosses are by three sets of recordings of Claude Code, whose prompts lost 32 of 710 and whose tool results 18
	// of 11,200. Up to a minute a person has just read the answer; near and beyond five minutes losses
	// grow, whatever the lifetime. Of 221 late prompts and 2,438 late tool results of 29 sessions none
	// was lost, where the rates of earlier calls predict 8 and 3.
	markedLosses = lossKind{
		prompt: []float64{60, 240, 3600}, tool: []float64{240, 3600}, late: 100, lateGap: 3600, priorPrompt: 0.04, priorTool: 0.0015,
	}
	// automaticLosses are by Codex: beyond ten minutes less is left than is predicted, or more.
	automaticLosses = lossKind{
		prompt: []float64{profile.IdleSeconds, day}, tool: []float64{profile.IdleSeconds, day}, late: profile.EarlyCalls + 1, lateGap: profile.IdleSeconds,
		priorTool: 0.05, automatic: true,
	}
)

const (
	day = 86400
	// lossWeight is how many calls a prior share counts for, in a place, and the share of a place
	// in each of its rows.
	lossWeight = 30
	// priorSize is the prior part of its prefix that a call of an automatic cache loses.
	priorSize = 0.4
)

// fitLosses returns how often calls lose what they would read for no visible reason, over all
// versions and models: what these lose in proportion is pooled.
func fitLosses(calls []Call, kind *lossKind) (p profile.Places) {
	by := map[Class][]*Call{}
	for i := range calls {
		c := &calls[i]
		due := c.Left
		if kind.automatic {
			due = c.Predicted.Read
		}
		if due >= profile.LeastPrefix {
			by[kind.place(c)] = append(by[kind.place(c)], c)
		}
	}
	prior := tally{share: kind.priorTool, size: kind.priorTool * priorSize}
	var tool tally
	if p.ToolResult, tool = kind.rows(by[ClassToolResult], kind.tool, &prior); kind.priorPrompt == 0 {
		prior = tool
	} else {
		prior.share = kind.priorPrompt
	}
	p.Prompt, _ = kind.rows(by[ClassPrompt], kind.prompt, &prior)
	if agents := by[ClassSubAgent]; len(agents) > 0 {
		p.Agent, _ = kind.rows(agents, kind.tool, &tool)
	}
	return p
}

// place returns the class whose losses a call counts among: ClassToolResult, ClassPrompt or ClassSubAgent,
// or ClassFirst where no class counts it.
func (k *lossKind) place(c *Call) Class {
	switch c.Class {
	case ClassToolResult, ClassPrompt, ClassSubAgent:
		return c.Class
	case ClassOther:
		return ClassPrompt
	}
	switch {
	case !k.automatic || c.Class == ClassFirst:
		return ClassFirst
	case c.Kind == traces.ThreadAgent || c.Kind == traces.ThreadOrphan:
		return ClassSubAgent
	case c.recorded.prompted:
		return ClassPrompt
	}
	return ClassToolResult
}

// rows returns the shares of calls by gap, and what all calls lose. A row with few calls is drawn
// towards the share of all calls, which is drawn towards prior.
func (k *lossKind) rows(calls []*Call, gaps []float64, prior *tally) ([]profile.GapShare, tally) {
	at := make([]tally, len(gaps))
	var all, late tally
	for _, c := range calls {
		seconds := float64(c.Gap) / 1e9
		if c.Round >= k.late && seconds <= k.lateGap {
			late.see(c, k.automatic)
			continue
		}
		row, _ := slices.BinarySearch(gaps, seconds)
		at[min(row, len(gaps)-1)].see(c, k.automatic)
		all.see(c, k.automatic)
	}
	k.row(&all, 0, prior)
	rows := []profile.GapShare{k.row(&late, k.lateGap, &all)}
	rows[0].After = k.late
	for i, seconds := range gaps {
		rows = append(rows, k.row(&at[i], seconds, &all))
	}
	return rows, all
}

// tally counts calls, and by session those that lost their messages, and the tokens: predicted, and
// predicted minus read. Share and size are set by row: of losses among calls, and of what is missing.
type tally struct {
	n            int
	lost         map[string]int
	due, missing float64
	share, size  float64
}

func (t *tally) see(c *Call, automatic bool) {
	t.n++
	t.due += float64(c.Predicted.Read)
	t.missing += float64(c.Error())
	if automatic && c.Error() > profile.LossTokens || !automatic && c.Collapsed() {
		if t.lost == nil {
			t.lost = map[string]int{}
		}
		t.lost[c.Session]++
	}
}

// row returns the share of losses up to a gap, with prior counting for lossWeight calls.
func (k *lossKind) row(t *tally, seconds float64, prior *tally) profile.GapShare {
	lost := float64(learning.Bounded(slices.Collect(maps.Values(t.lost))))
	r := profile.GapShare{Seconds: seconds, Estimate: profile.Proportion(lost+lossWeight*prior.share, float64(t.n)+lossWeight)}
	r.N = t.n
	weight := lossWeight * max(t.due, 1) / float64(max(t.n, 1))
	t.share, t.size = r.Value, (t.missing+weight*prior.size)/(t.due+weight)
	if k.automatic && t.share > 0 {
		r.Kept = round(max(0, min(1-t.size/t.share, 1)), 4)
	}
	return r
}
