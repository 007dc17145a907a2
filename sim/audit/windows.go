package audit

import (
	"maps"
	"slices"
	"time"
)

// window is how long the windows of plans last: five hours from the hour in which the first call of a
// window was made (support.claude.com, usage limits; ccusage 20.0.24 counts its blocks alike).
const window = 5 * time.Hour

// Pace is the window of five hours that is under way.
type Pace struct {
	Begins, Ends time.Time
	USD          float64 // so far
	PerHour      float64 // USD, since the window's first call
	Heading      float64 // USD at the end of the window at that pace
}

// windows puts the names of windows in the place of minutes.
func (b *breaker) windows(now time.Time) {
	level := slices.Index(b.By, "block")
	if level < 0 {
		return
	}
	usd := map[time.Time]float64{} // by minute
	for _, g := range b.groups {
		if at, err := time.Parse(minuteForm, g.Names[level]); err == nil {
			usd[at] += g.USD
		}
	}
	var begins, last, first time.Time
	var sum float64
	of := map[string]string{}
	for _, at := range slices.SortedFunc(maps.Keys(usd), time.Time.Compare) {
		if begins.IsZero() || at.Sub(begins) >= window || at.Sub(last) >= window {
			begins, first, sum = at.Truncate(time.Hour), at, 0
		}
		last, sum = at, sum+usd[at]
		of[at.Format(minuteForm)] = begins.In(b.zone).Format("2006-01-02 15:04")
	}
	if ends := begins.Add(window); !begins.IsZero() && !now.Before(last) && now.Before(ends) {
		hours := max(now.Sub(first), time.Minute).Hours()
		b.Pace = &Pace{Begins: begins.In(b.zone), Ends: ends.In(b.zone), USD: sum, PerHour: sum / hours}
		b.Pace.Heading = sum + b.Pace.PerHour*ends.Sub(now).Hours()
	}
	groups := b.groups
	b.groups = map[string]*Group{}
	for _, g := range groups {
		b.values = append(b.values[:0], g.Names...)
		if name, ok := of[g.Names[level]]; ok {
			b.values[level] = name
		}
		b.group().plus(g)
	}
}

// plus adds the calls and weights of o.
func (g *Group) plus(o *Group) {
	g.Sum.Plus(&o.Sum)
	g.Misses, g.MissUSD, g.Tokens = g.Misses+o.Misses, g.MissUSD+o.MissUSD, g.Tokens+o.Tokens
}
