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
