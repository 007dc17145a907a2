package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The chance equals the count over all exchanges, also far out, whatever the form of the
// differences.
func TestExchangedIsFullEnumeration(t *testing.T) {
	chance, common := rand.New(rand.NewPCG(1, 3)), 0
	for _, form := range []func() float64{
		func() float64 { return chance.NormFloat64() + 0.5 },
		func() float64 { return math.Exp(chance.NormFloat64()) - 0.4 },
	} {
		for range 100 {
			d := make([]float64, 12)
			sum := 0.0
			for i := range d {
				d[i] = form()
				sum += d[i]
			}
			far := 0
			for signs := range 1 << len(d) {
				s := 0.0
				for i, v := range d {
					s += v * float64(1-2*(signs>>i&1))
				}
				if math.Abs(s) >= math.Abs(sum)*(1-1e-12) {
					far++
				}
			}
			want := float64(far) / float64(int(1)<<len(d))
			got, _ := exchangeSigns(d, 1)
			if got > 1.35*want+0.01 || got < want/1.35-0.01 {
				t.Errorf("%v: %v, counted out %v", d, got, want)
			}
			if rough, _ := exchangeSigns(d, 0.05); rough != got {
				if common++; rough != 1 || want < 0.1 {
					t.Errorf("%v: %v where all that matters is that it is above 0.05, counted out %v", d, rough, want)
				}
			}
		}
	}
	if common < 10 {
		t.Errorf("%d of 200 sums are within a standard deviation: too few to tell", common)
	}
	if got, _ := exchangeSigns([]float64{1, 2, 0, 3}, 1); got != 2.0/8 {
		t.Errorf("three of three: %v, want 2/8", got)
	}
	if got, _ := exchangeSigns([]float64{1, -1}, 1); got != 1 {
		t.Errorf("one either way: %v", got)
	}
}
