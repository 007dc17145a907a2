package audit

import (
	"cmp"
	"slices"
	"time"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/sim/results"
)

// NoProject and NoDay name what a recording does not say.
const (
	NoProject = "(no project)"
	NoDay     = "(no time)"
)

// bill adds up what was paid.
type bill struct {
	total   Sum
	logged  float64
	byClass [results.NumClasses]Line
	by      [5]map[string]*Sum // in the order of splitNames
	first   string
	last    string
}

// splitNames are the properties a call has one value of; the classes are apart.
var splitNames = [5]string{"model", "source", "project", "day", "session"}

func newBill() *bill {
	b := &bill{}
	for i := range b.by {
		b.by[i] = map[string]*Sum{}
	}
	return b
}

// day returns the day of a call in UTC, as the provider bills it.
func (c *call) day() string {
	if c.untimed {
		return NoDay
	}
	return time.Unix(0, c.at).UTC().Format(time.DateOnly)
}

func (b *bill) add(c *call) {
	r := c.r()
	b.total.add(&r.Usage, &c.cost)
	if r.Usage.Output > 0 {
		b.logged += c.cost[costmodel.Output] * float64(r.Logged) / float64(r.Usage.Output)
	}
	project := c.session.Project
	if project == "" {
		project = NoProject
	}
	day := c.day()
	if day != NoDay {
		if b.first == "" || day < b.first {
			b.first = day
		}
		b.last = max(b.last, day)
	}
	for i, name := range [5]string{c.model.name, c.source.String(), project, day, c.session.ID} {
		if b.by[i][name] == nil {
			b.by[i][name] = &Sum{}
		}
		b.by[i][name].add(&r.Usage, &c.cost)
	}
	b.classes(c)
}

// classes adds each token class of a call to its line. A call counts in every
// class that it has tokens of.
func (b *bill) classes(c *call) {
	u := &c.r().Usage
	for i, n := range [results.NumClasses]int64{u.Uncached, u.Read, u.Write5m, u.Write1h, u.WriteOther, u.Output} {
		l := &b.byClass[i]
		if n == 0 {
			continue
		}
		l.Calls++
		l.USD += c.cost[i]
		switch results.Class(i) {
		case results.ClassUncached:
			l.Uncached, l.Limited = l.Uncached+n, l.Limited+n
		case results.ClassRead:
			l.Read += n
		case results.ClassWrite5m:
			l.Write5m, l.Limited = l.Write5m+n, l.Limited+n
		case results.ClassWrite1h:
			l.Write1h, l.Limited = l.Write1h+n, l.Limited+n
		case results.ClassWriteOther:
			l.WriteOther, l.Limited = l.WriteOther+n, l.Limited+n
		case results.ClassOutput:
			l.Output += n
		}
	}
}

func (b *bill) report(r *Report) {
	r.Total, r.LoggedOutputUSD, r.From, r.Until = b.total, b.logged, b.first, b.last
	classes := Split{By: "class"}
	for i, l := range b.byClass {
		if l.Calls > 0 {
			l.Name = results.Class(i).String()
			classes.Lines = append(classes.Lines, l)
		}
	}
	r.Splits = append(r.Splits, classes)
	for i, name := range splitNames {
		s := Split{By: name}
		for value, sum := range b.by[i] {
			s.Lines = append(s.Lines, Line{value, *sum})
		}
		r.Splits = append(r.Splits, s)
	}
	for i := range r.Splits {
		sortBy(r.Splits[i].Lines, func(l *Line) float64 { return l.USD }, func(l *Line) string { return l.Name })
	}
}

// sortBy sorts by an amount, the largest first, then by name.
func sortBy[T any](list []T, usd func(*T) float64, name func(*T) string) {
	slices.SortStableFunc(list, func(a, b T) int {
		return cmp.Or(cmp.Compare(usd(&b), usd(&a)), cmp.Compare(name(&a), name(&b)))
	})
}
