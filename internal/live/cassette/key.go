package cassette

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"github.com/compactsim/compactsim/sim/prompt"
)

// Key names a call: equal content asked with equal parameters has equal keys,
// in every process and on every platform.
type Key [16]byte

// KeyOf returns the key of a call that sends content of a chain under
// parameters. Their order counts.
func KeyOf(chain prompt.Digest, params ...string) Key {
	b := binary.BigEndian.AppendUint64(nil, chain.Hi)
	b = binary.BigEndian.AppendUint64(b, chain.Lo)
	for _, p := range params {
		b = binary.AppendUvarint(b, uint64(len(p)))
		b = append(b, p...)
	}
	return Key(bytesOf(prompt.DigestBytes(b)))
}

// bytesOf returns a digest as it is written: the high half first.
func bytesOf(d prompt.Digest) (b [16]byte) {
	binary.BigEndian.PutUint64(b[:8], d.Hi)
	binary.BigEndian.PutUint64(b[8:], d.Lo)
	return b
}

// String returns the key in 32 hexadecimal digits.
func (k Key) String() string { return hex.EncodeToString(k[:]) }

// ParseKey is the inverse of String.
func ParseKey(s string) (k Key, err error) {
	err = k.UnmarshalText([]byte(s))
	return k, err
}

// MarshalText returns what String does.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText takes 32 hexadecimal digits, letters small.
func (k *Key) UnmarshalText(text []byte) error {
	var got Key
	if len(text) != hex.EncodedLen(len(got)) {
		return fmt.Errorf("key %q is not %d hexadecimal digits", text, hex.EncodedLen(len(got)))
	}
	if _, err := hex.Decode(got[:], text); err != nil || got.String() != string(text) {
		return fmt.Errorf("key %q is not %d hexadecimal digits in small letters", text, hex.EncodedLen(len(got)))
	}
	*k = got
	return nil
}

// digest is a prompt.Digest as files have it, in the form of a key.
type digest prompt.Digest

// MarshalText returns 32 hexadecimal digits.
func (d digest) MarshalText() ([]byte, error) { return Key(bytesOf(prompt.Digest(d))).MarshalText() }

// UnmarshalText is the inverse of MarshalText.
func (d *digest) UnmarshalText(text []byte) error {
	var k Key
	if err := k.UnmarshalText(text); err != nil {
		return fmt.Errorf("digest: %w", err)
	}
	*d = digest{binary.BigEndian.Uint64(k[:8]), binary.BigEndian.Uint64(k[8:])}
	return nil
}
