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
// default and why. Three points have no switch:
//
//   - A marker in front of the hit writes nothing: what is not billed is not
//     written.
//   - The prefix of an entry is what its writer read and wrote in front of it.
//     An entry that comes later at a position in front of a longer one is not
//     on the longer one's path, and reading the longer one does not refresh it.
//   - Requests in flight keep what they have read or written from the eviction
//     that Config.Capacity brings about: the whole prefix, also when its end is
//     lost otherwise.
//
// Times are int64 nanoseconds and must not run backwards from call to call.
// No method is safe for concurrent use; Clone makes independent copies.
package promptcache

import (
	"fmt"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
)

// Anchor is the moment of a request from which the TTL of the entries it used
// counts.
type Anchor uint8

const (
	// AnchorEnd counts from the end of the response, and keeps the entries alive
	// while it streams. In recorded sessions the 5-minute edge is sharp when
	// measured so.
	AnchorEnd Anchor = iota
	// AnchorStart counts from the start of the request, as the provider's page
	// says: a stream of four minutes leaves one minute.
	AnchorStart
)

// Names returns the names of anchors in files.
func (Anchor) Names() []string { return []string{"end", "start"} }

// Defaults of Config (platform.claude.com, prompt caching).
const (
	DefaultLookback   = 20
	DefaultLifetime5m = int64(5 * time.Minute)
	DefaultLifetime1h = int64(time.Hour)
)

// Config is what the documents leave open and what one may want to vary. The
// zero value is the default.
type Config struct {
	// Lookback is the number of positions a marker looks at, itself included.
	// 0 means 20, which the provider's worked example fixes; older texts say
	// "20 before each", which is 21.
	Lookback int
	// EveryBlockCounts makes each block one position of the look-back. By
	// default a run of consecutive tool_use blocks, and one of consecutive
	// tool_result blocks, is one position: the provider's page says so since
	// about September 2026, and recordings of February 2026 already read across
	// 21 new blocks of one parallel turn.
	EveryBlockCounts bool
	// MaxMarkers is the number of markers served per request; 0 means
	// prompt.MaxMarkers, which is also the most.
	MaxMarkers int
	// Lifetime is the TTL by class in nanoseconds; 0 means 5 minutes and one
	// hour. The documents call it a minimum: recorded sessions show a few reads
	// up to 30 s later, which a longer lifetime stands for.
	Lifetime [2]int64
	// Anchor is where the TTL counts from.
	Anchor Anchor
	// NoPrefixRefresh restricts a refresh to the entries that a request reads
	// or writes itself. By default reading an entry refreshes all entries on
	// its prefix: the client's documentation says of a rewind that every turn
	// since has kept the earlier entry warm.
	NoPrefixRefresh bool
	// TTLInKey keeps entries of different TTL classes apart: a 5m marker does
	// not find what a 1h marker wrote. Undocumented; by default they are shared.
	TTLInKey bool
	// DeleteUncached lets a deletion of Request.Deletions act on tokens that
	// the request does not read from the cache as well. By default it only acts
	// inside the prefix that is read: when an entry has expired, the deleted
	// content, which the client still holds in full, is written again.
	// Undocumented.
	DeleteUncached bool
	// EvictPerCall is the probability in [0,1] that the message entries a call
	// would have read are lost and it falls back to those of tools and system.
	// It is decided by Request.Draw. Recorded sessions show about 0.007, nearly
	// all from one repository, so the default is 0.
	EvictPerCall float64
	// Capacity is the tokens that all entries of the cache occupy together, of
	// all owners and models, as in one pool of memory; 0 is no limit, the
	// default. An entry occupies what it holds beyond the prefix that its writer
	// read or wrote in front of it. What does not fit pushes out what has
	// expired, then what was used least recently, from the end of a path to its
	// front, but nothing that a request in flight has read or written; an entry
	// that does not fit beside those is lost at once, though it is billed. vLLM
	// and SGLang evict so (docs.vllm.ai, prefix caching; SGLang, RadixAttention),
	// and know no lifetime; of Anthropic nothing is documented, so there it is an
	// assumption.
	Capacity int64
}

// Validate reports the first field that is out of its range.
func (c Config) Validate() error {
	switch {
	case c.Lookback < 0:
		return fmt.Errorf("promptcache: look-back of %d positions is negative", c.Lookback)
	case c.MaxMarkers < 0 || c.MaxMarkers > prompt.MaxMarkers:
		return fmt.Errorf("promptcache: %d markers per request, want 1 to %d", c.MaxMarkers, prompt.MaxMarkers)
	case c.Lifetime[prompt.TTL5m] < 0 || c.Lifetime[prompt.TTL1h] < 0:
		return fmt.Errorf("promptcache: negative lifetime %v", c.Lifetime)
	case c.filled().Lifetime[prompt.TTL5m] > c.filled().Lifetime[prompt.TTL1h]:
		return fmt.Errorf("promptcache: 5m entries live longer than 1h entries: %v", c.Lifetime)
	case c.Anchor > AnchorStart:
		return fmt.Errorf("promptcache: unknown TTL anchor %d", c.Anchor)
	case !(c.EvictPerCall >= 0 && c.EvictPerCall <= 1):
		return fmt.Errorf("promptcache: eviction probability %v is not in [0,1]", c.EvictPerCall)
	case c.Capacity < 0:
		return fmt.Errorf("promptcache: capacity of %d tokens is negative", c.Capacity)
	}
	return nil
}

// filled returns c with defaults in place of zeros and of what Validate refuses
// for counts.
func (c Config) filled() Config {
	if c.Lookback <= 0 {
		c.Lookback = DefaultLookback
	}
	if c.MaxMarkers <= 0 || c.MaxMarkers > prompt.MaxMarkers {
		c.MaxMarkers = prompt.MaxMarkers
	}
	if c.Lifetime[prompt.TTL5m] <= 0 {
		c.Lifetime[prompt.TTL5m] = DefaultLifetime5m
	}
	if c.Lifetime[prompt.TTL1h] <= 0 {
		c.Lifetime[prompt.TTL1h] = DefaultLifetime1h
	}
	return c
}

// Validate reports the first thing in a request that the provider would refuse:
// too many markers, markers out of range or order, a marker on a thinking
// block, a 1h marker behind a 5m one, deletions out of range or order or larger
// than their entry. Entries must be sealed.
func (a *Anthropic) Validate(r *prompt.Request) error {
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

func validateMarkers(r *prompt.Request) error {
	last, short := int32(-1), false
	for i, m := range r.Markers {
		switch {
		case m.Position < 0 || int(m.Position) >= len(r.Entries):
			return fmt.Errorf("marker %d at position %d, the request has %d entries", i, m.Position, len(r.Entries))
		case m.Position <= last:
			return fmt.Errorf("marker %d at position %d is not behind the one at %d", i, m.Position, last)
		case r.Entries[m.Position].Kind == prompt.KindThinking:
			return fmt.Errorf("marker %d at position %d is on a thinking block", i, m.Position)
		case m.TTL == prompt.TTL1h && short:
			return fmt.Errorf("marker %d at position %d: 1h behind a 5m marker", i, m.Position)
		}
		last, short = m.Position, short || m.TTL == prompt.TTL5m
	}
	return nil
}

func validateDeletions(r *prompt.Request) error {
	last := int32(-1)
	for i, d := range r.Deletions {
		switch {
		case d.Position < 0 || int(d.Position) >= len(r.Entries):
			return fmt.Errorf("deletion %d at position %d, the request has %d entries", i, d.Position, len(r.Entries))
		case d.Position <= last:
			return fmt.Errorf("deletion %d at position %d is not behind the one at %d", i, d.Position, last)
		case d.Tokens < 0 || d.Tokens > r.Entries[d.Position].Tokens:
			return fmt.Errorf("deletion %d at position %d takes %d tokens of %d", i, d.Position, d.Tokens, r.Entries[d.Position].Tokens)
		}
		last = d.Position
	}
	return nil
}
