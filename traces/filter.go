package traces

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/compactsim/compactsim/internal/kit/nearest"
)

// Filter chooses sessions; the zero value takes all. A session has to satisfy
// every field that is set, and in a list one of its entries.
//
// A session belongs to the period in which it begins (Session.Start, what a listing
// shows) and is taken or left whole: cutting it would cut its context. ByCall instead
// takes every session with a call in the period, for callers that count calls one by one.
type Filter struct {
	Since  time.Time // sessions that begin then or later; zero: no bound
	Until  time.Time // sessions that begin before; zero: no bound
	ByCall bool      // Since and Until are about calls
	// Projects are parts of Session.Project, or patterns when they hold one of
	// *, ? and [. A pattern is path.Match's, except that * and ? also
	// match slashes, and matches the whole path or its end after any slash.
	// Backslashes of a project count as slashes.
	Projects []string
	// Models are parts of the name of a model that one of the session's calls went to, or patterns of the whole name.
	Models []string
	Agents []string // names as in Session.Agent
}

// Empty reports whether f takes all sessions.
func (f *Filter) Empty() bool { return len(f.conditions()) == 0 }

// Match reports whether f takes s.
func (f *Filter) Match(s *Session) bool {
	return !slices.ContainsFunc(f.conditions(), func(c condition) bool { return !c.match(s) })
}

// String says what f asks for, for instance "since 2026-03-01 UTC, project web".
func (f *Filter) String() string {
	var texts []string
	for _, c := range f.conditions() {
		texts = append(texts, c.String())
	}
	return strings.Join(texts, ", ")
}

// InPeriod reports whether a time, unix ns, lies in the period; 0, an unknown time, lies in none that has a bound.
func (f *Filter) InPeriod(at int64) bool {
	t := unixTime(at)
	return f.Since.IsZero() && f.Until.IsZero() ||
		at != 0 && !t.Before(f.Since) && (f.Until.IsZero() || t.Before(f.Until))
}

// period words the bounds of a filter.
func (f *Filter) period() string {
	var bounds []string
	if !f.Since.IsZero() {
		bounds = append(bounds, "since "+moment(f.Since))
	}
	if !f.Until.IsZero() {
		bounds = append(bounds, "before "+moment(f.Until))
	}
	return strings.Join(bounds, " and ")
}

// condition is one field of a filter that is set.
type condition struct {
	name  string // since, before, project, model or agent
	text  string
	match func(*Session) bool
	known func(*Session) []string // what a session has in its place; nil for a period
}

func (c *condition) String() string { return c.name + " " + c.text }

func (f *Filter) conditions() []condition {
	var list []condition
	begins := func(name string, bound time.Time, ok func(time.Time) bool) {
		if !bound.IsZero() {
			begun := func(s *Session) bool { return s.Start != 0 && ok(s.StartTime()) }
			list = append(list, condition{name, moment(bound), begun, nil})
		}
	}
	begins("since", f.Since, func(t time.Time) bool { return !t.Before(f.Since) })
	begins("before", f.Until, func(t time.Time) bool { return t.Before(f.Until) })
	if f.ByCall && len(list) > 0 {
		list = []condition{{"calls", f.period(), f.called, nil}}
	}
	oneOf := func(name string, values []string, match func(want, has string) bool, known func(*Session) []string) {
		if len(values) > 0 {
			list = append(list, condition{name, strings.Join(values, " or "), func(s *Session) bool {
				return slices.ContainsFunc(known(s), func(has string) bool {
					return slices.ContainsFunc(values, func(want string) bool { return match(want, has) })
				})
			}, known})
		}
	}
	oneOf("project", f.Projects, projectMatches, func(s *Session) []string { return []string{s.Project} })
	oneOf("model", f.Models, modelMatches, usedModels)
	same := func(want, has string) bool { return want == has }
	oneOf("agent", f.Agents, same, func(s *Session) []string { return []string{s.Agent} })
	return list
}

func modelMatches(pattern, name string) bool {
	if !isPattern(pattern) {
		return strings.Contains(name, pattern)
	}
	return nearest.Match(pattern, name)
}

// moment words a bound: a date when it is the beginning of a day.
func moment(t time.Time) string {
	if h, m, s := t.Clock(); h+m+s+t.Nanosecond() == 0 {
		return t.Format(time.DateOnly + " MST")
	}
	return t.Format(time.DateTime + " MST")
}

// usedModels returns the models that calls of s went to, in order of name index.
func usedModels(s *Session) []string {
	var names []string
	for i, calls := range s.ModelCalls() {
		if calls > 0 {
			names = append(names, s.Models[i])
		}
	}
	return names
}

func isPattern(s string) bool { return strings.ContainsAny(s, "*?[") }

func projectMatches(pattern, project string) bool {
	project = strings.ReplaceAll(project, `\`, "/")
	if !isPattern(pattern) {
		return strings.Contains(project, strings.ReplaceAll(pattern, `\`, "/"))
	}
	for rest, more := project, true; more; _, rest, more = strings.Cut(rest, "/") {
		if nearest.Match(pattern, rest) {
			return true
		}
	}
	return false
}

// FilterText is a filter as a person writes it. Empty fields are not asked for.
//
// Since and Until are a date (2026-03-01), a time with its zone as RFC 3339 has it (2026-03-01T15:04:05+01:00), or how
// long ago (36h, 7d, 1d12h; a day is 24 hours). A date as Until includes that day.
type FilterText struct {
	Since, Until             string
	Projects, Models, Agents []string
}

// Parse returns the filter. Dates are days in loc, ages count back from now. The error joins all that is wrong.
func (t FilterText) Parse(now time.Time, loc *time.Location) (Filter, error) {
	var errs []error
	f := Filter{Projects: t.Projects, Models: t.Models, Agents: t.Agents}
	bound := func(name, text string, days int) (at time.Time) {
		if text == "" {
			return at
		}
		at, err := parseMoment(text, now.In(loc), days)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s %q: %w", name, text, err))
		}
		return at
	}
	f.Since, f.Until = bound("since", t.Since, 0), bound("until", t.Until, 1)
	if !f.Since.IsZero() && !f.Until.IsZero() && !f.Since.Before(f.Until) {
		errs = append(errs, fmt.Errorf("since %s, until %s: the period is empty", t.Since, t.Until))
	}
	for _, list := range []struct {
		name   string
		values []string
	}{{"project", t.Projects}, {"model", t.Models}, {"agent", t.Agents}} {
		if slices.Contains(list.values, "") {
			errs = append(errs, fmt.Errorf("%s: no name given", list.name))
		}
	}
	for _, p := range slices.Concat(t.Projects, t.Models) {
		if _, err := path.Match(p, ""); isPattern(p) && err != nil {
			errs = append(errs, fmt.Errorf("pattern %q: %w", p, err))
		}
	}
	return f, errors.Join(errs...)
}

// parseMoment returns the time a text means. A date is moved on by days.
func parseMoment(text string, now time.Time, days int) (time.Time, error) {
	if at, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil {
		return at.AddDate(0, 0, days), nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	if age, err := parseAge(text); err == nil {
		return now.Add(-age), nil
	}
	return time.Time{}, errors.New("want a date such as 2026-03-01, a time such as 2026-03-01T15:04:05Z, " +
		"or an age such as 7d or 36h")
}

// maxAgeDays keeps ages within a time.Duration.
const maxAgeDays = 36500

// parseAge reads a positive duration as time.ParseDuration does, with days before it.
func parseAge(text string) (time.Duration, error) {
	var age time.Duration
	if n, rest, ok := strings.Cut(text, "d"); ok {
		days, err := strconv.ParseUint(n, 10, 64)
		if err != nil || days > maxAgeDays {
			return 0, fmt.Errorf("%q is no number of days", n)
		}
		age, text = time.Duration(days)*24*time.Hour, rest
	}
	if text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 || strings.HasPrefix(text, "+") || strings.HasPrefix(text, "-") {
			return 0, fmt.Errorf("%q is no duration", text)
		}
		age += d
	}
	if age <= 0 {
		return 0, errors.New("no duration")
	}
	return age, nil
}

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

// Apply leaves in c the sessions that f takes. What was counted for all other sessions (lines, problems, repeated
// calls) is taken out of the counts of c; what belongs to no session stays, and so does Bytes: that was read.
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
