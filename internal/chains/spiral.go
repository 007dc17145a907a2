package chains

import (
	"github.com/compactsim/compactsim/internal/studies"
)

// What makes a spiral. Rapid refills are those of the client's own breaker:
// three within three requests each.
const (
	refillWithin = 3 // requests behind a compaction
	refillTimes  = 3
	unpaidTimes  = 2 // compactions that the next one followed before they had paid
)

// flag marks compactions that are part of a spiral. What a person asked for ends
// one.
func (s *session) flag() {
	refills, unpaid := make([]int, len(s.list)), make([]int, len(s.list))
	for i := range s.list {
		c, last := &s.list[i], s.before[i]
		if last < 0 || c.Trigger == triggerManual {
			continue
		}
		if c.Since <= refillWithin {
			refills[i] = refills[last] + 1
		}
		if s.list[last].PaidAfter == 0 {
			unpaid[i] = unpaid[last] + 1
		}
		if unpaid[i] >= unpaidTimes {
			s.mark(i, unpaid[i], studies.SpiralUnpaid)
		}
		if refills[i] >= refillTimes {
			s.mark(i, refills[i], studies.SpiralRefill)
		}
	}
}

// mark flags a compaction and n ahead of it.
func (s *session) mark(i, n int, spiral string) {
	for ; n >= 0 && i >= 0; n-- {
		s.list[i].Spiral = spiral
		i = s.before[i]
	}
}
