package scenarios

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/nearest"
	"github.com/compactsim/compactsim/internal/results/studies"
	"github.com/compactsim/compactsim/sim/results"
)

// read reads the design, the objectives and the limits of the search.
func (t *tuner) read() error {
	var errs []error
	at := slices.Index(Designs(), t.search.Design)
	if at < 0 {
		errs = append(errs, fmt.Errorf("--design: unknown design %q%s", t.search.Design, nearest.Among(t.search.Design, Designs())))
	}
	t.design = design(max(at, 0))
	for i, name := range t.search.Objectives {
		if slices.Contains(t.search.Objectives[:i], name) {
			errs = append(errs, fmt.Errorf("--objective: %s is named twice", name))
		}
		if err := t.objective(name); err != nil {
			errs = append(errs, fmt.Errorf("--objective: %w", err))
		}
	}
	for _, text := range t.search.SubjectTo {
		if err := t.limit(text); err != nil {
			errs = append(errs, fmt.Errorf("--subject-to %s: %w", text, err))
		}
	}
	return errors.Join(errs...)
}

// objective adds the metric called name to the objectives.
func (t *tuner) objective(name string) error {
	m, err := sought(name)
	if err == nil && m.Better == results.Neither {
		err = fmt.Errorf("neither more nor less of %s is better by itself", name)
	}
	t.metrics = append(t.metrics, m)
	return err
}

// limit adds a limit that settings must keep, such as needed_recall>=0.95.
func (t *tuner) limit(text string) error {
	name, value, least := strings.Cut(text, ">=")
	if !least {
		var most bool
		if name, value, most = strings.Cut(text, "<="); !most {
			return errors.New("want METRIC>=VALUE or METRIC<=VALUE")
		}
	}
	m, err := sought(strings.TrimSpace(name))
	if err != nil {
		return err
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	switch {
	case err != nil || math.IsNaN(v) || math.IsInf(v, 0):
		return fmt.Errorf("%q is no number", value)
	case m.Unit == results.UnitRatio && v > 1:
		return errors.New("a ratio is at most 1")
	}
	t.metrics, t.limits = append(t.metrics, m), append(t.limits, studies.Limit{Metric: m, Least: least, Value: v})
	return nil
}

// sought returns the metric of a name: a sum over sessions or a ratio, which any part of the sessions determines.
func sought(name string) (results.Metric, error) {
	m, ok := results.LookupMetric(name)
	if !ok {
		var known []string
		for _, m := range results.Metrics() {
			known = append(known, m.Name)
		}
		return m, fmt.Errorf("unknown metric %q%s; docs/schema.md lists all", name, nearest.Like(name, known))
	}
	if m.Kind != results.KindSum && m.Kind != results.KindRatio {
		return m, fmt.Errorf("%s is a %s: a search wants a figure that adds up over sessions, or a ratio", name, m.Kind)
	}
	return m, nil
}

// order returns settings by some sessions, best first: by how far they miss the limits,
// then by how many others beat them in every objective, then by the first objective.
func (t *tuner) order(list []*choice, on func(session int) bool) []*choice {
	type ranked struct {
		*choice
		missing float64
		values  []float64 // of objectives, lower is better
		beaten  int
	}
	all := make([]ranked, len(list))
	for i, x := range list {
		all[i] = ranked{choice: x, missing: t.missing(x, on), values: t.values(x, on)}
	}
	for i := range all {
		for j := range all {
			if len(t.search.Objectives) > 1 && all[j].missing == all[i].missing && dominates(all[j].values, all[i].values) {
				all[i].beaten++
			}
		}
	}
	slices.SortStableFunc(all, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.missing, b.missing), a.beaten-b.beaten, cmp.Compare(a.values[0], b.values[0]))
	})
	out := make([]*choice, len(all))
	for i := range all {
		out[i] = all[i].choice
	}
	return out
}

// dominates reports whether a is better than b in one value and as good in the others.
func dominates(a, b []float64) bool {
	better := false
	for i := range a {
		if a[i] > b[i] || math.IsNaN(a[i]) {
			return false
		}
		better = better || a[i] < b[i]
	}
	return better
}

// value returns a figure of a setting over some sessions; NaN without a sample.
func (t *tuner) value(x *choice, metric int, on func(session int) bool) float64 {
	part, base := 0.0, 0.0
	for i := range t.sessions {
		if on(i) {
			part, base = part+x.parts[metric][i], base+x.bases[metric][i]
		}
	}
	if t.metrics[metric].Kind == results.KindRatio {
		return part / base
	}
	return part
}

// values returns the objectives of a setting, negated where needed so that lower is better.
func (t *tuner) values(x *choice, on func(session int) bool) []float64 {
	var list []float64
	for i := range t.search.Objectives {
		v := t.value(x, i, on)
		if t.metrics[i].Better == results.Higher {
			v = -v
		}
		list = append(list, v)
	}
	return list
}

// missing returns by how much a setting misses the limits, as shares of these, plus the
// share of sessions that it ends early and the recording does not; 0 when it misses none.
func (t *tuner) missing(x *choice, on func(session int) bool) float64 {
	sum := 0.0
	for i := range t.limits {
		l := &t.limits[i]
		switch v := t.value(x, len(t.search.Objectives)+i, on); {
		case l.Keeps(v):
		case math.IsNaN(v):
			sum++
		default:
			sum += math.Abs(v-l.Value) / max(math.Abs(l.Value), 1e-9)
		}
	}
	cut := 0.0
	for i := range t.sessions {
		if on(i) && x.cut[i] && !t.recorded.cut[i] {
			cut++
		}
	}
	return sum + cut/float64(len(t.sessions))
}

func (t *tuner) keeps(x *choice, on func(session int) bool) bool { return t.missing(x, on) == 0 }
