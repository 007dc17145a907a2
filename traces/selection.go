package traces

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrNothingLeft is wrapped by the error of a filter that no session passes.
var ErrNothingLeft = errors.New("no session passes the filter")

// Selection is what a filter chose and what it left out.
type Selection struct {
	Filter   Filter
	Sessions []*Session // chosen, in their order
	Of       int        // sessions there were
	// Removed has a count for every field of the filter that is set: the
	// sessions that do not satisfy it, each field looked at for itself.
	Removed []removed
	Undated int // sessions left out of a period because no line has a time
}

// removed says how many sessions one field of a filter leaves out.
type removed struct {
	Condition string   // for instance "project web"
	Sessions  int      // that do not satisfy it
	Known     []string // what the sessions have in its place, sorted; nil for a period
}

// Select returns the sessions that f takes.
func (f *Filter) Select(sessions []*Session) Selection {
	sel := Selection{Filter: *f, Of: len(sessions)}
	conditions := f.conditions()
	for _, c := range conditions {
		sel.Removed = append(sel.Removed, removed{Condition: c.String(), Known: c.knownIn(sessions)})
	}
	for _, s := range sessions {
		chosen := true
		for i, c := range conditions {
			if !c.match(s) {
				chosen = false
				sel.Removed[i].Sessions++
			}
		}
		switch {
		case chosen:
			sel.Sessions = append(sel.Sessions, s)
		case s.Start == 0 && f.period() != "" && !f.ByCall:
			sel.Undated++
		}
	}
	return sel
}

// called reports whether any call of s was made in the period of f. A session whose body is elsewhere knows when its
// first and its last call were made; only if the period lies between the two is the body asked. One that cannot be
// read is taken, so that whoever simulates it says what is wrong.
func (f *Filter) called(s *Session) bool {
	if s.away != nil {
		first, last := s.callTimes()
		switch {
		case first == 0 || unixTime(last).Before(f.Since) || !f.Until.IsZero() && !unixTime(first).Before(f.Until):
			return false
		case f.InPeriod(first) || f.InPeriod(last):
			return true
		}
		whole, err := s.Load()
		if err != nil {
			return true
		}
		s = whole
	}
	return slices.ContainsFunc(s.Threads, func(t Thread) bool {
		return slices.ContainsFunc(t.Rounds, func(r Round) bool { return f.InPeriod(r.At) })
	})
}

// callTimes returns when the first and the last call of s were made, unix ns; 0 if no call has a time.
func (s *Session) callTimes() (first, last int64) {
	if s.away != nil {
		return s.away.first, s.away.last
	}
	for i := range s.Threads {
		for j := range s.Threads[i].Rounds {
			if at := s.Threads[i].Rounds[j].At; at != 0 {
				if first == 0 || at < first {
					first = at
				}
				last = max(last, at)
			}
		}
	}
	return first, last
}

// knownIn returns what the sessions have where a condition looks, sorted.
func (c *condition) knownIn(sessions []*Session) []string {
	if c.known == nil {
		return nil
	}
	var list []string
	for _, s := range sessions {
		list = append(list, c.known(s)...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// maxKnown is the number of known names that an error lists.
const maxKnown = 8

// Err returns an error that wraps ErrNothingLeft and says what each field of the
// filter removed, or nil when a session is left or there was none.
func (sel *Selection) Err() error {
	if len(sel.Sessions) > 0 || sel.Of == 0 {
		return nil
	}
	var parts []string
	for _, r := range sel.Removed {
		part := fmt.Sprintf("%s removes %d", r.Condition, r.Sessions)
		if r.Sessions == sel.Of && len(r.Known) > 0 {
			list := r.Known[:min(len(r.Known), maxKnown)]
			part += " (known: " + strings.Join(list, ", ")
			if len(r.Known) > maxKnown {
				part += ", …"
			}
			part += ")"
		}
		parts = append(parts, part)
	}
	return fmt.Errorf("%w: of %s, %s", ErrNothingLeft, sessionCount(sel.Of), strings.Join(parts, "; "))
}

// Remarks says in a sentence what was chosen, none for a filter that takes all.
func (sel *Selection) Remarks() []string {
	f := &sel.Filter
	if f.Empty() {
		return nil
	}
	text := fmt.Sprintf("filter: %s: %d of %s", f, len(sel.Sessions), sessionCount(sel.Of))
	if f.period() != "" && !f.ByCall {
		text += ", whole if they begin then"
	}
	list := []string{text}
	if sel.Undated > 0 {
		list = append(list, sessionCount(sel.Undated)+" without a time left out")
	}
	return list
}

func sessionCount(n int) string {
	if n == 1 {
		return "1 session"
	}
	return fmt.Sprintf("%d sessions", n)
}

// Apply leaves in c the sessions that f takes. What was counted for all other sessions (lines,
// problems, repeated calls) is taken out of the counts of c; what
// belongs to no session stays, and so does Bytes: that was read.
func (f *Filter) Apply(c *Corpus) Selection {
	sel := f.Select(c.Sessions)
	for _, s := range c.Sessions {
		c.count(&s.Quality, -1)
	}
	c.Sessions = sel.Sessions
	for _, s := range c.Sessions {
		c.count(&s.Quality, +1)
	}
	return sel
}

// count adds sign times the counts of a session.
func (c *Corpus) count(q *Quality, sign int) {
	c.Lines += sign * q.Lines
	c.BadLines += sign * q.BadLines
	c.NumProblems += sign * q.Problems
	c.Repeated += sign * q.Repeated
	c.Inherited += sign * q.Inherited
}
