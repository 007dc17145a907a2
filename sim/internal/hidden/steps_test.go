package hidden

import (
	"testing"

	"github.com/compactsim/compactsim/sim/prompt/exchange"
)

// By hand: reads of 1,000, 1,600 and 2,800 stand 600 apart, 400 modulo 600; with 2,801 they stand at any token. Fewer than four
// show nothing.
func TestSteps(t *testing.T) {
	var s steps
	for _, read := range []int64{1000, 1600, 2800} {
		s.see(read, read+70)
	}
	if _, ok := s.grid(); ok {
		t.Error("three reads show a grid")
	}
	s.see(4000, 4500)
	if got, ok := s.grid(); !ok || got != (exchange.Serving{Step: 600, Offset: 400, Lag: 70}) {
		t.Errorf("%+v, want steps of 600 from 400 on, 70 before the end", got)
	}
	s.see(4001, 4500)
	if got, _ := s.grid(); got.Step != 1 {
		t.Errorf("%+v, want any token", got)
	}
}
