package recordings

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// A small heap may grow by 400 %; with 100 MiB in memory it could reach 500, so that the growth is set to what leads to paced,
// 60 %, or the least that is asked for. When the 100 MiB are given up it may grow by more again. Tests before this one add to
// what is in memory.
func TestPace(t *testing.T) {
	const least, tries = 50, 100
	end := pace(least)
	defer func() { debug.SetGCPercent(end()) }()
	percent := func() int { return int(measure("/gc/gogc:percent")) }
	settle := func(done func(percent int) bool) {
		for i := 0; i < tries && !done(percent()); i++ {
			runtime.GC() // what looks at the heap runs after it, in a goroutine of its own
		}
	}
	if got := percent(); got != 400 {
		t.Fatalf("a small heap grows by %d %%, not 400", got)
	}
	held := make([]byte, 100<<20)
	settle(func(p int) bool { return p <= 60 })
	if got := percent(); got < least || got > 60 {
		t.Errorf("with 100 MiB in memory the heap grows by %d %%, not by 50 to 60", got)
	}
	runtime.KeepAlive(held)
	settle(func(p int) bool { return p > 100 })
	if got := percent(); got <= 100 {
		t.Errorf("after 100 MiB were given up the heap grows by %d %%, as before", got)
	}
}
