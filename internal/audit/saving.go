package audit

import (
	"cmp"
	"fmt"
	"slices"
)

// scope says what a setting of cache lifetimes does: which lifetime it gives, and
// to whose calls. The zero scope touches none.
type scope struct {
	tier         string // as in Lifetime
	main, agents bool
}

// touches reports whether the calls of a source are under the setting.
func (s scope) touches(source string) bool {
	if source == "agent" {
		return s.agents
	}
	return s.main
}

// saving returns what a setting would have saved over all calls it touches, and
// how far the arithmetic is from the bill for those whose lifetime it changes, USD.
func (r *Report) saving(s scope) (saves, off float64) {
	for i := range r.Lifetimes {
		l := &r.Lifetimes[i]
		if !s.touches(l.Source) {
			continue
		}
		if s.tier == "1h" {
			saves += l.Recorded - l.All1h
		} else {
			saves += l.Recorded - l.All5m
		}
		if l.Tier != s.tier {
			off += l.ErrorUSD()
		}
	}
	return saves, off
}

// priced gives each setting of a list its saving, the best first, and the finding
// that of the best. A setting that saves nothing is no advice.
func (r *Report) priced(f *Finding, list []Advice, otherwise string) {
	list = slices.Clone(list)
	for i := range list {
		saves, off := r.saving(list[i].lives)
		list[i].Saves, list[i].Error = &saves, &off
	}
	slices.SortStableFunc(list, func(a, b Advice) int { return cmp.Compare(*b.Saves, *a.Saves) })
	f.Saves, f.Error = list[0].Saves, list[0].Error
	f.Notes = append(f.Notes, "a saving is arithmetic over the recorded pauses of all calls that the setting touches; one smaller than its error means nothing")
	list = slices.DeleteFunc(list, func(a Advice) bool { return *a.Saves <= 0 })
	if len(list) == 0 {
		list = []Advice{{Text: otherwise}}
	}
	f.Advice = list
}

// bothWays says, where a source was billed for both lifetimes, what one setting
// for all of it comes to: what is cheaper for one part can be dearer for the other.
func (r *Report) bothWays(source, whose string) []string {
	var recorded, five, hour float64
	n := 0
	for i := range r.Lifetimes {
		if l := &r.Lifetimes[i]; l.Source == source {
			n++
			recorded, five, hour = recorded+l.Recorded, five+l.All5m, hour+l.All1h
		}
	}
	if n < 2 {
		return nil
	}
	return []string{fmt.Sprintf("some calls of %s were billed for 5 minutes, others for an hour; all of them: $%.2f as recorded, $%.2f for 5 minutes, $%.2f for an hour", whose, recorded, five, hour)}
}
