package synthetic

import (
	"bytes"
	"testing"
)

// FuzzParseWorkload: a workload that is read can be drawn from, and is written
// as one that gives the same sessions.
func FuzzParseWorkload(f *testing.F) {
	for _, name := range WorkloadNames() {
		text, err := WorkloadText(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, uint64(1))
	}
	f.Fuzz(func(t *testing.T, text []byte, seed uint64) {
		w, err := parseWorkload(text, "f.yaml")
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := w.Write(&b); err != nil {
			t.Fatal(err)
		}
		again, err := parseWorkload(b.Bytes(), "f.yaml")
		if err != nil {
			t.Fatalf("%v\n%s", err, b.Bytes())
		}
		const most = 2000 // calls; larger sessions take too long here
		calls := w.Turns.top() * w.Rounds.top() * max(1, w.Agents.Rounds.top())
		if calls > most || w.Files > most || w.Parallel > 0.8 {
			return
		}
		one, two := generator(t, w).Session(seed, 3), generator(t, again).Session(seed, 3)
		if one.ID != two.ID || one.NumCalls() != two.NumCalls() || len(one.Blocks) != len(two.Blocks) {
			t.Fatalf("%d and %d calls\n%s", one.NumCalls(), two.NumCalls(), b.Bytes())
		}
		for i := range one.Blocks {
			if one.Blocks[i].Bytes < 0 || one.Blocks[i].Tokens < 0 {
				t.Fatalf("block %d: %+v", i, one.Blocks[i])
			}
		}
	})
}
