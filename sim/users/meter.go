package users

import (
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// Meter counts in the rows of sessions what users share: how many calls of all users are in
// flight, and the input by who shares it. It is a sim.Meter of one loop.
type Meter struct{ flying int64 }

// Reset begins again without calls in flight.
func (m *Meter) Reset() { m.flying = 0 }

// Began counts a request that a server answers.
func (m *Meter) Began(row *results.Row, r *prompt.Request, out *prompt.Outcome) {
	m.flying++
	row.Most(measures.PeakCallsInFlight, m.flying)
	divide(row, r, &out.Usage)
}

// Ended counts the end of a response.
func (m *Meter) Ended() { m.flying-- }

// divide divides the input of a call by who shares it: everyone the part before the last global
// marker, the organisation the rest before the last marker ahead of the messages. In every part
// what is read comes first, then what is written.
func divide(row *results.Row, r *prompt.Request, u *prompt.Usage) {
	var ends [measures.SharingNone + 1]int64
	for i := range r.Markers {
		k := &r.Markers[i]
		e := &r.Entries[k.Position]
		end := int64(e.Cum) + int64(k.Shift)
		switch {
		case k.Scope == prompt.ScopeGlobal:
			ends[measures.SharingGlobal] = max(ends[measures.SharingGlobal], end)
		case e.Kind.Level() != prompt.LevelMessages:
			ends[measures.SharingOrganisation] = max(ends[measures.SharingOrganisation], end)
		}
	}
	ends[measures.SharingNone] = u.Input()
	from, written := int64(0), u.Read+u.Writes()
	for s, end := range ends {
		end = min(max(end, from), u.Input())
		row.Shares(measures.Sharing(s), overlap(from, end, 0, u.Read), overlap(from, end, u.Read, written))
		from = end
	}
}

// overlap returns the length of the intersection of two half-open intervals.
func overlap(a, b, c, d int64) int64 { return max(0, min(b, d)-max(a, c)) }
