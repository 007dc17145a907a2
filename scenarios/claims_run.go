package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/nearest"
	"github.com/compactsim/compactsim/internal/studies"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/strategies"
)

// trial is a scenario that was run to try claims.
type trial struct {
	run    *results.Run
	chains []studies.Chains
	calls  map[string][]results.CallRecord // by cell
}

// TryClaims runs the embedded scenarios of claims and returns what became of
// each claim, in the order of the scenarios' names.
func TryClaims(ctx context.Context, registry *strategies.Registry, prices *costmodel.Table) ([]studies.Finding, error) {
	all, err := claimScenarios()
	if err != nil {
		return nil, err
	}
	var list []studies.Finding
	for _, b := range all {
		f, err := Parse(registry, b.Text, b.Name+".yaml")
		if err != nil {
			return nil, err
		}
		found, err := f.try(ctx, prices)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.Name, err)
		}
		list = append(list, found...)
	}
	return list, nil
}

// try runs a scenario over the made sessions it names, keeps every call, and
// tries its claims.
func (f *File) try(ctx context.Context, prices *costmodel.Table) ([]studies.Finding, error) {
	claims, err := f.claimed()
	if err != nil {
		return nil, err
	}
	d, err := f.Expand()
	if err != nil {
		return nil, err
	}
	corpus, err := MadeSessions(d.Scenario.Sessions.Paths)
	if err != nil {
		return nil, err
	}
	if corpus == nil {
		return nil, fmt.Errorf("claims are tried on sessions made for them: paths of %s", f.Name())
	}
	t := &trial{calls: map[string][]results.CallRecord{}}
	plan := Plan{
		Registry: f.registry, Prices: prices, Design: d, Workers: 1, Strict: true, Verify: true,
		record: func(cell string, r *results.CallRecord) { t.calls[cell] = append(t.calls[cell], *r) },
	}
	if t.run, t.chains, err = plan.Chains(ctx, corpus); err != nil {
		return nil, err
	}
	var list []studies.Finding
	var errs []error
	for i := range claims {
		found, err := t.find(&claims[i])
		if err != nil {
			errs = append(errs, fmt.Errorf("claim %s: %w", claims[i].ID, err))
			continue
		}
		found.Scenario = f.Name()
		list = append(list, found)
	}
	return list, errors.Join(errs...)
}

// find works out the figures of a claim and compares them with it.
func (t *trial) find(c *claim) (studies.Finding, error) {
	found := studies.Finding{ID: c.ID, Claim: c.Claim, Source: c.Source}
	for i := range c.Figures {
		f, err := t.measure(&c.Figures[i])
		if err != nil {
			return found, fmt.Errorf("figure %s: %w", c.Figures[i].Name, err)
		}
		found.Figures = append(found.Figures, f)
	}
	found.Reason = inBraces.ReplaceAllStringFunc(c.Reason, func(name string) string {
		for _, f := range found.Figures {
			if "{"+f.Name+"}" == name {
				return f.Text()
			}
		}
		return name
	})
	return found, nil
}

// measure works out a figure.
func (t *trial) measure(f *figure) (studies.Figure, error) {
	out := studies.Figure{Name: f.Name, Unit: f.Unit}
	v, unit, err := t.value(&f.amount)
	if err != nil {
		return out, err
	}
	if f.Less != nil {
		less, _, err := t.value(f.Less)
		if err != nil {
			return out, err
		}
		v -= less
	}
	if f.Over != nil {
		over, _, err := t.value(f.Over)
		if err != nil {
			return out, err
		}
		if over == 0 {
			return out, errors.New("over nothing")
		}
		v, unit = v/over, results.UnitRatio
	}
	out.Value = v
	if out.Unit == "" {
		out.Unit = unit
	}
	if b := f.Claimed; b != nil {
		out.Claimed, out.Holds = b.text(out.Unit), relations[b.Is].holds(v, b)
	}
	if h := f.Hand; h != nil {
		out.Hand, out.ByHand, out.Tolerance = h.Form, h.Value, h.Tolerance
	}
	return out, nil
}

// value returns an amount and its unit.
func (t *trial) value(a *amount) (float64, string, error) {
	i := slices.IndexFunc(t.run.Cells, func(c results.Cell) bool { return c.Cell == a.Cell })
	if i < 0 {
		var names []string
		for _, c := range t.run.Cells {
			names = append(names, c.Cell)
		}
		return 0, "", fmt.Errorf("no cell %q%s; there are %s", a.Cell, nearest.Hint(a.Cell, names), strings.Join(names, ", "))
	}
	cell := &t.run.Cells[i]
	switch {
	case a.Calls != nil:
		list, err := t.picked(cell.Cell, a.Calls)
		if err != nil {
			return 0, "", err
		}
		return sum(callFields[a.Calls.Of], list, a.Calls.Nth)
	case a.Compaction != nil:
		return sum(compactionFields[a.Compaction.Of], t.compactions(cell.Cell), a.Compaction.Nth)
	case a.Firings != "":
		return float64(cell.Total.Firings[a.Firings]), results.UnitCount, nil
	case a.Refusals != "":
		return float64(cell.Total.Reasons[a.Refusals]), results.UnitCount, nil
	}
	m, _ := results.LookupMetric(a.Metric)
	v, ok := cell.Value(m)
	if !ok {
		return 0, "", fmt.Errorf("cell %s has no sample of %s", a.Cell, a.Metric)
	}
	return v, m.Unit, nil
}

// sum adds up a list, or takes one of it, from 1.
func sum[T any](f measured[T], list []T, nth int) (float64, string, error) {
	if nth > len(list) {
		return 0, "", fmt.Errorf("there are %d, not %d", len(list), nth)
	}
	if nth > 0 {
		list = list[nth-1 : nth]
	}
	total := 0.0
	for i := range list {
		total += f.value(&list[i])
	}
	return total, f.unit, nil
}

// picked returns the calls of a cell that are asked for.
func (t *trial) picked(cell string, want *callSum) ([]results.CallRecord, error) {
	thread, err := want.thread()
	if err != nil {
		return nil, err
	}
	if want.Behind > 0 {
		compacted := t.compactions(cell)
		if want.Behind > len(compacted) {
			return nil, fmt.Errorf("there are %d compactions, not %d", len(compacted), want.Behind)
		}
		at := *want
		at.Behind, at.Thread, at.Session = 0, "main", compacted[want.Behind-1].Session
		at.From = int32(compacted[want.Behind-1].Round) + 1
		at.To = at.From
		return t.picked(cell, &at)
	}
	var list []results.CallRecord
	for _, c := range t.calls[cell] {
		switch round := c.Round + 1; {
		case want.Source != "" && c.Source.String() != want.Source,
			want.Session != "" && c.Session != want.Session,
			thread >= 0 && c.Thread != thread,
			want.From > 0 && round < want.From,
			want.To > 0 && (round < 1 || round > want.To):
		default:
			list = append(list, c)
		}
	}
	return list, nil
}

func (t *trial) compactions(cell string) []studies.Compaction {
	for i := range t.chains {
		if t.chains[i].Cell == cell {
			return t.chains[i].Compactions
		}
	}
	return nil
}
