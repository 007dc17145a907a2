package breaks

import (
	"math"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results/confusion"
)

// Ten expiries, eight found; two evictions taken for expiries, one found; three
// edits that look like the server's doing.
func TestConfusion(t *testing.T) {
	var c confusion.Matrix
	add := func(n int, said confusion.Reason, truth exchange.MissClass) {
		for range n {
			c.Add(said, truth)
		}
	}
	add(6, confusion.Expiry5m, exchange.MissExpiry)
	add(2, confusion.Expiry1h, exchange.MissExpiry)
	add(2, confusion.None, exchange.MissExpiry)
	add(2, confusion.Expiry5m, exchange.MissEviction)
	add(1, confusion.Server, exchange.MissEviction)
	add(3, confusion.Server, exchange.MissEdit)
	add(5, confusion.Excluded, exchange.MissExpiry) // not watched: no failure to find
	for _, test := range []struct {
		reason            confusion.Reason
		precision, recall float64
	}{
		{confusion.Expiry5m, 6. / 8, 8. / 10},
		{confusion.Expiry1h, 2. / 2, 8. / 10},
		{confusion.Server, 1. / 4, 1. / 3},
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
	if _, ok := c.Precision(confusion.Model); ok {
		t.Error("a precision over no call")
	}
	for _, r := range []confusion.Reason{confusion.Model, confusion.None, confusion.First, confusion.Deleted} {
		if _, ok := c.Recall(r); ok {
			t.Errorf("a recall of %s: no call missed in this way", r)
		}
	}
}

// Every class of miss but misses of messages has a reason that means it, and no
// reason of a break means a hit.
func TestMeanings(t *testing.T) {
	for m := exchange.MissClass(1); int(m) < exchange.NumMissClasses; m++ {
		meant := false
		for r := range confusion.Reason(confusion.NumReasons) {
			meant = meant || r.Means(m)
		}
		if want := m != exchange.MissRewind; meant != want {
			t.Errorf("%s is meant by a reason: %v, want %v", m, meant, want)
		}
	}
	for r := confusion.Model; int(r) < confusion.NumReasons; r++ {
		if r.Means(exchange.MissNone) {
			t.Errorf("%s means a hit", r)
		}
	}
}
