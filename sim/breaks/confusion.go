package breaks

import "github.com/compactsim/compactsim/sim/prompt"

// Confusion counts what the detector says against what the cache model knows,
// call by call. The zero Confusion is empty.
type Confusion struct {
	Calls [NumReasons][prompt.NumMissClasses]int
}

// Add counts a call.
func (c *Confusion) Add(said Reason, truth prompt.MissClass) { c.Calls[said][truth]++ }

// Merge adds the counts of d.
func (c *Confusion) Merge(d *Confusion) {
	for i := range d.Calls {
		for j, n := range d.Calls[i] {
			c.Calls[i][j] += n
		}
	}
}

// Means reports whether a reason, as the client means it, names a miss of a
// class. "Server" is all that happens to an unchanged prompt: evicted, not yet
// readable, out of the reach of the look-back, too short. A changed message has
// no reason of its own: the detector does not look at messages.
func (r Reason) Means(m prompt.MissClass) bool {
	switch r {
	case ReasonModel:
		return m == prompt.MissModel
	case ReasonState:
		return m == prompt.MissHead
	case ReasonExpiry5m, ReasonExpiry1h:
		return m == prompt.MissExpiry
	case ReasonServer:
		return m == prompt.MissEviction || m == prompt.MissNotReadable || m == prompt.MissLookback || m == prompt.MissMinimum
	case ReasonCompacted:
		return m == prompt.MissCompaction
	case ReasonDeleted:
		return m == prompt.MissEdit || m == prompt.MissNone
	case ReasonNone, ReasonFirst, ReasonExcluded:
		return m == prompt.MissNone
	}
	return false
}

// Said returns the calls the detector gave a reason.
func (c *Confusion) Said(r Reason) int {
	n := 0
	for _, k := range c.Calls[r] {
		n += k
	}
	return n
}

// Right returns those of them where the cache model agrees.
func (c *Confusion) Right(r Reason) int {
	n := 0
	for m, k := range c.Calls[r] {
		if r.Means(prompt.MissClass(m)) {
			n += k
		}
	}
	return n
}

// True returns the calls that missed in the way a reason means, whatever the
// detector said of them. Calls of models it does not watch are left out.
func (c *Confusion) True(r Reason) int {
	n := 0
	for said := range c.Calls {
		if Reason(said) == ReasonExcluded {
			continue
		}
		for m, k := range c.Calls[said] {
			if r.Means(prompt.MissClass(m)) {
				n += k
			}
		}
	}
	return n
}

// found returns the calls that missed in the way r means, and of which the
// detector said r or a reason with the same meaning: both expiries mean one.
func (c *Confusion) found(r Reason) int {
	n := c.Right(r)
	switch r {
	case ReasonExpiry5m:
		n += c.Right(ReasonExpiry1h)
	case ReasonExpiry1h:
		n += c.Right(ReasonExpiry5m)
	}
	return n
}

// Precision returns the share of calls given a reason that missed in the way it
// means, in [0, 1]; false when the detector never gave it.
func (c *Confusion) Precision(r Reason) (float64, bool) { return ratio(c.Right(r), c.Said(r)) }

// Recall returns the share of calls that missed in the way a reason means for
// which the detector gave it, in [0, 1]; false when there was no such call, and
// for reasons that mean no miss. The two expiries count as one.
func (c *Confusion) Recall(r Reason) (float64, bool) {
	if !r.Broke() && r != ReasonCompacted {
		return 0, false
	}
	return ratio(c.found(r), c.True(r))
}

func ratio(n, of int) (float64, bool) {
	if of == 0 {
		return 0, false
	}
	return float64(n) / float64(of), true
}
