package validate

import (
	"math"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// left is what a recorded compaction left beyond the parts that the client's generation
// leaves in its place, tokens.
type left struct {
	epoch  string
	beyond float64
}

// fitCompactions returns what recorded compactions of main conversations left beyond what
// the generation of each session's client leaves, by epochs of a profile.
func fitCompactions(config sim.Config, p *profile.Profile, sessions []*traces.Session) (profile.Compaction, error) {
	list, err := leftBehind(config, p, sessions)
	if err != nil || len(list) == 0 {
		return profile.Compaction{}, err
	}
	all, of := []float64{}, map[string][]float64{}
	for i := range list {
		all, of[list[i].epoch] = append(all, list[i].beyond), append(of[list[i].epoch], list[i].beyond)
	}
	c := profile.Compaction{N: len(all), Remainder: deciles(all)}
	for _, epoch := range sortedKeys(of) {
		if len(of[epoch]) >= profile.LeastOfEpoch {
			c.ByEpoch = append(c.ByEpoch, profile.Remainder{From: epoch, Tokens: deciles(of[epoch]), N: len(of[epoch])})
		}
	}
	slices.SortFunc(c.ByEpoch, func(a, b profile.Remainder) int { return profile.Compare(a.From, b.From) })
	return c, nil
}

// leftBehind drives the generation of each session by the recording.
func leftBehind(config sim.Config, p *profile.Profile, sessions []*traces.Session) ([]left, error) {
	registry, err := strategies.Builtin()
	if err != nil {
		return nil, err
	}
	own, err := registry.Strategy("own")
	if err != nil {
		return nil, err
	}
	config.Profile = nil
	var list []left
	for _, s := range sessions {
		var parts map[place]int64
		for i := range s.Threads {
			t := &s.Threads[i]
			for _, ev := range t.Events {
				if ev.Kind != traces.EventCompact || int(ev.Round) >= len(t.Rounds) || ev.Round == 0 || t.Kind != traces.ThreadMain || t.MidContext {
					continue
				}
				if parts == nil {
					if _, parts, err = drive(config, own.For(s.Agent, s.Version(), s.Variant), s, true); err != nil {
						return nil, err
					}
				}
				in := t.Rounds[ev.Round].Usage.Input()
				if got := parts[place{int32(i), ev.Round}]; got > 0 && in > 0 {
					list = append(list, left{p.Epoch(s.Version()), float64(max(0, in-got))})
				}
			}
		}
	}
	return list, nil
}

// deciles returns the least value, nine deciles and the most, rounded.
func deciles(x []float64) []float64 {
	slices.Sort(x)
	var list []float64
	for i := range 11 {
		list = append(list, math.Round(stats.Quantile(x, float64(i)/10)))
	}
	return list
}

// fitAnnounced returns what conversations are told when they open, by epochs of a profile.
// Conversations that are told nothing count; those that begin amid a recording do not.
func fitAnnounced(p *profile.Profile, sessions []*traces.Session) []profile.Announced {
	told := map[string][]traces.Announced{}
	shown := map[string]bool{}
	for _, s := range sessions {
		if len(s.Threads) == 0 || s.Threads[0].Kind != traces.ThreadMain || s.Threads[0].MidContext {
			continue
		}
		epoch := p.Epoch(s.Version())
		told[epoch] = append(told[epoch], s.Announced)
		shown[epoch] = shown[epoch] || s.Announced != traces.Announced{}
	}
	var list []profile.Announced
	for _, epoch := range sortedKeys(shown) {
		if !shown[epoch] {
			continue
		}
		of := func(what traces.Announcement) []float64 {
			var sizes []float64
			for _, a := range told[epoch] {
				sizes = append(sizes, float64(a[what]))
			}
			return deciles(sizes)
		}
		list = append(list, profile.Announced{
			From: epoch, N: len(told[epoch]), Tools: of(traces.AnnouncedTools), Agents: of(traces.AnnouncedAgents),
			Servers: of(traces.AnnouncedServers), Hooks: of(traces.AnnouncedHooks),
		})
	}
	slices.SortFunc(list, func(a, b profile.Announced) int { return profile.Compare(a.From, b.From) })
	return list
}
