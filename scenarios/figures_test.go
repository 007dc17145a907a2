package scenarios

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/numbers"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/studies"
	"github.com/compactsim/compactsim/tools/tests/scenariostest"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/synthetic"
)

// figure is a value of a run: an amount, minus a second one, divided by a third.
type figure struct {
	Name       string
	amount     `yaml:",inline"`
	Less, Over *amount
	// As selects the effect of the mechanism instead: saved is the value without it minus the value
	// with it, added the reverse.
	As        string
	Unit      string // one of results.Unit…; "" for the amount's unit
	Claimed   *bound // what the document says; nil for a figure that only the reason needs
	Otherwise *bound // what the document says of the figure without the mechanism; else the claim is not tested
	// Hand is the same value calculated by hand.
	Hand *struct {
		Form             string
		Value, Tolerance float64
	}

	with, without quantity // as measured
}

// quantity is a value in a unit.
type quantity struct {
	value float64
	unit  string
	none  string // why there is no value
}

// amount is one value of a cell: a metric, how often a layer acted or gave a reason, or a sum over
// calls or compactions.
type amount struct {
	Cell                      string
	Metric, Firings, Refusals string
	Calls                     *callSum
	Compactions               *struct {
		Of  string // one of compactionFields
		Nth int    // only the nth, from 1; 0 for all
	}
}

// callSum is a sum over calls.
type callSum struct {
	Of              string // one of callFields
	Source, Session string // "" for all
	Thread          int32  // number of a sub-agent; 0 for all threads
	Round           int32  // of its thread, from 1; 0 for all
	Nth             int    // only the nth call in order of completion, from 1
	Behind          int    // only the conversation's first call after its nth compaction, from 1
}

// bound is what a document says of a figure: it is about, between, at least, at most, more than or
// less than a value.
type bound struct {
	Is        string
	Value, To float64
	Tolerance float64 // share of the value
}

func (b *bound) holds(t *testing.T, v quantity) bool {
	if v.none != "" {
		return false
	}
	switch b.Is {
	case "about":
		return math.Abs(v.value-b.Value) <= b.Tolerance*math.Abs(b.Value)
	case "between":
		return b.Value <= v.value && v.value <= b.To
	case "at least":
		return v.value >= b.Value
	case "at most":
		return v.value <= b.Value
	case "more than":
		return v.value > b.Value
	case "less than":
		return v.value < b.Value
	}
	t.Fatalf("no relation %q", b.Is)
	return false
}

// measured is a quantity that is added up over calls or compactions.
type measured[T any] struct {
	unit  string
	value func(*T) float64
}

var callFields = map[string]measured[results.CallRecord]{
	"calls":     {measures.UnitCalls, func(*results.CallRecord) float64 { return 1 }},
	"input":     {measures.UnitTokens, func(c *results.CallRecord) float64 { return float64(c.Usage.Input()) }},
	"read":      {measures.UnitTokens, func(c *results.CallRecord) float64 { return float64(c.Usage.Read) }},
	"written":   {measures.UnitTokens, func(c *results.CallRecord) float64 { return float64(c.Usage.Writes()) }},
	"unread":    {measures.UnitTokens, func(c *results.CallRecord) float64 { return float64(c.Usage.Input() - c.Usage.Read) }},
	"output":    {measures.UnitTokens, func(c *results.CallRecord) float64 { return float64(c.Usage.Output) }},
	"context":   {measures.UnitTokens, func(c *results.CallRecord) float64 { return float64(c.Context) }},
	"usd":       {measures.UnitUSD, func(c *results.CallRecord) float64 { return c.Cost.Total() }},
	"input_usd": {measures.UnitUSD, func(c *results.CallRecord) float64 { return c.Cost.Total() - c.Cost[measures.ClassOutput] }},
}

var compactionFields = map[string]measured[studies.Compaction]{
	"number":    {measures.UnitCount, func(*studies.Compaction) float64 { return 1 }},
	"before":    {measures.UnitTokens, func(c *studies.Compaction) float64 { return float64(c.Before) }},
	"after":     {measures.UnitTokens, func(c *studies.Compaction) float64 { return float64(c.After) }},
	"saved":     {measures.UnitTokens, func(c *studies.Compaction) float64 { return float64(c.Saved) }},
	"value":     {measures.UnitTokens, func(c *studies.Compaction) float64 { return float64(c.Value) }},
	"rewritten": {measures.UnitTokens, func(c *studies.Compaction) float64 { return float64(c.Rewritten) }},
}

// sum adds up a list, or takes its nth member, counted from 1.
func sum[T any](t *testing.T, fields map[string]measured[T], of string, list []T, nth int) quantity {
	f, ok := fields[of]
	if !ok {
		t.Fatalf("no field %q", of)
	}
	if nth > 0 {
		list = list[min(nth-1, len(list)):min(nth, len(list))]
	}
	v := quantity{unit: f.unit}
	if len(list) < min(nth, 1) {
		v.none = fmt.Sprintf("there is no number %d", nth)
	}
	for i := range list {
		v.value += f.value(&list[i])
	}
	return v
}

// trial is a scenario that was run to try a claim.
type trial struct {
	err    error // why it could not run; what follows is empty then
	run    *results.Run
	chains []studies.Chains
	calls  map[string][]results.CallRecord // by cell
}

// try runs the scenario after some assignments over the sessions it names.
func (f *claimFile) try(t *testing.T, assignments ...string) *trial {
	t.Helper()
	r := &trial{calls: map[string][]results.CallRecord{}}
	r.err = func() error {
		file, err := Parse(scenariostest.Registry(t), f.scenario, f.name+".yaml")
		if err != nil {
			return err
		}
		for _, a := range assignments {
			if err := file.Assign(a); err != nil {
				return err
			}
		}
		d, err := file.Expand()
		if err != nil {
			return err
		}
		priced, err := scenariostest.Prices(t).WithAliases(d.Scenario.Prices.As)
		if err != nil {
			return err
		}
		corpus, err := claimSessions(t, &d.Scenario.Sessions)
		if err != nil {
			return err
		}
		plan := Plan{
			Registry: scenariostest.Registry(t), Prices: priced, Design: d, Workers: 1, Strict: true, Verify: true,
			record: func(cell string, c *results.CallRecord) { r.calls[cell] = append(r.calls[cell], *c) },
		}
		r.run, r.chains, err = plan.Chains(t.Context(), corpus)
		return err
	}()
	return r
}

// claimSessions returns the sessions made for a claim, or generated from a profile.
func claimSessions(t *testing.T, s *Sessions) (*traces.Corpus, error) {
	t.Helper()
	if s.Generate.Profile == "" {
		return madeSessions(s.Paths...)
	}
	w, err := synthetic.LoadWorkload(s.Generate.Profile)
	if err != nil {
		return nil, err
	}
	g, err := synthetic.NewGenerator(w)
	if err != nil {
		return nil, err
	}
	return g.Corpus(t.Context(), s.Generate.Sessions, s.Generate.Seed, 0)
}

// figure returns a figure of the run.
func (r *trial) figure(t *testing.T, f *figure) quantity {
	v := r.value(t, &f.amount)
	if f.Less != nil {
		less := r.value(t, f.Less)
		v.value, v.none = v.value-less.value, cmp.Or(v.none, less.none)
	}
	if f.Over != nil {
		over := r.value(t, f.Over)
		v = quantity{value: v.value / over.value, unit: measures.UnitRatio, none: cmp.Or(v.none, over.none)}
		if v.none == "" && over.value == 0 {
			v.none = "there is nothing to divide by"
		}
	}
	v.unit = cmp.Or(f.Unit, v.unit)
	return v
}

func (r *trial) value(t *testing.T, a *amount) quantity {
	if r.err != nil {
		return quantity{none: r.err.Error()}
	}
	i := slices.IndexFunc(r.run.Cells, func(c results.Cell) bool { return c.Cell == a.Cell })
	if i < 0 {
		return quantity{none: fmt.Sprintf("there is no strategy %q", a.Cell)}
	}
	cell := &r.run.Cells[i]
	var compactions []studies.Compaction
	if i := slices.IndexFunc(r.chains, func(c studies.Chains) bool { return c.Cell == a.Cell }); i >= 0 {
		compactions = r.chains[i].Compactions
	}
	switch {
	case a.Firings != "":
		return quantity{value: float64(cell.Total.Firings[a.Firings])}
	case a.Refusals != "":
		return quantity{value: float64(cell.Total.Reasons[a.Refusals])}
	case a.Compactions != nil:
		return sum(t, compactionFields, a.Compactions.Of, compactions, a.Compactions.Nth)
	case a.Calls == nil:
		m, known := results.LookupMetric(a.Metric)
		if !known {
			t.Fatalf("no metric %q", a.Metric)
		}
		v, ok := cell.Value(m)
		if !ok {
			return quantity{none: "there is no " + a.Metric}
		}
		return quantity{value: v, unit: m.Unit}
	}
	want := *a.Calls
	if want.Behind > len(compactions) {
		return quantity{none: fmt.Sprintf("there is no compaction number %d", want.Behind)}
	}
	var list []results.CallRecord
	for _, c := range r.calls[a.Cell] {
		if want.Behind > 0 {
			if at := &compactions[want.Behind-1]; c.Session != at.Session || c.Thread != 0 || int(c.Round) != at.Round {
				continue
			}
		}
		if (want.Source == "" || c.Source.String() == want.Source) && (want.Session == "" || c.Session == want.Session) &&
			(want.Thread == 0 || c.Thread == want.Thread) && (want.Round == 0 || c.Round+1 == want.Round) {
			list = append(list, c)
		}
	}
	if len(list) == 0 && max(want.Thread, want.Round) > 0 {
		return quantity{none: "there is no such call"}
	}
	return sum(t, callFields, want.Of, list, want.Nth)
}

// measure sets what a figure is with the mechanism and without.
func (f *figure) measure(t *testing.T, with, without *trial) {
	f.with, f.without = with.figure(t, f), without.figure(t, f)
	v, off := &f.with.value, &f.without.value
	switch f.As {
	case "":
	case "saved":
		*v, *off = *off-*v, 0
	case "added":
		*v, *off = *v-*off, 0
	default:
		t.Fatalf("figure %s as %q", f.Name, f.As)
	}
	if h := f.Hand; h != nil && f.with.none == "" && math.Abs(*v-h.Value) > h.Tolerance {
		t.Errorf("%s is %v, by hand %s = %v", f.Name, *v, h.Form, h.Value)
	}
}

// words is the name of a figure as text has it.
func (f *figure) words() string { return strings.ReplaceAll(f.Name, "_", " ") }

// against says whether a value is what is claimed, "" when nothing is.
func (b *bound) against(t *testing.T, v quantity) string {
	if b == nil {
		return ""
	}
	said := b.Is + " " + quantity{value: b.Value, unit: v.unit}.String()
	switch {
	case b.Is == "between":
		said += " and " + quantity{value: b.To, unit: v.unit}.String()
	case b.Is == "about" && b.Tolerance == 0:
		said = strings.TrimPrefix(said, "about ")
	}
	if b.holds(t, v) {
		return ", claimed to be " + said + ": it is"
	}
	return ", claimed to be " + said + ": it is not"
}

// String returns the value with its unit; of dollars and small shares at least three and two
// digits that count.
func (v quantity) String() string {
	size := math.Abs(v.value)
	whole := numbers.Grouped(math.Round(v.value), 0)
	switch {
	case v.none != "":
		return "none"
	case v.unit == measures.UnitUSD && size == 0:
		return "$0"
	case v.unit == measures.UnitUSD:
		decimals := 2
		for ; decimals < 6 && size < 1; size *= 10 {
			decimals++
		}
		return document.USD(v.value, decimals)
	case v.unit == measures.UnitRatio && size != 0 && size < 0.01:
		return strconv.FormatFloat(100*v.value, 'f', 2, 64) + " %"
	case v.unit == measures.UnitRatio:
		return strconv.FormatFloat(100*v.value, 'f', 1, 64) + " %"
	case v.unit == measures.UnitSeconds:
		return numbers.Grouped(v.value, 1) + " s"
	case v.unit == measures.UnitCount || v.unit == "":
		return whole
	case v.unit == measures.UnitCalls && v.value == 1:
		return "1 call"
	}
	return whole + " " + v.unit
}
