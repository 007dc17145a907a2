// Package cassette stores live calls, one file for each, so that a run whose
// summaries a real model wrote can be replayed without calling it again.
//
// A file is JSON, named by the key of its call. It has the purpose of the call and its
// answer. It has no field for a provider's key or a header. A call with a different
// request has another key: it is missing, and never answered by another call's answer.
package cassette

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/compactsim/compactsim/internal/serving/live/wire"
	"github.com/compactsim/compactsim/sim/prompt"
)

// Call identifies a call and says what it is for.
type Call struct {
	// The first six do not identify the call: they inform people.
	Session string `json:"session"` // id of the recording
	Source  string `json:"source"`  // as in prompt.Intent.Source
	Model   string `json:"model"`   // the called model
	Thread  int32  `json:"thread"`  // of the session, where the call is made
	Round   int32  `json:"round"`   // of the thread, where the call is made
	Number  int32  `json:"number"`  // ordinal among the calls of the session, from 1
	// Chain is that of the last block the call sends; Params are what its answer
	// depends on besides, each as "name=value". They make the key.
	Chain  prompt.Digest `json:"chain"`
	Params []string      `json:"params"`
}

// Key returns the key of the call.
func (c Call) Key() Key { return chainKey(c.Chain, c.Params...) }

// Cassette is one stored call. What a Folder returns is shared and must not be changed.
type Cassette struct {
	Call Call `json:"call"`
	// Began is when the call was made, for people; zero if unknown.
	Began time.Time `json:"began,omitzero"`
	// Texts says, in a cassette that was read, that the texts are the model's own; otherwise
	// they are filler of the same size. What is stored is assumed to have its texts.
	Texts bool `json:"texts"`
	// Reply is what the model answered, nil for a call that failed; Failure is why, nil for one that was answered.
	Reply   *wire.Reply   `json:"reply,omitzero"`
	Failure *wire.Failure `json:"failure,omitzero"`
}

// Key names a call: equal content with equal parameters has equal keys, in
// every process and on every platform.
type Key [16]byte

// chainKey returns the key of a call that sends content with a chain under parameters, whose order counts.
func chainKey(chain prompt.Digest, params ...string) Key {
	b := binary.BigEndian.AppendUint64(nil, chain.Hi)
	b = binary.BigEndian.AppendUint64(b, chain.Lo)
	for _, p := range params {
		b = binary.AppendUvarint(b, uint64(len(p)))
		b = append(b, p...)
	}
	return keyOf(prompt.DigestBytes(b))
}

// keyOf returns a digest as a key, the high half first.
func keyOf(d prompt.Digest) (k Key) {
	binary.BigEndian.PutUint64(k[:8], d.Hi)
	binary.BigEndian.PutUint64(k[8:], d.Lo)
	return k
}

// String returns the key in 32 hexadecimal digits.
func (k Key) String() string { return hex.EncodeToString(k[:]) }

// MarshalText returns the same as String.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads 32 lower-case hexadecimal digits.
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

// ErrMissing is the error of a call that no cassette has.
var ErrMissing = errors.New("no recorded answer")
