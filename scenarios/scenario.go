package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/internal/nearest"
	"github.com/compactsim/compactsim/internal/spec"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/sim/summarizer"
	"github.com/compactsim/compactsim/traces"
)

// Schema is the version of the scenario format.
const Schema = 1

// Scenario is what a scenario file says. reference.yaml is its manual: every
// key with its default, unit and source. Below fields with the tag sweep a list
// or a range may stand in the place of one value; Load finds those.
type Scenario struct {
	Schema   int      `yaml:"schema"`
	Name     string   `yaml:"name"`
	Doc      string   `yaml:"doc"`
	Sessions Sessions `yaml:"sessions"`
	// Strategies are each the name of a preset, or a mapping with the keys of
	// StrategyKeys.
	Strategies []yaml.Node `yaml:"strategies"`
	Client     Client      `yaml:"client" sweep:"true"`
	// Events happen to every session beside what it says.
	Events     []client.Event `yaml:"events"`
	Server     Server         `yaml:"server" sweep:"true"`
	Summarizer Summarizer     `yaml:"summarizer" sweep:"true"`
	Latency    Latency        `yaml:"latency" sweep:"true"`
	Levels     Levels         `yaml:"levels" sweep:"true"`
	Breaks     bool           `yaml:"breaks"` // watch calls with the client's break detector
	Detector   Detector       `yaml:"detector" needs:"breaks" sweep:"true"`
	Profile    string         `yaml:"profile"` // default, none or a file of sim calibrate
	Prices     Prices         `yaml:"prices"`
	Seed       uint64         `yaml:"seed" sweep:"true"`
	Verify     bool           `yaml:"verify"`
}

// Sessions are what is replayed: recordings at paths as given, relative to the
// current folder, or the embedded samples when there are none, and of those the
// ones a filter takes.
type Sessions struct {
	Paths    []string `yaml:"paths"`
	Since    string   `yaml:"since"` // as traces.FilterText has it
	Until    string   `yaml:"until"`
	UTC      bool     `yaml:"utc" needs:"since|until"` // dates are days in UTC, not in local time
	Projects []string `yaml:"project"`
	Models   []string `yaml:"model"`
	Agents   []string `yaml:"agent"`
	Cohort   Cohort   `yaml:"cohort"`
	// Organisations say which sessions of a cohort may read each other's entries.
	Organisations Organisations `yaml:"organisations" needs:"cohort=project|cohort=all"`
	Generate      Generate      `yaml:"generate"`
}

// Filter returns the filter as written.
func (s *Sessions) Filter() traces.FilterText {
	return traces.FilterText{Since: s.Since, Until: s.Until, Projects: s.Projects, Models: s.Models, Agents: s.Agents}
}

// Fix writes a period counted from today, or in local days, as the times it
// means, so that it stays the same wherever the scenario is run.
func (s *Sessions) Fix(f *traces.Filter) {
	s.Since, s.Until, s.UTC = "", "", false
	if !f.Since.IsZero() {
		s.Since = f.Since.UTC().Format(time.RFC3339)
	}
	if !f.Until.IsZero() {
		s.Until = f.Until.UTC().Format(time.RFC3339)
	}
}

// Client is the agent whose requests are assembled. Zero values mean: as the
// session's.
type Client struct {
	Version string `yaml:"version"` // for instance "2.1.17"
	Window  int64  `yaml:"window"`  // context window, tokens

	client.Assembly `yaml:",inline"`
}

// Server is promptcache.Config with names for people and every default written.
type Server struct {
	Lookback         int      `yaml:"lookback"` // positions
	EveryBlockCounts bool     `yaml:"every_block_counts"`
	MaxMarkers       int      `yaml:"max_markers"` // 1…4
	Lifetime5m       Duration `yaml:"lifetime_5m"`
	Lifetime1h       Duration `yaml:"lifetime_1h"`
	Anchor           Anchor   `yaml:"anchor"`
	PrefixRefresh    bool     `yaml:"prefix_refresh"`
	TTLInKey         bool     `yaml:"ttl_in_key"`
	DeleteUncached   bool     `yaml:"delete_uncached" needs:"cached-microcompact"`
	EvictPerCall     float64  `yaml:"evict_per_call"` // probability, 0…1
	Capacity         int64    `yaml:"capacity"`       // tokens; 0 for no limit
	CapacityBytes    int64    `yaml:"capacity_bytes"` // the same as memory; 0 for no limit
	BytesPerToken    int64    `yaml:"bytes_per_token" needs:"capacity_bytes"`
	HintAt           int64    `yaml:"hint_at" needs:"server-hint"` // tokens; 0 for no hints
}

// defaultBytesPerToken is the memory that keys and values of one token take in
// Llama 3.1 70B, whose configuration is public: 2 × 80 layers × 8 heads × 128
// numbers of 2 bytes. Sizes of the providers' models are not.
const defaultBytesPerToken = 2 * 80 * 8 * 128 * 2

// Config returns the settings as the cache model takes them.
func (s *Server) Config() promptcache.Config {
	c := promptcache.Config{
		Lookback:         s.Lookback,
		EveryBlockCounts: s.EveryBlockCounts,
		MaxMarkers:       s.MaxMarkers,
		Anchor:           promptcache.Anchor(s.Anchor),
		NoPrefixRefresh:  !s.PrefixRefresh,
		TTLInKey:         s.TTLInKey,
		DeleteUncached:   s.DeleteUncached,
		EvictPerCall:     s.EvictPerCall,
		Capacity:         s.Capacity,
	}
	if s.CapacityBytes > 0 && s.BytesPerToken > 0 {
		c.Capacity = max(1, s.CapacityBytes/s.BytesPerToken) // 0 would be no limit
	}
	c.Lifetime[prompt.TTL5m] = int64(s.Lifetime5m)
	c.Lifetime[prompt.TTL1h] = int64(s.Lifetime1h)
	return c
}

// Summarizer is summarizer.Stub with names for people.
type Summarizer struct {
	Sizing        Sizing   `yaml:"sizing"`
	Median        float64  `yaml:"median" needs:"sizing=lognormal|sizing=fixed"` // tokens
	Sigma         float64  `yaml:"sigma" needs:"sizing=lognormal"`
	Share         float64  `yaml:"share" needs:"sizing=fraction"` // 0…1
	Stripped      float64  `yaml:"stripped"`                      // share of the summary
	BytesPerToken float64  `yaml:"bytes_per_token"`
	FirstToken    Duration `yaml:"first_token"`
	OutputRate    float64  `yaml:"output_rate"`  // tokens per second
	FailureRate   float64  `yaml:"failure_rate"` // probability of an answer without text, 0…1
	// Failures are probabilities by the way a call is made: fork, streaming,
	// small-model.
	Failures  map[string]Failures `yaml:"failures"`
	FailCalls []int               `yaml:"fail_calls"`                 // ordinals of calls of a session that fail, from 1
	FailAs    string              `yaml:"fail_as" needs:"fail_calls"` // how they fail
}

// Failures is summarizer.Failures with names for people; probabilities, 0…1.
type Failures struct {
	ToolCall float64 `yaml:"tool_call"`
	Empty    float64 `yaml:"empty"`
	API      float64 `yaml:"api"`
	TooLong  float64 `yaml:"prompt_too_long"`
}

// Stub returns the settings as the loop takes them.
func (s *Summarizer) Stub() *summarizer.Stub {
	stub := &summarizer.Stub{
		Sizing: summarizer.Sizing(s.Sizing), Median: s.Median, Sigma: s.Sigma, Share: s.Share, Stripped: s.Stripped,
		BytesPerToken: s.BytesPerToken, FirstToken: int64(s.FirstToken), OutputRate: s.OutputRate, FailureRate: s.FailureRate,
		Script: summarizer.Script{As: s.FailAs},
	}
	stub.Script.Calls = append(stub.Script.Calls, s.FailCalls...)
	for way, f := range s.Failures {
		if stub.Failures == nil {
			stub.Failures = map[string]summarizer.Failures{}
		}
		stub.Failures[way] = summarizer.Failures(f)
	}
	return stub
}

// Prices say what calls cost.
type Prices struct {
	At   PriceDate         `yaml:"at" sweep:"true"`
	File string            `yaml:"file"` // adds to or replaces the built-in prices
	As   map[string]string `yaml:"as"`   // bill a model as another
}

// Default returns the scenario that `sim run` carries out: the one a file
// changes.
func Default() Scenario {
	stub := summarizer.Default()
	return Scenario{
		Schema: Schema,
		Sessions: Sessions{
			Paths: []string{}, Projects: []string{}, Models: []string{}, Agents: []string{},
			Generate: Generate{Sessions: 100, Seed: 1},
		},
		Strategies: defaultStrategies(),
		Client:     Client{Assembly: client.DefaultAssembly()},
		Events:     []client.Event{},
		Server: Server{
			Lookback:   promptcache.DefaultLookback,
			MaxMarkers: prompt.MaxMarkers,
			Lifetime5m: Duration(promptcache.DefaultLifetime5m), Lifetime1h: Duration(promptcache.DefaultLifetime1h),
			PrefixRefresh: true,
			BytesPerToken: defaultBytesPerToken,
		},
		Summarizer: Summarizer{
			Sizing: Sizing(stub.Sizing), Median: stub.Median, Sigma: stub.Sigma, Share: stub.Share, Stripped: stub.Stripped,
			BytesPerToken: stub.BytesPerToken, FirstToken: Duration(stub.FirstToken), OutputRate: stub.OutputRate, FailureRate: stub.FailureRate,
			Failures: map[string]Failures{}, FailCalls: []int{},
		},
		Profile: ProfileDefault,
		Latency: defaultLatency(),
		Levels:  defaultLevels(),
		Breaks:  true, Detector: defaultDetector(),
		Prices: Prices{At: PriceDateCall, As: map[string]string{}},
		Seed:   1,
	}
}

func defaultStrategies() []yaml.Node {
	var list []yaml.Node
	for _, name := range DefaultStrategies() {
		list = append(list, *spec.Text(name))
	}
	return list
}

// Duration is a time in ns, written as Go does: 90s, 5m, 1h30m.
type Duration int64

// UnmarshalYAML reads a duration with its unit.
func (d *Duration) UnmarshalYAML(n *yaml.Node) error {
	v, err := time.ParseDuration(n.Value)
	if err != nil || n.Kind != yaml.ScalarNode {
		return fmt.Errorf("want a duration such as 90s, 5m or 1h, not %q", n.Value)
	}
	*d = Duration(v)
	return nil
}

// MarshalYAML writes a duration without the zero parts time.Duration writes.
func (d Duration) MarshalYAML() (any, error) {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s, nil
}

// Anchor is a promptcache.Anchor, written end or start.
type Anchor promptcache.Anchor

var anchorNames = []string{promptcache.AnchorEnd: "end", promptcache.AnchorStart: "start"}

// UnmarshalYAML reads an anchor by name.
func (a *Anchor) UnmarshalYAML(n *yaml.Node) error { return choose(a, n, anchorNames) }

// MarshalYAML writes the name.
func (a Anchor) MarshalYAML() (any, error) { return nameOf(int(a), anchorNames) }

// Sizing is a summarizer.Sizing, written lognormal, fraction or fixed.
type Sizing summarizer.Sizing

var sizingNames = []string{summarizer.LogNormal: "lognormal", summarizer.Fraction: "fraction", summarizer.Fixed: "fixed"}

// UnmarshalYAML reads a sizing by name.
func (s *Sizing) UnmarshalYAML(n *yaml.Node) error { return choose(s, n, sizingNames) }

// MarshalYAML writes the name.
func (s Sizing) MarshalYAML() (any, error) { return nameOf(int(s), sizingNames) }

func choose[T ~uint8](v *T, n *yaml.Node, names []string) error {
	i := slices.Index(names, n.Value)
	if i < 0 {
		return fmt.Errorf("unknown value %q%s; want %s", n.Value, nearest.Hint(n.Value, names), strings.Join(names, " or "))
	}
	*v = T(i)
	return nil
}

func nameOf(i int, names []string) (any, error) {
	if i >= len(names) {
		return nil, fmt.Errorf("value %d has no name", i)
	}
	return names[i], nil
}

// PriceDate is when prices are taken: PriceDateCall, PriceDateToday or a date
// as 2006-01-02.
type PriceDate string

// Values of PriceDate that are not dates.
const (
	PriceDateCall  PriceDate = "call"  // each call at its own date
	PriceDateToday PriceDate = "today" // the day the scenario is run, UTC
)

// UnmarshalYAML reads call, today or a date.
func (d *PriceDate) UnmarshalYAML(n *yaml.Node) error {
	v := PriceDate(n.Value)
	if _, err := v.On(time.Time{}); err != nil {
		return err
	}
	*d = v
	return nil
}

// On returns the date, zero for that of each call. Today is the day of now.
func (d PriceDate) On(now time.Time) (time.Time, error) {
	switch d {
	case PriceDateCall, "":
		return time.Time{}, nil
	case PriceDateToday:
		return now.UTC().Truncate(24 * time.Hour), nil
	}
	at, err := time.Parse(isoDate, string(d))
	if err != nil {
		return time.Time{}, fmt.Errorf("%q: want call, today or a date like 2026-03-01", string(d))
	}
	return at, nil
}
