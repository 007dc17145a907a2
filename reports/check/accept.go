package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// agentFact is the name by which the sessions of an agent are accepted.
func agentFact(agent string) string { return "agent " + agent }

// accepting says how to make what is there now what later runs are held against.
func (f *File) accepting(name string) string {
	return fmt.Sprintf("if it is meant: %s --update --accept %q", cmp.Or(f.Command, "sim check"), name)
}

// accepted reports whether what is there now of a fact or a metric is meant.
func (f *File) accepted(name string) bool {
	return slices.ContainsFunc(f.Accept, func(own string) bool { return strings.EqualFold(own, name) })
}

// forget takes out of the sessions of earlier runs what is accepted, and reports whether anything is left to compare
// with: of a metric, nothing of an earlier run is.
func (f *File) forget(past []Past) []Past {
	var kept []Past
	for _, p := range past {
		if f.accepted(pricesMetric) || f.accepted(factsMetric) {
			p.Facts = nil
		}
		p.Facts = maps.Clone(p.Facts)
		maps.DeleteFunc(p.Facts, func(name string, _ [2]float64) bool { return f.accepted(name) })
		p.Parts = maps.Clone(p.Parts)
		for cell, parts := range p.Parts {
			parts = maps.Clone(parts)
			maps.DeleteFunc(parts, func(metric string, _ [2]float64) bool { return f.accepted(metric) })
			p.Parts[cell] = parts
		}
		kept = append(kept, p)
	}
	return kept
}

// accept turns what is accepted among the results into what holds, and notes it.
func (f *File) accept(r *Report) {
	for _, name := range f.Accept {
		found := false
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

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
