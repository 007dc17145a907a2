package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/internal/document"
	"github.com/compactsim/compactsim/internal/spec"
	"github.com/compactsim/compactsim/sim/results"
)

// What a check file may say of calls without a price.
const (
	refuseUnpriced = "refuse" // figures that need the price are not judged
	allowUnpriced  = "allow"  // the calls cost nothing
)

// unpricedErrors refuses another value of the key unpriced.
func unpricedErrors(t *spec.Tree, value string) []error {
	n := spec.Child(t.Root, "unpriced")
	if n == nil || n.Kind != yaml.ScalarNode || value == refuseUnpriced || value == allowUnpriced {
		return nil // what is no text is reported already
	}
	return []error{t.Errorf(n, "unpriced takes %s or %s, not %q", refuseUnpriced, allowUnpriced, n.Value)}
}

// unpriced returns the most calls of a cell that are of models without a price,
// and those models as far as they are the sessions' own, sorted.
func (in *Input) unpriced() (calls int, models []string) {
	for i := range in.Cells {
		calls = max(calls, in.Cells[i].Draws[0].Total.Unpriced)
	}
	if calls == 0 {
		return 0, nil
	}
	return calls, in.unpricedModels(in.groups("")[0])
}

// unpricedModels returns the models without a price of the sessions of a group,
// sorted.
func (in *Input) unpricedModels(g group) []string {
	var models []string
	for id, s := range in.Sessions {
		if i := g.of.place(id); i >= 0 && g.of.groups[i].name == g.name {
			models = append(models, s.Unpriced...)
		}
	}
	slices.Sort(models)
	return slices.Compact(models)
}

// unpriced returns how many calls of a slice have no price.
func (s *slice) unpriced() int {
	most := 0
	for i := range s.totals {
		most = max(most, s.totals[i].Unpriced)
	}
	return most
}

// lacksPrice reports whether a metric of a slice would be too small because calls
// had no price, and the check does not allow that.
func (f *File) lacksPrice(s *slice, m results.Metric) bool {
	priced := m.Unit == results.UnitUSD || m.Name == "net_negative_compactions"
	return priced && !f.AllowUnpriced && s.unpriced() > 0
}

// refuseUnpriced leaves a figure unjudged that lacks prices.
func (v *verdict) refuseUnpriced(in *Input) {
	v.refuse("%s", unpricedCalls(v.slice.unpriced(), in.unpricedModels(v.slice.group)))
	v.result.told, v.unpriced = true, true
}

// unpricedCalls says how many calls of which models have no price.
func unpricedCalls(n int, models []string) string {
	verb := "have"
	if n == 1 {
		verb = "has"
	}
	of := ""
	if len(models) > 0 {
		of = " of " + firstNames(models, maxNames)
	}
	return fmt.Sprintf("%s%s %s no price", document.Count(n, "call"), of, verb)
}

// tellUnpriced fails a run with figures that lack prices, once for all of them, or
// notes that calls cost nothing.
func (f *File) tellUnpriced(r *Report, in *Input, cases []*verdict) {
	var models, cells []string
	calls, line := 0, 0
	for _, c := range cases {
		if !c.unpriced {
			continue
		}
		calls, line = max(calls, c.slice.unpriced()), cmp.Or(line, c.result.Line)
		models = append(models, in.unpricedModels(c.slice.group)...)
		if !slices.Contains(cells, c.result.Cell) {
			cells = append(cells, c.result.Cell)
		}
	}
	if calls > 0 {
		slices.Sort(models)
		models = slices.Compact(models)
		r.fail(line, "%s, so that costs of %s are not judged; prices in the scenario gives one ({file: FILE}, or {as: {%s: MODEL}}), unpriced: allow in the check lets such calls cost nothing",
			unpricedCalls(calls, models), firstNames(cells, maxNames), append(models, "A")[0])
		return
	}
	if calls, models = in.unpriced(); calls > 0 {
		r.Notes = append(r.Notes, unpricedCalls(calls, models)+" and cost nothing here; --strict refuses such models")
	}
}

// firstNames joins the first names of a list, and says how many are left.
func firstNames(names []string, most int) string {
	if left := len(names) - most; left > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), left)
	}
	return strings.Join(names, ", ")
}
