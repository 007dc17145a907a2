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
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/compactsim/compactsim/internal/files"
	"github.com/compactsim/compactsim/internal/live/wire"
	"github.com/compactsim/compactsim/sim/prompt"
)

// Call identifies a call and says what it is for.
type Call struct {
	// The first six do not identify the call: they inform people, and help to find
	// the cassette nearest to a missing one.
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
	// Predicted is what the model of the cache predicted for the call, tokens.
	Predicted prompt.Usage `json:"predicted"`
	// Entities are the things worth keeping in the summarised part.
	Entities []Entity `json:"entities,omitempty"`
}

// Entity is something worth keeping in the summarised part.
type Entity struct {
	Kind string `json:"kind"`
	// Text is "" in a cassette without texts.
	Text string `json:"text,omitzero"`
	Kept bool   `json:"kept,omitzero"` // the summary has it
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

// parseKey is the inverse of String.
func parseKey(s string) (k Key, err error) {
	err = k.UnmarshalText([]byte(s))
	return k, err
}

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
var ErrMissing = errors.New("no cassette holds this call")

// missing returns the error of a call that is not stored, or has changed since,
// with the nearest stored call of the session and the differences.
func (f *Folder) missing(call Call) error {
	told := redactCall(call)
	entries, _ := os.ReadDir(f.dir) // a folder that cannot be read has none
	var nearest *Call
	best, stored, path := -1, 0, ""
	for _, entry := range entries {
		k, err := parseKey(strings.TrimSuffix(entry.Name(), suffix))
		if err != nil || filepath.Ext(entry.Name()) != suffix {
			continue
		}
		var got struct {
			Call Call `json:"call"`
		}
		b, err := files.Read(f.path(k))
		if err != nil || json.Unmarshal(b, &got, values) != nil {
			continue
		}
		stored++
		if n := likeness(&got.Call, &told); got.Call.Session == call.Session && n > best {
			best, nearest, path = n, &got.Call, f.path(k)
		}
	}
	why := f.dir + " has no cassettes"
	switch {
	case nearest != nil:
		why = fmt.Sprintf("the nearest, %s, differs in %s", path, strings.Join(differences(nearest, &told), "; "))
	case stored > 0:
		why = fmt.Sprintf("none of the %d cassettes in %s belongs to this session", stored, f.dir)
	}
	return fmt.Errorf("%w, %s: %s", ErrMissing, call.Key(), why)
}

// likeness weighs what two calls of a session have in common: purpose and place before settings.
func likeness(a, b *Call) int {
	n := 0
	for _, p := range b.Params {
		if slices.Contains(a.Params, p) {
			n++
		}
	}
	for _, same := range []bool{
		a.Chain == b.Chain, a.Number == b.Number, a.Thread == b.Thread && a.Round == b.Round, a.Source == b.Source,
	} {
		if same {
			n += 100
		}
	}
	return n
}

// differences says what differs in two calls.
func differences(stored, now *Call) []string {
	var list []string
	if stored.Chain != now.Chain {
		list = append(list, "what is sent")
	}
	were, names := map[string]string{}, []string{}
	for _, p := range stored.Params {
		name, value, _ := strings.Cut(p, "=")
		were[name] = value
		names = append(names, name)
	}
	add := func(what, a, b string) {
		if a != b {
			list = append(list, fmt.Sprintf("%s (stored %s, now %s)", what, short(a), short(b)))
		}
	}
	for _, p := range now.Params {
		name, value, _ := strings.Cut(p, "=")
		if was, ok := were[name]; ok {
			add(name, was, value)
		} else {
			add(name, "without", value)
		}
		delete(were, name)
	}
	for _, name := range names {
		if was, ok := were[name]; ok {
			add(name, was, "without")
		}
	}
	add("thread", fmt.Sprint(stored.Thread), fmt.Sprint(now.Thread))
	add("round", fmt.Sprint(stored.Round), fmt.Sprint(now.Round))
	add("number", fmt.Sprint(stored.Number), fmt.Sprint(now.Number))
	if len(list) == 0 {
		list = append(list, "the order of its parameters")
	}
	return list
}

// short returns a value for people: the first digits of a digest.
func short(s string) string {
	const told = 8
	if _, err := parseKey(s); err == nil {
		return s[:told] + "…"
	}
	return s
}
