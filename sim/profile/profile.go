// Package profile has what is fitted from recordings and documented nowhere:
// how large the static prefix of a client is, how long entries really live,
// which calls a client makes that no log shows. Every number has its sample
// size and an interval.
package profile

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
)

// Estimate is a fitted number with its 95 % interval and sample size. Shares
// have the interval of Wilson (1927), medians and quantiles an interval of order statistics.
type Estimate struct {
	Value float64 `yaml:"value" json:"value"`
	Low   float64 `yaml:"low" json:"low"`
	High  float64 `yaml:"high" json:"high"`
	N     int     `yaml:"samples" json:"samples" min:"0"`
}

// Share returns the share k of n with its interval, 0…1 where n is 0.
func Share(k, n int) Estimate {
	if n == 0 {
		return Estimate{High: 1}
	}
	e := Proportion(float64(k), float64(n))
	e.N = n
	return e
}

// Median returns the type-7 median with the 95 % interval of order statistics:
// ranks n/2 ∓ 1.96·√n/2, to three decimals.
func Median(x []float64) Estimate {
	if len(x) == 0 {
		return Estimate{}
	}
	round := func(x float64) float64 { return math.Round(x*1e3)/1e3 + 0 } // never −0
	x = slices.Sorted(slices.Values(x))
	n := float64(len(x))
	d := 0.98 * math.Sqrt(n)
	low, high := int(math.Floor(n/2-d)), int(math.Ceil(n/2+d))
	return Estimate{
		Value: round(stats.Quantile(x, 0.5)), Low: round(x[max(0, low)]), High: round(x[min(len(x)-1, high)]), N: len(x),
	}
}

// Proportion is Share of counts that need not be whole, without their number; n must be positive.
func Proportion(k, n float64) Estimate {
	round := func(x float64) float64 { return math.Round(x*1e4) / 1e4 }
	e := wilson(k, n)
	return Estimate{Value: round(e.Value), Low: round(e.Low), High: round(e.High)}
}

// wilson is Proportion in full precision.
func wilson(k, n float64) Estimate {
	const z = 1.96
	p := k / n
	mid := (p + z*z/(2*n)) / (1 + z*z/n)
	d := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return Estimate{Value: p, Low: max(0, mid-d), High: min(1, mid+d)}
}

// Within returns an error for a value that is no number or outside low…high,
// the bounds of a tag.
func (e *Estimate) Within(low, high float64) error {
	switch sum := math.Abs(e.Value) + math.Abs(e.Low) + math.Abs(e.High); {
	case !(sum <= math.MaxFloat64):
		return fmt.Errorf("%g in %g…%g is no estimate", e.Value, e.Low, e.High)
	case e.Value < low || e.Value > high:
		return fmt.Errorf("%g must lie in %.9g…%.9g", e.Value, low, high)
	}
	return nil
}

// Versioned is an estimate for clients from a version on.
type Versioned struct {
	Version  string `yaml:"version"`
	Estimate `yaml:",inline"`
}

// Switches turn on the parts of the model that go beyond the plain cache.
type Switches struct {
	// Static takes the static prefix from the table by version, and from the
	// session's earlier calls.
	Static bool `yaml:"static_prefix"`
	// Thinking keeps messages with and without thinking in separate entries, and turns
	// thinking off for the rest of a turn once a skill or command has been expanded.
	Thinking bool `yaml:"thinking"`
	// Hidden makes the unlogged calls at the end of a turn.
	Hidden bool `yaml:"hidden_calls"`
	// Shared lets other conversations keep the head of the prompt in the cache.
	Shared bool `yaml:"shared_prefix"`
	// Unheld leaves results of parallel calls after the marked one uncached, and
	// removes what an earlier recorded call of the thread left uncached from the
	// entry it wrote.
	Unheld bool `yaml:"unheld_tail"`
	// First lets the first call of a thread find the part of its prefix that
	// other conversations keep in the cache.
	First bool `yaml:"first_calls"`
	// Behind adds to the context after a compaction what recordings have beyond its parts, for strategies
	// that ask for that.
	Behind bool `yaml:"behind_compaction"`
}

// Names returns the names of the switches that are on, in order.
func (s Switches) Names() []string { return switchedOn(s) }

// switchedOn returns the names of the switches of a block that are on, in order.
func switchedOn[S any](s S) []string {
	var names []string
	spec.Fields(s, func(f *spec.Field) {
		if f.Value.Bool() {
			names = append(names, f.Path)
		}
	})
	return names
}

// FirstCalls says how often the first call of a sub-agent reads a prefix that
// other conversations have cached, and the median of its size by version.
type FirstCalls struct {
	Agent       Estimate    `yaml:"sub_agent" min:"0" max:"1"`
	AgentTokens []Versioned `yaml:"sub_agent_tokens" min:"0" max:"200000"`
}

// Profile is everything fitted. The zero value is the plain cache model.
type Profile struct {
	Name     string   `yaml:"name"`
	Source   string   `yaml:"source"` // what it was fitted on
	Switches Switches `yaml:"switches"`
	// Epochs are the first versions of ranges of clients that behave alike, in
	// ascending order. Evidence has the trials of the rules in them.
	Epochs   []string `yaml:"epochs,flow"`
	Evidence Evidence `yaml:"rules,omitempty"`
	// Static is the size of tools and system prompt of main threads, tokens,
	// by version in ascending order: at most the window of most models.
	Static []Versioned `yaml:"static_prefix_tokens" min:"0" max:"200000"`
	// OwnSystem is how far the part of the prompt that stays when the messages
	// change extends beyond what all users share, tokens: the session's own system
	// prompt, in clients that mark both.
	OwnSystem Estimate `yaml:"own_system_tokens"`
	// Hidden is the share of turns after which the client makes an unlogged call
	// that caches the last response.
	Hidden []Habit `yaml:"hidden_call_share" min:"0" max:"1"`
	// Shared is the share of expired calls that still read a prefix other
	// conversations keep warm.
	Shared Estimate   `yaml:"shared_after_expiry" min:"0" max:"1"`
	First  FirstCalls `yaml:"first_calls"`
	// FirstReads are the reads of first calls of sessions, by time.
	FirstReads []FirstRead `yaml:"first_reads,omitempty"`
	firsts     *firsts     // the same by key; nil until they are learned or read
	// Codex applies to Codex alone.
	Codex   Codex      `yaml:"codex"`
	Losses  Losses     `yaml:"unexplained_losses"`
	pooled  *pool      // what its sessions show, by level; nil until they are learned or read
	Compact Compaction `yaml:"compaction"`
	// Announced is what clients tell the model of their own accord, by epoch.
	Announced []Announced `yaml:"announced_tokens,omitempty"`
	// Residual is the unexplained part of a session's input cost: quantiles at equal steps
	// from 0 to 1 of ln(recorded/predicted), over sessions as predicted by profiles that have
	// not seen their repository. Bands draw from it. NewResidual holds for epochs without evidence,
	// from profiles that have not seen the epoch.
	Residual    []float64 `yaml:"session_residual,flow" min:"-20" max:"20"`
	NewResidual []float64 `yaml:"session_residual_without_evidence,flow,omitempty" min:"-20" max:"20"`
	// Fitted are the epochs with evidence: ranges of client versions with models.
	Fitted []string `yaml:"epochs_with_evidence,omitempty"`
	// Refetch is how often agents fetch, before they use it, what a compaction removed and nothing else
	// would have shown again, by kind of need, and "all" for kinds with few needs. A kind with OutputSuffix is of what
	// commands printed.
	Refetch map[string]Estimate `yaml:"refetch,omitempty"`
	// Reread is the share of the reads of what a compaction had removed that agents made for that reason; nil for all.
	Reread *Estimate `yaml:"reread,omitempty"`
	// Kept is the share of strings used after a compaction that the summary or what returns with it has, by kind.
	Kept map[string]Estimate `yaml:"summary_keeps,omitempty"`
	// Weight is how many observations of a session the profile's own share counts
	// for when the session's earlier calls show otherwise.
	Weight float64 `yaml:"prior_weight" min:"0"`
	tried  `yaml:"-"`
}

// tried are rules that hold, or do not hold, whatever the evidence says.
type tried struct {
	// Force and Forbid are rules that hold, or do not hold, whatever the evidence
	// says, to try a rule.
	Force  Set `yaml:"-" json:"-"`
	Forbid Set `yaml:"-" json:"-"`
}

// OutputSuffix ends the names of kinds of needs for what a command printed: agents seldom run a command again for a name
// that they have lost.
const OutputSuffix = "_output"

// RefetchOf returns how often agents fetch what they lack of a kind of need, 0…1, by whether a command printed it.
func (p *Profile) RefetchOf(kind string, output bool) Estimate {
	if output {
		if e, ok := p.Refetch[kind+OutputSuffix]; ok {
			return e
		}
	}
	if e, ok := p.Refetch[kind]; ok {
		return e
	}
	return p.Refetch["all"]
}

// RereadShare returns the share of the reads of what a compaction had removed that agents made for that reason, 0…1.
func (p *Profile) RereadShare() Estimate {
	if p == nil || p.Reread == nil {
		return Estimate{Value: 1, Low: 1, High: 1}
	}
	return *p.Reread
}

// KeptOf returns the share that summaries keep of a kind of need, and whether there is evidence; p may be nil.
func (p *Profile) KeptOf(kind string) (Estimate, bool) {
	if p == nil || p.Kept == nil {
		return Estimate{}, false
	}
	e, ok := p.Kept[kind]
	if !ok {
		e, ok = p.Kept["all"]
	}
	return e, ok
}

//go:embed default.yaml
var defaultText []byte

// defaultProfile is read once, because every plan needs it.
var defaultProfile = sync.OnceValues(func() (*Profile, error) { return Parse(defaultText, "default.yaml") })

// Default returns the profile that comes with the program. The caller may
// change its fields, but not the content of its lists.
func Default() (*Profile, error) {
	p, err := defaultProfile()
	if err != nil {
		return nil, err
	}
	own := *p
	return &own, nil
}

// Parse reads a profile strictly; errors name file and line.
func Parse(text []byte, name string) (*Profile, error) {
	var p Profile
	if err := spec.Decode(text, name, &p); err != nil {
		return nil, fmt.Errorf("reading a profile: %w", err)
	}
	p.index()
	return &p, nil
}

// Digest returns the SHA-256 of the profile's JSON, hexadecimal.
func (p *Profile) Digest() (string, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("the digest of a profile: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// Write writes p as YAML, an estimate and a row of a table on one line each.
func (p *Profile) Write(w io.Writer) error {
	n, err := spec.Encode(p)
	if err != nil {
		return fmt.Errorf("writing a profile: %w", err)
	}
	oneLine(n, false)
	e := yaml.NewEncoder(w)
	e.SetIndent(2)
	if err := e.Encode(n); err != nil {
		return fmt.Errorf("writing a profile: %w", err)
	}
	return e.Close()
}

// oneLine puts estimates and rows below a node on one line: mappings of scalars
// that have a sample size, or that are elements of a list.
func oneLine(n *yaml.Node, row bool) {
	flat := n.Kind == yaml.MappingNode
	for _, child := range n.Content {
		oneLine(child, n.Kind == yaml.SequenceNode)
		flat = flat && child.Kind == yaml.ScalarNode
	}
	if flat && (row || spec.Child(n, "samples") != nil) {
		n.Style = yaml.FlowStyle
	}
}

// StaticFor returns the static prefix of main threads at a client version,
// tokens, 0 when nothing is known.
func (p *Profile) StaticFor(version string) int64 { return int64(lookup(p.Static, version)) }

// FirstOfAgent returns how often the first call of a sub-agent reads a prefix that
// others have cached at a client version, and how large it is, tokens.
func (p *Profile) FirstOfAgent(version string) (share float64, tokens int64) {
	return p.First.Agent.Value, int64(lookup(p.First.AgentTokens, version))
}

// lookup returns the estimate of the newest version not after the given one with the same major
// and minor number, else of the oldest such version, else of the first row.
func lookup(list []Versioned, version string) float64 {
	if len(list) == 0 {
		return 0
	}
	value, found := list[0].Value, false
	asked := series(version)
	for i := range list {
		v := list[i].Version
		if series(v) != asked || found && Compare(v, version) > 0 {
			continue
		}
		value, found = list[i].Value, true
	}
	return value
}

// series returns the major and minor number of a version.
func series(version string) [2]int {
	major, rest := part(version)
	minor, _ := part(rest)
	return [2]int{major, minor}
}

// Series names the series of a version: its major and minor number, "" for no version.
func Series(version string) string {
	if version == "" {
		return ""
	}
	s := series(version)
	return fmt.Sprintf("%d.%d", s[0], s[1])
}

// At returns the quantile of a residual at a share 0…1, by linear
// interpolation; 0 without a residual.
func At(residual []float64, share float64) float64 {
	if len(residual) == 0 {
		return 0
	}
	return stats.Quantile(residual, share)
}

// Spread returns the typical distance of a session's input cost from the
// predicted one, as a fraction: the root mean square of the residual; 0 without
// a residual or a profile.
func (p *Profile) Spread() float64 {
	if p == nil {
		return 0
	}
	const steps = 200
	sum := 0.0
	for i := range steps {
		off := math.Expm1(At(p.Residual, (float64(i)+0.5)/steps))
		sum += off * off
	}
	return math.Sqrt(sum / steps)
}

// Life returns how long an entry of a class lives after the end of the last
// response that used it, ns (platform.claude.com, prompt caching). A limit
// fitted to recordings predicts no more calls correctly.
func Life(ttl exchange.TTL) int64 {
	if ttl == exchange.TTL1h {
		return 3600e9
	}
	return 300e9
}

// Compare orders versions such as "2.1.17" by their numbers. Every simulated
// call uses it, so numbers cause no allocation.
func Compare(a, b string) int {
	for a != "" || b != "" {
		var x, y int
		x, a = part(a)
		y, b = part(b)
		if c := cmp.Compare(x, y); c != 0 {
			return c
		}
	}
	return 0
}

// part returns the first number of a version, and the rest. A part that is no
// number orders as 0.
func part(version string) (n int, rest string) {
	const digits = 18 // that fit into an int
	for i := 0; i < len(version) && i < digits; i++ {
		switch c := version[i]; {
		case c == '.':
			return n, version[i+1:]
		case c < '0' || c > '9':
			return partOf(version)
		}
		n = 10*n + int(version[i]-'0')
	}
	if len(version) >= digits {
		return partOf(version)
	}
	return n, ""
}

// partOf is part for a version that begins with no number, or with a very long one.
func partOf(version string) (n int, rest string) {
	number, rest, _ := strings.Cut(version, ".")
	n, _ = strconv.Atoi(number)
	return n, rest
}

// Rules returns the errors that no tag expresses.
func (p *Profile) Rules() []error {
	errs := append(ascending("static_prefix_tokens", p.Static), ascending("first_calls.sub_agent_tokens", p.First.AgentTokens)...)
	return append(errs, p.checkEvidence()...)
}

func ascending(path string, list []Versioned) []error {
	if slices.IsSortedFunc(list, func(a, b Versioned) int { return Compare(a.Version, b.Version) }) {
		return nil
	}
	return []error{spec.Wrong(path, "lists versions out of order: versions must ascend")}
}
