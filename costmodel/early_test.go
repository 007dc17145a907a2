package costmodel

import (
	"strings"
	"testing"
	"time"
)

// The first prices of a model may have a date. Earlier calls are billed at them all
// the same, and that shows.
func TestFirstPricesWithADate(t *testing.T) {
	table, err := Load(strings.NewReader(`schema: 1
models:
  dated:
    prices: [{from: 2026-03-01, input: 1, output: 2}, {from: 2026-04-01, input: 3, output: 4}]
  open:
    prices: [{input: 1, output: 2}, {from: 2026-04-01, input: 3, output: 4}]
`), "mine.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		model, at string
		from      string
		early     bool
	}{
		{"dated", "2026-02-28", "2026-03-01", true},
		{"dated", "2026-03-01", "2026-03-01", false},
		{"dated", "2026-04-02", "2026-04-01", false},
		{"open", "2020-01-01", "0001-01-01", false},
	} {
		at, err := time.Parse(time.DateOnly, tc.at)
		if err != nil {
			t.Fatal(err)
		}
		p, err := table.Lookup(tc.model, at)
		if err != nil || p.From.Format(time.DateOnly) != tc.from || p.Early(at) != tc.early {
			t.Errorf("%s at %s: prices of %s, early %t, %v; want %s, %t", tc.model, tc.at, p.From.Format(time.DateOnly), p.Early(at), err, tc.from, tc.early)
		}
	}
}
