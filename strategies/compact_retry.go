package strategies

// dropOldest moves the start of the summary call behind the oldest API rounds:
// until excess tokens are gone, or by a share of the rounds (at least one) when
// the excess is not known. It reports whether anything is left to summarise.
//
// With the marker of an earlier retry left in, that marker is the oldest round
// of the list: a share of few rounds then drops the marker alone, and the call
// is repeated as it was (002:130).
func (l *compact) dropOldest(t *Turn, excess int64) bool {
	p := &l.params.TooLong
	marker := int64(0)
	if !p.StripMarker {
		marker = int64(l.lead(t))
	}
	s := &l.call
	from, dropped := s.from, marker
	drop := func() {
		next := min(nextRound(t.Context, from), s.to)
		dropped += tokensBetween(t.Context, from, next)
		from = next
	}
	if excess > 0 && p.GapReadable {
		for dropped < excess && from < s.to {
			drop()
		}
	} else {
		rounds := countRounds(t.Context, from, s.to) + int(min(marker, 1))
		for n := max(1, int(p.Share*float64(rounds))) - int(min(marker, 1)); n > 0 && from < s.to; n-- {
			drop()
		}
	}
	if from >= s.to {
		return false
	}
	s.from = from
	return true
}

// lead returns the size of the marker that stands ahead of the messages of a
// repeated call, tokens: a response may not lead.
func (l *compact) lead(t *Turn) int32 {
	s := &l.call
	if s.from > Body(t.Context) && t.Context.At(s.from).Kind.Assistant() {
		return l.params.TooLong.Marker
	}
	return 0
}
