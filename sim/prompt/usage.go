package prompt

import (
	"math/bits"

	"github.com/zeebo/xxh3"
)

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

// Digest is a 128-bit hash of content or of a prefix. It is stable across
// processes and platforms, so it may be stored.
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

// Odd constants from the fractional parts of √2, √3, √5 and √7: any odd numbers without
// structure serve.
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
