package results

import "github.com/compactsim/compactsim/sim/prompt"

// rowScanner reads a row in the very form that RowWriter gives it: members in
// their order, no blanks, plain ASCII, every name known. That is many times as
// fast as decoding JSON in general. It takes less than that does and never
// anything else: at the first byte it does not expect it gives up, and the line
// is decoded, which tells what is wrong with it, if anything is.
type rowScanner struct {
	scanner
	classes, sources, misses, counts, waits, levels, breaks, reasons, fields names
}

func newRowScanner() *rowScanner {
	return &rowScanner{
		classes: newNames(NumClasses, className), sources: newNames(NumSources, sourceName),
		misses: newNames(prompt.NumMissClasses, missName), counts: newNames(NumCounts, countName),
		waits: newNames(NumWaits, waitName), levels: newNames(NumLevels, levelName),
		breaks:  names{"calls": 0, "changed": 1, "beside": 2},
		reasons: newNames(NumBreakReasons, breakReasonName), fields: newNames(NumBreakFields, breakFieldName),
	}
}

// row reads a line into r, which is a zero Row, and returns the names of its cell
// and strategy, which are parts of the line. It is false when the line is to be
// decoded; r is useless then.
func (s *rowScanner) row(line []byte, r *Row) (cell, strategy []byte, ok bool) {
	s.rest = line
	ok = s.is(`{"cell":`) && s.plain(&cell) && s.is(`,"strategy":`) && s.plain(&strategy) &&
		s.is(`,"session":`) && s.text(&r.Session) && s.is(`,"sessions":`) && s.count(&r.Sessions) &&
		s.is(`,"calls":`) && s.count(&r.Calls) && s.calls(r) && s.costs(r) &&
		s.is(`,"misses":`) && s.count(&r.Misses) &&
		s.is(`,"misses_by_class":`) && integers(&s.scanner, s.misses, r.MissesByClass[:]) &&
		s.is(`,"missed_tokens":`) && s.integer(&r.MissedTokens) &&
		s.is(`,"hit_calls":`) && s.count(&r.HitCalls) && s.is(`,"later_calls":`) && s.count(&r.LaterCalls) &&
		s.context(r) && s.times(r) && s.shown(r) && s.tallies(r) &&
		(!s.is(`,"logged_output_usd":`) || s.float(&r.LoggedOutputUSD)) &&
		s.is(`,"unpriced_calls":`) && s.count(&r.Unpriced) && s.is(`}`) && len(s.rest) == 0
	return cell, strategy, ok
}

func (s *rowScanner) calls(r *Row) bool {
	return s.is(`,"calls_by_source":`) && integers(&s.scanner, s.sources, r.CallsBySource[:]) &&
		s.is(`,"tokens":`) && s.usage(&r.Usage) &&
		s.is(`,"tokens_by_source":`) && s.object(s.sources, func(i int) bool { return s.usage(&r.UsageBySource[i]) })
}

// usage reads tokens: their members have the names of the classes.
func (s *rowScanner) usage(u *prompt.Usage) bool {
	var by [NumClasses]int64
	ok := integers(&s.scanner, s.classes, by[:])
	*u = prompt.Usage{Uncached: by[ClassUncached], Read: by[ClassRead], Write5m: by[ClassWrite5m],
		Write1h: by[ClassWrite1h], WriteOther: by[ClassWriteOther], Output: by[ClassOutput]}
	return ok
}

func (s *rowScanner) costs(r *Row) bool {
	return s.is(`,"cost_usd_by_class":`) && s.floats(s.classes, r.CostByClass[:]) &&
		s.is(`,"cost_usd_by_source":`) &&
		s.object(s.sources, func(i int) bool { return s.floats(s.classes, r.CostBySource[i][:]) }) &&
		s.is(`,"storage_usd":`) && s.float(&r.StorageUSD)
}

func (s *rowScanner) context(r *Row) bool {
	return s.is(`,"compactions":`) && s.count(&r.Compactions) &&
		s.is(`,"microcompactions":`) && s.count(&r.Microcompactions) &&
		s.is(`,"recompactions":`) && s.count(&r.Recompactions) && s.is(`,"chain_max":`) && s.count(&r.ChainMax) &&
		s.is(`,"peak_context_tokens":`) && s.integer(&r.PeakContext) &&
		s.is(`,"overflows":`) && s.count(&r.Overflows) && s.is(`,"over_window":`) && s.count(&r.OverWindow) &&
		s.is(`,"failed_compactions":`) && s.count(&r.FailedCompaction)
}

func (s *rowScanner) times(r *Row) bool {
	return s.is(`,"added_latency_seconds":`) && s.float(&r.AddedLatency) &&
		(!s.is(`,"added_latency_seconds_by_part":`) || s.floats(s.waits, r.Waits[:])) &&
		(!s.is(`,"seconds_at_level":`) || s.floats(s.levels, r.SecondsAt[:]))
}

// shown reads what the client showed of its window and said of breaks.
func (s *rowScanner) shown(r *Row) bool {
	if s.is(`,"percent_left":`) && !(s.is(`{"calls":`) && s.count(&r.Left.Calls) &&
		s.is(`,"sum":`) && s.integer(&r.Left.Sum) && s.is(`,"most_used":`) && s.count(&r.Left.Used) && s.is(`}`)) {
		return false
	}
	return !s.is(`,"breaks":`) || s.object(s.breaks, func(i int) bool {
		switch i {
		case 0:
			return s.byMiss(s.reasons, r.Breaks.Calls[:])
		case 1:
			return s.byMiss(s.fields, r.Breaks.Changed[:])
		}
		return integers(&s.scanner, s.reasons, r.Breaks.Beside[:])
	})
}

func (s *rowScanner) byMiss(of names, counts [][prompt.NumMissClasses]int) bool {
	return s.object(of, func(i int) bool { return integers(&s.scanner, s.misses, counts[i][:]) })
}

func (s *rowScanner) tallies(r *Row) bool {
	return (!s.is(`,"counts":`) || integers(&s.scanner, s.counts, r.Counts[:])) &&
		(!s.is(`,"firings":`) || s.tally(&r.Firings)) &&
		(!s.is(`,"reasons":`) || s.tally(&r.Reasons))
}
