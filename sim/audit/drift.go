package audit

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim/breaks"
	"github.com/compactsim/compactsim/sim/calls"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/signs"
)

// Change is a change of behaviour that is more than chance.
type Change struct {
	Agent string `json:"agent"`
	What  string `json:"what"` // name of what changed, as in the table for people
	Unit  string `json:"unit"` // tokens, ratio, usd or count
	// By is day, where sessions are in the order of time, or version, where they are in the order of the client's versions.
	By     string  `json:"by"`
	From   string  `json:"from"`   // first day or version behind the change
	Low    string  `json:"low"`    // 95 % interval of From
	High   string  `json:"high"`   //
	Before float64 `json:"before"` // in Unit
	After  float64 `json:"after"`
	Chance float64 `json:"chance"` // of as large a change when the sessions come in random order
	See    string  `json:"see"`    // command that shows more, without the path
}

// unit is what a session did on a day.
type unit struct {
	session, agent, version, day string
	first                        int64                 // time of the first call, unix ns
	sums                         [numRatios][2]float64 // of the behaviours: what is divided, and by what
	tools                        map[string]float64    // tokens of results, by tool
}

// drift collects what may change over time.
type drift struct {
	zone  *time.Location
	units map[[2]string]*unit // by session and day
}

// The behaviours that are followed over time, besides the tokens of the results of tools.
const (
	keepsAnHour = iota
	headSize
	missRate
	haikuShare
	callRate
	promptCost
	numRatios
)

// behaviour is a ratio that is followed.
type behaviour struct {
	name, unit string
	see        string // what sim audit --by takes to show the ratio
	ratio      int    // of a unit's sums
	tool       string // whose tokens it is, "" for another ratio
}

var behaviours = []behaviour{
	{name: "share of cache writes for an hour", unit: "ratio", see: "day,version --format csv", ratio: keepsAnHour},
	{name: "size of the head (tools and system prompt)", unit: "tokens", see: "version,part", ratio: headSize},
	{name: "cache misses per call", unit: "ratio", see: "day,cause", ratio: missRate},
	{name: "share of calls by haiku", unit: "ratio", see: "day,model", ratio: haikuShare},
	{name: "calls per prompt", unit: "count", see: "day,source", ratio: callRate},
	{name: "cost per prompt", unit: "usd", see: "day,model", ratio: promptCost},
}

// The orders in which sessions are compared.
const byDay, byVersion = "day", "version"

const (
	followedTools = 8    // the tools that are followed: those whose results have most tokens
	leastUnits    = 8    // sessions and days that a change needs
	mostUnits     = 400  // of more, the sessions of a day are one unit
	leastChange   = 1.1  // factor
	mostChance    = 0.05 // over all that is followed
)

func (d *drift) session(s *traces.Session, table *calls.Table) {
	var u *unit
	last := ""
	for i, thread := range table.Threads {
		for j := range thread {
			c := &thread[j]
			if c.Out || c.Untimed {
				continue
			}
			if at := day(c, d.zone); u == nil || at != last {
				u, last = d.unit(s, at), at
			}
			u.call(c)
			if i == 0 && j == 0 && !s.Threads[0].MidContext && !c.Resumed {
				u.add(headSize, float64(s.Tokens(s.Threads[0].Prefix)), 1)
			}
		}
	}
}

func (d *drift) unit(s *traces.Session, day string) *unit {
	key := [2]string{s.ID, day}
	u := d.units[key]
	if u == nil {
		u = &unit{session: s.ID, agent: s.Agent, version: s.Version(), day: day, first: math.MaxInt64, tools: map[string]float64{}}
		d.units[key] = u
	}
	return u
}

func (u *unit) call(c *calls.Call) {
	one := func(is bool) float64 {
		if is {
			return 1
		}
		return 0
	}
	w := &c.Recorded.Usage
	asked := one(c.Thread.Kind == traces.ThreadMain && c.Recorded.Trigger == traces.TriggerPrompt && !c.Recorded.Signs.Has(signs.Notice))
	u.first = min(u.first, c.At)
	u.add(keepsAnHour, float64(w.Write1h), float64(w.Write1h+w.Write5m))
	u.add(missRate, one(c.Fell()), 1)
	u.add(haikuShare, one(breaks.Excluded(c.Model.Name)), 1)
	u.add(callRate, 1, asked)
	u.add(promptCost, c.Cost.Total()+c.Search, asked)
	in := c.Recorded.Input
	for i := in.From; i < in.To; i++ {
		if b := &c.Session.Blocks[i]; b.Kind == prompt.KindToolResult && b.Tool != 0 {
			u.tools[c.Session.Tools[b.Tool]] += float64(b.Tokens)
		}
	}
}

func (u *unit) add(ratio int, over, under float64) {
	u.sums[ratio][0] += over
	u.sums[ratio][1] += under
}

// part returns the unit's part of a behaviour.
func (u *unit) part(b *behaviour) (over, under float64) {
	if b.tool != "" {
		return u.tools[b.tool], u.sums[haikuShare][1] // calls
	}
	return u.sums[b.ratio][0], u.sums[b.ratio][1]
}

// report sets the changes that are more than chance, by agent, then by day.
func (d *drift) report(r *Report) {
	r.Changes = []Change{}
	byAgent := map[string][]*unit{}
	for _, u := range d.units {
		byAgent[u.agent] = append(byAgent[u.agent], u)
	}
	followed := 0
	for agent, units := range byAgent {
		if len(units) < leastUnits {
			delete(byAgent, agent)
			continue
		}
		followed += 2 * (len(behaviours) + len(largestTools(units)))
	}
	for agent, units := range byAgent {
		for _, what := range append(slices.Clone(behaviours), largestTools(units)...) {
			for _, by := range []string{byDay, byVersion} {
				r.Changes = append(r.Changes, changes(agent, units, &what, by, mostChance/float64(followed))...)
			}
		}
	}
	slices.SortStableFunc(r.Changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.What, b.What), cmp.Compare(a.By, b.By))
	})
}

// largestTools returns the tools whose results have most tokens.
func largestTools(units []*unit) (list []behaviour) {
	tokens := map[string]float64{}
	for _, u := range units {
		for name, n := range u.tools {
			tokens[name] += n
		}
	}
	for name := range tokens {
		list = append(list, behaviour{name: "tokens of results of " + name + " per call", unit: "tokens", see: "tool", tool: name})
	}
	slices.SortFunc(list, func(a, b behaviour) int {
		return cmp.Or(cmp.Compare(tokens[b.tool], tokens[a.tool]), cmp.Compare(a.tool, b.tool))
	})
	return first(followedTools, list)
}

// changes returns the changes of a behaviour over units in the order of days or versions.
func changes(agent string, units []*unit, what *behaviour, by string, chance float64) (list []Change) {
	key := func(u *unit) string { return u.day }
	order := func(a, b *unit) int {
		return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.session, b.session))
	}
	if by == byVersion {
		key = func(u *unit) string { return u.version }
		inTime := order
		order = func(a, b *unit) int { return cmp.Or(profile.Compare(a.version, b.version), inTime(a, b)) }
	}
	var kept []*unit
	for _, u := range units {
		if _, under := u.part(what); under > 0 && (by != byVersion || u.version != "") {
			kept = append(kept, u)
		}
	}
	if len(kept) < leastUnits {
		return nil
	}
	slices.SortFunc(kept, order)
	var s stats.Series
	var at []*unit // the first unit of each part of the series
	for i, u := range kept {
		over, under := u.part(what)
		if n := len(at) - 1; n >= 0 && len(kept) > mostUnits && u.day == kept[i-1].day && key(u) == key(kept[i-1]) {
			s.Over[n], s.Under[n] = s.Over[n]+over, s.Under[n]+under
			continue
		}
		if i > 0 && key(u) != key(kept[i-1]) {
			s.Starts = append(s.Starts, len(at))
		}
		s.Over, s.Under, at = append(s.Over, over), append(s.Under, under), append(at, u)
	}
	for _, x := range s.Shifts(chance) {
		if math.Abs(math.Log(x.After/x.Before)) < math.Log(leastChange) {
			continue
		}
		see := "sim audit --by " + what.see
		if by == byDay && !strings.HasPrefix(what.see, "day") { // days show what was before, too
			see += " --since " + key(at[x.At])
		}
		list = append(list, Change{
			Agent: agent, What: what.name, Unit: what.unit, By: by, From: key(at[x.At]), Low: key(at[x.Low]), High: key(at[x.High]),
			Before: x.Before, After: x.After, Chance: x.Chance, See: see,
		})
	}
	return list
}

// changes lists what changed, since when, and the command that shows it. Where sessions part alike by day and by version, the version
// says more: it names what was installed.
func (p *page) changes() []document.Section {
	t := &document.Table{Columns: slices.Concat(document.Left("WHAT", "SINCE", "95 %"), document.Right("", "BEFORE", "AFTER", "CHANCE"), document.Left("SEE"))}
	several := slices.ContainsFunc(p.Changes, func(c Change) bool { return c.Agent != p.Changes[0].Agent })
	for i := range p.Changes {
		c := &p.Changes[i]
		if c.By == byDay && slices.ContainsFunc(p.Changes, c.isVersionOf) {
			continue
		}
		what, since, interval, chance := c.What, c.From, c.Low+" … "+c.High, document.Percent(c.Chance)
		if c.Chance < 0.0005 { // as many orders as were tried cannot say that there is none
			chance = "< 0.1 %"
		}
		if c.Low == c.High {
			interval = c.Low
		}
		if several {
			what = c.Agent + ": " + what
		}
		if c.By == byVersion {
			since = "version " + since
		}
		t.Rows = append(t.Rows, []any{what, since, interval, c.figure(c.Before), c.figure(c.After),
			chance, strings.Replace(c.See, "sim audit", "sim audit"+p.options.Again, 1)})
	}
	return section("What changed", t)
}

// isVersionOf reports whether v is the change of c in the order of versions: the same sessions lie before and behind it.
func (c *Change) isVersionOf(v Change) bool {
	return v.By == byVersion && v.Agent == c.Agent && v.What == c.What && v.Before == c.Before && v.After == c.After
}

// figure formats a figure of the behaviour.
func (c *Change) figure(v float64) string {
	switch c.Unit {
	case "ratio":
		return document.Percent(v)
	case "usd":
		return document.USD(v, 2)
	case "tokens":
		return document.Tokens(v)
	}
	return strconv.FormatFloat(v, 'f', 1, 64)
}
