package strategies

import "github.com/compactsim/compactsim/sim/prompt"

// choose sets what a compaction of the messages ahead of position to
// summarises, sends and keeps.
func (l *compact) choose(t *Turn, to int) {
	s, c := &l.call, t.Context
	body := Body(c)
	s.from, s.to, s.low, s.high, s.end = body, to, body, to, to
	switch l.params.Partial.of(s.by) {
	case PartialUpTo:
		s.high = l.params.Partial.cut(c, body, to)
		s.to = s.high
	case PartialFrom:
		s.low = l.params.Partial.cut(c, body, to)
	case PartialNone:
		if n := l.params.Server.KeepTurns; n > 0 && l.params.Call[0] == WayServer {
			s.high = lastTurns(c, body, to, n)
			s.to = s.high
		}
	}
}

// of returns the direction of a compaction by what started it.
func (p *Partial) of(by startedBy) Direction {
	if by == startedByHand || by == startedByTrigger && p.Auto {
		return p.Direction
	}
	return PartialNone
}

// cut returns the position of the pivot among the entries [body, to): a legal
// one at or ahead of the share of the messages.
func (p *Partial) cut(c *prompt.Context, body, to int) int {
	n := int(p.Pivot * float64(countMessages(c, body, to)))
	i := body
	for ; i < to; i++ {
		if i > body && sameMessage(c, i) {
			continue
		}
		if n--; n < 0 {
			break
		}
	}
	return legalCut(c, i, body)
}

// lastTurns returns the position from which the last n API rounds among the
// entries [body, to) stand; their input comes with the rounds before.
func lastTurns(c *prompt.Context, body, to, n int) int {
	i := to
	for ; n > 0 && i > body; n-- {
		for i > body && !c.At(i-1).Kind.Assistant() {
			i--
		}
		for i > body && c.At(i-1).Kind.Assistant() {
			i--
		}
	}
	return legalCut(c, i, body)
}

// preserved returns the ids of the first and the last message entry that stay
// as they are; 0 when none does.
func (s *summaryCall) preserved(c *prompt.Context) (from, to int32) {
	first, behind := s.high, s.end
	if s.low > Body(c) {
		first, behind = Body(c), s.low
	}
	if first >= behind {
		return 0, 0
	}
	return c.At(first).ID, c.At(behind - 1).ID
}

// startedBy says what started a compaction.
type startedBy uint8

// Starts of a compaction.
const (
	startedByTrigger  startedBy = iota
	startedByRefusal            // of a request the server took for too long
	startedByIdleness           // of the conversation
	startedByHand
)
