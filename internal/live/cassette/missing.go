package cassette

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

// ErrMissing is what a call is that no cassette holds.
var ErrMissing = errors.New("no cassette holds this call")

// MissingError tells of a call that no cassette holds: a request that was never
// recorded, or one that has changed since.
type MissingError struct {
	Dir  string
	Key  Key
	Call Call
	// Nearest is the stored call most like it in the same session, nil for none;
	// Differs what is another in it.
	Nearest    *Call
	NearestKey Key
	Differs    []string
	Stored     int // cassettes in the folder
}

// Is reports whether target is ErrMissing.
func (e *MissingError) Is(target error) bool { return target == ErrMissing }

// Error says what differs in the nearest cassette, and which call it is.
func (e *MissingError) Error() string {
	c := &e.Call
	return fmt.Sprintf("%s: %s; it is %s, call %d of session %s (%s by %s, thread %d, round %d)",
		ErrMissing, e.difference(), e.Key, c.Number, c.Session, c.Source, c.Model, c.Thread, c.Round)
}

func (e *MissingError) difference() string {
	switch {
	case e.Stored == 0:
		return e.Dir + " has no cassettes"
	case e.Nearest == nil:
		return fmt.Sprintf("none of the %d cassettes in %s is of this session", e.Stored, e.Dir)
	}
	return fmt.Sprintf("the nearest, %s, differs in %s", filepath.Join(e.Dir, e.NearestKey.String()+suffix),
		strings.Join(e.Differs, "; "))
}

// indexed is what a file is for.
type indexed struct {
	key  Key
	call Call
}

// missing returns the error of a call that is not stored.
func (f *Folder) missing(call Call) error {
	list := f.indexed()
	e := &MissingError{Dir: f.dir, Key: call.Key(), Call: call, Stored: len(list)}
	told := redactCall(call)
	best := -1
	for i := range list {
		if list[i].call.Session != call.Session {
			continue
		}
		if n := likeness(&list[i].call, &told); n > best {
			best, e.Nearest, e.NearestKey = n, &list[i].call, list[i].key
		}
	}
	if e.Nearest != nil {
		e.Differs = differences(e.Nearest, &told)
	}
	return e
}

// likeness weighs what two calls of a session have in common: what they are for
// and where they stand before how they are made.
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

// differences says what is another in two calls.
func differences(stored, now *Call) []string {
	var list []string
	add := func(what, a, b any) {
		if a != b {
			list = append(list, fmt.Sprintf("%s (stored %v, now %v)", what, short(a), short(b)))
		}
	}
	if stored.Chain != now.Chain {
		list = append(list, "what is sent")
	}
	were, are := named(stored.Params), named(now.Params)
	for _, p := range are {
		if i := slices.IndexFunc(were, func(w [2]string) bool { return w[0] == p[0] }); i >= 0 {
			add(p[0], were[i][1], p[1])
		} else {
			add(p[0], "without", p[1])
		}
	}
	for _, w := range were {
		if !slices.ContainsFunc(are, func(p [2]string) bool { return p[0] == w[0] }) {
			add(w[0], w[1], "without")
		}
	}
	add("source", stored.Source, now.Source)
	add("thread", stored.Thread, now.Thread)
	add("round", stored.Round, now.Round)
	add("number", stored.Number, now.Number)
	if len(list) == 0 {
		list = append(list, "the order of its parameters")
	}
	return list
}

// short returns a value as people are told it: of a digest the first digits, which
// tell two apart.
func short(v any) any {
	const told = 8
	if s, ok := v.(string); ok {
		if _, err := ParseKey(s); err == nil {
			return s[:told] + "…"
		}
	}
	return v
}

// named parts parameters into name and value.
func named(params []string) [][2]string {
	list := make([][2]string, len(params))
	for i, p := range params {
		name, value, _ := strings.Cut(p, "=")
		list[i] = [2]string{name, value}
	}
	return list
}

// indexed returns what all files are for, ordered by key. Files that cannot be
// read are left out: Verify tells of them.
func (f *Folder) indexed() []indexed {
	f.mu.Lock()
	list := f.index
	f.mu.Unlock()
	if list != nil {
		return list
	}
	keys := f.keys()
	list = make([]indexed, 0, len(keys))
	for _, k := range keys {
		var head struct {
			Call Call `json:"call"`
		}
		b, err := os.ReadFile(f.path(k))
		if err == nil && json.Unmarshal(b, &head, values) == nil {
			list = append(list, indexed{k, head.Call})
		}
	}
	f.mu.Lock()
	f.index = list
	f.mu.Unlock()
	return list
}

// keys returns the keys of all files in order.
func (f *Folder) keys() []Key {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return nil
	}
	var keys []Key
	for _, e := range entries { // by name
		if k, err := ParseKey(strings.TrimSuffix(e.Name(), suffix)); err == nil && filepath.Ext(e.Name()) == suffix {
			keys = append(keys, k)
		}
	}
	return keys
}
