package validate

import (
	"cmp"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/sim/servers"
)

// Clock says which clock a lifetime fits: of calls whose prefix is half to twice as old as the lifetime, by either clock, how
// many are on the wrong side of the edge. A call of an age beyond the lifetime is wrong if it reads nine tenths of what was left, a younger one if
// it does not.
type Clock struct {
	Provider  string  `json:"provider"`
	Model     string  `json:"model,omitempty"`  // of an automatic cache, whose lifetimes go by model
	Life      float64 `json:"lifetime_seconds"` // asked for, or of the server's file
	Calls     int     `json:"calls"`
	FromEnd   int     `json:"wrong_from_end"`   // the age counts from the end of the response before
	FromStart int     `json:"wrong_from_start"` // and from the start of its request
}

// clocks returns the lifetimes that calls tell of, by provider, model and lifetime.
func (r *Report) clocks() []Clock {
	var list []Clock
	for c := range callsOf(r.sessions) {
		at, ok := c.clock()
		if !ok {
			continue
		}
		near := func(age int64) bool { return 2*seconds(age) >= at.Life && seconds(age) <= 2*at.Life }
		if !near(c.Gap) && !near(c.Since) {
			continue
		}
		k := slices.IndexFunc(list, func(o Clock) bool { return o.Provider == at.Provider && o.Model == at.Model && o.Life == at.Life })
		if k < 0 {
			k, list = len(list), append(list, at)
		}
		read := float64(c.Actual.Read) >= collapseShare*float64(c.Left)
		list[k].Calls++
		list[k].FromEnd += index(read == (seconds(c.Gap) > at.Life))
		list[k].FromStart += index(read == (seconds(c.Since) > at.Life))
	}
	slices.SortFunc(list, func(a, b Clock) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Life, b.Life))
	})
	return list
}

// clock returns the lifetime of what a call is due to read; ok is false for a call that says nothing about that lifetime.
func (c *Call) clock() (at Clock, ok bool) {
	at.Provider = cmp.Or(promptcache.ProviderOf(c.Model), "another provider")
	if at.Life = seconds(profile.Life(c.TTL)); !c.TierKnown {
		at.Model, at.Life = c.Model, seconds(servers.Recorded(c.Model).Retention)
	}
	return at, c.aged() && at.Life > 0
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

// clockTable has one line for each lifetime, nil without any.
func (r *Report) clockTable() *document.Table {
	if len(r.Clocks) == 0 {
		return nil
	}
	t := &document.Table{Columns: document.Left("LIFETIME OF", "MODEL")}
	t.Columns = append(t.Columns, document.Right("", "LIFETIME", "N", "WRONG FROM END", "WRONG FROM START")...)
	for i := range r.Clocks {
		c := &r.Clocks[i]
		t.Rows = append(t.Rows, []any{c.Provider, cmp.Or(c.Model, "all"), document.Seconds(c.Life), c.Calls, c.FromEnd, c.FromStart})
	}
	t.Notes = []string{"N: calls whose prefix is half to twice as old as the lifetime. WRONG: calls that read a prefix older than the lifetime, or lost " +
		"a younger one. FROM END, FROM START: age counts from the end of the response before, or from the start of its request."}
	return t
}
