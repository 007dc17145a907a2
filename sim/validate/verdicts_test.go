package validate

import (
	"slices"
	"testing"

	"github.com/compactsim/compactsim/sim/learning"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/tools/tests/validatetest"
	"github.com/compactsim/compactsim/traces/signs"
)

// named are the classes of misses that a verdict of the server names. It compares requests alone: an entry that it no
// longer has is gone, whether it expired or was evicted.
var named = map[signs.Verdict][]exchange.MissClass{
	signs.VerdictGone:     {exchange.MissExpiry, exchange.MissEviction},
	signs.VerdictMessages: {exchange.MissEdit, exchange.MissRewind, exchange.MissCompaction},
	signs.VerdictSystem:   {exchange.MissHead},
	signs.VerdictTools:    {exchange.MissHead},
	signs.VerdictModel:    {exchange.MissModel},
}

// Newer logs carry the server's own comparison of a request with the one before. Most calls of which it names a
// difference are predicted to miss, for that reason; where it sees none, hardly one is predicted to miss over a change.
func TestPredictedMissesAreWhatTheServerNames(t *testing.T) {
	sessions := validatetest.Recordings(t, "traces-3")
	config := validatetest.Unverified(t)
	p, _, err := learning.Learn(t.Context(), config, fitted(t), sessions, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(t.Context(), Options{Config: config.WithProfile(p), Calls: true}, sessions)
	if err != nil {
		t.Fatal(err)
	}
	changed, found, agreed, same, unfounded := 0, 0, 0, 0, 0
	for _, c := range r.Calls() {
		switch v := c.recorded.verdict; {
		case !later(&c):
		case v == signs.VerdictSame:
			same++
			unfounded += index(slices.Contains([]exchange.MissClass{
				exchange.MissEdit, exchange.MissRewind, exchange.MissCompaction, exchange.MissHead, exchange.MissModel,
			}, c.Miss))
		case named[v] != nil:
			changed++
			found += index(c.Miss != exchange.MissNone)
			agreed += index(slices.Contains(named[v], c.Miss))
		}
	}
	t.Logf("%d named, %d predicted to miss, %d for that reason; %d the same, %d predicted to have changed", changed, found, agreed, same, unfounded)
	if changed < 60 || 10*found < 9*changed || 10*agreed < 9*found || same < 3000 || unfounded > 3 {
		t.Error("predictions do not follow what the server names")
	}
}
