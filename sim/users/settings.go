// Package users draws the users of several organisations and their sessions, says for the loop
// who has a session, and meters the calls of all users on one clock: what a scope that everyone
// shares saves, and what users who exceed their plan's quota do to the cache.
//
// Every session is a function of the seed, the name of its organisation, and the ordinals of the
// user and the session: adding users, organisations or days leaves all other sessions as they are.
package users

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/nearest"
	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/synthetic"
)

// Settings are the users of a scenario. Without organisations there are none. Shares and
// probabilities lie in 0…1, sizes are tokens, times are written with their unit.
type Settings struct {
	Start       Moment `yaml:"start" doc:"Zero of all times below: a time such as 2026-03-02T09:00:00Z, or a date."`
	Days        int    `yaml:"days" min:"1" max:"366" doc:"Days over which sessions begin. Calls are simulated to the end of the last session."`
	Seed        uint64 `yaml:"seed" doc:"Seed of what is drawn: who the users are, and what their sessions hold."`
	Version     string `yaml:"version" doc:"Version of the client, in place of the profiles'; \"\" leaves those. Prompts of another version or another size are not shared."`
	Static      int    `yaml:"static" min:"0" max:"1000000" doc:"Tokens of tools and system prompt, in place of the profiles'; 0 leaves those."`
	GlobalScope bool   `yaml:"global_scope" sweep:"true" doc:"Mark the static prompt for everyone, where the user's client can: not with tools of MCP servers in the prefix, nor through another provider. Off, it is marked for the organisation."`
	Overage     bool   `yaml:"overage" sweep:"true" doc:"Subscribers pass the quota of their plan, as the organisation says. Off, nobody does."`

	Organisations map[string]Organisation `yaml:"organisations" doc:"Organisations by name."`
}

// Organisation is what the users of an organisation have in common.
type Organisation struct {
	Users     int                `yaml:"users" min:"1" max:"1000000" doc:"How many."`
	Kinds     map[string]float64 `yaml:"kinds" min:"0" max:"1" whole:"true" doc:"How users are entitled, as shares of all: employees of the provider (employee: 1h, whatever the quota), subscribers of a plan (subscriber: 1h inside its quota), users who pay by the token (api: 5m), and users of other providers (bedrock, third_party: 5m, and a cache of their own)."`
	MCP       float64            `yaml:"mcp" min:"0" max:"1" doc:"Share of users whose sessions load tools of MCP servers."`
	MCPTools  int32              `yaml:"mcp_tools" min:"1" max:"100000" doc:"Tokens of these tools, of all that a session has."`
	Bedrock1h bool               `yaml:"bedrock_1h" doc:"Users of Bedrock opt in to 1h."`
	Resume    float64            `yaml:"resume" min:"0" max:"1" doc:"Share of sessions that go on with the one of the user's that ended last: its context comes ahead, and is written again when it has expired."`
	Sessions  Sessions           `yaml:"sessions"`
	Arrivals  Arrivals           `yaml:"arrivals" doc:"When sessions begin."`
	Overage   Overage            `yaml:"overage" doc:"Subscribers who pass the quota of their plan."`
}

// Sessions says what the sessions of an organisation are drawn from.
type Sessions struct {
	Profiles map[string]float64 `yaml:"profiles" min:"0" whole:"true" doc:"By weight: profiles (sim traces gen --list), or files that end in .yaml."`
	PerDay   float64            `yaml:"per_user_day" min:"0" max:"1000" doc:"Mean number on a weekday."`
	Turns    *synthetic.Dist    `yaml:"turns" doc:"Turns of a session, in place of the profiles', as a distribution: {median: 4, sigma: 0.4, min: 1, max: 8}; {min: 20} is always 20."`
	Rounds   *synthetic.Dist    `yaml:"rounds" doc:"Calls of a turn, the same way."`
	Model    string             `yaml:"model" doc:"Model of all calls, in place of the profiles'."`
	Version  string             `yaml:"version" doc:"Version of the client, in place of the one for all users."`
	Static   int                `yaml:"static" min:"0" max:"1000000" doc:"Tokens of tools and system prompt, in place of those for all users."`
}

// Overage says who exceeds the quota of their plan.
type Overage struct {
	Share float64       `yaml:"share" min:"0" max:"1" doc:"The share of users who do on a day with sessions."`
	After time.Duration `yaml:"after" min:"0s" max:"24h" doc:"How long after the start of the day's first session."`
	Lasts time.Duration `yaml:"lasts" above:"0s" max:"24h" doc:"For how long."`
}

// Kinds of users, by entitlement and provider.
const (
	kindEmployee   = "employee"    // of the provider: an hour, whatever the quota
	kindSubscriber = "subscriber"  // of a plan: an hour inside its quota
	kindAPI        = "api"         // pays by the token: five minutes
	kindBedrock    = "bedrock"     // served by Bedrock
	kindThirdParty = "third_party" // served by others
)

// kinds are the kinds of users in the order in which they are drawn.
var kinds = []string{kindEmployee, kindSubscriber, kindAPI, kindBedrock, kindThirdParty}

// Moment is a time, written as 2026-03-02T09:00:00Z or, for midnight in UTC, as a date.
type Moment struct{ time.Time }

// UnmarshalYAML reads a time or a date.
func (m *Moment) UnmarshalYAML(n *yaml.Node) error {
	for _, layout := range [...]string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, n.Value); err == nil && n.Kind == yaml.ScalarNode && t.Year() >= 2000 && t.Year() <= 2100 {
			m.Time = t.UTC()
			return nil
		}
	}
	return fmt.Errorf("want a time such as 2026-03-02T09:00:00Z of the years 2000 to 2100, not %q", n.Value)
}

// MarshalYAML writes the time as it is read.
func (m Moment) MarshalYAML() (any, error) { return m.Format(time.RFC3339), nil }

// Default returns settings without organisations. Version and size of the prompt are as in
// recordings of March 2026.
func Default() Settings {
	return Settings{
		Start: Moment{time.Date(2026, time.March, 2, 0, 0, 0, 0, time.UTC)}, Days: 1, Seed: 1,
		Version: "2.1.62", Static: 20_000, GlobalScope: true, Overage: true, Organisations: map[string]Organisation{},
	}
}

// SetDefaults sets the defaults of an organisation.
func (o *Organisation) SetDefaults() {
	*o = Organisation{
		Kinds:    map[string]float64{kindSubscriber: 1},
		MCPTools: 5000, // as for an event without a value: assumed
		Sessions: Sessions{Profiles: map[string]float64{"short-fix": 1}, PerDay: 3},
		Arrivals: Arrivals{Process: processDiurnal, Peak: 14, Focus: 2, Weekend: 0.2, Times: []string{}},
		Overage:  Overage{After: 3 * time.Hour, Lasts: 4 * time.Hour},
	}
}

// Any reports whether there are users.
func (s *Settings) Any() bool { return len(s.Organisations) > 0 }

// names returns the organisations in the order of their names.
func (s *Settings) names() []string { return slices.Sorted(maps.Keys(s.Organisations)) }

// String says how many users there are: "60 users of 3 organisations".
func (s *Settings) String() string {
	return fmt.Sprintf("%s of %s", document.Count(s.Count(), "user"), document.Count(len(s.Organisations), "organisation"))
}

// Count returns the number of users.
func (s *Settings) Count() int {
	n := 0
	for _, o := range s.Organisations {
		n += o.Users
	}
	return n
}

// maxSessions is the largest number of sessions expected of all users.
const maxSessions = 2_000_000

// Rules returns what is wrong with users beyond their bounds.
func (s *Settings) Rules() []error {
	var errs []error
	sessions := 0.0
	for _, name := range s.names() {
		o, path := s.Organisations[name], "organisations."+name
		before := len(errs)
		for _, err := range s.profileErrors(&o) {
			errs = append(errs, spec.Wrong(path+".sessions.profiles", "cannot be used: %v", err))
		}
		times, err := o.Arrivals.times(s, o.Users)
		if err != nil {
			errs = append(errs, spec.Wrong(path+".arrivals.times", "cannot be read: %v", err))
		}
		if name == "" || len(name) > maxName {
			errs = append(errs, spec.Wrong("organisations", "the name %q has %d bytes: want 1 to %d", name, len(name), maxName))
		}
		if len(errs) == before && len(spec.Validate(&o)) == 0 {
			sessions += o.expected(s, len(times))
		}
	}
	if sessions > maxSessions {
		errs = append(errs, spec.Wrong("organisations", "begin about %.3g sessions, at most %d are possible: want fewer users, days or sessions.per_user_day",
			sessions, maxSessions))
	}
	return errs
}

// maxName is the largest length of an organisation's name, bytes.
const maxName = 100

// Rules returns what contradicts itself in an organisation.
func (o *Organisation) Rules() []error {
	var errs []error
	sum := 0.0
	for _, kind := range slices.Sorted(maps.Keys(o.Kinds)) {
		if !slices.Contains(kinds, kind) {
			errs = append(errs, spec.Wrong("kinds."+kind, "is no kind of user%s; want %s", nearest.Hint(kind, kinds), strings.Join(kinds, ", ")))
		}
		sum += o.Kinds[kind]
	}
	if !(math.Abs(sum-1) < 1e-9) {
		errs = append(errs, spec.Wrong("kinds", "add up to %g, not 1", sum))
	}
	if len(o.profiles()) == 0 {
		errs = append(errs, spec.Wrong("sessions.profiles", "has no weight: there are no sessions to draw"))
	}
	switch a := &o.Arrivals; {
	case a.Process == processTrace && len(a.Times) == 0:
		errs = append(errs, spec.Wrong("arrivals.process", "trace takes its times from arrivals.times, which has none"))
	case a.Process != processTrace && len(a.Times) > 0:
		errs = append(errs, spec.Wrong("arrivals.process", "%s has no times of its own: want trace", a.Process))
	case a.Process != processTrace && o.Sessions.PerDay == 0:
		errs = append(errs, spec.Wrong("sessions.per_user_day", "is 0: no session begins"))
	}
	return errs
}

// resume continues the conversation of a with b, which follows it in time: the
// context of a replaces what b had before its first prompt. The numbers of b
// start at from; resume returns the first free ones after it. b must not be
// used afterwards.
func resume(a, b *traces.Session, from numbers) numbers {
	j := &joint{
		a: a, numbers: from, blocks: int32(len(a.Blocks)),
		rounds: int32(len(a.Threads[0].Rounds)), threads: int32(len(a.Threads)) - 1,
	}
	a.Tools, j.tools = merge(a.Tools, b.Tools)
	a.Objects, j.objects = merge(a.Objects, b.Objects)
	a.Models, j.models = merge(a.Models, b.Models)
	next := numbersAfter(b.Blocks)
	a.Blocks = append(a.Blocks, b.Blocks...)
	for i := j.blocks; i < int32(len(a.Blocks)); i++ {
		x := &a.Blocks[i]
		x.Message += j.messages
		if x.Call > 0 {
			x.Call += j.calls
		}
		if x.Tool > 0 {
			x.Tool = uint16(j.tools[x.Tool])
		}
		if x.Object >= 0 {
			x.Object = int32(j.objects[x.Object])
		}
	}
	for i := range b.Threads {
		j.thread(&b.Threads[i], i == 0)
	}
	a.End = b.End
	a.Quality.Calls += b.Quality.Calls
	a.Quality.InputTokens += b.Quality.InputTokens
	a.Quality.UnseenTokens += b.Quality.UnseenTokens
	a.Quality.DerivedOutputs += b.Quality.DerivedOutputs
	return numbers{from.messages + next.messages, from.calls + next.calls}
}

// numbers are the free numbers of blocks, kept beside a session so that many
// resumptions need not search its blocks.
type numbers struct {
	messages, calls int32
}

func numbersAfter(blocks []prompt.Block) numbers {
	var n numbers
	for i := range blocks {
		n.messages = max(n.messages, blocks[i].Message+1)
		n.calls = max(n.calls, blocks[i].Call)
	}
	return n
}

// joint is where two sessions meet: what is added to the numbers of the second.
type joint struct {
	a *traces.Session
	numbers
	blocks, rounds, threads int32
	tools, objects, models  []int // by index in b
}

// merge adds the names of b that a lacks, and returns the index of each name of b.
func merge(a, b []string) (all []string, at []int) {
	all = slices.Clip(a)
	for _, name := range b {
		i := slices.Index(all, name)
		if i < 0 {
			i = len(all)
			all = append(all, name)
		}
		at = append(at, i)
	}
	return all, at
}

// thread moves a thread of b to a: the main one to the end of a's main thread.
func (j *joint) thread(t *traces.Thread, main bool) {
	for i := range t.Rounds {
		r := &t.Rounds[i]
		r.Input, r.Reply, r.Model = j.span(r.Input), j.span(r.Reply), uint16(j.models[r.Model])
	}
	for i := range t.Events {
		e := &t.Events[i]
		e.Summary = j.span(e.Summary)
		for k := range e.Cleared {
			e.Cleared[k] += j.blocks
		}
	}
	if main {
		j.goOn(t)
		return
	}
	x := *t
	x.Prefix = j.span(t.Prefix)
	switch {
	case t.Parent == 0:
		x.ParentRound += j.rounds
	case t.Parent > 0:
		x.Parent += j.threads
	}
	j.a.Threads = append(j.a.Threads, x)
}

// goOn appends the rounds of b's main thread to the rounds of a's.
func (j *joint) goOn(t *traces.Thread) {
	main := &j.a.Threads[0]
	last := &main.Rounds[len(main.Rounds)-1]
	t.Rounds[0].Wait = max(0, t.Rounds[0].At-last.At-last.Stream)
	main.Rounds = append(main.Rounds, t.Rounds...)
	for i := range t.Events {
		e := t.Events[i]
		e.Round += j.rounds
		main.Events = append(main.Events, e)
	}
}

func (j *joint) span(s traces.Span) traces.Span {
	return traces.Span{From: s.From + j.blocks, To: s.To + j.blocks}
}
