package live

import (
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
)

// Equal texts of two calls are two summaries; a replay of a call gives the one that it gave.
func TestWordsKept(t *testing.T) {
	var m memory
	w := written{text: "the words", tokens: 2, output: 4}
	d := m.keep("1", w)
	if replayed := m.keep("1", w); replayed != d {
		t.Error("a replay has another digest")
	}
	if other := m.keep("2", w); other == d {
		t.Error("another call has the same digest")
	}
}

// An update is estimated with the memory it writes again: that which is known, else
// what the instruction holds, never more than a memory may have.
func TestEstimateMemory(t *testing.T) {
	s := conversation("alpha")
	l := newLive(t, Options{Dry: true, Texts: library(s)})
	c := s.call()
	c.Intent.Source = sourceSessionMemory
	c.Intent.Known, c.Intent.Sized = &prompt.Answer{Output: 400}, true
	base := l.memory.keep("1", written{text: "notes", tokens: 9000})
	for _, tc := range []struct {
		instruction int32
		base        prompt.Digest
		want        int64
	}{{100, prompt.Digest{}, 400}, {5000, prompt.Digest{}, 5000}, {5000, base, 9000}, {30_000, prompt.Digest{}, 12_000}} {
		c.Intent.Instruction, c.Intent.Base = tc.instruction, tc.base
		l.opts.Shared = &Shared{}
		compose(t, l, c)
		if e := l.opts.Shared.Report().Estimate; e.Usage.Output != tc.want {
			t.Errorf("instruction of %d tokens: %d of output, want %d", tc.instruction, e.Usage.Output, tc.want)
		}
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
