package recordings

import (
	"testing"
	"time"
)

// 30 MB in 2 s are 15 MB/s.
func TestReadingText(t *testing.T) {
	var r reading
	r.add(20e6, 0)
	r.add(10e6, 3)
	const want = "3 files · 30 MB · 15 MB/s"
	if got := r.text(2 * time.Second); got != "reading: "+want {
		t.Errorf("%q, want %q", got, want)
	}
	r.all.Store(12) // of which 3 took 2 s: the other 9 take 6
	if got := r.text(2 * time.Second); got != "reading: 25 % · "+want+" · 6s left" {
		t.Errorf("%q, want a share of %q", got, want)
	}
}
