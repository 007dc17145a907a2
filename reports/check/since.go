package check

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/validate"
)

// Since compares the sessions of an agent before and since a setting was changed.
type Since struct {
	Agent  string `json:"agent"`
	Before Side   `json:"before"`
	Since  Side   `json:"since"`
	// Change is the change of the bill per call, nil where a side has too few sessions or no bill.
	Change *Change    `json:"change,omitempty"`
	Facts  []KeptFact `json:"facts"`
	title  string
}

// Side are the sessions of one side.
type Side struct {
	Sessions int `json:"sessions"`
	Calls    int `json:"calls"`
}

// KeptFact is a fact of clients that differs since the change, with what simulations say that it saves, and what it saves.
type KeptFact struct {
	Fact   string  `json:"fact"`
	Before float64 `json:"before"` // a share, or tokens
	Since  float64 `json:"since"`
	// Said is what a simulation of the sessions before says that it saves, and Saved what the sessions since cost less
	// than they are predicted to cost without it. Nil where that is not known.
	Said  *Saving `json:"said,omitempty"`
	Saved *Saving `json:"saved,omitempty"`

	never bool
}

// Saving is a share of a cost that is saved, with its 95 % interval and what was drawn for it.
type Saving struct {
	Share float64 `json:"share"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Drawn string  `json:"drawn_by,omitzero"`
}

// leastSides is how many sessions either side needs.
const leastSides = 2

// SinceOf compares two runs by the division of a gate. units are what may be drawn in the place of the sessions of now, and
// say returns what a simulation of the sessions before says that a fact at another value saves; nil for a fact that is no
// setting.
func SinceOf(
	title string, before, now *Input, units func(ids []string) []stats.Units, say func(fact string, value float64) (*Saving, error),
) (*Since, error) {
	s := &Since{title: title, Before: Side{len(before.Sessions), before.Calls}, Since: Side{len(now.Sessions), now.Calls}, Facts: []KeptFact{}}
	if min(s.Before.Sessions, s.Since.Sessions) < leastSides {
		return s, nil
	}
	f := &File{Level: defaultLevel, Unpriced: "allow", Facts: Facts{Lifetime: "any"}}
	b, err := f.NewBaseline(before)
	if err != nil {
		return nil, err
	}
	r := f.Judge(now, Loaded{Baseline: b})
	s.Change = r.Change
	past := f.past(now)
	for i := range r.Moved {
		m := &r.Moved[i]
		fact := KeptFact{Fact: m.Fact, Before: m.Before, Since: m.After, never: m.Never}
		if m.Each != nil {
			fact.Saved = estimateSaving(m, past, units)
			if fact.Said, err = say(m.Fact, m.After); err != nil {
				return nil, err
			}
		}
		s.Facts = append(s.Facts, fact)
	}
	slices.SortStableFunc(s.Facts, func(a, b KeptFact) int { return b.weight() - a.weight() })
	return s, nil
}

// weight orders facts: settings with what they save first.
func (k *KeptFact) weight() int {
	if k.Saved != nil {
		return 1
	}
	return 0
}

// estimateSaving returns what sessions are predicted to cost less with a fact than with what was before.
func estimateSaving(m *Moved, list []Past, units func(ids []string) []stats.Units) *Saving {
	var with, without []float64
	var ids []string
	for i := range list {
		usd := list[i].predicted()
		with, without, ids = append(with, usd), append(without, usd-m.Each[list[i].key]), append(ids, list[i].key)
	}
	e := stats.Estimator{}.One(stats.Pair{Base: stats.Figure{Part: without}, Other: stats.Figure{Part: with}, Relative: true, Units: units(ids)})
	return SavingOf(&e)
}

// SavingOf returns an estimated difference of costs as a saving; nil where nothing is known.
func SavingOf(e *stats.Estimate) *Saving {
	if math.IsNaN(e.Relative) || !e.RelativeInterval.Known() {
		return nil
	}
	return &Saving{0 - e.Relative, 0 - e.RelativeInterval.High, 0 - e.RelativeInterval.Low, e.Units}
}

// String says a saving as a difference of costs.
func (v *Saving) String() string {
	if v == nil {
		return document.Dash
	}
	percent := document.SignedPercent
	return fmt.Sprintf("%s (%s … %s)", percent(0-v.Share), percent(0-v.High), percent(0-v.Low))
}

// predictionError is about the largest distance of predictions under another setting from what real clients cost, as a share
// of the cost (docs/validation.md).
const predictionError = 0.06

// verdict says whether a fact saves what was said. The squares of the errors of both savings and of predictions add up to the
// square of the error of their difference.
func (k *KeptFact) verdict() string {
	if k.Said == nil || k.Saved == nil {
		return document.Dash
	}
	more := k.Saved.Share - k.Said.Share
	low := math.Hypot(math.Hypot(k.Saved.Share-k.Saved.Low, k.Said.High-k.Said.Share), predictionError)
	high := math.Hypot(math.Hypot(k.Saved.High-k.Saved.Share, k.Said.Share-k.Said.Low), predictionError)
	switch {
	case more+high < 0:
		return "less than said"
	case more-low > 0:
		return "more than said"
	case k.Saved.Low <= 0 && k.Saved.High >= 0:
		return "too few to tell"
	}
	return "as said"
}

// SinceDocument reports comparisons, an agent in each.
func SinceDocument(date string, list []*Since, remarks []string) *document.Document {
	d := &document.Document{Title: "Since the change", Head: append([]string{"sessions that began before " + date + ", and from it on"}, remarks...),
		JSON: document.Indented(list), Data: func() *document.Table { return sinceData(list) }}
	for _, s := range list {
		d.Sections = append(d.Sections, s.section())
	}
	if !slices.ContainsFunc(list, func(s *Since) bool { return s.Change != nil }) {
		return d // nothing was compared, and no word needs to be explained
	}
	d.Notes = []string{"The change of the bill is divided as in sim check: work is what these tasks would have cost " +
		"more with the client as it was; prices are other prices and models; facts is what the client does otherwise, predicted on the " +
		"sessions since; cache is what the server billed beyond what is predicted. SAID is what a simulation of the sessions before says of " +
		"the value that was set, SAVED what the sessions since are predicted to cost less than with what was before, with 95 % intervals."}
	return d
}

func (s *Since) section() document.Section {
	out := document.Section{Title: s.title}
	say := func(format string, args ...any) {
		out.Blocks = append(out.Blocks, document.Text{Text: fmt.Sprintf(format, args...)})
	}
	say("%s with %s before, %s with %s since.", document.Count(s.Before.Sessions, "session"), document.Count(s.Before.Calls, "call"),
		document.Count(s.Since.Sessions, "session"), document.Count(s.Since.Calls, "call"))
	switch {
	case s.Change == nil && min(s.Before.Sessions, s.Since.Sessions) < leastSides:
		say("Too few to compare: either side needs %d.", leastSides)
		return out
	case s.Change == nil:
		say("A side has no bill: its logs have no counts of input, or its models no prices.")
		return out
	}
	c := s.Change
	rest := ""
	if c.RestLow != nil && c.RestHigh != nil {
		rest = fmt.Sprintf(" Of the cache, what no cause explains is %s (95 %%: %s … %s) of the bill before.", document.SignedPercent(c.Rest/c.Was),
			document.SignedPercent(*c.RestLow/c.Was), document.SignedPercent(*c.RestHigh/c.Was))
	}
	say("A %s cost %s before and %s since: %s.%s", c.Per, document.USD(c.Was, 4), document.USD(c.Now, 4), c.Text, rest)
	if len(s.Facts) == 0 {
		say("No setting that logs show has changed: lifetimes of cache entries, sizes at which contexts are compacted, tools and system prompt are as before.")
		return out
	}
	t := &document.Table{Columns: append(document.Left("WHAT CHANGED"), append(document.Right("", "BEFORE", "SINCE", "SAID", "SAVED"), document.Left("VERDICT")...)...)}
	for i := range s.Facts {
		k := &s.Facts[i]
		was := fact{before: k.Before, never: k.never}
		t.Rows = append(t.Rows, []any{k.Fact, was.had(), factFigure(k.Since), k.Said.String(), k.Saved.String(), k.verdict()})
	}
	out.Blocks = append(out.Blocks, t)
	return out
}

// sinceData returns the facts that changed, for programs.
func sinceData(list []*Since) *document.Table {
	t := &document.Table{Columns: document.Columns("agent", "fact", "before", "since", "said_share", "said_low", "said_high", "saved_share", "saved_low", "saved_high", "verdict")}
	for _, s := range list {
		for i := range s.Facts {
			k := &s.Facts[i]
			row := []any{s.Agent, k.Fact, k.Before, k.Since}
			for _, v := range []*Saving{k.Said, k.Saved} {
				if v == nil {
					row = append(row, nil, nil, nil)
				} else {
					row = append(row, v.Share, v.Low, v.High)
				}
			}
			t.Rows = append(t.Rows, append(row, k.verdict()))
		}
	}
	return t
}

// RunFigures are figures of one run of a window. A figure that nothing is known of is left out.
type RunFigures struct {
	Run       int     `json:"run"` // how many runs ago, 0 for this one
	Sessions  int     `json:"sessions"`
	Predicted float64 `json:"billed_to_predicted,omitzero"` // bill over prediction
	Price     float64 `json:"price_usd,omitzero"`           // of a million tokens of conversations, USD
	Agents    float64 `json:"price_agents_usd,omitzero"`    // of a million tokens of sub-agents, USD
	// Work is what a call is predicted to cost at the prices and models of this run, USD: longer sessions and other tasks move it.
	Work    float64 `json:"work_usd_per_call,omitzero"`
	PerCall float64 `json:"usd_per_call,omitzero"` // billed, USD
}

// history returns the figures of the runs of a baseline, the earliest first, and of this one.
func history(b *Baseline, now []Past) (list []RunFigures) {
	byRun, last := map[int][]Past{}, 0
	for _, p := range b.Past {
		byRun[p.Run+1] = append(byRun[p.Run+1], p)
		last = max(last, p.Run+1)
	}
	for byRun[0] = now; last >= 0; last-- {
		own := byRun[last]
		if len(own) == 0 {
			continue
		}
		r := RunFigures{Run: last, Sessions: len(own)}
		var billed, predicted, usd, work, calls float64
		for i := range own {
			billed, predicted = billed+own[i].Input[0], predicted+own[i].Input[1]
			usd, work, calls = usd+own[i].USD, work+own[i].predicted(), calls+float64(own[i].pricedCalls())
		}
		if predicted > 0 {
			r.Predicted = billed / predicted
		}
		if calls > 0 {
			share, known := priceParts(now, own)
			if !known {
				share = 0
			}
			r.PerCall, r.Work = usd/calls, work/calls*(1-share)
		}
		r.Price, r.Agents = levelOf(own, validate.FactPrice), levelOf(own, validate.FactPriceAgent)
		list = append(list, r)
	}
	return list
}

// levelOf returns the ratio of a fact over sessions, 0 where none has it.
func levelOf(list []Past, name string) float64 {
	f := ratioOf(factParts(list, name))
	if len(f.Part) == 0 {
		return 0
	}
	return f.Value()
}

// historyTable lists the runs of a window.
func (r *Report) historyTable() *document.Table {
	t := &document.Table{Fitted: true, Columns: []document.Column{{Name: "run", Title: "RUNS AGO", Right: true}, {Name: "sessions", Title: "SESSIONS", Right: true},
		{Name: "predicted", Title: "BILLED TO PREDICTED", Right: true}, {Name: "price", Title: "PRICE OF 1M TOKENS", Right: true},
		{Name: "agents", Title: "OF SUB-AGENTS", Right: true}, {Name: "work", Title: "WORK PER CALL", Right: true}, {Name: "call", Title: "BILLED PER CALL", Right: true}}}
	text := func(unit string, v float64) string {
		if v == 0 {
			return document.Dash
		}
		return figure(unit, v)
	}
	over, _ := results.LookupMetric(measures.NameOverPredicted)
	for _, h := range r.History {
		t.Rows = append(t.Rows, []any{document.Whole(h.Run), document.Whole(h.Sessions), text(over.Unit, h.Predicted), text(measures.UnitUSD, h.Price),
			text(measures.UnitUSD, h.Agents), text(measures.UnitUSD, h.Work), text(measures.UnitUSD, h.PerCall)})
	}
	return t
}

// The factors of bill over prediction and of prices since the first run from which on a note tells the rise, though no run was
// beyond its bar.
const crept, creptPrice = 1.05, 1.1

// fewCalls is the share of the calls of the smallest run of a window below which a note tells how few there are.
const fewCalls = 0.2

// firstRun returns the figures of the first run of all, without the figures that were accepted since.
func (b *Baseline) firstRun(meant *Acceptance) *RunFigures {
	first := history(b, nil)[0]
	if b.First != nil {
		first = *b.First
	}
	if meant.accepted(measures.NameOverPredicted) {
		first.Predicted = 0
	}
	if meant.accepted(pricesMetric) {
		first.Price, first.Agents = 0, 0
	}
	return &first
}

// tellSlow notes what no comparison with the window shows: figures that rose run by run since the first run of all, and far
// fewer calls than any run of the window has.
func (r *Report) tellSlow(f *File, b *Baseline) {
	now, first, full := r.History[len(r.History)-1], b.firstRun(&f.Accept), len(r.History) > f.Window
	tell := func(what, accept, unit string, was, own, most float64) {
		if full && !r.Broken() && was > 0 && own > most*was { // fewer runs differ by their sessions
			r.note("%s rose from %s in the first run to %s, each run by no more than its bar; %s", what, figure(unit, was), figure(unit, own), f.Accept.accepting(accept))
		}
	}
	over, _ := results.LookupMetric(measures.NameOverPredicted)
	tell("bill over prediction", over.Name, over.Unit, first.Predicted, now.Predicted, crept)
	tell("the price of a million tokens of conversations", pricesMetric, measures.UnitUSD, first.Price, now.Price, creptPrice)
	tell("the price of a million tokens of sub-agents", pricesMetric, measures.UnitUSD, first.Agents, now.Agents, creptPrice)
	calls := map[int]int{}
	for i := range b.Past {
		calls[b.Past[i].Run] += b.Past[i].Calls
	}
	if least := slices.Min(slices.Collect(maps.Values(calls))); float64(r.Calls) < fewCalls*float64(least) {
		r.note("%s here, and no run of %s has fewer than %s", document.Count(r.Calls, "call"), f.Baseline, document.Whole(least))
	}
}
