package audit

import (
	"github.com/compactsim/compactsim/internal/breaks"
	"github.com/compactsim/compactsim/traces"
)

// Judgement is what the client's break detector and the audit say of a call.
type Judgement struct {
	Thread, Round int // indices into the session
	Reason        breaks.Reason
	Cause         Cause // "" for a call that missed nothing
}

// Judge returns what is said of each call of the conversations of a session, by
// thread and round.
func Judge(s *traces.Session, prices Prices) []Judgement {
	var list []Judgement
	for i, calls := range walk(s, prices) {
		for r := range calls {
			j := Judgement{Thread: i, Round: r, Reason: calls[r].reason}
			if calls[r].missed > 0 {
				j.Cause = calls[r].cause()
			}
			list = append(list, j)
		}
	}
	return list
}
