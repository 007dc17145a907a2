package breaks

import "testing"

// A call of a source that was met before allocates nothing: the loop feeds the
// detector every call.
func TestSeeDoesNotAllocate(t *testing.T) {
	var d Detector
	a, b := after(0, 45000), after(20, 6200)
	a.State.Betas, b.State.Betas = []string{"a"}, []string{"a", "b"}
	d.See(&a)
	if n := testing.AllocsPerRun(100, func() { d.See(&b); d.See(&a) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkSee(b *testing.B) {
	var d Detector
	calls := [2]Call{after(0, 45000), after(20, 6200)}
	for i := 0; b.Loop(); i++ {
		d.See(&calls[i&1])
	}
}
