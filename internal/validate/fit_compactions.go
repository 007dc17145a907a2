package validate

import (
	"maps"
	"slices"

	"github.com/compactsim/compactsim/internal/profile"
	"github.com/compactsim/compactsim/traces"
)

// fitCompactions returns what recorded compactions took and left, by the epochs
// of a profile.
func fitCompactions(p *profile.Profile, sessions []*traces.Session) profile.Compaction {
	var wait, summary, after, all []float64
	beyond := map[string][]float64{}
	for _, s := range sessions {
		for i := range s.Threads {
			t := &s.Threads[i]
			for e := range t.Events {
				ev := &t.Events[e]
				if ev.Kind != traces.EventCompact || int(ev.Round) >= len(t.Rounds) || ev.Round == 0 {
					continue
				}
				if ev.Wait > 0 {
					wait = append(wait, float64(ev.Wait)/1e9)
				}
				if n := s.Tokens(ev.Summary); n > 0 {
					summary = append(summary, float64(n))
				}
				size := float64(t.Rounds[ev.Round].Usage.Input())
				after = append(after, size)
				if t.Kind == traces.ThreadMain && !t.MidContext {
					more := size - profile.OpeningShare*float64(s.Tokens(t.Prefix))
					epoch := p.Epoch(s.Version())
					all, beyond[epoch] = append(all, more), append(beyond[epoch], more)
				}
			}
		}
	}
	c := profile.Compaction{Wait: median(wait), Summary: median(summary), After: median(after), Beyond: median(all)}
	for _, epoch := range slices.SortedFunc(maps.Keys(beyond), profile.Compare) {
		c.ByEpoch = append(c.ByEpoch, profile.Beyond{From: epoch, Estimate: median(beyond[epoch])})
	}
	return c
}
