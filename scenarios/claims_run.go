package scenarios

import (
	"context"
	"errors"
	"fmt"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/studies"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/strategies"
)

// TryClaims runs the embedded scenarios of claims and returns what became of
// each claim, in the order of the scenarios' names.
func TryClaims(ctx context.Context, registry *strategies.Registry, prices *costmodel.Table) ([]studies.Finding, error) {
	all, err := ClaimScenarios()
	if err != nil {
		return nil, err
	}
	var list []studies.Finding
	for _, b := range all {
		f, err := Parse(registry, b.Text, b.Name+".yaml")
		if err != nil {
			return nil, err
		}
		found, err := f.Try(ctx, prices)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.Name, err)
		}
		list = append(list, found...)
	}
	return list, nil
}

// Try runs a scenario over the made sessions it names and tries its claims.
func (f *File) Try(ctx context.Context, prices *costmodel.Table) ([]studies.Finding, error) {
	claims, err := f.Claims()
	if err != nil {
		return nil, err
	}
	t, err := f.try(ctx, prices)
	if err != nil {
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

// try runs the scenario and keeps every call.
func (f *File) try(ctx context.Context, prices *costmodel.Table) (*trial, error) {
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
	t.run, t.chains, err = plan.Chains(ctx, corpus)
	return t, err
}

// find works out the figures of a claim and holds them against it.
func (t *trial) find(c *Claim) (studies.Finding, error) {
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
func (t *trial) measure(f *Figure) (studies.Figure, error) {
	out := studies.Figure{Name: f.Name, Unit: f.Unit}
	v, unit, err := t.value(&f.Amount)
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
		v /= over
		unit = results.UnitRatio
	}
	out.Value = v
	if out.Unit == "" {
		out.Unit = unit
	}
	if b := f.Claimed; b != nil {
		out.Claimed, out.Holds = claimedText(b, out.Unit), b.Holds(v)
	}
	if h := f.Hand; h != nil {
		out.Hand, out.ByHand, out.Tolerance = h.Form, h.Value, h.Tolerance
	}
	return out, nil
}

// claimedText words what is claimed of a figure.
func claimedText(b *Bound, unit string) string {
	text := func(v float64) string { return (&studies.Figure{Value: v, Unit: unit}).Text() }
	words := map[string]string{"about": "about", "at_least": "at least", "at_most": "at most", "above": "more than", "below": "less than"}
	switch {
	case b.Is == "between":
		return "between " + text(b.Value) + " and " + text(b.To)
	case b.Is == "about" && b.Tolerance == 0:
		return text(b.Value)
	}
	return words[b.Is] + " " + text(b.Value)
}
