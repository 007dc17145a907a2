package audit

import (
	"github.com/compactsim/compactsim/internal/study/confusion"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// Judgement is what the client's break detector and the audit find about a call.
type Judgement struct {
	Thread, Round int // indices into the session
	Reason        confusion.Reason
	Cause         Cause // "" for a call that missed nothing
	Missed        int64 // tokens
}

// Judge returns the judgements on the calls of a session's conversations, by
// thread and round.
func Judge(s *traces.Session, prices Prices) []Judgement {
	var list []Judgement
	for i, calls := range walk(s, prices) {
		for r := range calls {
			j := Judgement{Thread: i, Round: r, Reason: calls[r].reason, Missed: calls[r].missed}
			if calls[r].missed > 0 {
				j.Cause = calls[r].cause()
			}
			list = append(list, j)
		}
	}
	return list
}

// classes are the cache model's classes of the causes. A miss within the
// lifetime for no visible reason is an eviction there.
var classes = map[Cause]prompt.MissClass{
	CauseCompaction: prompt.MissCompaction, CauseEdit: prompt.MissEdit, CauseMessages: prompt.MissEdit,
	CauseThinking: prompt.MissHead, CauseModel: prompt.MissModel, CauseLongPause: prompt.MissExpiry,
	CauseShortPause: prompt.MissExpiry, CauseSystem: prompt.MissHead, CauseTools: prompt.MissHead,
	CauseInside: prompt.MissEviction, CauseTail: prompt.MissEviction, CauseUnknown: prompt.MissEviction,
	CauseNoLifetime: prompt.MissEviction,
}

// CountMisses sets, in the billed row of a session, the misses that the audit
// finds in its recording, by class, and the calls that hit.
func CountMisses(row *results.Row, s *traces.Session, prices Prices) {
	for _, j := range Judge(s, prices) {
		switch {
		case j.Round == 0:
		case j.Cause == "":
			row.LaterCalls++
			row.HitCalls++
		default:
			row.LaterCalls++
			row.Misses++
			row.MissedTokens += j.Missed
			row.MissesByClass[classes[j.Cause]]++
		}
	}
}
