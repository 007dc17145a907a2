package live

import (
	"fmt"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/summarizer"
)

// A dry run makes no call and says what they would cost: what stands ahead of a
// marker is written for its lifetime, the rest is not; the recorded head, of 500 tokens, is not sent.
func TestDry(t *testing.T) {
	s := conversation("alpha")
	stub := &summarizer.Stub{Sizing: summarizer.Fixed, Median: 10}
	l := newLive(t, Options{Dry: true, Texts: library(s), Stub: stub, Prices: dollars, Settings: Settings{MaxOutput: 1000}})
	c := s.call()
	a := compose(t, l, c)
	if a.Summary != 10 {
		t.Errorf("a summary of %d tokens, want the stub's 10", a.Summary)
	}
	e := l.opts.Shared.Report().Estimate
	input := int64(s.context.Tokens()) - 500
	want := prompt.Usage{Uncached: 1500, Write5m: input - 1500, Output: 10}
	if e.Calls != 1 || e.Stored != 0 || e.Usage != want {
		t.Errorf("estimate %+v, want %+v", e, want)
	}
	if usd, most := float64(input+10)/1000, float64(input+1000)/1000; e.USD != usd || e.MostUSD != most {
		t.Errorf("$%v to $%v, want $%v to $%v", e.USD, e.MostUSD, usd, most)
	}
	store := folder(t, t.TempDir(), Make)
	server := &fakeServer{answer: func(n int, _ *Request) (*Reply, error) {
		r := good()
		r.Text = words(fmt.Sprint("summary ", n))
		return r, nil
	}}
	live := newLive(t, Options{Backend: server, Texts: library(s), Calls: store, Settings: Settings{MaxOutput: 1000}})
	compose(t, live, c)
	// A dry run goes on from the answers that are stored, so that it knows the
	// later calls of a chain too; the third one is not stored.
	if _, err := chain(live, conversation("alpha"), 2); err != nil {
		t.Fatal(err)
	}
	again := newLive(t, Options{Dry: true, Texts: library(s), Calls: store, Settings: Settings{MaxOutput: 1000}})
	if _, err := chain(again, conversation("alpha"), 3); err != nil {
		t.Fatal(err)
	}
	if e := again.opts.Shared.Report().Estimate; e.Calls != 3 || e.Stored != 2 {
		t.Errorf("%d calls, %d of them stored; want 3 and 2", e.Calls, e.Stored)
	}
}

// A call that two cells make is one call, as the second gets what is stored of
// the first.
func TestEstimateOnce(t *testing.T) {
	shared := &Shared{}
	for range 2 {
		s := conversation("alpha")
		l := newLive(t, Options{Dry: true, Texts: library(s), Prices: dollars, Shared: shared})
		compose(t, l, s.call())
	}
	if n := shared.Report().Estimate.Calls; n != 1 {
		t.Errorf("%d calls are estimated, want 1", n)
	}
}
