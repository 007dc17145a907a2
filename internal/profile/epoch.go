package profile

import (
	"fmt"
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
// how many of them were predicted within 1 % of their context with it and without
// it, and by how much nearer it brought the input costs of calls to the bill.
type Trial struct {
	From    string  `yaml:"from"` // first version of the epoch
	Calls   int     `yaml:"calls" min:"0"`
	With    int     `yaml:"with" min:"0"`
	Without int     `yaml:"without" min:"0"`
	Saved   float64 `yaml:"saved_usd,omitempty"` // of the errors of calls without their signs, USD; negative where they grew
}

// gain returns how many calls more are right with the rule.
func (t *Trial) gain() float64 { return float64(t.With - t.Without) }

// doubt is how many calls of an epoch those of the others count for.
const doubt = 3

// rateOfOthers returns the gain for each call over all epochs but one.
func rateOfOthers(trials []Trial, but int) float64 {
	var gain, calls float64
	for i := range trials {
		if i != but {
			gain, calls = gain+trials[i].gain(), calls+float64(trials[i].Calls)
		}
	}
	return gain / max(1, calls)
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

// RulesFor returns the rules that hold for a version: those with which more calls
// of its epoch were predicted than without, the other epochs counting for a few,
// unless that made costs of the epoch worse. In an epoch without evidence a rule
// holds if it would have won in each epoch judged by the others.
func (p *Profile) RulesFor(version string) Set {
	epoch := p.Epoch(version)
	var set Set
	for r := range NumRules {
		trials := p.Evidence[r.String()]
		if i := slices.IndexFunc(trials, func(t Trial) bool { return t.From == epoch }); i >= 0 {
			if t := &trials[i]; t.gain()+doubt*rateOfOthers(trials, i) > 0 && t.Saved >= 0 {
				set = set.With(r)
			}
		} else if wins(trials) {
			set = set.With(r)
		}
	}
	return (set | p.Force) &^ p.Forbid
}

// wins reports whether a rule that is switched on in each epoch exactly when it
// gains over the others together would have gained calls and no cost, in at least two
// epochs.
func wins(trials []Trial) bool {
	gain, saved, epochs := 0.0, 0.0, 0
	for i := range trials {
		if rateOfOthers(trials, i) > 0 {
			gain, saved = gain+trials[i].gain(), saved+trials[i].Saved
			epochs++
		}
	}
	return gain > 0 && saved >= 0 && epochs > 1
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
			if t := &trials[i]; max(t.With, t.Without) > t.Calls {
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
