// Package prompt is the vocabulary of the simulator: what a request to a model is made of (blocks, entries, edits),
// what comes back (usage), and the context that a strategy edits between calls.
//
// It knows no agent, no provider and no price. Token counts are true tokens (what the server would count) unless a name
// says estimate; times are int64 nanoseconds on the simulated clock.
package prompt

import (
	"math/bits"

	"github.com/compactsim/compactsim/sim/prompt/ask"
	"github.com/zeebo/xxh3"
)

// EditCause says what changed a prefix.
type EditCause uint8

// The causes of a changed prefix.
const (
	CauseNone       EditCause = iota
	CauseEdit                 // content cleared or replaced in place
	CauseCompaction           // messages replaced by a summary
	CauseRewind               // the conversation went back
	CauseHead                 // tools or system changed
)

var causeNames = [...]string{"none", "edit", "compaction", "rewind", "head"}

// String returns the lower-case name used in reports.
func (c EditCause) String() string { return causeNames[min(int(c), len(causeNames)-1)] }

// Change is the first position at which a request differs from what its thread sent before, appended entries aside.
type Change struct {
	At    int32 // index of the first changed entry; -1 when nothing changed
	Cause EditCause
}

// NoChange is the Change of a request that only appends.
var NoChange = Change{At: -1}

// Usage counts the tokens of one call or a sum of calls. The input classes are
// disjoint: their sum is what the server processed.
type Usage struct {
	Uncached   int64 // neither read from nor written to the cache
	Read       int64 // read from the cache
	Write5m    int64 // written with a 5-minute lifetime
	Write1h    int64 // written with a 1-hour lifetime
	WriteOther int64 // written with another or an unstated lifetime
	Output     int64
}

// Input returns all input tokens: read, written and uncached.
func (u *Usage) Input() int64 {
	return u.Uncached + u.Read + u.Writes()
}

// Writes returns the tokens written to the cache in any tier.
func (u *Usage) Writes() int64 { return u.Write5m + u.Write1h + u.WriteOther }

// Written returns the usage with the uncached tokens written to the cache, for a lifetime of its own,
// but for those behind the last entry.
func (u *Usage) Written(tail int64) Usage {
	out := *u
	n := max(0, out.Uncached-tail)
	out.Uncached, out.WriteOther = out.Uncached-n, out.WriteOther+n
	return out
}

// Plain returns the usage with what is written to the cache as plain input.
func (u *Usage) Plain() Usage {
	return Usage{Uncached: u.Uncached + u.Writes(), Read: u.Read, Output: u.Output}
}

// Add adds v to u.
func (u *Usage) Add(v *Usage) {
	u.Uncached += v.Uncached
	u.Read += v.Read
	u.Write5m += v.Write5m
	u.Write1h += v.Write1h
	u.WriteOther += v.WriteOther
	u.Output += v.Output
}

// Digest is a 128-bit hash of content or of a prefix. It is stable across processes and platforms, so it may be stored.
type Digest struct{ Hi, Lo uint64 }

// IsZero reports whether d is the zero digest, which no content has.
func (d Digest) IsZero() bool { return d == Digest{} }

// DigestBytes hashes content with XXH3-128.
func DigestBytes(b []byte) Digest {
	h := xxh3.Hash128(b)
	return Digest{h.Hi, h.Lo}
}

// DigestString hashes content with XXH3-128.
func DigestString(s string) Digest {
	h := xxh3.HashString128(s)
	return Digest{h.Hi, h.Lo}
}

// Odd constants from the fractional parts of √2, √3, √5 and √7: any odd numbers without structure serve.
const (
	mix0 = 0x6a09e667f3bcc909
	mix1 = 0xbb67ae8584caa73b
	mix2 = 0x3c6ef372fe94f82b
	mix3 = 0xa54ff53a5f1d36f1
)

// Extend returns the digest of a prefix d followed by content e. It is the link
// of the prefix chain: two multiply-folds, not commutative and not associative.
func (d Digest) Extend(e Digest) Digest {
	h1, l1 := bits.Mul64(d.Hi^e.Lo^mix0, d.Lo^mix1|1)
	h2, l2 := bits.Mul64(e.Hi^d.Lo^mix2, e.Lo^d.Hi^mix3)
	return Digest{h1 ^ l2 + e.Hi, l1 ^ bits.RotateLeft64(h2, 31) + d.Hi}
}

// ExtendInt returns the digest of a prefix d followed by a number.
func (d Digest) ExtendInt(n uint64) Digest {
	return d.Extend(Digest{n * mix0, n ^ mix2})
}

// Intent is a model call that a layer asks for. The loop makes it, at its place
// on the clock, and hands the Result back to the layer.
type Intent struct {
	Source string // query source as the client names it: "compact"
	// Way names how the call is made, for what can fail in one way and not in another: "fork", "streaming".
	Way string
	// Model is the name of the model to ask; "" for the session's.
	Model string
	// Own sends the thread's messages under a system prompt and tools of the call's
	// own, which is cold. Without it the call sends the thread's own context with an
	// instruction at the end, and reads what the conversation left in the cache.
	Own         bool
	From        int32 // first message entry to send (position); entries before it are left out unless they are the thread's prefix
	To          int32 // first entry not to send; 0 for all
	Instruction int32 // tokens of the instruction put at the end
	Head        int32 // tokens of system prompt and tools, for Own
	MaxOutput   int32 // output tokens allowed; 0 for the model's own limit
	// Lead is the size, tokens, of a user block in front of the messages, 0 for none. It
	// stands for what was cut off, where a response would otherwise come first.
	Lead int32
	// Strip says what is left out of the messages.
	Strip ask.Strip
	// Clip is how many bytes it shows of each tool result and each piece of thinking, 0 for
	// all; Newest how many tokens of the newest messages it sends, 0 for all.
	Clip, Newest int32
	// SkipCacheWrite moves the message marker to the second-to-last message,
	// where the conversation already has an entry.
	SkipCacheWrite bool
	// Unmarked sends no cache marker: nothing is written.
	Unmarked bool
	// Rekey says that a parameter in the cache key of the messages differs from the
	// conversation's: without Own the call then reads only tools and system prompt.
	Rekey bool
	// NoTools says that the call leaves out the conversation's tools, which come first: it
	// reads nothing of the conversation's prefix.
	NoTools bool
	// Recorded is the size, tokens, of the summaries that the recording's own client was
	// given by such calls; 0 where none is known. The loop sets it, or a layer that knows
	// how large its answers are. Around says that it includes what the client writes around a summary.
	Recorded int32
	Around   bool
	// RecordedOutput is the output of such calls; 0 where it is not known.
	RecordedOutput int32
	// Analysis is what the answer has ahead of the summary, as a share of its tokens; nil where the summariser decides.
	Analysis *float64
	// Summarised is the number of tokens the answer stands for; Part says which messages they are.
	Summarised int32
	Part       ask.Part
	// Turns is how many responses the call takes when it uses tools between them; 0 and 1 are one. Each further one
	// sends what the last answered and TurnInput tokens of results.
	Turns     int32
	TurnInput int32
	// Lifetime is the lifetime class its markers ask for.
	Lifetime ask.Lifetime
	// Compacts says that the call begins with a compaction of its thread, which it waits for.
	Compacts bool
	Ordinal  uint8 // distinguishes repeated calls of one layer at one point (retries)
	// Usual is how long the summaries of the session's agent usually are, tokens of that session; 0 where it is not known.
	Usual float64
	// Number counts the calls of a session that ask the summariser, from 1. The loop sets it.
	Number int32
	// Known, when set, is the answer: one that the recording gives, with its tokens and how long the caller waited, or
	// one that the layer sizes by a model of its own. The summariser is not asked.
	Known *Answer
}

// Whole reports whether the call shows all of the messages it sends.
func (in *Intent) Whole() bool { return in.Strip == 0 && in.Clip == 0 && in.Newest == 0 }

// AsText reports whether the call sends a part of the messages as one text: it then begins and ends at any message, and calls of
// tools need no results. A call under a head of its own sends a part that ends ahead of the newest message, a single result for
// instance, as such a text.
func (in *Intent) AsText() bool {
	return in.Newest > 0 || in.Strip&ask.StripTools != 0 || in.Own && in.To > 0
}

// Answer is what a summariser gives: how large the summary is and what the call cost in output and time.
type Answer struct {
	Summary int32  // tokens of the summary that enters the context
	Bytes   int32  // bytes of the summary
	Output  int32  // output tokens billed: summary and what is stripped from it
	First   int64  // ns to the first token
	Total   int64  // ns to the end of the response
	Around  bool   // Summary includes what the client writes around it
	Digest  Digest // of the summary's content
	Failed  string // reason	Failed  string // reason of a failure: "" for none
	Excess  int64  // FailTooLong: tokens above the limit; 0 when the server does not say
	// Measured is what a real server said of the call; nil for a modelled one.
	Measured *Measured
}

// Measured is what a real server reported for a call.
type Measured struct {
	Usage      Usage // billed by the server, all iterations of the answer
	Wasted     Usage // billed for attempts that broke off or for a call that failed
	Iterations int32 // passes of the model inside the call
	Attempts   int32 // requests sent, those that failed included
	// Missing and Cut count the sections of the summary that are missing or exceed their limit.
	Missing, Cut int32
}

// Refused reports whether the server gave no answer at all: nothing was read, written or billed.
func (a *Answer) Refused() bool { return a.Failed == ask.FailTooLong || a.Failed == ask.FailAPI }

// Result is what became of an Intent.
type Result struct {
	Answer
	Source  string // of the intent
	Ordinal uint8  // of the intent
	Began   int64  // when the call began, ns on the session's clock
	Usage   Usage  // of all its turns
}
