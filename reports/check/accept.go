package check

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/validate"
)

// Acceptance lists changes that are intended, and the command that accepts changes.
type Acceptance struct {
	Names   []string // facts and metrics that break nothing in this run, and that the next baseline forgets of earlier ones
	Command string   // runs the check again, with its paths; "" for sim check
}

// agentFact is the name by which the sessions of an agent are accepted.
func agentFact(agent string) string { return "agent " + agent }

// updating is the command that writes the baseline.
func (a *Acceptance) updating() string { return cmp.Or(a.Command, "sim check") + " --update" }

// accepting returns the command that accepts facts and metrics as they are now: later runs are held against these.
func (a *Acceptance) accepting(names ...string) string {
	text := "if it is meant: " + a.updating()
	for _, name := range names {
		text += " --accept " + document.Argument(name)
	}
	return text
}

// Anew is what is accepted to begin a baseline anew: nothing of earlier runs is kept or compared with.
const Anew = "baseline"

// anew returns the command that makes all current figures the baseline, also figures beyond their bars.
func (a *Acceptance) anew() string { return a.accepting(Anew) + " begins it anew" }

// Renews reports whether the baseline is to begin anew.
func (a *Acceptance) Renews() bool { return a.accepted(Anew) }

// accepted reports whether what is there now of a fact or a metric is meant.
func (a *Acceptance) accepted(name string) bool {
	return slices.ContainsFunc(a.Names, func(own string) bool { return strings.EqualFold(own, name) })
}

// forget takes out of the sessions of earlier runs what is accepted, and reports whether anything is left to compare
// with: of a metric, nothing of an earlier run is.
func (a *Acceptance) forget(past []Past) []Past {
	var kept []Past
	for _, p := range past {
		p.Facts = maps.Clone(p.Facts)
		maps.DeleteFunc(p.Facts, func(name string, _ [2]float64) bool {
			ofPrices := validate.Level(name) || validate.Named(name)
			return a.accepted(name) || a.accepted(pricesMetric) && ofPrices || a.accepted(factsMetric) && !ofPrices
		})
		p.Parts = maps.Clone(p.Parts)
		for cell, parts := range p.Parts {
			parts = maps.Clone(parts)
			maps.DeleteFunc(parts, func(metric string, _ [2]float64) bool { return a.accepted(metric) })
			p.Parts[cell] = parts
		}
		kept = append(kept, p)
	}
	return kept
}

// accept turns what is accepted among the results into what holds, and notes it.
func (f *File) accept(r *Report) {
	for _, name := range f.Accept.Names {
		found := strings.EqualFold(name, Anew)
		for i := range r.Results {
			if s := &r.Results[i]; strings.EqualFold(s.Metric, name) && (s.Status == Breach || s.Status == Suspect) {
				s.Status, found = OK, true
				r.note("%s, which --accept %q takes as meant", s.Message, name)
				s.Message, s.Look = "", ""
			}
		}
		for i := range r.Changed {
			found = found || strings.HasPrefix(strings.ToLower(r.Changed[i]), strings.ToLower(name))
		}
		if !found && !strings.HasPrefix(strings.ToLower(name), "agent ") {
			r.note("--accept %q: nothing of this name is beyond its bar here", name)
		}
	}
}

// tellMeant notes the one command that takes as meant all that is broken against the baseline.
func (f *File) tellMeant(r *Report) {
	names := r.meant
	for i := range r.Results {
		if s := &r.Results[i]; s.Status == Breach && (s.Metric == pricesMetric || strings.HasPrefix(s.Rule, "max_")) && !slices.Contains(names, s.Metric) {
			names = append(names, s.Metric)
		}
	}
	anew := slices.ContainsFunc(r.Problems, func(p Problem) bool { return strings.Contains(p.Text, f.Accept.anew()) }) // the whole run is accepted
	if len(names) < 2 || !r.Broken() || anew {
		return
	}
	r.note("for all of this, %s", f.Accept.accepting(names...))
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
