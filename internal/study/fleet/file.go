package fleet

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/internal/kit/nearest"
	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/internal/reading/synthetic"
	"github.com/compactsim/compactsim/internal/serving/client"
	"github.com/compactsim/compactsim/internal/study/studies"
	"github.com/compactsim/compactsim/strategies"
)

// Schema is the version of the format of fleet files.
const Schema = 1

// File is a fleet as written down. Shares and probabilities lie in 0…1, sizes are
// tokens, times are written with their unit.
type File struct {
	Schema int    `yaml:"schema" doc:"Version of this format."`
	Name   string `yaml:"name" doc:"What the fleet is called."`
	Doc    string `yaml:"doc" doc:"What it is for."`

	Start Moment `yaml:"start" doc:"Zero of all times below."`
	Days  int    `yaml:"days" min:"1" max:"366" doc:"Days over which sessions begin, 1…366. Calls are simulated to the end of the last session."`
	Seed  uint64 `yaml:"seed"`

	Strategies []string `yaml:"strategies" doc:"Presets (sim strategies ls), each of which the whole fleet is run under. Not recorded: nothing was."`
	PricesAt   string   `yaml:"prices_at" doc:"Prices of each call's own date (call), or of one date (2026-03-01)."`
	Prices     Prices   `yaml:"prices"`
	Window     int64    `yaml:"window" min:"0" max:"100000000" doc:"Context window, tokens; 0 as the client's."`
	Compare    []string `yaml:"compare" enum:"global_scope,overage,upgrades" doc:"What the fleet is run once more without, for comparison, where it has that: the same sessions and draws, so that the difference is what it makes. global_scope: what is marked for everyone is marked for the organisation. overage: nobody passes the quota. upgrades: the client stays as it is."`
	Server     Server   `yaml:"server"`
	Client     Client   `yaml:"client" doc:"What all clients have in common."`

	Upgrades []Upgrade `yaml:"upgrades" doc:"Upgrades of the client that change its static prompt, such as {at: 14h, over: 2h, static: 200} or {at: 2026-03-04T09:00:00Z}. A user has one from a time drawn evenly over that time, a session from when it begins or is resumed. static is the tokens by which the prompt grows, and may be negative."`
	Orgs     []Org     `yaml:"orgs"`

	// times are read from the files that arrivals name, by organisation.
	times  map[int][]arrival
	known  *known // nil keeps nothing
	inputs Inputs // for rules while the file is read
}

// Moment is a time, written as 2026-03-02T09:00:00Z or, for midnight in UTC, as a
// date.
type Moment struct{ time.Time }

// UnmarshalYAML reads a time or a date.
func (m *Moment) UnmarshalYAML(n *yaml.Node) error {
	for _, layout := range [...]string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, n.Value); err == nil && n.Kind == yaml.ScalarNode {
			m.Time = t.UTC()
			return nil
		}
	}
	return fmt.Errorf("want a time such as 2026-03-02T09:00:00Z, not %q", n.Value)
}

// MarshalYAML writes the time as it is read.
func (m Moment) MarshalYAML() (any, error) { return m.Format(time.RFC3339), nil }

// Prices say where prices come from. The program that runs the fleet reads
// them; Runner.Prices are the ones that count.
type Prices struct {
	File string `yaml:"file" doc:"A file with prices that add to or replace the built-in ones; --prices takes its place. Here and below a file is one in the folder of the fleet; if there is none, one in the folder in which sim runs. Flags name files from the latter."`
}

// Server is what varies about the modelled cache.
type Server struct {
	TTLInKey bool          `yaml:"ttl_in_key" doc:"Entries of 5m and 1h are kept apart. Undocumented: the story of the latch says so, forks that read their parent's entries say not."`
	Life5m   time.Duration `yaml:"lifetime_5m" min:"1ns" max:"24h" doc:"How long entries of 5m stay unused."`
	Life1h   time.Duration `yaml:"lifetime_1h" min:"1ns" max:"24h" doc:"How long entries of 1h stay unused."`
	Lookback int           `yaml:"lookback" min:"1" max:"1000" doc:"Positions that a marker looks back."`
}

// Client has the settings that all clients of the fleet share.
type Client struct {
	Version     string        `yaml:"version" doc:"Version of the client, in place of the profiles'; \"\" leaves those. Prompts of another version or another size are not shared."`
	Static      int           `yaml:"static" doc:"Tokens of tools and system prompt, in place of the profiles'; 0 leaves those."`
	GlobalScope bool          `yaml:"global_scope" doc:"Mark the static prompt for everyone, where the user's client can: not with tools of MCP servers in the prefix, nor through another provider."`
	Latch       bool          `yaml:"latch" doc:"Keep the first answer about the lifetime of a user for the whole session: one that began within the quota stays at 1h."`
	Allow       []string      `yaml:"allow" doc:"Sources of calls that get 1h, for users who may have it."`
	System      client.System `yaml:"system" doc:"How the system prompt is divided and marked: the keys of client.system in a scenario, with defaults of a fleet."`
}

// Upgrade is a new version of the client with another static prompt. A user
// gets it at a time drawn evenly between At and At + Over; a session has it if
// it begins or is resumed after that.
type Upgrade struct {
	At     time.Duration `yaml:"at"`                                // from the start
	Over   time.Duration `yaml:"over"`                              // until the last users have it
	Static int32         `yaml:"static" min:"-100000" max:"100000"` // tokens by which the prompt grows
}

// Org is an organisation: its people and their sessions.
type Org struct {
	Name      string             `yaml:"name"`
	Users     int                `yaml:"users" min:"1" max:"1000000"`
	Kinds     map[string]float64 `yaml:"kinds" min:"0" max:"1" whole:"true" doc:"How users are entitled, as shares of all: employees of the provider (1h, whatever the quota), subscribers of a plan (1h inside its quota), users who pay by the token (5m), and those of other providers (5m, and a cache of their own)."`
	MCP       float64            `yaml:"mcp" min:"0" max:"1" doc:"Share of users whose sessions load tools of MCP servers."`
	MCPTools  int32              `yaml:"mcp_tools" min:"1" max:"100000" doc:"Tokens of these tools, of all that a session has."`
	Bedrock1h bool               `yaml:"bedrock_1h" doc:"Users of Bedrock opt in to 1h."`

	Sessions Sessions `yaml:"sessions"`
	Arrivals Arrivals `yaml:"arrivals" doc:"When sessions begin."`
	Resume   float64  `yaml:"resume" min:"0" max:"1" doc:"Share of sessions that go on with the one of the user's that ended last: its context comes ahead, and is written again when it has expired."`
	Overage  Overage  `yaml:"overage" doc:"Subscribers who pass the quota of their plan."`
}

// Sessions says what the sessions of an organisation are drawn from.
type Sessions struct {
	Profiles map[string]float64 `yaml:"profiles" min:"0" whole:"true" doc:"What sessions are drawn from, by weight: profiles (sim traces gen --list), or files that end in .yaml."`
	PerDay   float64            `yaml:"per_user_day" min:"0" max:"1000" doc:"Mean number on a weekday."`
	Turns    *synthetic.Dist    `yaml:"turns" doc:"Turns of a session, in place of the profiles', as a distribution: {median: 4, sigma: 0.4, min: 1, max: 8}; {min: 20} is always 20."`
	Rounds   *synthetic.Dist    `yaml:"rounds" doc:"Calls of a turn, the same way."`
	Model    string             `yaml:"model" doc:"Model of all calls, in place of the profiles'."`
	Version  string             `yaml:"version" doc:"Version of the client, in place of the fleet's."`
	Static   int                `yaml:"static" doc:"Tokens of tools and system prompt, in place of the fleet's."`
}

// Processes of arrivals.
const (
	ProcessPoisson = "poisson" // evenly over the day
	ProcessDiurnal = "diurnal" // most at the peak hour
	ProcessTrace   = "trace"   // at given times
)

// Arrivals says when sessions begin.
type Arrivals struct {
	Process string        `yaml:"process" enum:"poisson,diurnal,trace" doc:"poisson: evenly over the day; diurnal: most at the peak hour; trace: at times."`
	Peak    float64       `yaml:"peak_hour" min:"0" max:"24" doc:"Of diurnal arrivals: the local hour with most of them."`
	Focus   float64       `yaml:"focus" min:"0" max:"50" doc:"How far the day gathers around it: the rate goes with exp(focus · cos(2π(hour − peak)/24)), at 2 it is 55 times that of the quietest hour."`
	Offset  time.Duration `yaml:"offset" min:"-24h" max:"24h" doc:"Local time less UTC: -5h in New York."`
	Weekend float64       `yaml:"weekend" min:"0" max:"1000" doc:"Rate of Saturdays and Sundays, of that of a weekday."`
	Times   []string      `yaml:"times" doc:"Of a trace: times from the start or dates, with the index of the user or without (90m, 90m 17, 2026-03-02T09:00:00Z)."`
	File    string        `yaml:"file" doc:"A file with one of these on each line."`
}

// Overage says who exceeds the quota of their plan.
type Overage struct {
	Share float64       `yaml:"share" min:"0" max:"1" doc:"The share of them who do on a day with sessions."`
	After time.Duration `yaml:"after" min:"0s" max:"24h" doc:"How long behind the start of the day's first session."`
	Lasts time.Duration `yaml:"lasts" min:"0s" max:"24h" doc:"For how long."`
}

// Kinds of users, by entitlement and provider.
const (
	KindEmployee   = "employee"    // of the provider: an hour, whatever the quota
	KindSubscriber = "subscriber"  // of a plan: an hour inside its quota
	KindAPI        = "api"         // pays by the token: five minutes
	KindBedrock    = "bedrock"     // served by Bedrock
	KindThirdParty = "third_party" // served by others
)

// Kinds returns the kinds of users in the order in which they are reported.
func Kinds() []string {
	return []string{KindEmployee, KindSubscriber, KindAPI, KindBedrock, KindThirdParty}
}

// defaultFile has the defaults of a file. Sources: DESIGN.md §2 for lifetimes,
// the client's own defaults for the rest.
func defaultFile() File {
	ttl, system := client.DefaultTTL(), client.DefaultSystem()
	system.Split = client.SplitSections
	system.MCP = client.MCPPrefix
	system.HeaderInKey = "false" // by_provider would have third parties read nothing at all
	return File{
		Start: Moment{time.Date(2026, time.March, 2, 0, 0, 0, 0, time.UTC)}, Days: 1, Seed: 1,
		Strategies: []string{"claude-code/2026-03"}, PricesAt: pricesAtCall,
		Compare: []string{studies.WithoutGlobalScope, studies.WithoutOverage, studies.WithoutUpgrades},
		Server:  Server{Life5m: 5 * time.Minute, Life1h: time.Hour, Lookback: 20},
		Client: Client{
			Version: "2.1.62", Static: 20_000, GlobalScope: true, Latch: ttl.Latch, Allow: ttl.Allow, System: system,
		},
	}
}

// pricesAtCall prices each call at its own date.
const pricesAtCall = "call"

// SetDefaults sets the defaults of an organisation's entry.
func (o *Org) SetDefaults() {
	*o = Org{
		Kinds:    map[string]float64{KindSubscriber: 1},
		MCPTools: 5000, // as for an event without a value: assumed
		Sessions: Sessions{Profiles: map[string]float64{"short-fix": 1}, PerDay: 3},
		Arrivals: Arrivals{Process: ProcessDiurnal, Peak: 14, Focus: 2, Weekend: 0.2},
		Overage:  Overage{After: 3 * time.Hour, Lasts: 4 * time.Hour},
	}
}

//go:embed fleets/*.yaml
var builtin embed.FS

//go:embed manual.txt
var manual string

// Names lists the fleets that come with the program.
func Names() []string {
	entries, err := builtin.ReadDir("fleets")
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return names
}

// referenceName is the name of the manual in Text and Load; the manual is a valid fleet.
const referenceName = "reference"

// Text returns the YAML of a fleet that comes with the program, or of the manual: every
// key with its default.
func Text(name string) ([]byte, error) {
	if name == referenceName {
		return reference()
	}
	if !slices.Contains(Names(), name) {
		return nil, fmt.Errorf("no fleet %q%s; there are %s, and files that end in .yaml or .yml",
			name, nearest.Hint(name, Names()), strings.Join(Names(), ", "))
	}
	return builtin.ReadFile("fleets/" + name + ".yaml")
}

func reference() ([]byte, error) {
	var o Org
	o.SetDefaults()
	o.Name, o.Users, o.Arrivals.Times = "acme", 20, []string{}
	for _, kind := range Kinds() {
		o.Kinds[kind] += 0
	}
	f := defaultFile()
	f.Schema, f.Name, f.Doc, f.Upgrades, f.Orgs = Schema, referenceName, "The manual of fleet files.", []Upgrade{}, []Org{o}
	return spec.Manual(f, spec.Chapters(manual))
}

// Inputs are what a fleet may name.
type Inputs struct {
	// Files are fleets and the times of traces; nil for none.
	Files fs.FS
	// Registry has the strategies; with nil only the Runner checks their names.
	Registry *strategies.Registry
}

// read reads a fleet strictly. The error names every problem at once with file and line:
// unknown keys and names with the nearest known one, values out of range, and fleets that
// could not end. Names of files in it are relative to the working folder. It replaces the
// dates of upgrades in the tree by times from the start, and changes nothing else.
func read(tree *spec.Tree, in Inputs) (*File, error) {
	f := defaultFile()
	f.known, f.inputs = new(known), in
	dates(tree.Root, f.Start.Time)
	errs := tree.Decode(tree.Root, &f, "")
	if len(errs) == 0 {
		for _, p := range f.checkSize() {
			errs = append(errs, tree.Place(tree.Root, p))
		}
	}
	f.inputs = Inputs{}
	if len(errs) > 0 {
		return nil, fmt.Errorf("reading a fleet: %w", errors.Join(errs...))
	}
	return &f, nil
}

// dates replaces the dates at which upgrades begin by times from the start,
// which is read first.
func dates(root *yaml.Node, start time.Time) {
	upgrades := spec.Child(root, "upgrades")
	if upgrades == nil || upgrades.Kind != yaml.SequenceNode {
		return
	}
	if n := spec.Child(root, "start"); n != nil {
		var given Moment
		if given.UnmarshalYAML(n) != nil {
			return
		}
		start = given.Time
	}
	for _, u := range upgrades.Content {
		var at Moment
		if n := spec.Child(u, "at"); n != nil && at.UnmarshalYAML(n) == nil {
			n.Value, n.Tag = at.Sub(start).String(), "!!str"
		}
	}
}

// pricesAt returns the date of prices, zero for that of each call.
func (f *File) pricesAt() (time.Time, error) {
	if f.PricesAt == pricesAtCall {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.DateOnly, f.PricesAt)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q: want call or a date like 2026-03-01", f.PricesAt)
	}
	return at, nil
}

// pricesText returns the date of prices in words.
func (f *File) pricesText() string {
	if f.PricesAt == pricesAtCall {
		return "call date"
	}
	return f.PricesAt
}

// locate rewrites names of files in a fleet's text so that they open from the
// working folder. Profiles, prices and times are relative to the fleet's own
// folder if they exist there, else to the working folder.
func locate(tree *spec.Tree, files fs.FS) {
	exists := func(name string) bool {
		info, err := fs.Stat(files, name)
		return err == nil && !info.IsDir()
	}
	tree.Beside(spec.Find(tree.Root, "prices", "file"), exists)
	orgs := spec.Child(tree.Root, "orgs")
	if orgs == nil || orgs.Kind != yaml.SequenceNode {
		return
	}
	for _, org := range orgs.Content {
		tree.Beside(spec.Find(org, "arrivals", "file"), exists)
		profiles := spec.Find(org, "sessions", "profiles")
		if profiles == nil || profiles.Kind != yaml.MappingNode {
			continue
		}
		for i := 0; i < len(profiles.Content); i += 2 {
			if key := profiles.Content[i]; namesFile(key.Value) {
				tree.Beside(key, exists)
			}
		}
	}
}

// namesFile reports whether a name of a fleet or a profile is a file, not one
// that comes with the program.
func namesFile(name string) bool {
	return strings.ContainsAny(name, `/\`) || slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(name))
}

// byFile orders names of profiles by file, then by folders, innermost first, so
// that what is drawn does not depend on where a fleet is run, unless two files
// differ only by "..".
func byFile(a, b string) int {
	return slices.Compare(fromFile(a), fromFile(b))
}

// fromFile returns the elements of a path, the last first.
func fromFile(name string) []string {
	list := strings.Split(filepath.ToSlash(filepath.Clean(name)), "/")
	slices.Reverse(list)
	return list
}
