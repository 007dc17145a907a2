package live

import (
	"math"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
)

// A call whose first two attempts broke off costs all three. A replay tells the same.
func TestWasted(t *testing.T) {
	reply := good() // 100 uncached, 500 read, 300 of output: $0.40
	reply.Attempts, reply.Wasted = 3, prompt.Usage{Uncached: 1000, Output: 50}
	server := &fakeServer{answer: func(int, *Request) (*Reply, error) { return reply, nil }}
	s := conversation("alpha")
	store := folder(t, t.TempDir(), Make)
	l := newLive(t, Options{Backend: server, Texts: library(s), Prices: dollars, Calls: store})
	c := s.call()
	own, wasted := prompt.Usage{Uncached: 100, Read: 500, Output: 300}, prompt.Usage{Uncached: 1000, Output: 50}
	if m := compose(t, l, c).Measured; m.Usage != own || m.Wasted != wasted || m.Attempts != 3 {
		t.Errorf("measured %+v", m)
	}
	r := l.opts.Shared.Report()
	all := prompt.Usage{Uncached: 1100, Read: 500, Output: 350}
	if r.Usage != all || r.Wasted != wasted || math.Abs(r.USD-1.45) > 1e-9 {
		t.Errorf("report %+v", r)
	}
	if got := r.Calls[0]; got.Usage != own || got.Wasted != wasted {
		t.Errorf("call %+v", got)
	}
	again := newLive(t, Options{Texts: library(s), Calls: store, Prices: dollars})
	compose(t, again, c)
	sum := again.opts.Shared.Report()
	if sum.ReplayedUSD != r.USD {
		t.Errorf("a replay is said to have cost $%v, want $%v", sum.ReplayedUSD, r.USD)
	}
	together := newLive(t, Options{Texts: library(s), Calls: store, Prices: dollars, Shared: l.opts.Shared})
	compose(t, together, c)
	if sum = l.opts.Shared.Report(); sum.Wasted != wasted || len(sum.Calls) != 1 || sum.ReplayedUSD != 0 {
		t.Errorf("together: wasted %+v, %d calls, $%v replayed", sum.Wasted, len(sum.Calls), sum.ReplayedUSD)
	}
}

// What a call that failed was billed is booked.
func TestFailedUsage(t *testing.T) {
	server := &fakeServer{answer: func(int, *Request) (*Reply, error) {
		return &Reply{Attempts: 2, Wasted: prompt.Usage{Uncached: 900, Output: 100}}, &Failure{Cause: CauseBroken}
	}}
	s := conversation("alpha")
	l := newLive(t, Options{Backend: server, Texts: library(s), Prices: dollars})
	m := compose(t, l, s.call()).Measured
	if want := (prompt.Measured{Wasted: prompt.Usage{Uncached: 900, Output: 100}, Attempts: 2}); *m != want {
		t.Errorf("measured %+v, want %+v", *m, want)
	}
	r := l.opts.Shared.Report()
	if r.USD != 1 || r.Usage != m.Wasted {
		t.Errorf("report %+v", r)
	}
}

// Usage that is told from bytes is said to be.
func TestEstimatedUsage(t *testing.T) {
	for _, estimated := range []bool{false, true} {
		server := &fakeServer{answer: func(int, *Request) (*Reply, error) {
			r := good()
			r.Estimated = estimated
			return r, nil
		}}
		s := conversation("alpha")
		l := newLive(t, Options{Backend: server, Texts: library(s)})
		compose(t, l, s.call())
		if r := l.opts.Shared.Report(); (r.Estimated == 1) != estimated || r.Calls[0].Estimated != estimated || r.Usage.Output != 300 {
			t.Errorf("estimated %v: report %+v", estimated, r)
		}
	}
}
