package traces

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// FilterText is a filter as a person writes it. Empty fields are not asked for.
//
// Since and Until are a date (2026-03-01), a time with its zone as RFC 3339 has
// it (2026-03-01T15:04:05+01:00), or how long ago (36h, 7d, 1d12h; a day is 24
// hours). A date as Until includes that day.
type FilterText struct {
	Since, Until             string
	Projects, Models, Agents []string
}

// Parse returns the filter. Dates are days in loc, ages count back from now.
// The error joins all that is wrong.
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
	return time.Time{}, errors.New("want a date such as 2026-03-01, a time such as 2026-03-01T15:04:05Z, or an age such as 7d or 36h")
}

// maxAgeDays keeps ages within a time.Duration.
const maxAgeDays = 36500

// parseAge reads a positive duration as time.ParseDuration does, with days
// ahead of it.
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
