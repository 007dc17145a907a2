package scenarios

import (
	"slices"
	"testing"

	"github.com/compactsim/compactsim/tools/tests/scenariostest"
)

// FuzzExpand: whatever the text and what is set in it, a scenario is expanded or
// refused; one that is expanded says in its resolved form what gives the same
// cells.
func FuzzExpand(f *testing.F) {
	for _, seed := range [][2]string{
		{"schema: 1\nstrategies: [none]\nserver: {lookback: [20, 21]}\nseed: {from: 1, to: 3, step: 1}\n", "server.lifetime_5m=[5m,10m]"},
		{"strategies: [{preset: auto-compact/167k, set: {full-compact.breaker: [0, 1]}}, billed]\nprices: {at: [call, 2026-03-20]}\n", "full-compact.trigger.fixed=100000"},
		{"strategies:\n- {name: x, layers: [{first_of: [truncate-oldest: {}, full-compact: {auto: true}]}]}\nsummarizer: {failures: {fork: {api: .5}}}\n", "strategies.x.full-compact.breaker=2"},
		{"events: [{at: {round: 1}, do: beta, value: x}]\nclient: {env: {BASH_MAX_OUTPUT_LENGTH: '10'}}\nsessions: {since: 7d}\n", "client.window=200000"},
	} {
		f.Add(seed[0], seed[1])
	}
	r := scenariostest.Registry(f)
	f.Fuzz(func(t *testing.T, text, assignment string) {
		file, err := Parse(r, []byte(text), "f.yaml")
		if err != nil {
			return
		}
		if assignment != "" && file.Assign(assignment) != nil {
			return
		}
		d, err := file.Expand()
		if err != nil {
			return
		}
		resolved, err := d.Resolved()
		if err != nil {
			t.Fatalf("%q, %q: %v", text, assignment, err)
		}
		again, err := Parse(r, resolved, "resolved.yaml")
		if err != nil {
			t.Fatalf("%q, %q: %v\n%s", text, assignment, err, resolved)
		}
		twice, err := again.Expand()
		if err != nil {
			t.Fatalf("%q, %q: %v\n%s", text, assignment, err, resolved)
		}
		if !slices.Equal(cellNames(d), cellNames(twice)) {
			t.Fatalf("%q, %q: cells %q, resolved %q", text, assignment, cellNames(d), cellNames(twice))
		}
	})
}
