package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/compactsim/compactsim/internal/kit/nearest"
	"github.com/compactsim/compactsim/sim/calls"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/signs"
)

// A Dimension is a property by which Breakdown divides a bill. Dimensions that weigh things
// in contexts attribute what calls paid for input to what stood in their contexts.
type Dimension struct {
	Name   string
	Weighs bool

	timed bool // lines are in order of time, not of cost
	of    func(*calls.Call, *time.Location) string
	thing func(s *traces.Session, block int32) string
}

// Dimensions returns all dimensions in the order of documentation.
func Dimensions() []Dimension {
	return []Dimension{
		{Name: "day", timed: true, of: day},
		{Name: "week", timed: true, of: func(c *calls.Call, zone *time.Location) string { return week(day(c, zone)) }},
		{Name: "month", timed: true, of: month},
		{Name: "block", timed: true, of: callMinute},
		{Name: "session", of: func(c *calls.Call, _ *time.Location) string { return c.Session.ID }},
		{Name: "project", of: project},
		{Name: "agent", of: func(c *calls.Call, _ *time.Location) string { return c.Session.Agent }},
		{Name: "version", of: version},
		{Name: "model", of: func(c *calls.Call, _ *time.Location) string { return c.Model.Name }},
		{Name: "entry", of: func(c *calls.Call, _ *time.Location) string { return cmp.Or(c.Session.Entry, "(unknown)") }},
		{Name: "person", of: func(c *calls.Call, _ *time.Location) string { return cmp.Or(c.Session.Person(), "(nobody's home)") }},
		{Name: "subagent", of: subAgent},
		{Name: "skill", of: func(c *calls.Call, _ *time.Location) string {
			return cmp.Or(c.Session.Named(signs.NameSkill, c.Recorded.Skill), "(no skill)")
		}},
		{Name: "plugin", of: func(c *calls.Call, _ *time.Location) string {
			return cmp.Or(c.Session.Named(signs.NamePlugin, c.Recorded.Plugin), "(no plugin)")
		}},
		{Name: "source", of: func(c *calls.Call, _ *time.Location) string { return c.Source.String() }},
		{Name: "cause", of: cause},
		{Name: "part", Weighs: true, thing: func(s *traces.Session, b int32) string { return partNames[partOf(&s.Blocks[b])] }},
		{Name: "tool", Weighs: true, thing: tool},
		{Name: "mcp", Weighs: true, thing: server},
		{Name: "hook", Weighs: true, thing: nameOf(signs.NameHook)},
		{Name: "memory", Weighs: true, thing: nameOf(signs.NameMemory)},
		{Name: "file", Weighs: true, thing: file},
	}
}

// dimension returns the dimension of a name, the zero value for none.
func dimension(name string) Dimension {
	all := Dimensions()
	if i := slices.IndexFunc(all, func(d Dimension) bool { return d.Name == name }); i >= 0 {
		return all[i]
	}
	return Dimension{}
}

// dimensionsOf returns the dimensions that names stand for. At most one name may weigh contexts.
func dimensionsOf(names []string) (list []Dimension, err error) {
	all, n := Dimensions(), 0
	var weighing []string
	for i := range all {
		if all[i].Weighs {
			weighing = append(weighing, all[i].Name)
		}
	}
	for _, name := range names {
		i := slices.IndexFunc(all, func(d Dimension) bool { return d.Name == name })
		if i < 0 {
			known := make([]string, len(all))
			for k := range all {
				known[k] = all[k].Name
			}
			return nil, fmt.Errorf("unknown name %q%s; names are %s", name, nearest.Hint(name, known), strings.Join(known, ", "))
		}
		if all[i].Weighs {
			n++
		}
		if slices.ContainsFunc(list, func(d Dimension) bool { return d.Name == name }) {
			return nil, fmt.Errorf("%s: %s is given twice", strings.Join(names, ","), name)
		}
		list = append(list, all[i])
	}
	if n > 1 {
		return nil, fmt.Errorf("%s: at most one name may weigh contexts (%s)", strings.Join(names, ","), strings.Join(weighing, ", "))
	}
	return list, nil
}

func month(c *calls.Call, zone *time.Location) string {
	if d := day(c, zone); d != NoDay {
		return d[:len("2006-01")]
	}
	return NoDay
}

// callMinute names the minute of a call; windows are found once all calls are known.
func callMinute(c *calls.Call, _ *time.Location) string {
	if c.Untimed {
		return NoDay
	}
	return time.Unix(0, c.At).UTC().Format(minuteForm)
}

const minuteForm = "2006-01-02T15:04Z"

func project(c *calls.Call, _ *time.Location) string { return cmp.Or(c.Session.Project, NoProject) }

func version(c *calls.Call, _ *time.Location) string {
	if len(c.Session.Versions) == 0 {
		return "(no version)"
	}
	return c.Session.Versions[0]
}

// noMiss stands for calls that found what there was.
const noMiss = "(no miss)"

func cause(c *calls.Call, _ *time.Location) string {
	if c.Missed == 0 {
		return noMiss
	}
	return string(c.Cause())
}

// subAgent returns the kind of the sub-agent that made a call, or whose branch did.
func subAgent(c *calls.Call, _ *time.Location) string {
	for t := c.Thread; t != nil; t = &c.Session.Threads[t.Parent] {
		if t.Kind == traces.ThreadAgent || t.Kind == traces.ThreadOrphan {
			return cmp.Or(t.AgentType, "(unknown)")
		}
		if t.Kind != traces.ThreadBranch || t.Parent < 0 {
			break
		}
	}
	return "(conversation)"
}

// tool returns the name of the tool of a call or a result.
func tool(s *traces.Session, b int32) string {
	if k := s.Blocks[b].Kind; k != prompt.KindToolUse && k != prompt.KindToolResult {
		return ""
	}
	return s.Tools[s.Blocks[b].Tool]
}

// nameOf returns the name of a kind that a block has.
func nameOf(k signs.NameKind) func(*traces.Session, int32) string {
	return func(s *traces.Session, b int32) string { return s.Named(k, s.Blocks[b].Tool) }
}

// server returns the MCP server of a tool's name, mcp__SERVER__TOOL in Claude Code's logs.
func server(s *traces.Session, b int32) string {
	rest, ok := strings.CutPrefix(tool(s, b), "mcp__")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, "__")
	return name
}

func file(s *traces.Session, b int32) string {
	if o := s.Blocks[b].Object; o >= 0 && int(o) < len(s.Objects) {
		return s.Objects[o]
	}
	return ""
}

// A Group is the calls that have the same values, or what a thing weighed in calls.
type Group struct {
	Names []string // by Breakdown.By
	// Sum has the calls and what they paid. Of a thing that weighs, USD is its share of their input and the
	// tokens are not known by class.
	Sum
	Misses  int     // calls that read less than the call before had left
	MissUSD float64 // what writing again cost them
	// Unpriced are calls of models without a price, which USD lacks. 0 of a thing that weighs.
	Unpriced int
	// Tokens are what a thing that weighs had in contexts, added up over calls: ten calls that carry it
	// count it ten times. 0 for groups of calls.
	Tokens int64
}

// Priceless reports whether no call has a price.
func (g *Group) Priceless() bool { return g.Calls > 0 && g.Unpriced == g.Calls }

// Breakdown is a bill by one or several dimensions. Groups that divide calls add up to Total; things
// that weigh do so with a remainder, which is named Rest.
type Breakdown struct {
	By          []string
	Sessions    int
	From, Until string // days of the first and the last call in Zone, "" where none has a time
	Zone        string
	Total       Group
	Groups      []Group
	Weighs      bool
	Pace        *Pace // of the window of five hours under way, nil where none is
	Remarks     []string

	others     others
	counted    calls.Tally
	unpriced   calls.Unpriced
	dimensions []Dimension
	short      map[string]string
}

// Rest names what no thing that weighs accounts for: output, and input of other kinds.
const Rest = "(the rest)"

// Break divides the bill of sessions by names of Dimensions. now, which may be zero, tells the window
// of five hours under way. Bodies of sessions that are not in memory are loaded one at a time.
func Break(sessions []*traces.Session, names []string, o Options, now time.Time) (*Breakdown, error) {
	dimensions, err := dimensionsOf(names)
	if err != nil {
		return nil, err
	}
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	b := &breaker{Breakdown: &Breakdown{By: names, Sessions: len(sessions), Zone: o.Zone.String(), dimensions: dimensions},
		zone: o.Zone, groups: map[string]*Group{}}
	for i := range dimensions {
		if dimensions[i].Weighs {
			b.Weighs, b.weighing = true, &dimensions[i]
		}
	}
	if b.short, err = o.walk(sessions, b.session); err != nil {
		return nil, err
	}
	b.windows(now)
	b.order()
	return b.Breakdown, nil
}

// breaker adds up groups.
type breaker struct {
	*Breakdown
	zone     *time.Location
	weighing *Dimension
	groups   map[string]*Group // by names
	values   []string          // of the call under way
}

func (b *breaker) session(s *traces.Session, table *calls.Table) {
	for i := range table.Apart {
		b.call(&table.Apart[i], nil)
	}
	if b.weighing == nil {
		for _, thread := range table.Threads {
			for i := range thread {
				b.call(&thread[i], nil)
			}
		}
		return
	}
	w := newScales(s, b.weighing.thing)
	for i, thread := range table.Threads {
		w.thread(int32(i), len(thread), func(round int) { b.call(&thread[round], w) })
	}
}

// call adds a call to the groups of its values, and to each thing that weighed in it.
func (b *breaker) call(c *calls.Call, w *scales) {
	if c.Out {
		return
	}
	b.add(&b.Total, c)
	b.others.add(c)
	b.counted.Add(c)
	b.unpriced.Add(c)
	if d := day(c, b.zone); d != NoDay {
		if b.From == "" || d < b.From {
			b.From = d
		}
		b.Until = max(b.Until, d)
	}
	b.values = b.values[:0]
	at := -1
	for i := range b.dimensions {
		value := Rest
		if d := &b.dimensions[i]; d.Weighs {
			at = i
		} else {
			value = d.of(c, b.zone)
		}
		b.values = append(b.values, value)
	}
	if at < 0 {
		b.add(b.group(), c)
		return
	}
	rest := c.Cost.Total() + c.Search
	if w != nil {
		paid := c.Cost.Total() - c.Cost[measures.ClassOutput]
		w.shares(c.Recorded.Usage.Input(), func(name string, tokens int64, share float64) {
			b.values[at] = name
			g := b.group()
			g.Calls++
			g.Tokens += tokens
			g.USD += share * paid
			rest -= share * paid
		})
	}
	b.values[at] = Rest
	g := b.group()
	g.Calls++
	g.USD += rest
}

// group returns the group of the values under way.
func (b *breaker) group() *Group {
	key := strings.Join(b.values, "\x00")
	g := b.groups[key]
	if g == nil {
		g = &Group{Names: slices.Clone(b.values)}
		b.groups[key] = g
	}
	return g
}

func (b *breaker) add(g *Group, c *calls.Call) {
	g.Sum.add(&c.Recorded.Usage, &c.Cost, c.Search)
	if !c.Model.Known {
		g.Unpriced++
	}
	if c.Missed > 0 {
		g.Misses++
		g.MissUSD += c.MissUSD
	}
}

// order lists the groups: by time where a dimension is, else dearest first, level by level, and the rest last.
func (b *breaker) order() {
	usd := map[string]float64{}
	level := func(g *Group, n int) string { return strings.Join(g.Names[:n+1], "\x00") }
	for _, g := range b.groups {
		for i := range b.By {
			usd[level(g, i)] += g.USD
		}
		b.Groups = append(b.Groups, *g)
	}
	slices.SortFunc(b.Groups, func(x, y Group) int {
		for i := range b.By {
			if x.Names[i] == y.Names[i] {
				continue
			}
			last := func(g *Group) int { return map[bool]int{true: 1}[g.Names[i] == Rest || g.Names[i] == NoDay] }
			if by := cmp.Compare(last(&x), last(&y)); by != 0 {
				return by
			}
			if b.dimensions[i].timed {
				return cmp.Compare(x.Names[i], y.Names[i])
			}
			return cmp.Or(cmp.Compare(usd[level(&y, i)], usd[level(&x, i)]), cmp.Compare(x.Names[i], y.Names[i]))
		}
		return 0
	})
}
