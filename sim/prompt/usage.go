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
