// Package cassette stores live calls: one file for each, so that a run whose
// summaries a real model wrote can be replayed without asking it again.
//
// A file is JSON, named by the key of its call. It holds what the call was for,
// what was asked by size and digest, and what came back. There is no room in it
// for a key of a provider or a header. A call whose request differs has another
// key: it is missing, and never answered by what another call got.
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
	// The first six identify nothing: they inform people, and find the cassette that
	// is nearest to one that is missing.
	Session string `json:"session"` // id of the recording
	Source  string `json:"source"`  // as in prompt.Intent.Source
	Model   string `json:"model"`   // that is asked
	Thread  int32  `json:"thread"`  // of the session, where the call is made
	Round   int32  `json:"round"`   // of the thread, where the call is made
	Number  int32  `json:"number"`  // ordinal among the calls of the session, from 1
	// Chain is that of the last block the call sends, and Params what its answer
	// depends on besides, each as "name=value". They make the key.
	Chain  prompt.Digest `json:"chain"`
	Params []string      `json:"params"`
}

// Key returns the key of the call.
func (c Call) Key() Key { return chainKey(c.Chain, c.Params...) }

// Cassette is one stored call. What a Folder returns is shared and must not be changed.
type Cassette struct {
	Call Call `json:"call"`
	// Began is when the call was made, for people; zero when it is not known.
	Began time.Time `json:"began,omitzero"`
	// Texts says of a cassette that was read that its texts are the model's own; else they are filler of the same
	// size, and the request's instruction is left out. What is stored is assumed to have its texts.
	Texts bool `json:"texts"`
	// Reply is what the model answered, nil for a call that failed; Failure is why, nil for one that was answered.
	Reply   *wire.Reply   `json:"reply,omitzero"`
	Failure *wire.Failure `json:"failure,omitzero"`
	// Predicted is what the model of the cache predicted for the call, tokens.
	Predicted prompt.Usage `json:"predicted"`
	// Entities are the things worth keeping in what was summarised.
	Entities []Entity `json:"entities,omitempty"`
	Request  *Request `json:"request,omitzero"` // nil when it was not kept
}

// Entity is something worth keeping in what was summarised.
type Entity struct {
	Kind string `json:"kind"`
	// Text is "" in a cassette without texts.
	Text string `json:"text,omitzero"`
	Kept bool   `json:"kept,omitzero"` // the summary has it
}

// Key names a call: equal content asked with equal parameters has equal keys, in every process and on every
// platform.
type Key [16]byte

// chainKey returns the key of a call that sends content of a chain under parameters, whose order counts.
func chainKey(chain prompt.Digest, params ...string) Key {
	b := binary.BigEndian.AppendUint64(nil, chain.Hi)
	b = binary.BigEndian.AppendUint64(b, chain.Lo)
	for _, p := range params {
		b = binary.AppendUvarint(b, uint64(len(p)))
		b = append(b, p...)
	}
	return keyOf(prompt.DigestBytes(b))
}

// keyOf returns a digest in the form of a key: the high half first.
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

// Request is what was asked, by sizes and digests: what it said is in the recording. A line of Tools, System and
// Messages is one block: who speaks, its kind, bytes, digest, whether it is an error, and its breakpoint.
type Request struct {
	Model       string   `json:"model"`
	MaxTokens   int      `json:"max_tokens"` // of output
	ToolsDenied bool     `json:"tools_denied,omitzero"`
	Betas       []string `json:"betas,omitempty"`
	// ContextManagement is the size and digest of the edits asked of the server.
	ContextManagement string `json:"context_management,omitzero"`
	// Compaction is the size and digest of the instructions of a compaction on demand.
	Compaction string   `json:"compaction,omitzero"`
	Thinking   string   `json:"thinking,omitzero"` // as wire.Thinking writes it
	Effort     string   `json:"effort,omitzero"`
	Bytes      int64    `json:"bytes"` // of all texts, inputs and definitions
	Tools      []string `json:"tools,omitempty"`
	System     []string `json:"system,omitempty"`
	Messages   []string `json:"messages"`
	// Instruction is the last text of the request, which no recording has; "" in a cassette without texts, and for
	// one of more than maxInstruction bytes.
	Instruction string `json:"instruction,omitzero"`
}

// maxInstruction bounds Request.Instruction, bytes: those of the simulated clients have some 6,000.
const maxInstruction = 64 << 10

// Describe returns what is kept of a request.
func Describe(r *wire.Request) *Request {
	q := &Request{Model: r.Model, MaxTokens: r.MaxTokens, ToolsDenied: r.ToolsDenied, Betas: slices.Clone(r.Betas)}
	if len(r.ContextManagement) > 0 {
		q.ContextManagement = sized("edits", r.ContextManagement)
	}
	if r.Compaction != nil {
		q.Compaction = sized("instructions", []byte(r.Compaction.Instructions))
	}
	q.Thinking, q.Effort = r.Thinking.String(), r.Effort
	for p := range r.Parts() {
		q.Bytes += int64(p.Size())
		switch p.Who {
		case "tool":
			q.Tools = append(q.Tools, line(&p))
		case "system":
			q.System = append(q.System, line(&p))
		default:
			q.Messages = append(q.Messages, line(&p))
		}
	}
	q.Instruction = instruction(r.Messages)
	return q
}

// line writes a part: who speaks, its kind, size and digest, and its breakpoint.
func line(p *wire.Part) string {
	var d prompt.Digest
	for _, text := range p.Texts {
		d = d.Extend(prompt.DigestString(text))
	}
	what := p.Who
	if p.Kind != "" {
		what += " " + string(p.Kind)
		d = d.Extend(prompt.DigestString(p.ID))
	}
	line := fmt.Sprintf("%s %d B %016x", what, p.Size(), d.Hi)
	if p.Failed {
		line += " error"
	}
	if p.Cache != wire.CacheNone {
		line += " cache " + string(p.Cache)
	}
	return line
}

// sized writes the size and digest of bytes.
func sized(what string, b []byte) string {
	return fmt.Sprintf("%s %d B %016x", what, len(b), prompt.DigestBytes(b).Hi)
}

// instruction returns the last block of the last message, if it is a text.
func instruction(messages []wire.Message) string {
	if len(messages) == 0 {
		return ""
	}
	blocks := messages[len(messages)-1].Blocks
	if len(blocks) == 0 {
		return ""
	}
	if b := &blocks[len(blocks)-1]; b.Kind == wire.KindText && len(b.Text) <= maxInstruction {
		return b.Text
	}
	return ""
}

// ErrMissing reports a call that no cassette holds.
var ErrMissing = errors.New("no cassette holds this call")

// missing returns the error of a call that is not stored, or has changed since, with the nearest stored call of the
// session and what differs.
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

// short returns a value for people: of a digest the first digits.
func short(s string) string {
	const told = 8
	if _, err := parseKey(s); err == nil {
		return s[:told] + "…"
	}
	return s
}
