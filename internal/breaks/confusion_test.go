package breaks

import (
	"math"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
)

// Ten expiries, eight found; two evictions taken for expiries, one found; three
// edits that look like the server's doing.
func TestConfusion(t *testing.T) {
	var c, part Confusion
	add := func(n int, said Reason, truth prompt.MissClass) {
		for range n {
			part.Add(said, truth)
		}
	}
	add(6, ReasonExpiry5m, prompt.MissExpiry)
	add(2, ReasonExpiry1h, prompt.MissExpiry)
	add(2, ReasonNone, prompt.MissExpiry)
	add(2, ReasonExpiry5m, prompt.MissEviction)
	add(1, ReasonServer, prompt.MissEviction)
	add(3, ReasonServer, prompt.MissEdit)
	add(5, ReasonExcluded, prompt.MissExpiry) // not watched: no failure to find
	c.Merge(&part)
	for _, test := range []struct {
		reason            Reason
		precision, recall float64
	}{
		{ReasonExpiry5m, 6. / 8, 8. / 10},
		{ReasonExpiry1h, 2. / 2, 8. / 10},
		{ReasonServer, 1. / 4, 1. / 3},
	} {
		p, ok := c.Precision(test.reason)
		if !ok || math.Abs(p-test.precision) > 1e-12 {
			t.Errorf("precision of %s: %v %v, want %v", test.reason, p, ok, test.precision)
		}
		r, ok := c.Recall(test.reason)
		if !ok || math.Abs(r-test.recall) > 1e-12 {
			t.Errorf("recall of %s: %v %v, want %v", test.reason, r, ok, test.recall)
		}
	}
	if _, ok := c.Precision(ReasonModel); ok {
		t.Error("a precision over no call")
	}
	for _, r := range []Reason{ReasonModel, ReasonNone, ReasonFirst, ReasonDeleted} {
		if _, ok := c.Recall(r); ok {
			t.Errorf("a recall of %s: no call missed in this way", r)
		}
	}
}

// Every class of miss but those of messages has a reason that means it, and no
// reason of a break means a hit.
func TestMeanings(t *testing.T) {
	for m := prompt.MissClass(1); int(m) < prompt.NumMissClasses; m++ {
		meant := false
		for r := range Reason(NumReasons) {
			meant = meant || r.Means(m)
		}
		if want := m != prompt.MissRewind; meant != want {
			t.Errorf("%s is meant by a reason: %v, want %v", m, meant, want)
		}
	}
	for r := ReasonModel; int(r) < NumReasons; r++ {
		if r.Means(prompt.MissNone) {
			t.Errorf("%s means a hit", r)
		}
	}
}
