package profile

import (
	"fmt"
	"math"
	"slices"

	"github.com/compactsim/compactsim/internal/spec"
)

// Rule is something a client does that no line shows and the lines around a
// call give away. A profile says for which versions it holds.
type Rule uint8

// The rules. Each is a mechanism; how often it was right is data.
const (
	// RuleThinking: an expanded command or skill, or the start of a plan, switches
	// thinking off until the next prompt that says how to think. Message entries
	// are kept apart by it.
	RuleThinking Rule = iota
	// RuleHook: context that a hook added to a tool's result changes its form at
	// the next prompt, so that the messages differ from there on.
	RuleHook
	// RuleRestart: the desktop client was closed after the last response, and
	// builds another head when it comes back.
	RuleRestart
	// RuleToolSearch: the first search for tools changes the tools.
	RuleToolSearch
	// RuleShrink: a context that shrank at a prompt was cached that way at the end
	// of the turn before.
	RuleShrink
	// RuleAway: the summary for a person who comes back caches the last response.
	RuleAway
	// RuleWarm: the head of the prompt is warm behind an expiry.
	RuleWarm
	NumRules
)

var ruleNames = [NumRules]string{
	"thinking", "tool_hook", "restart", "tool_search", "shrink", "away", "warm_head",
}

// Names returns the names used in YAML, by value.
func (Rule) Names() []string { return ruleNames[:] }

// String returns the name used in YAML.
func (r Rule) String() string { return ruleNames[min(r, NumRules-1)] }

// Set is a set of rules, a bit each.
type Set uint16

// Has reports whether a rule is in the set.
func (s Set) Has(r Rule) bool { return s>>r&1 != 0 }

// With returns the set with a rule.
func (s Set) With(r Rule) Set { return s | 1<<r }

// Trial is how a rule did in an epoch: calls at which it has something to say,
// how many of them were predicted within 1 % of their context with it alone (gained)
// and without it alone (lost), and by how much nearer it brought the input costs of calls to
// the bill. Of these two counts a session has at most one more than all others: it
// cannot speak for them.
type Trial struct {
	From   string  `yaml:"from"` // first version of the epoch
	Calls  int     `yaml:"calls" min:"0"`
	Gained int     `yaml:"gained" min:"0"`
	Lost   int     `yaml:"lost" min:"0"`
	Saved  float64 `yaml:"saved_usd,omitempty"` // of the errors of calls without their signs, USD; negative where they grew
}

// verdict is what trials say of a rule.
type verdict uint8

const (
	open verdict = iota
	holds
	fails
)

// luck is the most that chance may explain of what a rule gains: a coin thrown for
// each call that it sets right or wrong does as well in 13 % of cases. Three calls
// that agree (12.5 %), or five of six (10.9 %), are the fewest to go by.
const luck = 0.13

// judge returns holds or fails when calls that a rule sets right and calls that it
// sets wrong differ by more than luck, else open. A rule that makes costs worse
// does not hold.
func judge(with, without int, saved float64) verdict {
	switch {
	case coin(with, without) <= luck && saved >= 0:
		return holds
	case coin(max(with, without), min(with, without)) <= luck:
		return fails
	}
	return open
}

// coin returns the probability that a coin, thrown heads + tails times, shows heads
// as often or more often.
func coin(heads, tails int) float64 {
	factorial := func(n int) float64 { v, _ := math.Lgamma(float64(n) + 1); return v }
	sum, n := 0.0, heads+tails
	for k := heads; k <= n; k++ {
		sum += math.Exp(factorial(n) - factorial(k) - factorial(n-k) - float64(n)*math.Ln2)
	}
	return sum
}

// Evidence is how the rules did, by rule and epoch.
type Evidence map[string][]Trial

// With returns the evidence with that of further epochs.
func (e Evidence) With(more Evidence) Evidence {
	all := Evidence{}
	for _, of := range []Evidence{e, more} {
		for rule, trials := range of {
			all[rule] = append(slices.Clone(all[rule]), trials...)
		}
	}
	for _, trials := range all {
		slices.SortStableFunc(trials, func(a, b Trial) int { return Compare(a.From, b.From) })
	}
	return all
}

// Tried reports whether any rule was tried in an epoch.
func (p *Profile) Tried(epoch string) bool {
	for _, trials := range p.Evidence {
		if slices.ContainsFunc(trials, func(t Trial) bool { return t.From == epoch }) {
			return true
		}
	}
	return false
}

// Epoch returns the first version of the epoch that a version is in: clients
// between two of these behave alike as far as recordings tell. It is "" ahead
// of the first.
func (p *Profile) Epoch(version string) string {
	from := ""
	for _, e := range p.Epochs {
		if Compare(e, version) > 0 {
			break
		}
		from = e
	}
	return from
}

// RulesFor returns the rules that hold for a version: those that hold by the
// trials of its epoch. Where these leave it open, or are missing, a rule holds if
// it would have won in the epochs judged by each other.
func (p *Profile) RulesFor(version string) Set {
	epoch := p.Epoch(version)
	var set Set
	for r := range NumRules {
		trials := p.Evidence[r.String()]
		own := open
		if i := slices.IndexFunc(trials, func(t Trial) bool { return t.From == epoch }); i >= 0 {
			t := &trials[i]
			own = judge(t.Gained, t.Lost, t.Saved)
		}
		if own == holds || own == open && wins(trials) {
			set = set.With(r)
		}
	}
	return (set | p.Force) &^ p.Forbid
}

// wins reports whether a rule that is switched on in each epoch exactly when more
// calls of the others together are right with it than without holds by the epochs
// in which it is, and gains in at least two of them.
func wins(trials []Trial) bool {
	var all, on Trial
	for i := range trials {
		all.Gained, all.Lost = all.Gained+trials[i].Gained, all.Lost+trials[i].Lost
	}
	gained := 0
	for i := range trials {
		t := &trials[i]
		if all.Gained-t.Gained > all.Lost-t.Lost {
			on.Gained, on.Lost, on.Saved = on.Gained+t.Gained, on.Lost+t.Lost, on.Saved+t.Saved
			if t.Gained > t.Lost {
				gained++
			}
		}
	}
	return gained > 1 && judge(on.Gained, on.Lost, on.Saved) == holds
}

// checkEvidence refuses rules that are unknown and epochs out of order.
func (p *Profile) checkEvidence() []error {
	var errs []error
	if !slices.IsSortedFunc(p.Epochs, Compare) {
		errs = append(errs, spec.Wrong("epochs", "lists versions out of order: versions must ascend"))
	}
	for name, trials := range p.Evidence {
		if !slices.Contains(ruleNames[:], name) {
			errs = append(errs, spec.Wrong("rules."+name, "is no rule"))
		}
		for i := range trials {
			if t := &trials[i]; max(t.Gained, t.Lost) > t.Calls {
				errs = append(errs, spec.Wrong(fmt.Sprintf("rules.%s[%d]", name, i), "has more hits than calls"))
			}
		}
	}
	return errs
}

// Habit is how often a client did something when it could, in an epoch, by how
// it was started and by what came next.
type Habit struct {
	From     string `yaml:"from"`             // first version of the epoch
	Entry    string `yaml:"entry,omitempty"`  // traces.Session.Entry
	Notice   bool   `yaml:"notice,omitempty"` // a notice of a background task came next, not a person's words
	Estimate `yaml:",inline"`
}

// leastHabit and mostHabit bound a share that is taken from others: a session
// may always show another.
const leastHabit, mostHabit = 0.1, 0.9

// HiddenFor returns the share of turns with a hidden call: that of the epoch and
// of how the client was started, else that of other epochs, else of all.
func (p *Profile) HiddenFor(version, entry string, notice bool) float64 {
	epoch := p.Epoch(version)
	share := func(match func(*Habit) bool) (float64, bool) {
		var yes, n float64
		for i := range p.Hidden {
			if h := &p.Hidden[i]; h.Notice == notice && match(h) {
				yes, n = yes+h.Value*float64(h.N), n+float64(h.N)
			}
		}
		return max(leastHabit, min(yes/max(1, n), mostHabit)), n > 0
	}
	if s, ok := share(func(h *Habit) bool { return h.From == epoch && h.Entry == entry }); ok {
		return s
	}
	if s, ok := share(func(h *Habit) bool { return h.Entry == entry }); ok {
		return s
	}
	s, _ := share(func(*Habit) bool { return true })
	return s
}
