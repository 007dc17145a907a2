package dsh

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/compactsim/compactsim/internal/kit/numbers"
	"github.com/compactsim/compactsim/traces/internal/assembly"
)

// stepID names a step, which makes one call, as far as the log says it.
type stepID struct{ turn, step assembly.Count }

// other reports whether an id is known to be another step's.
func (s stepID) other(o stepID) bool {
	differ := func(a, b assembly.Count) bool { return a.Logged && b.Logged && min(a.N, b.N) >= 0 && a.N != b.N }
	return differ(s.turn, o.turn) || differ(s.step, o.step)
}

var errMixed = errors.New("events with numbers and events without are in one file: some are another session's; all are billed")

// order tells of counts of a step, in its message or in a chunk, that are not of the step that began last, or do not follow the counts ahead
// of them: a session counts its turns and the steps of a turn upwards.
func (f *file) order(line int, d *data, message bool) error {
	id, was := stepID{d.Turn, d.Step}, f.last
	if !id.turn.Logged || !id.step.Logged || f.seq < f.seed {
		return nil
	}
	again := id == was && f.answered
	f.last, f.answered = id, message || again
	c := cmp.Or(cmp.Compare(id.turn.N, was.turn.N), cmp.Compare(id.step.N, was.step.N))
	switch {
	case c < 0 && was.turn.Logged || f.begins.other(id):
		return f.Refuse(line, fmt.Errorf("counts of step %d of turn %d, which is not the step under way: lines are moved, or another session's", id.step.N, id.turn.N))
	case again && !f.numbered:
		f.Lacks(1, line, "step %d of turn %d is counted a second time behind its answer or its end; both are billed", id.step.N, id.turn.N)
	}
	return nil
}

// count takes the number of an event, nil for none. Numbers have no gaps: one that was there is a line written again, which is not
// read, and where some are passed over lines are missing.
func (f *file) count(line int, number *int64) error {
	if number == nil {
		if f.numbered {
			return f.Refuse(line, errMixed)
		}
		return nil
	}
	switch seq := *number; {
	case !f.numbered && f.seq > 0:
		if err := f.Refuse(line, errMixed); err != nil {
			return err
		}
	case f.numbered && seq < f.seq:
		return fmt.Errorf("event %d is here a second time", seq)
	case f.numbered && seq > f.seq:
		if err := f.Refuse(line, fmt.Errorf("%s ahead of event %d", numbers.Counted(seq-f.seq, "event is missing", "events are missing"), seq)); err != nil {
			return err
		}
	}
	f.seq, f.numbered = *number, true
	return nil
}
