package strategies

import "fmt"

// Odd returns what is odd about a strategy under given limits, beside what is wrong with it:
// layers that cannot act, and ones that keep more than they act at.
func (s *Strategy) Odd(r *Reading) []string {
	var list []string
	if len(s.active()) == 0 {
		list = append(list, "no layer is on: it sends everything")
	}
	for _, c := range s.active() {
		say := func(format string, args ...any) {
			list = append(list, c.def.Name+": "+fmt.Sprintf(format, args...))
		}
		tr := c.trigger()
		if tr == nil {
			continue
		}
		var keep KeepSet
		var conditions when
		switch p := c.params.(type) {
		case *CompactParams:
			keep, conditions = p.Keep.KeepSet, p.When
		case *clearParams:
			keep, conditions = p.Keep, p.When
		case *truncateParams:
			keep, conditions = p.Keep, p.When
		case *distilParams:
			keep, conditions = p.Keep, p.When
		}
		for i := range conditions.All {
			if v, ok := conditions.All[i].Value(r); ok && conditions.All[i].Measure.tokens() && v >= r.Window {
				say("when.all[%d] asks for %d tokens, which a window of %d does not hold: it cannot act", i, v, r.Window)
			}
		}
		level, ok := tr.Value(r)
		if most, what := keep.most(tr.Measure, r); ok && what != "" && most >= level {
			say("keep.%s keeps %d, and it acts at %d: there is nothing left to take away", what, most, level)
		}
	}
	return list
}

// most returns how much of what a trigger measures may stay at the most, and by which
// limit; "" where these do not compare.
func (k *KeepSet) most(m Measure, r *Reading) (int64, string) {
	switch {
	case m.tokens() && k.Window > 0 && (k.Tokens == 0 || k.Tokens > int64(k.Window*float64(r.Window))):
		return int64(k.Window * float64(r.Window)), "window"
	case m.tokens() && k.Tokens > 0:
		return k.Tokens, "tokens"
	case m == measureMessages && k.Messages > 0:
		return int64(k.First + k.Messages), "messages"
	case m == measurePrompts && k.Prompts > 0:
		return int64(k.Prompts), "prompts"
	}
	return 0, ""
}
