package compare

import "testing"

func TestPText(t *testing.T) {
	for p, want := range map[float64]string{0: "<0.001", 0.00099: "<0.001", 0.0123: "0.012", 0.9995: "1", 1: "1"} {
		if got := pText(p); got != want {
			t.Errorf("%v: %s, want %s", p, got, want)
		}
	}
}
