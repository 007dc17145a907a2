// Package exchange has what passes between a client and a server with a prompt cache: the request as the server sees it, and how it
// was served. It has no promise to importers.
package exchange

import (
	"math"

	"github.com/compactsim/compactsim/sim/prompt"
)

// Marker is a cache breakpoint: the prefix ending with the entry at Position
// is written to the cache, and looked up from there backwards.
type Marker struct {
	Position int32 // index of the marked entry in the request
	TTL      TTL
	Scope    Scope
	// Shift is the number of tokens from the end of the entry to the true breakpoint,
	// negative when that lies before the end. Blocks that no transcript shows are
	// estimated as wholes, so a breakpoint whose size is known may lie inside one.
	Shift int32
}

// MaxMarkers is the number of breakpoints a request may carry
// (platform.claude.com, prompt caching).
const MaxMarkers = 4

// Deletion asks the server to leave out an entry from the effective prompt
// without changing the prefix it was cached under (cache_edits).
type Deletion struct {
	Position int32 // index of the deleted entry
	Tokens   int32 // tokens that leave the effective prompt
}

// Request is one call as the server sees it. Entries and the slices are only
// valid during the call: the server must not keep them.
type Request struct {
	Thread    uint32 // identifies the conversation, to distinguish a miss from a cold start
	Owner     uint32 // organisation or workspace whose entries it may read
	Model     uint32 // index of the model; caches are never shared between models
	MinTokens int32  // minimum cacheable prefix of the model, tokens
	Entries   []prompt.Entry
	Markers   []Marker   // in order of position
	Deletions []Deletion // declared by the client: all that are still in force, in order of position
	Change    prompt.Change
	Tail      int32  // tokens behind the last entry that no marker can cover; never cached
	Draw      uint64 // uniform 64-bit draw of this call, for what the server does at random
	// Loss is the probability, 0…1, that the message entries this call would have read
	// are lost, in addition to what the server itself loses. Draw decides.
	Loss float64
	// Variant identifies the request parameters that are part of the key of
	// message entries but not of tools and system, such as thinking on or off
	// (platform.claude.com, prompt caching, "what invalidates the cache").
	Variant uint32
	// Unheld is the number of tokens before the last breakpoint that later requests will
	// not find; negative for tokens after it that they will find. It does not affect this
	// request.
	Unheld int32
	// Shared is the number of tokens at the head of the request that other
	// conversations, which are not simulated, keep in the cache.
	Shared int32
	// Through is how many tokens at the head of the request are the same for the server as before,
	// where something behind them changes that the client sends as it was; 0 for all. It limits reads of automatic caches.
	Through int32
	// Serving is how an automatic cache serves this client, where that is known
	// better than by the model's name; the zero value leaves it to the server.
	Serving Serving
	// Last says that no request of Thread follows, so that nothing needs to be
	// remembered about the thread.
	Last bool
}

// Serving is how a cache that needs no markers serves a client: a read ends at the last
// of Offset + n × Step tokens that is at least Lag before the end of the shared prefix.
type Serving struct {
	Step   int32 // tokens of the server's own; 0 for nothing known
	Offset int32 // tokens, in [0, Step)
	Lag    int32 // tokens, not negative
	// Below is the step of prefixes shorter than Step, tokens; 0 for reads of nothing there.
	Below int32
	// Ratio is how many tokens the server reports for each of its own, by which it divides
	// prefixes into steps; 0 means 1.
	Ratio float64
	// Replies says that a response is cached with the request it answers, for
	// the next request of its thread.
	Replies bool
	// Retention is how long a prefix lives after its last use, ns; 0 leaves it
	// to the server.
	Retention int64
	// FromStart counts the retention from the start of a request, not from the end of its
	// response.
	FromStart bool
	// Forgets says that the provider leaves out the reasoning of finished turns when a person
	// asks again, so that what follows the reasoning is another prefix.
	Forgets bool
}

// Floor returns the tokens that are read of a shared prefix, 0 when they are
// fewer than least. Step must be positive.
func (s Serving) Floor(shared, least int64) int64 {
	own := shared
	if s.Ratio > 0 {
		own = int64(float64(shared) / s.Ratio)
	}
	n, step := own-int64(s.Lag)-int64(s.Offset), int64(s.Step)
	if s.Below > 0 && n < step {
		step = int64(s.Below)
	}
	if shared < least || n < 0 {
		return 0
	}
	read := n/step*step + int64(s.Offset)
	switch {
	case read < least:
		return 0
	case s.Ratio > 0:
		return int64(float64(read) * s.Ratio)
	}
	return read
}

// maxDrift is how far the ratio of a read may lie from the ratio of the read before, as a share: farther
// off the read more likely ended at another step.
const maxDrift = 0.15

// RatioOf returns the ratio that a read, tokens, shows, given that it ended at the step that is nearest by the
// ratio known so far; false where no step is near.
func (s Serving) RatioOf(read int64) (ratio float64, ok bool) {
	if s.Ratio <= 0 || read <= 0 {
		return 0, false
	}
	own := float64(read) / s.Ratio
	step := float64(s.Step)
	if s.Below > 0 && own < step-float64(s.Below)/2 {
		step = float64(s.Below)
	}
	at := math.Round((own-float64(s.Offset))/step)*step + float64(s.Offset)
	if at <= 0 || math.Abs(own/at-1) > maxDrift {
		return 0, false
	}
	return float64(read) / at, true
}

// Tokens returns the input tokens of the request before deletions, the tail
// included. Entries must be sealed.
func (r *Request) Tokens() int64 {
	if len(r.Entries) == 0 {
		return int64(r.Tail)
	}
	return int64(r.Entries[len(r.Entries)-1].Cum) + int64(r.Tail)
}

// Outcome is how the server served the input of a request.
type Outcome struct {
	Usage     prompt.Usage // input classes; Output is 0 until the response ends
	Expected  int64        // tokens the thread's best prefix would have read
	Miss      MissClass    // why Read fell short of Expected; MissNone if it did not
	HitAt     int32        // index of the entry the read ends with, -1 for no read
	Deleted   int64        // tokens deleted from the effective prompt, cumulative over the thread
	Effective int64        // tokens of the request after deletions
	Ticket    int32        // names the call in FirstToken and End
	// Stored is what the request adds to the time that caches are kept which are paid for by the hour,
	// million token-hours: below 0 when it drops one before its end.
	Stored float64
}

// Shortfall returns the tokens that were expected from the cache and not read.
func (o *Outcome) Shortfall() int64 { return max(0, o.Expected-o.Usage.Read) }

// TTL is the lifetime class of a cache entry.
type TTL uint8

// The lifetimes on offer: five minutes and one hour.
const (
	TTL5m TTL = iota
	TTL1h
)

// String returns "5m" or "1h".
func (t TTL) String() string {
	if t == TTL1h {
		return "1h"
	}
	return "5m"
}

// Scope is who may read a cache entry.
type Scope uint8

// The scopes of a cache entry.
const (
	ScopeOrg    Scope = iota // the organisation or workspace of the writer
	ScopeGlobal              // everyone
)

// MissClass says why a call read less than the best prefix its thread had left
// in the cache.
type MissClass uint8

// The classes of a miss.
const (
	MissNone        MissClass = iota
	MissExpiry                // the entry outlived its TTL
	MissEdit                  // a message before the end changed
	MissCompaction            // a compaction replaced the messages
	MissRewind                // the conversation went back to an earlier point
	MissHead                  // tools, system prompt or a request parameter changed
	MissModel                 // another model: nothing is shared
	MissEviction              // evicted inside its TTL
	MissNotReadable           // the writer's response had not begun
	MissLookback              // further back than the look-back reaches
	MissMinimum               // below the minimum cacheable length
	missCount
)

var missNames = [missCount]string{
	"none", "expiry", "edit", "compaction", "rewind", "head", "model", "eviction",
	"not_readable", "lookback", "minimum",
}

// NumMissClasses is the number of miss classes, for tables indexed by MissClass.
const NumMissClasses = int(missCount)

// String returns the lower-case name used in reports.
func (m MissClass) String() string { return missNames[min(m, missCount-1)] }
