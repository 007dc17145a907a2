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
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/synthetic"
)

// trial is a scenario that was run to try claims.
type trial struct {
	run    *results.Run
	chains []studies.Chains
	calls  map[string][]results.CallRecord // by cell
}

// allClaims is the name of all claims together.
const allClaims = claimFolder

// TryClaims tries the claims called name: "claims" for all, "claims/NAME" for
// those of a scenario, or the id of one. It returns the findings in the order
// of the scenarios' names. Assignments (PATH=VALUE) change the scenarios before
// a claim's mechanism is taken away. With assignments a claim that fails is left
// out if another remains.
func TryClaims(
	ctx context.Context, registry *strategies.Registry, prices *costmodel.Table, name string, assignments []string,
) ([]studies.Finding, error) {
	all, err := claimScenarios()
	if err != nil {
		return nil, err
	}
	var list []studies.Finding
	var unfit error
	var known []string
	for _, b := range all {
		f, err := Parse(registry, b.Text, b.Name+".yaml")
		if err != nil {
			return nil, err
		}
		claims, err := f.claimed()
		if err != nil {
			return nil, err
		}
		for i := range claims {
			known = append(known, claims[i].ID)
			if name != allClaims && name != b.Name && name != claims[i].ID {
				continue
			}
			found, err := f.try(ctx, prices, &claims[i], assignments)
			switch {
			case err == nil:
				list = append(list, found)
			case len(assignments) > 0 && ctx.Err() == nil: // its scenario may have no such setting
				unfit = errors.Join(unfit, fmt.Errorf("%w: %s: %w", ErrClaim, claims[i].ID, err))
			default:
				return nil, fmt.Errorf("%s: claim %s: %w", b.Name, claims[i].ID, err)
			}
		}
		known = append(known, b.Name)
	}
	switch {
	case len(list) > 0:
		return list, nil
	case unfit != nil:
		return nil, unfit
	}
	known = append(known, allClaims)
	return nil, fmt.Errorf("%w: %q%s; known: %s", ErrClaim, name, nearest.Hint(name, known), strings.Join(known, ", "))
}

// ErrClaim is wrapped by errors of claims that do not exist and of settings
// that their scenarios do not have.
var ErrClaim = errors.New("no claim to try")

// try runs a claim's scenario with its mechanism and without it, and compares
// the figures of both with what is claimed.
func (f *File) try(
	ctx context.Context, prices *costmodel.Table, c *claim, assignments []string,
) (studies.Finding, error) {

	found := studies.Finding{ID: c.ID, Claim: c.Claim, Source: c.Source, Scenario: f.Name(), Without: c.Without}
	with, err := f.trial(ctx, prices, c.With, assignments)
	if err != nil {
		return found, err
	}
	without, err := f.trial(ctx, prices, c.With, assignments, c.Without)
	if err != nil {
		return found, fmt.Errorf("without: %w", err)
	}
	for i := range c.Figures {
		x, err := c.Figures[i].measure(with, without)
		if err != nil {
			return found, fmt.Errorf("figure %s: %w", c.Figures[i].Name, err)
		}
		found.Figures = append(found.Figures, x)
	}
	found.Reason = inBraces.ReplaceAllStringFunc(c.Reason, func(text string) string {
		m := inBraces.FindStringSubmatch(text)
		for i := range found.Figures {
			switch x := &found.Figures[i]; {
			case x.Name != m[1]:
			case m[2] == "":
				return x.Text()
			default:
				return x.WithoutText()
			}
		}
		return text
	})
	return found, nil
}

// trial runs the scenario after some assignments over the sessions it names, and
// keeps every call.
func (f *File) trial(ctx context.Context, prices *costmodel.Table, assignments ...[]string) (*trial, error) {
	changed := f.clone()
	for _, a := range slices.Concat(assignments...) {
		if err := changed.Assign(a); err != nil {
			return nil, err
		}
	}
	d, err := changed.Expand()
	if err != nil {
		return nil, err
	}
	corpus, err := claimSessions(ctx, &d.Scenario.Sessions)
	if err != nil {
		return nil, err
	}
	if corpus == nil {
		return nil, fmt.Errorf("claims are tried on sessions made for them: paths of %s", f.Name())
	}
	if prices, err = prices.WithAliases(d.Scenario.Prices.As); err != nil {
		return nil, fmt.Errorf("prices.as: %w", err)
	}
	t := &trial{calls: map[string][]results.CallRecord{}}
	plan := Plan{
		Registry: f.registry, Prices: prices, Design: d, Workers: 1, Strict: true, Verify: true,
		record: func(cell string, r *results.CallRecord) { t.calls[cell] = append(t.calls[cell], *r) },
	}
	t.run, t.chains, err = plan.Chains(ctx, corpus)
	return t, err
}

// claimSessions returns the sessions made for a claim, or generated from a profile.
func claimSessions(ctx context.Context, s *Sessions) (*traces.Corpus, error) {
	if s.Generate.Profile == "" {
		return MadeSessions(s.Paths)
	}
	w, err := synthetic.LoadWorkload(s.Generate.Profile)
	if err != nil {
		return nil, fmt.Errorf("sessions of a claim: %w", err)
	}
	g, err := synthetic.NewGenerator(w)
	if err != nil {
		return nil, fmt.Errorf("sessions of a claim: %w", err)
	}
	return g.Corpus(ctx, s.Generate.Sessions, s.Generate.Seed, 0)
}

// measure returns a figure of a run with the mechanism and of one without. If
// the latter lacks what is measured, a compaction for instance, the figure has
// no value without the mechanism.
func (f *figure) measure(with, without *trial) (studies.Figure, error) {
	out := studies.Figure{Name: f.Name, Unit: f.Unit}
	v, unit, err := with.figure(f)
	if err != nil {
		return out, err
	}
	if out.Value = v; out.Unit == "" {
		out.Unit = unit
	}
	off, _, err := without.figure(f)
	there := !errors.Is(err, errNothing)
	switch {
	case there && err != nil:
		return out, fmt.Errorf("without: %w", err)
	case f.As == asSaved:
		out.Value, off = off-v, 0
	case f.As == asAdded:
		out.Value, off = v-off, 0
	}
	if there {
		out.Without = &off
	}
	if b := f.Claimed; b != nil {
		holds := relations[b.Is].holds
		out.Claimed, out.Holds, out.WithoutHolds = b.text(out.Unit), holds(out.Value, b), there && holds(off, b)
	}
	if b := f.Otherwise; b != nil {
		out.Otherwise, out.OtherwiseHolds = b.text(out.Unit), there && relations[b.Is].holds(off, b)
	}
	if h := f.Hand; h != nil {
		out.Hand, out.ByHand, out.Tolerance = h.Form, h.Value, h.Tolerance
	}
	return out, nil
}

// figure returns a figure of one run, with its unit.
func (t *trial) figure(f *figure) (float64, string, error) {
	v, unit, err := t.value(&f.amount)
	if err != nil {
		return 0, "", err
	}
	if f.Less != nil {
		less, _, err := t.value(f.Less)
		if err != nil {
			return 0, "", err
		}
		v -= less
	}
	if f.Over != nil {
		over, _, err := t.value(f.Over)
		if err != nil {
			return 0, "", err
		}
		if over == 0 {
			return 0, "", fmt.Errorf("%w: over nothing", errNothing)
		}
		v, unit = v/over, results.UnitRatio
	}
	return v, unit, nil
}

// errNothing is wrapped by errors of figures about something the run does not have.
var errNothing = errors.New("nothing to measure")

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

// sum adds up a list, or takes its nth member, counted from 1.
func sum[T any](f measured[T], list []T, nth int) (float64, string, error) {
	if nth > len(list) {
		return 0, "", fmt.Errorf("%w: there are %d, not %d", errNothing, len(list), nth)
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

// picked returns the calls of a cell that want selects.
func (t *trial) picked(cell string, want *callSum) ([]results.CallRecord, error) {
	thread, err := want.thread()
	if err != nil {
		return nil, err
	}
	if want.Behind > 0 {
		compacted := t.compactions(cell)
		if want.Behind > len(compacted) {
			return nil, fmt.Errorf("%w: there are %d compactions, not %d", errNothing, len(compacted), want.Behind)
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
