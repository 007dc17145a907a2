package profile

import (
	"bytes"
	_ "embed"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/signs"
	"gonum.org/v1/gonum/stat/distuv"
	"gopkg.in/yaml.v3"
)

// Kind is something that stands in a recording between two calls, or is true of the second call, and that may be why
// that call did not read what the first one had left in the cache.
type Kind uint8

// The kinds. Whether calls with one of these kinds fall more often than others is data: see Lifts.
const (
	KindLookBack Kind = iota // more blocks than a server looks back for behind the last cache marker
	KindLoaded               // a search for tools loaded tools for the first time
	KindServers              // the list of tools that are loaded on demand, or of MCP servers, changed
	KindListing              // the list of skills or of kinds of agents changed
	KindVersion              // another version of the client
	KindProcess              // the client was started anew
	KindFork                 // the first call of a session that was resumed or forked from another one
	KindHook                 // a prompt behind a turn in which a hook added context to a tool's result
	KindPlanMode             // plan mode began or ended
	KindEffort               // another effort of the model
	KindChosen               // a command chose a model
	KindMemory               // the agent edited CLAUDE.md, AGENTS.md or its memory
	KindBranch               // another branch of git, which versions through 2.1.267 put into the system prompt of a new process
	KindTeam                 // a teammate began or wrote
	KindRetry                // the server had refused a request
	KindSearch               // the server had searched the web while it answered
	KindSteered              // a person wrote while the agent worked
	KindLate                 // a pause of more than half the lifetime; of more than 5 minutes where no lifetime is promised
	KindHour                 // a pause of more than an hour where no lifetime is promised
	KindOpening              // one of the first ten calls of a thread where no lifetime is promised
	KindPrompt               // a prompt, with nothing else between
	NumKinds
)

var kindNames = [NumKinds]string{
	"look_back", "tool_loaded", "servers", "listing", "version", "process", "fork", "tool_hook", "plan_mode", "effort", "model_command",
	"memory", "branch", "teammate", "retry", "web_search", "steered", "late", "hour", "opening", "prompt",
}

// String returns the name used in YAML.
func (k Kind) String() string { return kindNames[min(k, NumKinds-1)] }

// Kinds is a set of kinds, a bit each.
type Kinds uint32

// Has reports whether a kind is in the set.
func (s Kinds) Has(k Kind) bool { return s>>k&1 != 0 }

// With returns the set with a kind.
func (s Kinds) With(k Kind) Kinds { return s | 1<<k }

// Tally counts calls of one agent and range of versions: at prompts, and others. Each pair is how many fell and how
// many there are.
type Tally struct {
	Agent   string `yaml:"agent"`
	From    string `yaml:"from,omitempty"` // first version of the epoch
	Prompts [2]int `yaml:"prompts,flow"`
	Others  [2]int `yaml:"others,flow"`
}

// Tallies are counts of calls by the name of the kind that stands before them, and "nothing" for calls without any. Of a prompt
// Others is always zero.
type Tallies map[string][]Tally

// Nothing names calls before which no kind stands.
const Nothing = "nothing"

// Lifts say how often calls fall behind what kind of event, in recordings: for caches whose entries are marked and
// have a lifetime, and for caches that providers fill by themselves.
type Lifts struct {
	Source    string  `yaml:"source"` // what was counted
	Marked    Tallies `yaml:"marked"`
	Automatic Tallies `yaml:"automatic"`
}

// Lift is how much more often calls fall behind a kind of event than behind nothing.
type Lift struct {
	Kind        Kind    // where a kind was asked for
	Fell, Calls int     // behind the kind, over all epochs
	Expected    float64 // of these calls, how many would have fallen behind nothing
	Value       float64 // Fell / Expected; +Inf where calls never fall behind nothing
	Low, High   float64 // 95 % interval of Value
	// Here is the lift in the epoch asked for, drawn towards Value with the weight of one call.
	Here float64
}

// LeastLift is the lift that a kind needs to be named as a cause.
const LeastLift = 3

// mostChance is the largest chance with which the falls behind a kind may be as many by luck, since some twenty kinds are tried.
const mostChance = 0.01

// Named reports whether the kind is named as a cause: it has the lift, over all epochs with an interval above 1 and in the epoch,
// and so many falls are no luck.
func (l *Lift) Named() bool {
	return l.Fell > 0 && l.Low > 1 && min(l.Value, l.Here) >= LeastLift && l.chance() <= mostChance
}

// chance returns the chance of at least so many falls behind nothing.
func (l *Lift) chance() float64 {
	if l.Expected == 0 {
		return 0
	}
	return distuv.Poisson{Lambda: l.Expected}.Survival(float64(l.Fell - 1))
}

// Of returns the lift of a kind for an agent and an epoch: by the calls of the agent, or of all agents whose caches
// are of that sort where the kind was not seen with the agent.
func (t Tallies) Of(k Kind, agent, epoch string) Lift {
	l := t.Named(k.String(), agent, epoch)
	l.Kind = k
	return l
}

// Named returns the lift of what has a name among the tallies.
func (t Tallies) Named(name, agent, epoch string) Lift {
	rows, base := t[name], t[Nothing]
	own := func(x Tally) bool { return x.Agent != agent }
	if of := slices.DeleteFunc(slices.Clone(rows), own); len(of) > 0 {
		rows = of
	}
	if of := slices.DeleteFunc(slices.Clone(base), own); len(of) > 0 {
		base = of
	}
	var all, none Tally
	for _, x := range base {
		none.add(&x)
	}
	if name == KindPrompt.String() { // compared with calls that are no prompts
		none.Prompts = none.Others
	}
	for _, x := range rows {
		all.add(&x)
	}
	l := Lift{Fell: all.Prompts[0] + all.Others[0], Calls: all.Prompts[1] + all.Others[1]}
	if l.Calls == 0 {
		return l
	}
	prompts, others := rate(none.Prompts), rate(none.Others)
	n := float64(l.Calls)
	l.Expected = prompts.Value*float64(all.Prompts[1]) + others.Value*float64(all.Others[1])
	// The interval of a ratio follows from the intervals of its parts (Donner and Zou 2012); the denominator is a weighted sum.
	a, b := wilson(float64(l.Fell), n), sum(float64(all.Prompts[1])/n, prompts, float64(all.Others[1])/n, others)
	l.Value, l.Low, l.High = ratio(a, b)
	one := l.Expected / n
	fell, expected := 0.0, 0.0
	for _, x := range rows {
		if x.From == epoch && x.Agent == agent {
			fell += float64(x.Prompts[0] + x.Others[0])
			expected += prompts.Value*float64(x.Prompts[1]) + others.Value*float64(x.Others[1])
		}
	}
	if l.Here = l.Value; expected > 0 && one > 0 {
		l.Here = (fell + l.Value*one) / (expected + one)
	}
	return l
}

// EpochOf returns the epoch of a session of a client whose versions the epochs are of, "" for others.
func (p *Profile) EpochOf(s *traces.Session) string {
	if !agents.ClaudeCode(s) {
		return ""
	}
	return p.Epoch(s.Version())
}

func (t *Tally) add(x *Tally) {
	for i := range 2 {
		t.Prompts[i] += x.Prompts[i]
		t.Others[i] += x.Others[i]
	}
}

// rate returns the share of calls that fell.
func rate(n [2]int) Estimate {
	if n[1] == 0 {
		return Estimate{High: 1}
	}
	return wilson(float64(n[0]), float64(n[1]))
}

// sum returns the sum of two weighted shares with its interval (Zou and Donner 2008).
func sum(w float64, a Estimate, v float64, b Estimate) Estimate {
	e := Estimate{Value: w*a.Value + v*b.Value}
	e.Low = e.Value - math.Hypot(w*(a.Value-a.Low), v*(b.Value-b.Low))
	e.High = e.Value + math.Hypot(w*(a.High-a.Value), v*(b.High-b.Value))
	return e
}

// ratio returns the ratio of two shares with its interval (Donner and Zou 2012).
func ratio(a, b Estimate) (value, low, high float64) {
	p, q := a.Value, b.Value
	root := func(x float64) float64 { return math.Sqrt(max(0, x)) }
	low = (p*q - root(p*p*q*q-a.Low*b.High*(2*p-a.Low)*(2*q-b.High))) / (b.High * (2*q - b.High))
	if 2*q <= b.High { // the share below may be zero
		low = a.Low / b.High
	}
	if q == 0 {
		return math.Inf(1), low, math.Inf(1)
	}
	high = math.Inf(1)
	if b.Low > 0 {
		high = (p*q + root(p*p*q*q-a.High*b.Low*(2*p-a.High)*(2*q-b.Low))) / (b.Low * (2*q - b.Low))
	}
	return p / q, low, high
}

//go:embed causes.yaml
var causesYAML []byte

// DefaultLifts returns the lifts that come with the program.
var DefaultLifts = sync.OnceValues(func() (*Lifts, error) { return readLifts(causesYAML) })

func readLifts(text []byte) (*Lifts, error) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	l := &Lifts{}
	if err := d.Decode(l); err != nil {
		return nil, fmt.Errorf("lifts of causes: %w", err)
	}
	return l, nil
}

// kept says what the documents promise of a provider's reads: the shortest, tokens, and the steps in which they come.
type kept struct{ least, step int64 }

// documented are the promises by provider (platform.claude.com, developers.openai.com, api-docs.deepseek.com and ai.google.dev, pages on
// caching): Anthropic's is the shortest of its models. Every recorded read that a server gave keeps them, about 13,000 of other agents'
// and Claude Code's.
var documented = map[string]kept{"anthropic": {512, 1}, "openai": {1024, 128}, "deepseek": {64, 64}, "google": {1024, 1}}

// Invented says why counts of a session cannot come from a server; "" if they may: test data that somebody wrote by hand looks like a
// recording, and tells nothing of a cache.
func Invented(s *traces.Session) string {
	for i := range s.Threads {
		for r := range s.Threads[i].Rounds {
			rd := &s.Threads[i].Rounds[r]
			provider := promptcache.ProviderOf(s.Models[rd.Model])
			is, known := documented[provider]
			if !known || rd.Usage.Read == 0 {
				continue
			}
			if rd.Flags&signs.Spread != 0 {
				is.step = 1
			}
			switch read := rd.Usage.Read; {
			case read < is.least:
				return fmt.Sprintf("not from a server: line %d reads %d tokens, fewer than the %d that a cache of %s keeps", rd.Line, read, is.least, provider)
			case read%is.step != 0:
				return fmt.Sprintf("not from a server: line %d reads %d tokens, where a cache of %s reads multiples of %d", rd.Line, read, provider, is.step)
			}
		}
	}
	return ""
}
