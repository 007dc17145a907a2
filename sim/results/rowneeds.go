package results

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Members of rows: those that every version has written in every row, so that a
// row without one was changed or cut, and those that are left out when they are
// empty.
var (
	neededMembers = []string{
		"cell", "strategy", "session", "sessions", "calls", "calls_by_source", "tokens", "tokens_by_source",
		"cost_usd_by_class", "cost_usd_by_source", "storage_usd", "misses", "misses_by_class", "missed_tokens",
		"hit_calls", "later_calls", "compactions", "microcompactions", "recompactions", "chain_max",
		"peak_context_tokens", "overflows", "over_window", "failed_compactions", "added_latency_seconds", "unpriced_calls",
	}
	optionalMembers = []string{
		"added_latency_seconds_by_part", "seconds_at_level", "percent_left", "breaks", "counts", "firings", "reasons",
		"logged_output_usd",
	}
)

// required returns an error when a row, which is valid JSON, lacks a member that
// every row has, or has null for a figure: both would be read as 0.
func required(line []byte) error {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(line, &members); err != nil {
		return err
	}
	missing := slices.DeleteFunc(slices.Clone(neededMembers), func(name string) bool {
		_, ok := members[name]
		return ok
	})
	switch n := len(missing); {
	case n > 3:
		return fmt.Errorf("row without %s and %d more members that every row has", strings.Join(missing[:3], ", "), n-3)
	case n > 0:
		return fmt.Errorf("row without %s, which every row has", strings.Join(missing, ", "))
	}
	for _, name := range slices.Concat(neededMembers, optionalMembers) {
		if at, found := null(members[name]); found {
			return fmt.Errorf("%s%s is null", name, strings.ReplaceAll(string(at), "/", "."))
		}
	}
	return nil
}

// null returns where in a value null stands.
func null(value jsontext.Value) (jsontext.Pointer, bool) {
	if !bytes.Contains(value, []byte("null")) {
		return "", false
	}
	d := jsontext.NewDecoder(bytes.NewReader(value))
	for {
		token, err := d.ReadToken()
		if err != nil {
			return "", false
		}
		if token.Kind() == 'n' {
			return d.StackPointer(), true
		}
	}
}
