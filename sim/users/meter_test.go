package users

import (
	"slices"
	"testing"

	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
)

var _ sim.Meter = (*Meter)(nil)

// Where the parts of a request end: markers at 100 for everyone, at 250 for the organisation, at
// 1,000 on messages, 1,010 in all.
func TestDivide(t *testing.T) {
	entries := []prompt.Entry{{Kind: prompt.KindTools, Cum: 100}, {Kind: prompt.KindSystem, Cum: 250}, {Kind: prompt.KindPrompt, Cum: 1000}}
	r := exchange.Request{Entries: entries, Markers: []exchange.Marker{{Position: 0, Scope: exchange.ScopeGlobal}, {Position: 1}, {Position: 2}}}
	for name, tc := range map[string]struct {
		usage prompt.Usage
		want  []float64 // read and written by all, by the organisation, by the session
	}{
		"cold":     {prompt.Usage{Write5m: 1000, Uncached: 10}, []float64{0, 100, 0, 150, 0, 750}},
		"warm":     {prompt.Usage{Read: 1000, Uncached: 10}, []float64{100, 0, 150, 0, 750, 0}},
		"global":   {prompt.Usage{Read: 100, Write1h: 900, Uncached: 10}, []float64{100, 0, 0, 150, 0, 750}},
		"between":  {prompt.Usage{Read: 180, Write5m: 820, Uncached: 10}, []float64{100, 0, 80, 70, 0, 750}},
		"uncached": {prompt.Usage{Uncached: 1010}, []float64{0, 0, 0, 0, 0, 0}},
		"deleted":  {prompt.Usage{Read: 600, Uncached: 10}, []float64{100, 0, 150, 0, 350, 0}},
	} {
		var row results.Row
		new(Meter).Began(&row, &r, &exchange.Outcome{Usage: tc.usage})
		if got := row.Figures[measures.SharedTokens:measures.Waits]; !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// Of calls in flight those count that began before and have not ended, whoever made them.
func TestInFlight(t *testing.T) {
	var m Meter
	var a, b results.Row
	began := func(row *results.Row) { m.Began(row, &exchange.Request{}, &exchange.Outcome{}) }
	began(&a)
	began(&b)
	m.Ended()
	began(&a)
	if x, y := a.N(measures.PeakCallsInFlight), b.N(measures.PeakCallsInFlight); x != 2 || y != 2 {
		t.Errorf("%d and %d in flight, want 2 and 2", x, y)
	}
	m.Reset()
	a.Figures = results.Figures{}
	if began(&a); a.N(measures.PeakCallsInFlight) != 1 {
		t.Errorf("%d in flight after a reset, want 1", a.N(measures.PeakCallsInFlight))
	}
}
