package fetch

import (
	"math"

	"github.com/compactsim/compactsim/sim/needs"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/results/recall"
)

// How an agent differs from agents in the recordings is seen in what it did behind the recording's own compactions.

// share returns the probability that an agent fetches what it lacks of a kind, by whether a command printed it; lean is how far the
// session's agent leans to fetching.
func (r Refetch) share(p *profile.Profile, kind recall.NeedKind, output bool, learns float64, lean *leans) float64 {
	switch {
	case r == Always:
		return 1
	case r == Never || p == nil:
		return 0
	}
	e := p.RefetchOf(kind.String(), output)
	return leanBy(leaveOutKnown([...]float64{Low: e.Low, Fitted: e.Value, High: e.High}[r], kind, learns), lean.all+*lean.of(kind, output))
}

// An agent either repeats what it has lost hardly oftener than what it has, as all 32 recordings with compactions and repeats that were used do, or
// it reads again by rule what it lacks and little else. A recording tells which.
const (
	byRule  = 0.03 // share of agents that read again by rule, assumed: none of the 32, where one in 34 has even odds
	hastens = 20   // how much oftener such an agent repeats what it has lost, assumed: one repeat in twenty is another's
)

// rereadShare returns the probability that the agent of a session which read something again, and used it, did so because its context had
// lost it.
func (r Refetch) rereadShare(p *profile.Profile, x *needs.Index) float64 {
	if r == Always || p == nil {
		return 1
	}
	e := p.RereadShare() // the more is left out, the less is fetched
	anyway := 1 - [...]float64{Low: e.High, Fitted: e.Value, High: e.Low}[r]
	if anyway <= 0 {
		return 1 // a rule that a profile was told
	}
	ruled := ruledOf(anyway, x.Habit)
	return max(0, 1-(1-ruled)*anyway-ruled/hastens)
}

// ruledOf returns the probability that the agent of a session reads again by rule, given what it repeated and used of what it had lost and of
// what it had. anyway is the share of other agents' repeats of lost things that they make in any case.
func ruledOf(anyway float64, habit func(func(lost, all, even float64))) float64 {
	odds := byRule / (1 - byRule)
	habit(func(lost, all, even float64) {
		ruled, usual := even*hastens, even/anyway
		odds *= math.Pow(hastens*anyway, lost) * math.Pow((1+usual)/(1+ruled), all)
	})
	return 1 - 1/(1+odds)
}

// habitOf returns how much oftener the agent of a session repeats what it has lost than agents do that repeat lost things anyway, the
// logarithm of the odds.
func habitOf(anyway float64, x *needs.Index) float64 {
	if anyway <= 0 {
		return 0
	}
	return ruledOf(anyway, x.Habit) * math.Log(hastens*anyway)
}

// How far agents of different sessions lean to reading again: the standard deviation over sessions, in units of log odds, of what holds
// for all kinds of things, and of what a kind has besides. At these values the logarithm of the likelihood of 39 recordings with compactions is 0.6 below its
// greatest value. They say next to nothing of kinds: with a kindSpread of 0 it is another 0.1 lower.
const (
	leanSpread = 1.3
	kindSpread = 0.5
)

// leans is how far an agent leans to reading again what it has lost, log odds: for all kinds of things, and besides by kind.
type leans struct {
	all             float64
	others, outputs [recall.NumNeedKinds]float64
}

// of returns what a kind has besides.
func (l *leans) of(kind recall.NeedKind, output bool) *float64 {
	if output {
		return &l.outputs[kind]
	}
	return &l.others[kind]
}

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
func leaveOutKnown(share float64, kind recall.NeedKind, learns float64) float64 {
	if share >= 1 || kind != recall.NeedName {
		return share
	}
	return share * min(1, 2*learns)
}

// leanOf returns how much more than the profile's share the agent of a session reads again what it has lost: the most likely values, given what
// it did behind the recorded compactions. It begins where the agent's habit is: one that reads again by rule fetches more, too.
func leanOf(p *profile.Profile, did *needs.Fates, learns, habit float64) (l leans) {
	if p == nil {
		return l
	}
	var buffer, leant [2 * recall.NumNeedKinds]sample
	var besides [2 * recall.NumNeedKinds]*float64
	list := buffer[:0]
	did.Each(func(kind recall.NeedKind, output bool, n needs.Fate) {
		if n.Read+n.Used > 0 {
			besides[len(list)] = l.of(kind, output)
			share := leaveOutKnown(p.RefetchOf(kind.String(), output).Value, kind, learns)
			list = append(list, sample{leanBy(share, habit), float64(n.Read), float64(n.Read + n.Used)})
		}
	})
	for range 40 { // each given the other
		for i, x := range list {
			leant[i] = sample{leanBy(x.share, *besides[i]), x.did, x.all}
		}
		was := l.all
		if l.all = leanTo(leant[:len(list)], leanSpread); math.Abs(l.all-was) < 1e-9 {
			break
		}
		for i, x := range list {
			leant[0] = sample{leanBy(x.share, l.all), x.did, x.all}
			*besides[i] = leanTo(leant[:1], kindSpread)
		}
	}
	l.all += habit
	return l
}

// sample counts what an agent did of a kind that agents do in a share of cases.
type sample struct{ share, did, all float64 }

// leanTo returns the most likely lean of an agent, in log odds, whose standard deviation over agents is spread.
func leanTo(list []sample, spread float64) (lean float64) {
	for range 20 { // Newton's method: the logarithm of the likelihood is concave
		slope, bend := -lean/(spread*spread), -1/(spread*spread)
		for _, x := range list {
			share := leanBy(x.share, lean)
			if share <= 0 || share >= 1 {
				continue
			}
			slope += x.did - x.all*share
			bend -= x.all * share * (1 - share)
		}
		was := lean
		if lean -= max(-1, min(1, slope/bend)); lean == was {
			break
		}
	}
	return lean
}
