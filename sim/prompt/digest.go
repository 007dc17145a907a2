package prompt

import (
	"math/bits"

	"github.com/zeebo/xxh3"
)

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

// Odd constants of the fractional parts of √2, √3, √5 and √7: any odd numbers
// without structure serve.
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
