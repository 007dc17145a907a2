package recordings

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// With 100 MiB in memory a heap that may grow by 400 % could reach 500, which is above paced: the growth is halved until the heap
// stays below, or is 50 %. Tests before this one add to what is in memory.
func TestPace(t *testing.T) {
	const tries = 100
	end := pace(400)
	held := make([]byte, 100<<20)
	percent := 400
	for i := 0; i < tries && percent == 400; i++ {
		runtime.GC() // what looks at the heap runs after it, in a goroutine of its own
		percent = int(measure("/gc/gogc:percent"))
	}
	live := int(measure("/gc/heap/live:bytes"))
	runtime.KeepAlive(held)
	was := end()
	debug.SetGCPercent(was)
	if percent >= 400 || percent > 50 && live+live/100*percent > 2*paced {
		t.Errorf("garbage is collected at a growth of %d %% with %d MiB in memory", percent, live>>20)
	}
}
