package audit

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/compactsim/compactsim/sim/calls"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/facts"
)

// NoProject and NoDay stand for what a recording does not say.
const (
	NoProject = "(no project)"
	NoDay     = "(no time)"
)

// bill adds up what was paid.
type bill struct {
	total   Sum
	logged  float64
	written float64 // additional cost if all that was not read was written
	byClass [measures.NumClasses]Line
	splits  []Dimension // the properties of the splits
	by      []map[string]*Sum
	days    map[[3]string]*Sum          // by day, project and model
	stated  map[*traces.Session]float64 // bill of sessions with a logged cost; NaN where a model has no price; nil for a bill of a period
	zone    *time.Location
	first   string
	last    string
}

// splitNames are the dimensions by which every bill is split; the classes are separate.
var splitNames = []string{"model", "source", "project", "month", "week", "day", "session"}

func newBill(zone *time.Location) *bill {
	b := &bill{zone: zone, days: map[[3]string]*Sum{}, stated: map[*traces.Session]float64{}}
	for _, name := range splitNames {
		b.splits, b.by = append(b.splits, dimension(name)), append(b.by, map[string]*Sum{})
	}
	return b
}

// day returns the day of a call.
func day(c *calls.Call, zone *time.Location) string {
	if c.Untimed {
		return NoDay
	}
	return time.Unix(0, c.At).In(zone).Format(time.DateOnly)
}

// week returns the ISO 8601 week of a day, such as 2026-W08.
func week(day string) string {
	t, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return day
	}
	y, w := t.ISOWeek()
	return fmt.Sprintf("%d-W%02d", y, w)
}

func (b *bill) add(c *calls.Call) {
	r := c.Recorded
	b.total.add(&r.Usage, &c.Cost, c.Search)
	if r.Usage.Output > 0 {
		b.logged += c.Cost[measures.ClassOutput] * float64(r.Logged) / float64(r.Usage.Output)
	}
	if agents.Of(c.Session.Agent).Cache(c.Model.Name) == facts.CacheAutomatic && c.Model.Known {
		b.written += c.Model.Rate.Unwritten(r.Usage)
	}
	if b.stated != nil && c.Session.LoggedUSD > 0 {
		if b.stated[c.Session] += c.Cost.Total() + c.Search; !c.Model.Known {
			b.stated[c.Session] = math.NaN()
		}
	}
	day := day(c, b.zone)
	if day != NoDay {
		if b.first == "" || day < b.first {
			b.first = day
		}
		b.last = max(b.last, day)
	}
	for i := range b.splits {
		addTo(b.by[i], b.splits[i].of(c, b.zone), c)
	}
	addTo(b.days, [3]string{day, project(c, b.zone), c.Model.Name}, c)
	// Add each token class of a call to its line. A call counts in every class in which it has tokens.
	u := &c.Recorded.Usage
	for i, n := range [measures.NumClasses]int64{u.Uncached, u.Read, u.Write5m, u.Write1h, u.WriteOther, u.Output} {
		l := &b.byClass[i]
		if n == 0 {
			continue
		}
		l.Calls++
		l.USD += c.Cost[i]
		switch measures.Class(i) {
		case measures.ClassUncached:
			l.Uncached, l.Limited = l.Uncached+n, l.Limited+n
		case measures.ClassRead:
			l.Read += n
		case measures.ClassWrite5m:
			l.Write5m, l.Limited = l.Write5m+n, l.Limited+n
		case measures.ClassWrite1h:
			l.Write1h, l.Limited = l.Write1h+n, l.Limited+n
		case measures.ClassWriteOther:
			l.WriteOther, l.Limited = l.WriteOther+n, l.Limited+n
		case measures.ClassOutput:
			l.Output += n
		}
	}
}

// addTo adds a call to the sum of a key.
func addTo[K comparable](sums map[K]*Sum, key K, c *calls.Call) {
	if sums[key] == nil {
		sums[key] = &Sum{}
	}
	sums[key].add(&c.Recorded.Usage, &c.Cost, c.Search)
}

func (b *bill) report(r *Report) {
	r.Total, r.LoggedOutputUSD, r.From, r.Until = b.total, b.logged, b.first, b.last
	r.UnloggedWritesUSD = b.written
	for s, usd := range b.stated {
		if !math.IsNaN(usd) {
			r.Stated.Sessions++
			r.Stated.LoggedUSD, r.Stated.USD = r.Stated.LoggedUSD+s.LoggedUSD, r.Stated.USD+usd
		}
	}
	classes := Split{By: "class"}
	for i, l := range b.byClass {
		if l.Calls > 0 {
			l.Name = measures.Class(i).String()
			classes.Lines = append(classes.Lines, l)
		}
	}
	r.Splits = append(r.Splits, classes)
	for i := range b.splits {
		s := Split{By: b.splits[i].Name}
		for value, sum := range b.by[i] {
			s.Lines = append(s.Lines, Line{value, *sum})
		}
		r.Splits = append(r.Splits, s)
	}
	for i := range r.Splits {
		s := &r.Splits[i]
		if dimension(s.By).timed {
			slices.SortFunc(s.Lines, func(a, b Line) int { return cmp.Compare(a.Name, b.Name) })
		} else {
			sortBy(s.Lines, func(l *Line) float64 { return l.USD }, func(l *Line) string { return l.Name })
		}
	}
	r.Zone, r.Days = b.zone.String(), []Day{}
	for key, sum := range b.days {
		r.Days = append(r.Days, Day{key[0], key[1], key[2], *sum})
	}
	slices.SortFunc(r.Days, func(a, b Day) int {
		return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Project, b.Project), cmp.Compare(a.Model, b.Model))
	})
}

// sortBy sorts by an amount, largest first, then by name.
func sortBy[T any](list []T, usd func(*T) float64, name func(*T) string) {
	slices.SortStableFunc(list, func(a, b T) int {
		return cmp.Or(cmp.Compare(usd(&b), usd(&a)), cmp.Compare(name(&a), name(&b)))
	})
}

// tally collects the evidence of one finding.
type tally struct {
	usd    float64
	count  int
	tokens int64
	places []Place
}

func (t *tally) add(p Place, tokens int64, usd float64, text string) {
	t.usd += usd
	t.count++
	t.tokens += tokens
	p.USD, p.Text = usd, text
	t.places = append(t.places, p)
}

// finding makes a finding of the evidence, with the n most expensive places.
func (t *tally) finding(name, title string, n int) Finding {
	sortBy(t.places, func(p *Place) float64 { return p.USD }, func(p *Place) string { return p.File })
	return Finding{
		Name: name, Title: title, USD: t.usd, Count: t.count, Tokens: t.tokens, Places: append([]Place{}, first(n, t.places)...),
	}
}
