package scenarios

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/traces"
)

// notesOf returns the notes of a run that speak of prices.
func notesOf(t *testing.T, text, file string, c *traces.Corpus) []string {
	t.Helper()
	over, err := costmodel.Load(strings.NewReader(file), "mine.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p := Plan{Registry: registry(t), Prices: prices(t).Merge(over), Design: expand(t, text)}
	run, err := p.Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, n := range run.Notes {
		if strings.Contains(n.Text, "prices") {
			list = append(list, n.Text)
		}
	}
	return list
}

// Sessions from before the first prices of their model are billed at these, and
// the run says so. Those of claude-opus-4-6 among the samples are of January
// to March 2026.
func TestEarlyPricesAreNoted(t *testing.T) {
	c := samples(t, "short-fix")
	model, day := c.Sessions[0].Models[0], c.Sessions[0].StartTime().UTC()
	of := func(date string) string {
		return "schema: 1\nas_of: 2026-12-24\nmodels:\n  " + model + ":\n    prices: [{from: " + date + ", input: 5, output: 25}]\n"
	}
	next, same := day.AddDate(0, 0, 1).Format(isoDate), day.Format(isoDate)
	undated := *c.Sessions[0]
	undated.Start, undated.End = 0, 0
	for _, tc := range []struct {
		name, text, file string
		corpus           *traces.Corpus
		want             string
	}{
		{"before", "strategies: [none]", of(next), c, "1 session with " + model + " (the first of " + same + ") from before its first prices, of " + next + ": billed at these"},
		{"that day", "strategies: [none]", of(same), c, ""},
		{"asked for", "strategies: [none]\nprices: {at: 2020-01-01}", of(same), c, "no prices of " + model + " are known for 2020-01-01: its first, of " + same + ", are taken"},
		{"asked for, later", "strategies: [none]\nprices: {at: 2026-10-01}", of(same), c, ""},
		{"no date", "strategies: [none]", of(same), &traces.Corpus{Sessions: []*traces.Session{&undated}}, "1 session without a date billed at the prices of 2026-12-24"},
	} {
		list := notesOf(t, tc.text, tc.file, tc.corpus)
		var want []string
		if tc.want != "" {
			want = []string{tc.want}
		}
		if !slices.Equal(list, want) {
			t.Errorf("%s: %q, want %q", tc.name, list, want)
		}
	}
}
