package cassette

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/compactsim/compactsim/internal/files"
)

// ErrMissing reports a call that no cassette holds.
var ErrMissing = errors.New("no cassette holds this call")

// missingError describes a call that no cassette holds: a request that was never
// recorded, or one that has changed since.
type missingError struct {
	Dir  string
	Key  Key
	Call Call
	// Nearest is the stored call most like it in the same session, nil for none;
	// Differs what is another in it.
	Nearest    *Call
	NearestKey Key
	Differs    []string
	Stored     int // cassettes in the folder that can be read
}

// Is reports whether target is ErrMissing.
func (e *missingError) Is(target error) bool { return target == ErrMissing }

// Error names the call by its key, and what differs in the nearest cassette.
func (e *missingError) Error() string {
	return fmt.Sprintf("%s, %s: %s", ErrMissing, e.Key, e.difference())
}

func (e *missingError) difference() string {
	switch {
	case e.Stored == 0:
		return e.Dir + " has no cassettes"
	case e.Nearest == nil:
		return fmt.Sprintf("none of the %d cassettes in %s belongs to this session", e.Stored, e.Dir)
	}
	return fmt.Sprintf("the nearest, %s, differs in %s", filepath.Join(e.Dir, e.NearestKey.String()+suffix),
		strings.Join(e.Differs, "; "))
}

// missing returns the error of a call that is not stored.
func (f *Folder) missing(call Call) error {
	e := &missingError{Dir: f.dir, Key: call.Key(), Call: call}
	told := redactCall(call)
	entries, _ := os.ReadDir(f.dir) // a folder that cannot be read has none
	best := -1
	for _, entry := range entries {
		k, err := parseKey(strings.TrimSuffix(entry.Name(), suffix))
		if err != nil || filepath.Ext(entry.Name()) != suffix {
			continue
		}
		var stored struct {
			Call Call `json:"call"`
		}
		b, err := files.Read(f.path(k))
		if err != nil || json.Unmarshal(b, &stored, values) != nil {
			continue
		}
		e.Stored++
		if n := likeness(&stored.Call, &told); stored.Call.Session == call.Session && n > best {
			best, e.Nearest, e.NearestKey = n, &stored.Call, k
		}
	}
	if e.Nearest != nil {
		e.Differs = differences(e.Nearest, &told)
	}
	return e
}

// likeness weighs what two calls of a session have in common: what they are for
// and where they are made before how.
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

// short returns a value for people: of a digest the first digits, which distinguish
// two.
func short(s string) string {
	const told = 8
	if _, err := parseKey(s); err == nil {
		return s[:told] + "…"
	}
	return s
}
