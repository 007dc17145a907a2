package synthetic

import (
	"testing"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
)

// No draw lies beyond what is reckoned with, not even those at the very ends of
// the generator's numbers.
func TestDrawsStayWithinBounds(t *testing.T) {
	for _, d := range []Dist{{Median: 5, Sigma: 3}, {Median: 60, Sigma: 1, Min: 20, Max: 90}, {Quantiles: []float64{1, 2, 500}}, {Median: 4}, {}} {
		s := newSampler(d)
		for _, u := range []float64{0x1p-54, 1e-12, 0.5, 1 - 0x1p-40, 1 - 0x1p-53, 1} {
			if x := s.at(u); x < d.bottom() || x > d.top() {
				t.Errorf("%+v: the draw at %g is %g, outside %g…%g", d, u, x, d.bottom(), d.top())
			}
		}
	}
}

// Generated sessions have ids that are known; recorded ones, and a version 7 UUID with a small counter, are none.
func TestGeneratedIDs(t *testing.T) {
	s := generator(t, workload(t, "short-fix")).Session(3, 0)
	for id, want := range map[string]bool{s.ID: true, "4f395b34-3840-4baa-86ba-1c2d3e4f5a6b": false, "019f0000-0000-7000-8000-000000000000": false, "": false} {
		if Generated(id) != want {
			t.Errorf("%q: generated %v", id, !want)
		}
	}
}

// A session whose tail would overflow what holds it is cut off.
func TestSessionsAreCutOff(t *testing.T) {
	for name, edit := range map[string]func(*Workload){
		"blocks": func(w *Workload) {
			w.Turns, w.Rounds = Dist{Median: 100, Sigma: 3, Min: 10_000, Max: 10_000}, Dist{Median: 4, Min: 500}
		},
		"time":   func(w *Workload) { w.Turns, w.Think = Dist{Median: 100}, Dist{Median: 300_000_000} },
		"tokens": func(w *Workload) { w.Threshold, w.Turns, w.Prompt = -1, Dist{Median: 200}, Dist{Median: 2_000_000} },
	} {
		w := workload(t, "short-fix")
		edit(w)
		var g *Generator
		if name == "blocks" { // a typical session of this size is refused
			g = generator(t, workload(t, "short-fix"))
			tabulate(w)
			g.w.Turns, g.w.Rounds = w.Turns, w.Rounds
		} else {
			g = generator(t, w)
		}
		s := g.Session(1, 0)
		if n := len(s.Blocks); n > numberMask {
			t.Errorf("%s: %d blocks", name, n)
		}
		if took := time.Duration(s.End - s.Start); s.End < s.Start || took < 0 || took.Hours() > 90*365*24 {
			t.Errorf("%s: %v", name, took)
		}
		for i := range s.Threads[0].Rounds {
			if u := s.Threads[0].Rounds[i].Usage; u.Input() > 100_000_000 || u.Input() < 0 {
				t.Fatalf("%s: round %d has %d tokens", name, i, u.Input())
			}
		}
		for i := range s.Blocks {
			if b := &s.Blocks[i]; b.Tokens < 0 || b.Kind == prompt.KindUnseen && b.Bytes < 0 {
				t.Fatalf("%s: block %d: %+v", name, i, b)
			}
		}
	}
}
