package scenarios

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/breaks"
	"github.com/compactsim/compactsim/sim/changes"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/live"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/sim/servers"
	"github.com/compactsim/compactsim/sim/summarizer"
	"github.com/compactsim/compactsim/sim/users"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/synthetic"
)

// schema is the version of the scenario format.
const schema = 1

// Values of Scenario.Profile that are not files.
const (
	ProfileDefault = "default" // the one that comes with the program
	ProfileNone    = "none"    // the plain cache model
)

// Scenario is what a scenario file says. Reference is its manual: every
// key with its default, unit and source. Below fields with the tag sweep a list
// or a range can replace a value.
type Scenario struct {
	Schema   int            `yaml:"schema" doc:"Version of this format."`
	Name     string         `yaml:"name" doc:"Name of the scenario in messages and lists."`
	Doc      string         `yaml:"doc" doc:"The question it answers."`
	Sessions Sessions       `yaml:"sessions"`
	Users    users.Settings `yaml:"users,omitempty"`
	// Strategies are each the name of a preset, or a mapping with the keys of
	// strategyKeys.
	Strategies []yaml.Node       `yaml:"strategies"`
	Client     Client            `yaml:"client" sweep:"true" doc:"The agent that assembles requests, for all strategies."`
	Events     []changes.Event   `yaml:"events" doc:"what happens to every session beside what it says"`
	Server     Server            `yaml:"server" sweep:"true" doc:"The modelled prompt cache. Sources: the provider's page on prompt caching (platform.claude.com) and, where it leaves something open, the recordings."`
	Summarizer summarizer.Stub   `yaml:"summarizer" sweep:"true" doc:"Answers of summary calls. They have sizes and times only, and no text."`
	Live       live.Settings     `yaml:"live,omitempty" doc:"Calls that real models answer (sim run --summarizer live, docs/live.md): the block alone makes none. Which server is asked, and where calls are stored, is for the command line to say: ANTHROPIC_BASE_URL, --base-url, --cassettes."`
	Latency    costmodel.Latency `yaml:"latency" sweep:"true" doc:"How long calls take. A call of the conversation keeps its recorded time, moved by the difference between the input tokens that the simulated and the recorded server had to compute, and to read from the cache. The time of its input adds to the summarizer's times; calls of layers without a time of their own take the model's whole time. docs/latency.md gives the source of the figures: 3,441 recorded calls."`
	Levels     sim.Levels        `yaml:"levels" sweep:"true" doc:"Levels of the window that the client shows, by its own count, on main conversations (--split counts calls and times). The limit is where the strategy compacts by itself, else the window. With all at 0 nothing is counted."`
	Overflow   sim.Overflow      `yaml:"overflow" sweep:"true" doc:"What becomes of a request that the server refuses as longer than the window and that no layer can shorten: end (the session ends, as in the client; what is not simulated is counted, and the row shows what an answered call costs and is not compared), answer (it is answered and priced as if the window were larger) or strategy (end under strategies that shorten contexts, answer under the others: none, recorded, keepalive)."`
	Breaks     bool              `yaml:"breaks" doc:"Watch every call with the break detector of the client (docs/breaks.md): --split compares its reasons with what happened."`
	Detector   breaks.Rules      `yaml:"detector" sweep:"true" needs:"breaks" doc:"Its rules (sources: 000, 002)."`
	Profile    string            `yaml:"profile" doc:"Behaviour of the client and of other conversations that recordings show and no document describes: prefixes that others keep warm, calls that no log shows, thinking switched by commands. default is fitted on recorded sessions of Claude Code and Codex (docs/validation.md says how well it predicts), none is the plain cache model; any other value is a file that sim calibrate wrote (beside the scenario, else in the current folder). Of sessions of further agents it says what caches lose, what summaries keep and what is fetched again."`
	Needs      bool              `yaml:"needs" doc:"Measure what is forgotten (docs/fidelity.md): what later actions use of what had been said, found in the texts of the sessions. Sessions without texts have no figures."`
	Agent      sim.Agent         `yaml:"agent" sweep:"true" doc:"How the agent departs from what it did in the recording. With refetch: never and elongation 0 it acts as recorded whatever was forgotten."`
	Prices     Prices            `yaml:"prices"`
	Seed       uint64            `yaml:"seed" sweep:"true" doc:"Seed of all random draws: sizes and failures of summaries, evictions. Cells that differ in one parameter see the same draws."`
	Bound      bool              `yaml:"bound" doc:"Say what the best schedules of full compaction and of clearing cost for a known future, and how far each strategy is from the first (docs/bound.md)."`
	Verify     bool              `yaml:"verify" doc:"Check the invariants at every call (exit code 4 when one is violated)."`
}

// Rules says what is wrong with a scenario beyond its sections.
func (s *Scenario) Rules() []error {
	var errs []error
	if s.Schema != schema {
		errs = append(errs, spec.Wrong("schema", "%d: this version reads schema %d", s.Schema, schema))
	}
	if s.Users.Any() && (len(s.Sessions.Paths) > 0 || s.Sessions.Generate.Profile != "") {
		errs = append(errs, spec.Wrong("sessions", "are users' sessions here: leave out sessions.paths, sessions.generate or users"))
	}
	if s.Users.Any() && s.Users.GlobalScope && !s.Client.System.Divided() {
		errs = append(errs, spec.Wrong("client.system.split", "is %s, and users.global_scope marks one of its sections: want %s",
			s.Client.System.Split, client.SplitSections))
	}
	if n := len(s.Events); n > changes.Max {
		errs = append(errs, spec.Wrong("events", "are %d, at most %d are allowed", n, changes.Max))
	}
	for _, way := range slices.Sorted(maps.Keys(s.Summarizer.Failures)) {
		if known := strategies.Way(0).Names(); !slices.Contains(known, way) {
			errs = append(errs, spec.Problem{
				Paths: []string{"summarizer.failures." + way}, Text: oneOf("summarizer.failures", way, known).Error(),
			})
		}
	}
	return errs
}

// Sessions are what is replayed: recordings at paths relative to the current
// folder, or the embedded samples when there are no paths; of those, the ones
// that a filter selects.
type Sessions struct {
	Paths    []string `yaml:"paths" doc:"Recordings: files and folders, relative to the current folder, or - for standard input. Paths on the command line replace these. Without any, the samples that come with the program are replayed."`
	Since    string   `yaml:"since" doc:"Only sessions that begin from here on: a date (2026-03-01), a time (2026-03-01T15:04:05Z) or an age (7d, 36h). \"\" for no bound."` // as traces.FilterText has it
	Until    string   `yaml:"until" doc:"Only sessions that begin up to here; a date includes the day."`
	UTC      bool     `yaml:"utc" needs:"since|until" doc:"Dates are days in UTC; off, in local time."`
	Projects []string `yaml:"project" doc:"Only sessions whose project holds one of these texts or matches it as a pattern (*, ?, [a-z]). Empty lists take all."`
	Models   []string `yaml:"model" doc:"Only sessions with calls of a model like one of these patterns."`
	Agents   []string `yaml:"agent" doc:"Only sessions of one of these agents."`
	// Task says of which task a session is a try, for sim check.
	Task   string `yaml:"task" doc:"What tells the task that a session is a try of, so that sim check compares tries within tasks: folder, the one that its file is in, or an expression (regexp) for the file's path whose first group names it. \"\" for none."`
	Cohort cohort `yaml:"cohort" doc:"Which sessions share a clock and a cache, at the times they were recorded: session (each is alone), project (sessions of one agent in one project) or all (sessions of one agent). Sessions that share read what others have cached of the same prefix, and dreams are those of one user."`
	// Organisations say which sessions of a cohort may read each other's entries.
	Organisations organisations `yaml:"organisations" needs:"cohort=project|cohort=all" doc:"Whose sessions they are: of one organisation, or each session of its own. In a cohort sessions of different organisations share only what is marked for everyone (client.system.split: sections)."`
	Generate      Generate      `yaml:"generate" doc:"Sessions generated from a profile instead of recordings, without files. The same profile, seed and number give the same sessions. Excludes paths."`
}

// Generate says which sessions are made from a profile instead of being read.
type Generate struct {
	Profile  string `yaml:"profile" doc:"A name of sim traces gen --list, or a file that ends in .yaml. \"\" for none."`
	Sessions int    `yaml:"sessions" min:"1" max:"10000000" needs:"profile" doc:"How many."`
	Seed     uint64 `yaml:"seed" needs:"profile"`
}

// Rules refuses an invalid filter, and sessions that are both read and made.
func (s *Sessions) Rules() []error {
	var errs []error
	if _, err := s.Filter().Parse(time.Now(), time.UTC); err != nil {
		errs = append(errs, spec.Problem{Paths: []string{"since", "until", "project", "model", "agent"}, Text: err.Error()})
	}
	if _, err := regexp.Compile(s.Task); err != nil {
		errs = append(errs, spec.Wrong("task", "is no expression: %v", err))
	}
	if s.Generate.Profile == "" {
		return errs
	}
	if len(s.Paths) > 0 {
		errs = append(errs, spec.Wrong("generate.profile", "makes sessions, sessions.paths reads them: give one"))
	}
	if _, err := synthetic.LoadWorkload(s.Generate.Profile); err != nil {
		errs = append(errs, spec.Wrong("generate.profile", "cannot be read: %v", err))
	}
	return errs
}

// Filter returns the filter as written.
func (s *Sessions) Filter() traces.FilterText {
	return traces.FilterText{Since: s.Since, Until: s.Until, Projects: s.Projects, Models: s.Models, Agents: s.Agents}
}

// Select returns the filter, and writes the times that its period means into s, so that it stays
// the same wherever the scenario is run. Days are days of zone; nil stands for local days, or for
// days in UTC where s says so.
func (s *Sessions) Select(now time.Time, zone *time.Location) (traces.Filter, error) {
	if zone == nil && s.UTC {
		zone = time.UTC
	} else if zone == nil {
		zone = time.Local
	}
	f, err := s.Filter().Parse(now, zone)
	if err != nil {
		return f, err
	}
	s.Since, s.Until, s.UTC = "", "", false
	if !f.Since.IsZero() {
		s.Since = f.Since.UTC().Format(time.RFC3339)
	}
	if !f.Until.IsZero() {
		s.Until = f.Until.UTC().Format(time.RFC3339)
	}
	return f, nil
}

// cohort says which sessions share a clock and a cache.
type cohort uint8

const (
	cohortSession cohort = iota // each is alone
	cohortProject               // the sessions of one agent and project
	cohortAll                   // the sessions of one agent
)

// Names returns the names of cohorts in files.
func (cohort) Names() []string { return []string{"session", "project", "all"} }

// group returns the cohorts of sessions by index, nil when each is alone.
// Sessions of different agents call different providers and share nothing.
func (c cohort) group(sessions []*traces.Session) [][]int {
	if c == cohortSession {
		return nil
	}
	var list [][]int
	at := map[[2]string]int{}
	for i, s := range sessions {
		key := [2]string{s.Agent}
		if c == cohortProject {
			key[1] = s.Project
		}
		j, ok := at[key]
		if !ok {
			j = len(list)
			at[key] = j
			list = append(list, nil)
		}
		list[j] = append(list[j], i)
	}
	return list
}

// organisations say which sessions may read what other sessions wrote to the cache.
type organisations uint8

const (
	organisationsOne     organisations = iota // all belong to one
	organisationsSession                      // each belongs to one of its own
)

// Names returns the names of organisations in files.
func (organisations) Names() []string { return []string{"one", "session"} }

// owner returns the organisation of a session of a cohort, nil when there is
// only one.
func (o organisations) owner() func(int, *traces.Session) uint32 {
	if o == organisationsOne {
		return nil
	}
	return func(index int, _ *traces.Session) uint32 { return uint32(index) + 1 }
}

// Client is the agent whose requests are assembled. A zero value means the session's agent.
type Client struct {
	Version string `yaml:"version" doc:"Version of Claude Code to behave as, such as \"1.0.62\" (two markers on messages) or \"2.1.17\" (one): one to three numbers. A version newer than all known ones behaves as the newest. \"\" is each session's own. Sessions of other agents keep the client they were recorded with."`
	Prefix  string `yaml:"prefix" enum:"session,preset" doc:"Whose system prompt and lifetimes are sent under a preset that is a whole client: session (the recording's) or preset (sections, scopes and lifetimes of the preset's client)."`
	Window  int64  `yaml:"window" min:"0" doc:"Context window, tokens. 0 is the window of the session's model: 200,000, or 1,000,000 for names that end in [1m] and recordings that pass 200,000." unit:"tokens"`

	client.Assembly `yaml:",inline"`
}

// Rules refuses an invalid version, and two windows.
func (c *Client) Rules() []error {
	var errs []error
	if err := client.CheckVersion(c.Version); err != nil {
		errs = append(errs, spec.Wrong("version", "%v", err))
	}
	if c.Window > 0 && c.Env.MaxContextTokens != "" {
		errs = append(errs, spec.Problem{
			Paths: []string{"env.CLAUDE_CODE_MAX_CONTEXT_TOKENS", "window"},
			Text:  "window and CLAUDE_CODE_MAX_CONTEXT_TOKENS both set the window",
		})
	}
	return errs
}

// Server is the modelled cache.
type Server struct {
	Name               string `yaml:"name" doc:"Cache that all sessions call in place of their recording's: a name of docs/servers.md. Models that its provider does not sell cost nothing unless prices.as bills them as one that it does, and what recordings show of their own server does not hold. \"\" for that of the recording."`
	promptcache.Config `yaml:",inline"`

	HintAt int64 `yaml:"hint_at" min:"0" needs:"server-hint" doc:"Size, tokens, from which the server refuses a request of a strategy that takes hints (layer server-hint) once, with the hint to clear. 0 for never. When the provider hints is not documented." unit:"tokens"`
}

// Rules refuses a server that there is not, and lifetimes that contradict each other.
func (s *Server) Rules() []error {
	errs := s.Config.Rules()
	if s.Name != "" {
		if _, err := servers.Of(s.Name); err != nil {
			errs = append(errs, spec.Wrong("name", "is an %v", err))
		}
	}
	return errs
}

// Prices say what calls cost.
type Prices struct {
	At   priceDate         `yaml:"at" sweep:"true" doc:"Date of the prices: call (each call's own) or a date like 2026-03-01."`
	File string            `yaml:"file" doc:"File with prices that add to or replace the built-in ones (\"\" for none), beside the scenario, else in the current folder."`
	As   map[string]string `yaml:"as" doc:"Bill a model as another: {name-as-recorded: model}."`
}

// Default returns the scenario of `sim run` without a file. A file changes it.
func Default() Scenario {
	stub := summarizer.Default()
	stub.Failures, stub.Calls = map[string]summarizer.Failures{}, []int{}
	return Scenario{
		Schema: schema,
		Sessions: Sessions{
			Paths: []string{}, Projects: []string{}, Models: []string{}, Agents: []string{},
			Generate: Generate{Sessions: 100, Seed: 1},
		},
		Users:      users.Default(),
		Strategies: defaultStrategies(),
		Client:     Client{Prefix: prefixSession, Assembly: client.DefaultAssembly()},
		Events:     []changes.Event{},
		Server:     Server{Config: promptcache.Config{}.Filled()},
		Summarizer: *stub,
		Live:       live.DefaultSettings(),
		Profile:    ProfileDefault,
		Latency:    costmodel.DefaultLatency(),
		Levels:     sim.DefaultLevels(),
		Breaks:     true, Detector: breaks.DefaultRules(),
		Needs:  true,
		Agent:  sim.Agent{Refetch: sim.RefetchFitted},
		Prices: Prices{At: priceDateCall, As: map[string]string{}},
		Seed:   1,
	}
}

// hasUsers reports whether a scenario has users.
func hasUsers(tree *spec.Tree) bool {
	n := spec.Find(tree.Root, "users", "organisations")
	return n != nil && len(n.Content) > 0
}

// defaults returns the scenario that a file changes: the default, or with users what
// nothing recorded means. Who keeps what warm is simulated then, and no session has texts.
func defaults(tree *spec.Tree) Scenario {
	s := Default()
	if !hasUsers(tree) {
		return s
	}
	s.Profile, s.Breaks, s.Needs, s.Overflow = ProfileNone, false, false, sim.OverflowAnswer
	s.Latency, s.Levels = costmodel.Latency{}, sim.Levels{}
	s.Client.System.Split, s.Client.System.MCP = client.SplitSections, client.MCPPrefix
	s.Client.System.HeaderInKey = "false" // by_provider would have third parties read nothing at all
	return s
}

func defaultStrategies() []yaml.Node {
	var list []yaml.Node
	for _, name := range DefaultStrategies() {
		list = append(list, *spec.Text(name))
	}
	return list
}

// priceDate is when prices are taken: priceDateCall or a date as 2006-01-02.
type priceDate string

// priceDateCall is each call's own date.
const priceDateCall priceDate = "call"

// UnmarshalYAML reads call or a date.
func (d *priceDate) UnmarshalYAML(n *yaml.Node) error {
	v := priceDate(n.Value)
	if _, err := v.On(); err != nil {
		return err
	}
	*d = v
	return nil
}

// On returns the date, zero for the date of each call.
func (d priceDate) On() (time.Time, error) {
	if d == priceDateCall || d == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.DateOnly, string(d))
	if err != nil {
		return time.Time{}, fmt.Errorf("%q: want call or a date like 2026-03-01", string(d))
	}
	return at, nil
}
