// Package promptcache models the prompt caches of model providers on the
// server's side: what a request reads, what it writes, what it missed and why.
// It knows nothing of clients, strategies or prices.
//
// Anthropic is the documented cache of platform.claude.com (prompt caching):
//
//   - An entry is written at each marker of a request and nowhere else. Its key
//     is the hash of the prefix ending there, the model, and who may read it.
//   - A lookup starts at the last marker and walks back block by block, 20
//     positions with the marker as the first; without a find it starts again
//     from the marker in front.
//   - An entry is readable from the moment its writer's response begins and
//     lives for its TTL after the last request that used it.
//   - Prefixes below the model's minimum are neither read nor written.
//   - With A the end of the hit, B the last 1h marker behind it and C the last
//     marker, A is read, A to B is written for 1h, B to C for 5m, and the rest
//     is plain input.
//
// OpenAI is the automatic cache of platform.openai.com: every prefix that was
// sent, without markers or a price for writing.
//
// What no document says is decided by a field of Config or OpenAIConfig, which names the
// default and why. Two points have no switch:
//
//   - A marker in front of the hit writes nothing: what is not billed is not
//     written.
//   - The prefix of an entry is what its writer read and wrote before it.
//     An entry written later at a position in front of a longer one is not
//     on the longer one's path, and reading the longer one does not refresh it.
//
// Times are int64 nanoseconds and must not run backwards from call to call; the time of a first
// token may lie ahead.
// No method is safe for concurrent use; Clone makes independent copies.
package promptcache

import (
	"fmt"
	"sort"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
)

// anchor is the moment of a request from which the TTL of the entries it used
// counts.
type anchor uint8

const (
	// anchorEnd counts from the end of the response, and keeps the entries alive
	// while it streams. In recorded sessions the 5-minute edge is sharp when
	// measured so.
	anchorEnd anchor = iota
	// anchorStart counts from the start of the request, as the provider's page
	// says: a stream of four minutes leaves one minute.
	anchorStart
)

// Names returns the names of anchors in files.
func (anchor) Names() []string { return []string{"end", "start"} }

// Defaults of Config (platform.claude.com, prompt caching).
const (
	DefaultLookback   = 20
	DefaultLifetime5m = int64(5 * time.Minute)
	DefaultLifetime1h = int64(time.Hour)
)

// Config holds what the documents leave open or an experiment may vary: the keys of
// server in a scenario. The zero value is the default, written out by Filled.
type Config struct {
	Lookback         int           `yaml:"lookback" min:"1" doc:"Positions a marker looks back at for an entry, itself included. The worked example of the provider's page gives 20; older texts (20 before each) 21." unit:"positions"`
	EveryBlockCounts bool          `yaml:"every_block_counts" doc:"Count each block as one position. Off, a run of tool_use blocks, and one of tool_result blocks, is one: so says the page since 2026, and recordings of February 2026 read across 21 blocks of one turn."`
	MaxMarkers       int           `yaml:"max_markers" min:"1" max:"4" doc:"Markers served per request, 1 to 4."`
	Lifetime5m       time.Duration `yaml:"lifetime_5m" above:"0s" doc:"Life of entries that ask for 5m. The page calls it a minimum; recordings show a few reads up to 30 s later. Prices stay the class's."`
	Lifetime1h       time.Duration `yaml:"lifetime_1h" above:"0s" doc:"Life of entries that ask for 1h."`
	Anchor           anchor        `yaml:"anchor" doc:"Start of a lifetime: end of the response (in recordings the edge is sharp there) or start of the request (the provider's page)."`
	// NoPrefixRefresh is written prefix_refresh: true while it is false.
	NoPrefixRefresh unless  `yaml:"prefix_refresh" doc:"Reading an entry refreshes those on its prefix too (documentation of the client, on rewinds). Off, only what a request reads or writes itself."`
	TTLInKey        bool    `yaml:"ttl_in_key" doc:"Keep entries of different lifetimes apart. Undocumented; off, a 5m marker finds what a 1h marker wrote."`
	DeleteUncached  bool    `yaml:"delete_uncached" needs:"cached-microcompact" doc:"Server-side deletions act on tokens that are not read from the cache as well. Undocumented; off, what an expired entry held is written again in full."`
	EvictPerCall    float64 `yaml:"evict_per_call" min:"0" max:"1" doc:"Probability, 0…1, that the message entries a call would have read are lost. Recordings show about 0.007, nearly all from one repository." unit:"share of calls"`
}

// Label returns what charts call a lifetime, and which entries have it.
func (*Config) Label(key string) (name, unit string) {
	switch key {
	case "lifetime_5m":
		return "cache lifetime", "entries of 5 minutes"
	case "lifetime_1h":
		return "cache lifetime", "entries of 1 hour"
	}
	return "", ""
}

// unless is a switch that is on by default: its zero value is written true.
type unless bool

// MarshalYAML writes the switch.
func (u unless) MarshalYAML() (any, error) { return !bool(u), nil }

// UnmarshalYAML reads the switch.
func (u *unless) UnmarshalYAML(n *yaml.Node) error {
	var on bool
	if n.Decode(&on) != nil {
		return fmt.Errorf("want true or false, not %q", n.Value)
	}
	*u = unless(!on)
	return nil
}

// Rules refuses lifetimes that contradict each other.
func (c *Config) Rules() []error {
	if c.Lifetime5m <= c.Lifetime1h || c.Lifetime1h <= 0 {
		return nil
	}
	return []error{spec.Problem{
		Paths: []string{"lifetime_5m", "lifetime_1h"},
		Text:  fmt.Sprintf("lifetime_5m %s is longer than lifetime_1h %s", spec.Line(c.Lifetime5m), spec.Line(c.Lifetime1h)),
	}}
}

// Filled returns c with defaults in place of zeros, and of counts that are out of
// range.
func (c Config) Filled() Config {
	if c.Lookback <= 0 {
		c.Lookback = DefaultLookback
	}
	if c.MaxMarkers <= 0 || c.MaxMarkers > exchange.MaxMarkers {
		c.MaxMarkers = exchange.MaxMarkers
	}
	if c.Lifetime5m <= 0 {
		c.Lifetime5m = time.Duration(DefaultLifetime5m)
	}
	if c.Lifetime1h <= 0 {
		c.Lifetime1h = time.Duration(DefaultLifetime1h)
	}
	return c
}

// settings are a Config as the cache uses it.
type settings struct {
	Config
	Lifetime        [2]int64 // by class, ns
	NoPrefixRefresh bool
}

func (c Config) settings() settings {
	c = c.Filled()
	life := [2]int64{exchange.TTL5m: int64(c.Lifetime5m), exchange.TTL1h: int64(c.Lifetime1h)}
	return settings{c, life, bool(c.NoPrefixRefresh)}
}

// Validate reports the first thing in a request that the provider would refuse:
// too many markers, markers out of range or order, a marker on a thinking
// block, a 1h marker behind a 5m one, deletions out of range or order or larger
// than their entry. Entries must be sealed.
func (a *Anthropic) Validate(r *exchange.Request) error {
	if n := len(r.Markers); n > a.cfg.MaxMarkers {
		return fmt.Errorf("promptcache: request of thread %d has %d markers, at most %d are allowed", r.Thread, n, a.cfg.MaxMarkers)
	}
	if err := validateMarkers(r); err != nil {
		return fmt.Errorf("promptcache: request of thread %d: %w", r.Thread, err)
	}
	if err := validateDeletions(r); err != nil {
		return fmt.Errorf("promptcache: request of thread %d: %w", r.Thread, err)
	}
	return nil
}

func validateMarkers(r *exchange.Request) error {
	last, short := int32(-1), false
	for i, m := range r.Markers {
		switch {
		case m.Position < 0 || int(m.Position) >= len(r.Entries):
			return fmt.Errorf("marker %d at position %d, the request has %d entries", i, m.Position, len(r.Entries))
		case m.Position <= last:
			return fmt.Errorf("marker %d at position %d is not after the one at %d", i, m.Position, last)
		case r.Entries[m.Position].Kind == prompt.KindThinking:
			return fmt.Errorf("marker %d at position %d is on a thinking block", i, m.Position)
		case m.TTL == exchange.TTL1h && short:
			return fmt.Errorf("marker %d at position %d: 1h after a 5m marker", i, m.Position)
		}
		last, short = m.Position, short || m.TTL == exchange.TTL5m
	}
	return nil
}

func validateDeletions(r *exchange.Request) error {
	last := int32(-1)
	for i, d := range r.Deletions {
		switch {
		case d.Position < 0 || int(d.Position) >= len(r.Entries):
			return fmt.Errorf("deletion %d at position %d, the request has %d entries", i, d.Position, len(r.Entries))
		case d.Position <= last:
			return fmt.Errorf("deletion %d at position %d is not after the one at %d", i, d.Position, last)
		case d.Tokens < 0 || d.Tokens > r.Entries[d.Position].Tokens:
			return fmt.Errorf("deletion %d at position %d takes %d tokens of %d", i, d.Position, d.Tokens, r.Entries[d.Position].Tokens)
		}
		last = d.Position
	}
	return nil
}

// providers are the names of providers, and what the names of their models begin with
// behind the part that names a gateway or a region.
var providers = [...]struct {
	name     string
	prefixes []string
}{
	{"anthropic", []string{"claude"}},
	{"openai", []string{"gpt", "codex", "chatgpt", "o1", "o3", "o4"}},
	{"deepseek", []string{"deepseek"}},
	{"google", []string{"gemini"}},
}

// ProviderOf returns the provider of a model, whoever sells it; "" for one that is not known.
func ProviderOf(model string) string {
	for _, p := range providers {
		for _, prefix := range p.prefixes {
			if begins(model, prefix) {
				return p.name
			}
		}
	}
	return ""
}

// begins reports whether a part of a model's name begins with a prefix: the whole, or what
// follows a slash or a dot, as in anthropic/claude-opus-4-5 and us.anthropic.claude-opus-4-5.
func begins(model, prefix string) bool {
	for {
		if strings.HasPrefix(model, prefix) {
			return true
		}
		i := strings.IndexAny(model, "/.")
		if i < 0 {
			return false
		}
		model = model[i+1:]
	}
}

// bill is the input of one request by class, and what was deleted from it.
type bill struct {
	usage   prompt.Usage
	inHit   int64 // tokens deleted from the prefix that is read
	deleted int64 // tokens deleted from the whole request
}

// bill splits the input of r, for b which is empty, by the positions of the provider's page: A is the
// end of the hit, B the last 1h marker behind it, else A, and C the last
// marker. A is read, A to B written for 1h, B to C for 5m; the rest is plain.
func (a *Anthropic) bill(r *exchange.Request, m *marks, h hit, b *bill) {
	end := int32(len(r.Entries)) - 1
	posB, posC := h.pos, h.pos
	for k := range m.at[:m.n] {
		if p := m.at[k].Position; p > h.pos {
			posC = p
			if m.at[k].TTL == exchange.TTL1h {
				posB = p
			}
		}
	}
	b.inHit = a.deletedThrough(h)
	b.usage.Read = cum(r, h.pos) - b.inHit
	b.usage.Write1h = a.fresh(r, h.pos, posB)
	b.usage.Write5m = a.fresh(r, posB, posC)
	b.usage.Uncached = a.fresh(r, posC, end) + int64(r.Tail)
	b.deleted = r.Tokens() - b.usage.Input()
	b.move(a.beyond(r, m, h), int64(r.Tail))
	if k := m.last(); k != nil && k.Position > h.pos && k.Shift < 0 {
		b.leave(-int64(k.Shift))
	}
}

// beyond returns by how many tokens the read goes past the end of the hit: where a
// breakpoint lies inside an entry, and for what other conversations keep in the cache.
func (a *tree) beyond(r *exchange.Request, m *marks, h hit) int64 {
	var n int64
	if h.id != none {
		n = int64(a.entries[h.id].shift)
		for i := range m.at[:m.n] {
			if m.at[i].Position == h.pos {
				n = int64(m.at[i].Shift)
			}
		}
	}
	return max(n, -cum(r, h.pos), int64(r.Shared)-cum(r, h.pos))
}

// leave takes n tokens behind the last breakpoint out of what is written.
func (b *bill) leave(n int64) {
	for _, from := range []*int64{&b.usage.Write5m, &b.usage.Write1h} {
		take := min(n, *from)
		*from -= take
		b.usage.Uncached += take
		n -= take
	}
}

// move takes n tokens from what is written and sent plain, in order of position, and adds
// them to what is read; a negative n gives back. The tail stays.
func (b *bill) move(n, tail int64) {
	u := &b.usage
	if n < 0 {
		n = max(n, -u.Read)
		switch {
		case u.Write1h > 0:
			u.Write1h -= n
		case u.Write5m > 0:
			u.Write5m -= n
		default:
			u.Uncached -= n
		}
		u.Read += n
		return
	}
	for _, from := range []struct {
		tokens *int64
		stays  int64
	}{{&u.Write1h, 0}, {&u.Write5m, 0}, {&u.Uncached, tail}} {
		take := max(0, min(n, *from.tokens-from.stays))
		*from.tokens -= take
		u.Read += take
		n -= take
	}
}

// cum returns the tokens of r through a position, 0 for -1.
func cum(r *exchange.Request, pos int32) int64 {
	if pos < 0 {
		return 0
	}
	return int64(r.Entries[pos].Cum)
}

// fresh returns the tokens of r behind position from through to that are
// processed without the cache.
func (a *Anthropic) fresh(r *exchange.Request, from, to int32) int64 {
	n := cum(r, to) - cum(r, from)
	if a.cfg.DeleteUncached {
		n -= a.declared(from, to)
	}
	return n
}

// cut is a deletion that takes part, with the tokens that it and the deletions before it take out.
type cut struct {
	position int32
	declared int32 // tokens as the request says
	through  int64
}

// cutThrough returns the tokens that the deletions of the request under way take
// out through a position.
func (a *Anthropic) cutThrough(pos int32) int64 {
	n := len(a.cuts)
	switch {
	case n == 0 || pos < a.cuts[0].position:
		return 0
	case pos >= a.cuts[n-1].position:
		return a.cuts[n-1].through
	}
	i := sort.Search(n, func(i int) bool { return a.cuts[i].position > pos })
	return a.cuts[i-1].through
}

// declared returns the tokens that the deletions of the request under way take
// out behind position from through to.
func (a *Anthropic) declared(from, to int32) int64 {
	return max(0, a.cutThrough(to)-a.cutThrough(from))
}

// deletedThrough returns the tokens that are missing from the prefix a request
// reads: those deleted when its entry was written, and those declared since.
// Deletions stay declared as long as they are in force, so the larger count
// holds the other.
func (a *Anthropic) deletedThrough(h hit) int64 {
	if h.id == none {
		return 0
	}
	return max(int64(a.entries[h.id].deleted), a.declared(-1, h.pos))
}

// deletedAt returns the tokens that are missing from the prefix through a
// position behind the hit, as this request writes it.
func (a *Anthropic) deletedAt(b *bill, h hit, pos int32) int64 {
	if a.cfg.DeleteUncached {
		return b.inHit + a.declared(h.pos, pos)
	}
	return b.inHit
}
