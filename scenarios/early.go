package scenarios

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// early are the sessions with a model that are billed at prices of a later date.
type early struct {
	sessions int
	first    time.Time // when the earliest of them began, or the date asked for
	prices   time.Time
}

// earlyPrices returns remarks on what is billed at prices that are not of its
// date: calls from before the first prices of their model, and sessions that have
// no date.
func (p *Plan) earlyPrices(d *Design, sessions []*traces.Session) []results.Note {
	var notes []results.Note
	for _, date := range d.priceDates() {
		at, err := date.On(time.Time{})
		if err != nil {
			continue // refused when cells are made
		}
		byModel := p.early(sessions, at)
		for _, model := range slices.Sorted(maps.Keys(byModel)) {
			notes = append(notes, results.Note{Text: byModel[model].text(model, !at.IsZero())})
		}
		undated := len(sessions) - len(slices.DeleteFunc(slices.Clone(sessions), func(s *traces.Session) bool { return s.Start == 0 }))
		if at.IsZero() && undated > 0 {
			notes = append(notes, results.Note{Text: fmt.Sprintf("%s without a date billed at the prices of %s", counted(undated, "session"), p.Prices.AsOf().Format(isoDate))})
		}
	}
	return notes
}

// early returns by model the sessions from before its first prices; at, when it is
// not zero, stands for the date of all.
func (p *Plan) early(sessions []*traces.Session, at time.Time) map[string]*early {
	byModel := map[string]*early{}
	for _, s := range sessions {
		when := at
		if when.IsZero() {
			when = s.StartTime()
		}
		if when.IsZero() {
			continue
		}
		for _, model := range s.Models {
			price, err := p.Prices.Lookup(model, when)
			if err != nil || !price.Early(when) {
				continue
			}
			e := byModel[model]
			if e == nil {
				e = &early{first: when, prices: price.From}
				byModel[model] = e
			}
			e.sessions++
			if when.Before(e.first) {
				e.first = when
			}
		}
	}
	return byModel
}

// text words the remark on a model. asked says that its date is the one that
// prices were asked for.
func (e *early) text(model string, asked bool) string {
	first, prices := e.first.UTC().Format(isoDate), e.prices.Format(isoDate)
	if asked {
		return fmt.Sprintf("no prices of %s are known for %s: its first, of %s, are taken", model, first, prices)
	}
	return fmt.Sprintf("%s with %s (the first of %s) from before its first prices, of %s: billed at these", counted(e.sessions, "session"), model, first, prices)
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
