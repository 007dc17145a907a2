package strategies

import (
	"fmt"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/strategies/standard"
	"github.com/compactsim/compactsim/traces"
)

// rester is a layer that may do nothing, and remember nothing, until it has something to do before a request, or a request is
// refused.
type rester interface {
	Layer
	// rest returns what reports whether BeforeRequest would decline, and leave no trace, on a thread on which no layer has acted; nil
	// where the parameters of the layer have more in mind.
	rest() func(*Turn) bool
}

var _ = []rester{(*compact)(nil), (*clearing)(nil), (*truncate)(nil), (*microcompact)(nil), (*timeClear)(nil), (*distil)(nil)}

// Resting returns a text that is the same for strategies whose clients are set up alike, and whose layers do nothing until one of
// them is due before a request: a run without layers stands for all of them until then. It is "" for any other strategy.
func (s *Strategy) Resting() string {
	if s.own != nil || s.OwnTrigger() != nil || len(restersOf(s)) < len(s.active()) {
		return ""
	}
	text := fmt.Sprintln("at rest", s.Shortens())
	if s.client != nil {
		text += fmt.Sprintln(s.Generation, spec.Flow(s.client))
	}
	return text
}

// watched is a layer that rests until rests does not hold.
type watched struct {
	Layer
	rests func(*Turn) bool
}

// restersOf returns the layers of a strategy that may rest.
func restersOf(s *Strategy) (list []watched) {
	for _, l := range s.Layers() {
		if r, ok := l.(rester); ok {
			if rests := r.rest(); rests != nil {
				list = append(list, watched{l, rests})
			}
		}
	}
	return list
}

// Rest makes k stand for strategies that rest, each with layers of its own kinds, in a run without any.
func (k *Kin) Rest() {
	for _, s := range k.All {
		k.watching = append(k.watching, restersOf(s))
	}
}

// Rests reports whether the strategies rest.
func (k *Kin) Rests() bool { return k.watching != nil }

// Due returns the strategies of the run for which wake holds, or of which a layer has something to do before the request of a
// turn. refused says that the request would be refused, which some layers answer.
func (k *Kin) Due(t *Turn, refused bool, wake func(i int) bool) (list []int) {
	for _, i := range k.Alike {
		if wake(i) || refused && k.Answers(i) || slices.ContainsFunc(k.watching[i], func(l watched) bool { return !l.rests(t) }) {
			list = append(list, i)
		}
	}
	return list
}

// Answers reports whether a strategy has a layer that answers where a request is refused.
func (k *Kin) Answers(i int) bool {
	return slices.ContainsFunc(k.watching[i], func(l watched) bool { _, ok := l.Layer.(PromptTooLong); return ok })
}

// Thresholds lowers limits, by strategy, to the levels at which the layers of those that rest compact by themselves.
func (k *Kin) Thresholds(limits []int64, t *Turn) {
	for i := range limits {
		for _, l := range k.watching[i] {
			if l, ok := l.Layer.(AutoThreshold); ok {
				if level, ok := l.AutoThreshold(t); ok {
					limits[i] = min(limits[i], level)
				}
			}
		}
	}
}

// Unfit calls f with the layers of a strategy that can do nothing in a session, and why.
func (k *Kin) Unfit(i int, s *traces.Session, f func(layer, reason string)) {
	for _, l := range k.watching[i] {
		if c, ok := l.Layer.(Choosy); ok {
			if why := c.Unfit(s); why != "" {
				f(l.Name(), why)
			}
		}
	}
}

func (l *compact) rest() func(*Turn) bool {
	p := &l.params
	if l.due != nil || !l.Sleeps() || p.Rent.Enabled || p.Beside.Every > 0 {
		return nil
	}
	return func(t *Turn) bool {
		switch {
		case p.Manual && askedByHand(t.Events):
			return false
		case !p.Auto, p.Waits && t.Waits, isAgent(t.Kind) && !p.Subagents:
			return true
		}
		return !l.begins(t)
	}
}

func (l *clearing) rest() func(*Turn) bool {
	p := &l.params
	if p.When.At == atEnd || p.Trigger.Measure >= measureGain || p.Persist == persistRun {
		return nil
	}
	return func(t *Turn) bool {
		if p.Persist == persistNever { // whatever took it out
			hidden := clearedOf(t.Context)
			t.Reading.hide(hidden.tokens, hidden.messages)
			defer t.Reading.hide(-hidden.tokens, -hidden.messages)
		}
		return isAgent(t.Kind) && !p.Subagents || !p.When.fires(t, clearName, &p.Trigger, false)
	}
}

func (l *truncate) rest() func(*Turn) bool {
	if l.params.When.At == atEnd {
		return nil
	}
	return func(t *Turn) bool { return !l.params.When.fires(t, truncateName, &l.params.Trigger, false) }
}

func (l *distil) rest() func(*Turn) bool {
	return func(t *Turn) bool { return !l.params.When.fires(t, distilName, &l.params.Trigger, false) }
}

func (l *microcompact) rest() func(*Turn) bool {
	return func(t *Turn) bool {
		return isAgent(t.Kind) && !l.params.Subagents || !t.Check(standard.Microcompact, &l.params.Trigger)
	}
}

func (l *timeClear) rest() func(*Turn) bool {
	if l.due != nil {
		return nil
	}
	return func(t *Turn) bool {
		return t.Usage.Input() == 0 || isAgent(t.Kind) && !l.params.Subagents || !t.Check(standard.TimeClear, &l.gap) || l.params.ColdOnly && t.Warm()
	}
}
