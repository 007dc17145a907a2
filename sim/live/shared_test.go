package live

import "testing"

// Two strategies that make the same call share it within the run: it is neither
// made nor replayed twice, whichever strategy came first, and it is listed once.
func TestSharedCalls(t *testing.T) {
	server, web := serve(t)
	dir := t.TempDir()
	run := func(mode Mode, cells ...string) Report {
		calls := folder(t, dir, mode)
		var shared Shared
		for _, name := range cells {
			s := conversation("alpha")
			l := newLive(t, Options{Backend: web, Texts: library(s), Calls: calls, Prices: dollars, Shared: &shared})
			if name == "third" { // which has a call of its own
				l.opts.Model = "claude-opus-4-7"
			}
			compose(t, l, s.call())
		}
		return shared.Report()
	}
	flags := func(r *Report) string {
		var s []byte
		for _, c := range r.Calls {
			s = append(s, map[bool]byte{true: 'r', false: 'm'}[c.Replayed])
		}
		return string(s)
	}
	made := run(Make, "second", "first", "third")
	if n, _ := server.Count(); made.Made != 2 || made.Replayed != 0 || made.ReplayedUSD != 0 || flags(&made) != "mm" || n != 2 {
		t.Errorf("made %d, replayed %d for $%g: %s with %d requests", made.Made, made.Replayed, made.ReplayedUSD, flags(&made), n)
	}
	for _, cells := range [][]string{{"first", "second", "third"}, {"third", "second", "first"}} {
		r := run(Replay, cells...)
		if r.Made != 0 || r.Replayed != 2 || flags(&r) != "rr" {
			t.Errorf("%v: made %d, replayed %d: %s", cells, r.Made, r.Replayed, flags(&r))
		}
		if d := r.ReplayedUSD - made.USD; d < -1e-9 || d > 1e-9 {
			t.Errorf("%v: replayed calls had cost $%g, want $%g", cells, r.ReplayedUSD, made.USD)
		}
	}
}
