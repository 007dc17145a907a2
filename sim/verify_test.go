package sim

import (
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/traces/facts"
)

// wrongly is a server that changes what another one has answered to one request, or the
// request itself, and cannot tell what the provider would refuse.
type wrongly struct {
	Server
	calls  *int
	change func(*exchange.Request, *exchange.Outcome)
}

func (s wrongly) Begin(t int64, r *exchange.Request) exchange.Outcome {
	o := s.Server.Begin(t, r)
	if *s.calls++; *s.calls == 2 {
		s.change(r, &o)
	}
	return o
}

// Each invariant of a call is told when it does not hold, and what just holds passes: as many
// markers as are allowed, on entries that are there, and a read of all that was expected.
func TestInvariantsOfACall(t *testing.T) {
	at := func(positions ...int32) func(*exchange.Request, *exchange.Outcome) {
		return func(r *exchange.Request, _ *exchange.Outcome) {
			r.Markers = nil
			for _, p := range positions {
				if p < 0 {
					p += int32(len(r.Entries)) + 1
				}
				r.Markers = append(r.Markers, exchange.Marker{Position: p})
			}
		}
	}
	for name, tc := range map[string]struct {
		change func(*exchange.Request, *exchange.Outcome)
		says   string // "" for nothing
	}{
		"nothing":           {func(*exchange.Request, *exchange.Outcome) {}, ""},
		"tokens too many":   {func(_ *exchange.Request, o *exchange.Outcome) { o.Usage.Read++ }, "read + writes + uncached"},
		"effective differs": {func(_ *exchange.Request, o *exchange.Outcome) { o.Effective-- }, "effective tokens"},
		"effective above the request": {func(r *exchange.Request, o *exchange.Outcome) {
			r.Deletions = []exchange.Deletion{{}}
			o.Usage.Read++
			o.Effective++
		}, "effective tokens"},
		"a negative class": {func(_ *exchange.Request, o *exchange.Outcome) {
			o.Usage.Uncached--
			o.Usage.Read++
		}, "a token class is negative"},
		"more than was sent": {func(r *exchange.Request, o *exchange.Outcome) {
			more := o.Usage.Write5m
			o.Usage.Write5m, o.Usage.Read = 0, o.Usage.Read+more
		}, "of which only 18300 were written before"},
		"four markers":     {at(0, 1, 2, 3), ""},
		"five markers":     {at(0, 1, 2, 3, 4), "5 markers, at most 4"},
		"the last entry":   {at(0, -2), ""},
		"behind the last":  {at(0, -1), "marker 1 at position"},
		"twice one entry":  {at(1, 1), "marker 1 at position 1 is out of order"},
		"out of order":     {at(2, 1), "marker 1 at position 1 is out of order"},
		"read as expected": {func(_ *exchange.Request, o *exchange.Outcome) { o.Expected = o.Usage.Read }, ""},
		"read too little":  {func(_ *exchange.Request, o *exchange.Outcome) { o.Expected = o.Usage.Read + 1 }, "expected tokens without a reason"},
		"a miss that is so": {func(_ *exchange.Request, o *exchange.Outcome) {
			o.Expected, o.Miss = o.Usage.Read+1, exchange.MissExpiry
		}, ""},
	} {
		c := testConfig(t, "none")
		calls := 0
		c.Server = func(facts.Cache) Server {
			return wrongly{promptcache.New(promptcache.Config{}), &calls, tc.change}
		}
		_, err := NewLoop(c).Run(newSession("s").turns(3, 0, 1000).session())
		if tc.says == "" && err != nil || tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)) {
			t.Errorf("%s: %v, want %q", name, err, tc.says)
		}
	}
}
