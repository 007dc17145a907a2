package fetch

import (
	"math"

	"github.com/compactsim/compactsim/sim/needs"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/results/recall"
)

// Refetch says which of the things that are missing an agent fetches.
type Refetch uint8

// Ways to choose.
const (
	Never  Refetch = iota // the loop is open
	Low                   // the low end of what the profile says of the kind
	Fitted                // what the profile says
	High                  // its high end
	Always                // all
)

// Names returns the names of the ways in files.
func (Refetch) Names() []string { return []string{"never", "low", "fitted", "high", "always"} }

// Agent is how the agent departs from what it did in the recording.
type Agent struct {
	Refetch    Refetch `yaml:"refetch" doc:"What it fetches again, in calls of its own, of what its next action needs and the context does not have (docs/fidelity.md): never (the loop is open), or each thing with a probability by kind: low, fitted or high of the profile, or always. Needs texts."`
	Elongation float64 `yaml:"elongation" min:"0" max:"1" doc:"Further rounds after compactions, as a share of the recorded ones: 0.15 and 0.18 are published for agents whose observations were summarised (The Complexity Trap). Each weighs what the round before it weighed." unit:"share"`
}

// share returns the probability that an agent fetches what it lacks of a kind, by whether a command printed it; lean is how far the
// session's agent leans to fetching.
func (r Refetch) share(p *profile.Profile, kind string, output bool, learns, lean float64) float64 {
	switch {
	case r == Always:
		return 1
	case r == Never || p == nil:
		return 0
	}
	e := p.RefetchOf(kind, output)
	return leanBy(leaveOutKnown([...]float64{Low: e.Low, Fitted: e.Value, High: e.High}[r], kind, learns), lean)
}

// rereadShare returns the probability that an agent which read something again did so because its context had lost it.
func (r Refetch) rereadShare(p *profile.Profile, lean float64) float64 {
	if r == Always || p == nil {
		return 1
	}
	e := p.RereadShare() // the more is left out, the less is fetched
	return leanBy([...]float64{Low: e.High, Fitted: e.Value, High: e.Low}[r], lean)
}

// leanSpread is the standard deviation of how far agents of different sessions lean to reading again, in units of
// log odds: the likelihood of 34 recordings with compactions is greatest at 1.0 to 1.3.
const leanSpread = 1.3

// leanBy returns a share for an agent that leans to reading again, by log odds.
func leanBy(share, lean float64) float64 {
	if share <= 0 || share >= 1 {
		return share
	}
	return 1 / (1 + (1-share)/share*math.Exp(-lean))
}

// leaveOutKnown returns a share of things that are read again, by the kind of need, for an agent that learns names from files to a part: shares
// are fitted to agents of which half of the names could be so by chance, in all (109 of 198 in 59 recordings that tell). A share of 1 is a
// rule that a profile was told.
func leaveOutKnown(share float64, kind string, learns float64) float64 {
	if share >= 1 || kind != recall.NeedName.String() {
		return share
	}
	return share * min(1, 2*learns)
}

// leanOf returns how much more than the profile's share the agent of a session reads again what it has lost, in log
// odds: the most likely value, given what it did behind the recorded compactions.
func leanOf(p *profile.Profile, did *needs.Fates, learns float64) (lean float64) {
	if p == nil {
		return 0
	}
	var buffer [2 * recall.NumNeedKinds]struct{ share, read, all float64 }
	list := buffer[:0]
	did.Each(func(kind recall.NeedKind, output bool, n needs.Fate) {
		if n.Read+n.Used > 0 {
			share := leaveOutKnown(p.RefetchOf(kind.String(), output).Value, kind.String(), learns)
			list = append(list, struct{ share, read, all float64 }{share, float64(n.Read), float64(n.Read + n.Used)})
		}
	})
	for range 20 { // Newton's method: the logarithm of the likelihood is concave
		slope, bend := -lean/(leanSpread*leanSpread), -1/(leanSpread*leanSpread)
		for _, x := range list {
			share := leanBy(x.share, lean)
			if share <= 0 || share >= 1 {
				continue
			}
			slope += x.read - x.all*share
			bend -= x.all * share * (1 - share)
		}
		was := lean
		if lean -= max(-1, min(1, slope/bend)); lean == was {
			break
		}
	}
	return lean
}
