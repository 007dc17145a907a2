package main

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/compactsim/compactsim/sim/learning"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/servers"
	"github.com/compactsim/compactsim/sim/validate"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// minServed is the least number of calls that show how a model serves a client.
const minServed = 5

// fitCodex returns what sessions show of automatic caches, given the first reads of Codex, without losses.
// A model that they do not show keeps the values of base.
func fitCodex(base profile.Codex, sessions []*traces.Session, first []profile.FirstRead) profile.Codex {
	c := profile.Codex{Switches: base.Switches}
	own := slices.DeleteFunc(slices.Clone(sessions), func(s *traces.Session) bool { return !agents.Automatic(s) })
	c.Served = fitServed(own)
	c.First = slices.Clone(first)
	for _, s := range base.Served {
		if !slices.ContainsFunc(c.Served, func(x profile.Served) bool { return x.Agent == s.Agent && x.Model == s.Model }) {
			c.Served = append(c.Served, s)
		}
	}
	if len(own) == 0 {
		c.First = base.First
	}
	sortServed(c.Served)
	return c
}

func sortServed(rows []profile.Served) {
	slices.SortFunc(rows, func(a, b profile.Served) int {
		return cmp.Or(cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Model, b.Model), profile.Compare(a.Version, b.Version))
	})
}

// epoch is a model at a version of an agent.
type epoch struct{ agent, model, version string }

// same reports whether two epochs are of one agent's model.
func (e epoch) same(f *waysSeen) bool { return e.agent == f.agent && e.model == f.model }

// waysSeen counts the calls of an epoch, and how many calls each known way of serving explains
// exactly.
type waysSeen struct {
	epoch
	n     int
	exact [servers.MaxGrids]int
}

// best returns the way that explains the most calls.
func (w *waysSeen) best() int {
	best := 0
	for i, n := range w.exact {
		if n > w.exact[best] {
			best = i
		}
	}
	return best
}

// fitServed returns how requests are served, by model and client version:
// consecutive versions that are served alike share a row.
func fitServed(sessions []*traces.Session) []profile.Served {
	var seen []*waysSeen
	for _, s := range sessions {
		for i := range s.Threads {
			t := &s.Threads[i]
			for r := 1; r < len(t.Rounds); r++ {
				at := epoch{s.Agent, s.Models[t.Rounds[r].Model], s.Version()}
				k := slices.IndexFunc(seen, func(w *waysSeen) bool { return w.epoch == at })
				if k < 0 {
					k, seen = len(seen), append(seen, &waysSeen{epoch: at})
				}
				seen[k].see(t, r)
			}
		}
	}
	slices.SortFunc(seen, func(a, b *waysSeen) int {
		return cmp.Or(cmp.Compare(a.agent, b.agent), cmp.Compare(a.model, b.model), profile.Compare(a.version, b.version))
	})
	return servedRows(seen, sessions)
}

// see counts a call that goes on with what the call before had sent and read more than the thread's first.
func (w *waysSeen) see(t *traces.Thread, r int) {
	before, rd := &t.Rounds[r-1], &t.Rounds[r]
	sent, reply := t.Stayed(int32(r))
	if !sent || before.Model != rd.Model || rd.Trigger == traces.TriggerOther || rd.Usage.Read <= t.Rounds[0].Usage.Read {
		return
	}
	w.n++
	for i, way := range servers.Grids(w.model) {
		end := before.Usage.Input()
		if way.Replies && reply {
			end += before.Usage.Output
		}
		if way.Floor(end, 0) == rd.Usage.Read {
			w.exact[i]++
		}
	}
}

// servedRows makes rows of what was seen, in order of model and version.
func servedRows(seen []*waysSeen, sessions []*traces.Session) []profile.Served {
	var rows []profile.Served
	for i := 0; i < len(seen); {
		first, all := seen[i], waysSeen{}
		way := first.best()
		for ; i < len(seen) && seen[i].same(first) && seen[i].best() == way; i++ {
			all.n += seen[i].n
			all.exact[way] += seen[i].exact[way]
		}
		if all.n < minServed || 2*all.exact[way] < all.n {
			continue // nothing that the server's file does not say
		}
		serving := servers.Grids(first.model)[way]
		last := ""
		if i < len(seen) && seen[i].same(first) {
			last = seen[i].version
		}
		life := float64(servers.ServingOf(servers.Caller{Agent: first.agent}, first.model).Retention) / 1e9
		rows = append(rows, profile.Served{
			Agent: first.agent, Model: first.model, Version: first.version,
			Step: serving.Step, Offset: serving.Offset, Lag: serving.Lag, Replies: serving.Replies,
			Exact: profile.Share(all.exact[way], all.n),
			Retention: fitRetention(sessions, life, func(agent, model, version string) bool {
				return agent == first.agent && model == first.model && profile.Compare(version, first.version) >= 0 &&
					(last == "" || profile.Compare(version, last) < 0)
			}),
		})
	}
	return rows
}

// retentionGain is how many fewer calls another edge must have on its wrong
// side to replace the known retention.
const retentionGain = 3

// fitRetention returns the gap, seconds, that best separates calls that still
// read more than the first call of their thread from those that do not. It counts from
// the start of the request before where the model's cache does.
func fitRetention(sessions []*traces.Session, known float64, of func(agent, model, version string) bool) profile.Estimate {
	var gaps []gapSeen
	for _, s := range sessions {
		for i := range s.Threads {
			t := &s.Threads[i]
			for r := 1; r < len(t.Rounds); r++ {
				rd := &t.Rounds[r]
				wait := float64(rd.Wait) / 1e9
				if servers.Recorded(s.Models[rd.Model]).FromStart {
					wait += float64(t.Rounds[r-1].Stream) / 1e9
				}
				if wait >= known/10 && rd.Model == t.Rounds[r-1].Model && of(s.Agent, s.Models[rd.Model], s.Version()) {
					gaps = append(gaps, gapSeen{wait, rd.Usage.Read > t.Rounds[0].Usage.Read+profile.LeastPrefix})
				}
			}
		}
	}
	wrong := func(edge float64) (n int) {
		for _, g := range gaps {
			if g.alive != (g.seconds <= edge) {
				n++
			}
		}
		return n
	}
	e := profile.Estimate{Value: known, Low: known, High: known, N: len(gaps)}
	best := wrong(known) - retentionGain + 1
	for _, g := range gaps {
		if n := wrong(g.seconds); n < best {
			best, e.Value, e.Low, e.High = n, g.seconds, g.seconds, g.seconds
		}
	}
	least := wrong(e.Value)
	for _, g := range gaps {
		if wrong(g.seconds) <= least+1 {
			e.Low, e.High = min(e.Low, g.seconds), max(e.High, g.seconds)
		}
	}
	return e
}

// gapSeen is the gap before a call, and whether the call still read its prefix.
type gapSeen struct {
	seconds float64
	alive   bool
}

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
func fitLosses(calls []validate.Call, kind *lossKind) (p profile.Places) {
	by := map[validate.Class][]*validate.Call{}
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
	if p.ToolResult, tool = kind.rows(by[validate.ClassToolResult], kind.tool, &prior); kind.priorPrompt == 0 {
		prior = tool
	} else {
		prior.share = kind.priorPrompt
	}
	p.Prompt, _ = kind.rows(by[validate.ClassPrompt], kind.prompt, &prior)
	if agents := by[validate.ClassSubAgent]; len(agents) > 0 {
		p.Agent, _ = kind.rows(agents, kind.tool, &tool)
	}
	return p
}

// place returns the class whose losses a call counts among: ClassToolResult, ClassPrompt or ClassSubAgent,
// or ClassFirst where no class counts it.
func (k *lossKind) place(c *validate.Call) validate.Class {
	switch c.Class {
	case validate.ClassToolResult, validate.ClassPrompt, validate.ClassSubAgent:
		return c.Class
	case validate.ClassOther:
		return validate.ClassPrompt
	}
	switch {
	case !k.automatic || c.Class == validate.ClassFirst:
		return validate.ClassFirst
	case c.Kind == traces.ThreadAgent || c.Kind == traces.ThreadOrphan:
		return validate.ClassSubAgent
	case c.Prompted:
		return validate.ClassPrompt
	}
	return validate.ClassToolResult
}

// rows returns the shares of calls by gap, and what all calls lose. A row with few calls is drawn
// towards the share of all calls, which is drawn towards prior.
func (k *lossKind) rows(calls []*validate.Call, gaps []float64, prior *tally) ([]profile.GapShare, tally) {
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

func (t *tally) see(c *validate.Call, automatic bool) {
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
		r.Kept = math.Round(1e4*max(0, min(1-t.size/t.share, 1))) / 1e4
	}
	return r
}
