package main

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// With 100 MiB in memory a heap that may grow by 400 % could reach 500, and by 200 % 300: of these the second is below 320. The
// growth that was before comes back.
func TestPace(t *testing.T) {
	const tries = 100
	end := pace(400)
	held := make([]byte, 100<<20)
	percent := 400
	for i := 0; i < tries && percent == 400; i++ {
		runtime.GC() // what looks at the heap runs after it, in a goroutine of its own
		percent = int(measured("/gc/gogc:percent"))
	}
	runtime.KeepAlive(held)
	was := end()
	debug.SetGCPercent(was)
	if percent != 200 || was == 400 {
		t.Errorf("garbage is collected at a growth of %d %%, want 200; before it was %d", percent, was)
	}
}
