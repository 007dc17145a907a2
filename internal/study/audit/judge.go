package audit

import (
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

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
	for _, calls := range walk(s, prices) {
		for i := range calls {
			switch c := &calls[i]; {
			case i == 0:
			case c.missed <= 0:
				row.LaterCalls++
				row.HitCalls++
			default:
				row.LaterCalls++
				row.Misses++
				row.MissedTokens += c.missed
				row.MissesByClass[classes[c.cause()]]++
			}
		}
	}
}
