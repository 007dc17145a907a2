package traces

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
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
	// Later are chosen sessions that also made calls after the period.
	Later []*Session
	// Earlier are sessions left out only because they begin before the period, in which
	// they also made calls.
	Earlier []*Session
	Undated int // sessions left out of a period because no line has a time
	Mixed   int // chosen sessions that also called models that were not asked for
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
		failed := 0
		early := false
		for i, c := range conditions {
			if !c.match(s) {
				failed++
				sel.Removed[i].Sessions++
				early = c.name == sinceCondition
			}
		}
		from, to := s.callTimes()
		first, last := unixTime(from), unixTime(to)
		switch {
		case failed == 0:
			sel.take(s, last)
		case f.ByCall:
		case s.Start == 0 && !(f.Since.IsZero() && f.Until.IsZero()):
			sel.Undated++
		case failed == 1 && early && !last.Before(f.Since) && (f.Until.IsZero() || first.Before(f.Until)):
			sel.Earlier = append(sel.Earlier, s)
		}
	}
	return sel
}

func (sel *Selection) take(s *Session, last time.Time) {
	sel.Sessions = append(sel.Sessions, s)
	if until := sel.Filter.Until; !sel.Filter.ByCall && !until.IsZero() && !last.Before(until) {
		sel.Later = append(sel.Later, s)
	}
	other := func(model string) bool { return !sel.Filter.takesModel(model) }
	if len(sel.Filter.Models) > 0 && slices.ContainsFunc(usedModels(s), other) {
		sel.Mixed++
	}
}

// hasCall reports whether any call of s, or a summary call of its own, is as asked.
func (s *Session) hasCall(is func(*Round) bool) bool {
	return slices.ContainsFunc(s.Threads, func(t Thread) bool {
		for i := range t.Rounds {
			if is(&t.Rounds[i]) {
				return true
			}
		}
		return false
	})
}

// callTimes returns when the first and the last call of s were made, unix ns, or when it
// began and ended if no call has a time.
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
	if first == 0 {
		return s.Start, s.End
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
	if sel.Undated > 0 {
		parts = append(parts, fmt.Sprintf("%d without a time", sel.Undated))
	}
	return fmt.Errorf("%w: of %s, %s", ErrNothingLeft, sessionCount(sel.Of), strings.Join(parts, "; "))
}

// Remarks says in sentences what was chosen, none for a filter that takes all.
func (sel *Selection) Remarks() []string {
	if sel.Filter.Empty() {
		return nil
	}
	list := []string{fmt.Sprintf("filter: %s: %d of %s", sel.Filter.String(), len(sel.Sessions), sessionCount(sel.Of))}
	if n := len(sel.Later); n > 0 {
		list = append(list,
			fmt.Sprintf("%s in the period with calls after it, counted whole: %s", begin(n), ids(sel.Later)))
	}
	if n := len(sel.Earlier); n > 0 {
		list = append(list,
			fmt.Sprintf("%s before the period with calls in it, left out whole: %s", begin(n), ids(sel.Earlier)))
	}
	if sel.Undated > 0 {
		list = append(list, sessionCount(sel.Undated)+" without a time left out")
	}
	if sel.Mixed > 0 {
		list = append(list, sessionCount(sel.Mixed)+" with calls of other models too, counted whole")
	}
	return list
}

func begin(n int) string {
	if n == 1 {
		return "1 session began"
	}
	return sessionCount(n) + " began"
}

// ids names a few sessions by the beginning of their ids.
func ids(sessions []*Session) string {
	const most, letters = 3, 8
	var names []string
	for _, s := range sessions[:min(len(sessions), most)] {
		names = append(names, s.ID[:min(len(s.ID), letters)])
	}
	if len(sessions) > most {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}

func sessionCount(n int) string {
	if n == 1 {
		return "1 session"
	}
	return fmt.Sprintf("%d sessions", n)
}

// Apply leaves in c the sessions that f takes. What was counted for the others
// (lines, problems, repeated calls) is taken out of the counts of c; what
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
}
