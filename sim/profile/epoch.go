package profile

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/spec"
)

// Rule is a behaviour of a client that no line shows, but that the lines around
// a call imply. A profile says for which versions it holds.
type Rule uint8

// The rules. Each is a mechanism; how often it predicts correctly is data.
const (
	// RuleThinking: an expanded command or skill, or the start of a plan, switches
	// thinking off until the next prompt that sets it. Messages with and without
	// thinking have separate entries.
	RuleThinking Rule = iota
	// RuleHook: context that a hook added to a tool's result changes its form at
	// the next prompt, so that the messages differ from there on.
	RuleHook
	// RuleRestart: the desktop client was closed after the last response, and
	// builds another head when it comes back.
	RuleRestart
	// RuleToolSearch: the first search for tools changes the tools.
	RuleToolSearch
	// RuleShrink: a context that shrank at a prompt was cached in that form at the
	// end of the previous turn.
	RuleShrink
	// RuleAway: the summary for a person who comes back caches the last response.
	RuleAway
	// RuleWarm: the head of the prompt is warm after an expiry.
	RuleWarm
	// RuleTeam: the second and the third call of a teammate, whose conversation begins with the words of another, find no
	// more than the head.
	RuleTeam
	NumRules
)

var ruleNames = [NumRules]string{
	"thinking", "tool_hook", "restart", "tool_search", "shrink", "away", "warm_head", "teammate",
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

// Trial is the outcome of a rule in an epoch: the calls to which it applied,
// how many of these calls were predicted within 1 % of their context only with it
// (gained) and only without it (lost), and by how much it brought the input
// costs of calls nearer to the bill. For both counts a session has at most one
// call more than all others, so that one session cannot decide.
type Trial struct {
	From   string  `yaml:"from"` // first version of the epoch
	Calls  int     `yaml:"calls" min:"0"`
	Gained int     `yaml:"gained" min:"0"`
	Lost   int     `yaml:"lost" min:"0"`
	Saved  float64 `yaml:"saved_usd,omitempty"` // of the absolute errors of calls, USD; negative where they grew
}

// verdict is the result of trials of a rule.
type verdict uint8

const (
	open verdict = iota
	holds
	fails
)

// luck is the largest chance with which a gain of a rule may be random: a coin thrown for
// each call that the rule corrects or spoils does as well in 13 % of cases. Three calls
// that agree (12.5 %), or five of six (10.9 %), are the least evidence.
const luck = 0.13

// judge returns holds or fails if the numbers of calls that a rule corrects and
// spoils differ by more than luck, else open. A rule that makes costs worse
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

// coin returns the probability that heads + tails throws of a coin show heads
// at least as often.
func coin(heads, tails int) float64 {
	factorial := func(n int) float64 { v, _ := math.Lgamma(float64(n) + 1); return v }
	sum, n := 0.0, heads+tails
	for k := heads; k <= n; k++ {
		sum += math.Exp(factorial(n) - factorial(k) - factorial(n-k) - float64(n)*math.Ln2)
	}
	return sum
}

// Evidence has the trials of rules, by rule and epoch.
type Evidence map[string][]Trial

// reported has the trials on recordings that a profile is not fitted on: 23 teammates of one person's teams, clients 2.1.39 to
// 2.1.42, of whose second and third calls 43 of 46 lost all but the head (November 2026).
var reported = Evidence{RuleTeam.String(): {{From: "2.1.39", Calls: 46, Gained: 43, Lost: 3}}}

// With returns the evidence with the evidence of more epochs added.
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

// Epoch returns the first version of the epoch of a version: clients between
// two of these behave alike as far as recordings show. It is "" before the
// first.
func (p *Profile) Epoch(version string) string {
	from, _ := p.epoch(version)
	return from
}

// epoch returns the first version of a version's epoch, and of the epoch behind it; "" for none.
func (p *Profile) epoch(version string) (from, next string) {
	for _, e := range p.Epochs {
		if Compare(e, version) > 0 {
			return from, e
		}
		from = e
	}
	return from, ""
}

// RulesFor returns the rules that hold for a version by the trials of its
// epoch. If these are undecided or missing, a rule holds if it would have won
// in the epochs when each is judged by the rest.
func (p *Profile) RulesFor(version string) Set {
	epoch, next := p.epoch(version)
	var set Set
	for r := range NumRules {
		trials := p.Evidence[r.String()]
		own, here := open, func(t Trial) bool {
			return Compare(epoch, t.From) <= 0 && (next == "" || Compare(next, t.From) > 0)
		}
		if epoch != "" && !slices.ContainsFunc(trials, here) {
			trials = slices.Concat(trials, reported[r.String()])
		}
		if i := slices.IndexFunc(trials, here); i >= 0 {
			t := &trials[i]
			own = judge(t.Gained, t.Lost, t.Saved)
		}
		if own == holds || own == open && wins(trials) {
			set = set.With(r)
		}
	}
	return (set | p.Force) &^ p.Forbid
}

// wins reports whether a rule gains overall, and in at least two epochs, when
// each epoch switches it on exactly if it is right more often than wrong in all other epochs.
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

// checkEvidence returns errors for unknown rules and epochs out of order.
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

// Habit is how often a client did something when it could, by epoch, by how it
// was started and by what came next.
type Habit struct {
	From     string `yaml:"from"`             // first version of the epoch
	Entry    string `yaml:"entry,omitempty"`  // traces.Session.Entry
	Notice   bool   `yaml:"notice,omitempty"` // the notice of a background task came next, not a person's prompt
	Estimate `yaml:",inline"`
}

// leastHabit and mostHabit bound a share taken from others, because a session
// may always behave differently.
const leastHabit, mostHabit = 0.1, 0.9

// headless begins the names of the ways in which programs start the client: "sdk-cli" (-p), "sdk-ts", "sdk-py".
const headless = "sdk"

// HiddenFor returns the share of turns with a hidden call: the share of the epoch and of how the
// client was started, else of other epochs, else of all. Where programs start
// the client and no recording shows such calls there are none: runs of 2.1.150 to 2.1.332 with -p
// against a server that saw all requests made none (2026-11-27; the vendor's feature flags were absent).
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
	if strings.HasPrefix(entry, headless) {
		return 0
	}
	s, _ := share(func(*Habit) bool { return true })
	return s
}
