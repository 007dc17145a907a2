package validate

import (
	"slices"

	"github.com/compactsim/compactsim/internal/serving/profile"
	"github.com/compactsim/compactsim/traces"
)

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
