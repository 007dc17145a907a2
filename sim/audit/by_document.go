package audit

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/calls"
)

// Document returns the breakdown as a table. CSV and JSON have every group, and JSON and CSV name columns alike; people see
// the newest or dearest o.Top and the sum of all others, everything where o.Top is 0.
func (b *Breakdown) Document(o DocumentOptions) *document.Document {
	d := &document.Document{
		Title: "The bill by " + strings.Join(b.By, " and "), Head: b.head(o),
		Data: func() *document.Table { return document.TableOf(b.columns(false), b.Groups) },
	}
	d.Sections = []document.Section{{Blocks: []document.Block{document.TableOf(b.columns(true), b.shown(o.Top))}}}
	if b.Weighs {
		d.Notes = append(d.Notes, "COST divides what calls paid for input by what stood in their contexts; TOKENS counts a thing in every call "+
			"that carried it. "+Rest+" is output, and input of other kinds.")
	}
	if p := b.Pace; p != nil {
		d.Notes = append(d.Notes, fmt.Sprintf("The window from %s has cost %s; at %s an hour it is heading for %s by %s.", p.Begins.Format("15:04"),
			cents(p.USD), cents(p.PerHour), cents(p.Heading), p.Ends.Format("15:04")))
	}
	if text := b.others.text(); text != "" {
		d.Notes = append(d.Notes, text)
	}
	d.Notes = append(d.Notes, "Prices are the API's at each call's date, in USD; a subscription is billed none of this.")
	return d
}

func (b *Breakdown) head(o DocumentOptions) []string {
	line := fmt.Sprintf("%s at %s · %s · %s%s", cents(b.Total.USD), o.prices(), document.Count(b.Sessions, "session"),
		b.counted, period(b.From, b.Until))
	lines := []string{line}
	if text := calls.UnpricedCalls(b.unpriced.Tally, b.unpriced.Models()); text != "" {
		lines = append(lines, text)
	}
	return append(lines, b.Remarks...)
}

// shown returns the groups that people see: the newest or dearest, and the sum of all others in their place.
func (b *Breakdown) shown(top int) []Group {
	list, last := b.Groups, []Group(nil)
	if n := len(list) - 1; n >= 0 && list[n].Names[0] == Rest {
		list, last = list[:n], list[n:]
	}
	left := len(list) - top
	if top <= 0 || left < 2 { // a line that sums up one line says less than that line
		return b.total(b.Groups)
	}
	shown, hidden, name := list[:top], list[top:], "%d others"
	if b.Timed() {
		shown, hidden, name = list[left:], list[:left], "%d before"
	}
	rest := Group{Names: make([]string, len(b.By))}
	rest.Names[0] = fmt.Sprintf(name, len(hidden))
	for i := range hidden {
		rest.plus(&hidden[i])
	}
	if b.Weighs {
		rest.Calls = 0 // things share calls
	}
	if b.Timed() {
		return b.total(slices.Concat([]Group{rest}, shown, last))
	}
	return b.total(slices.Concat(shown, []Group{rest}, last))
}

// total appends the sum.
func (b *Breakdown) total(groups []Group) []Group {
	sum := b.Total
	sum.Names = make([]string, len(b.By))
	sum.Names[0] = "all"
	return append(append([]Group{}, groups...), sum)
}

// called returns how people read a value of a name: a session by the beginning of its id, a cause in words.
func (b *Breakdown) called(name, value string) string {
	switch {
	case name == "session" && b.short[value] != "":
		return b.short[value]
	case name == "cause" && calls.Cause(value).Phrase() != "": // calls without a miss and lines of sums name no cause
		return calls.Cause(value).Text()
	}
	return tail(value, maxName)
}

// Label returns a value of the name at a level, from 0 on, in a few words, for the bars of a chart.
func (b *Breakdown) Label(level int, value string) string {
	if words := calls.Cause(value).Short(); b.By[level] == "cause" && words != "" {
		return words
	}
	if b.By[level] == "session" {
		return cmp.Or(b.short[value], value)
	}
	return value
}

type groupColumn = document.ColumnOf[Group]

// columns returns the columns: people read titles, machines names. Things that weigh have no tokens by class.
func (b *Breakdown) columns(people bool) []groupColumn {
	var list []groupColumn
	for i, name := range b.By {
		list = append(list, groupColumn{
			Column: document.Column{Name: name, Title: strings.ToUpper(name), Clip: minName},
			Of: func(g Group) any {
				if people {
					return b.called(name, g.Names[i])
				}
				return g.Names[i]
			},
		})
	}
	add := func(name, title, unit string, spare int, of func(Group) any) {
		list = append(list, groupColumn{Column: document.Column{Name: name, Title: title, Unit: unit, Right: true, Spare: spare}, Of: of})
	}
	priced := func(of func(Group) any) func(Group) any {
		return func(g Group) any {
			if people && g.Priceless() {
				return document.Dash
			}
			return of(g)
		}
	}
	add("cost_usd", "COST", document.UnitUSD, 0, priced(func(g Group) any { return g.USD }))
	if people {
		add("", "SHARE", "", 2, priced(func(g Group) any { return document.Share(g.USD, b.Total.USD) }))
	}
	add("calls", "CALLS", "", 0, func(g Group) any {
		if g.Calls == 0 {
			return nil
		}
		return g.Calls
	})
	if b.Weighs {
		add("tokens_over_calls", "TOKENS", document.UnitTokens, 0, func(g Group) any {
			if g.Tokens == 0 {
				return nil
			}
			return g.Tokens
		})
		return list
	}
	add("cache_hit_ratio", "HIT", "", 0, func(g Group) any {
		if !people {
			if g.Input() == 0 {
				return nil
			}
			return float64(g.Read) / float64(g.Input())
		}
		return document.Share(float64(g.Read), float64(g.Input()))
	})
	add("misses", "MISSES", "", 1, func(g Group) any { return g.Misses })
	add("miss_usd", "THEY COST", document.UnitUSD, 1, priced(func(g Group) any { return g.MissUSD }))
	add("cache_read_tokens", "READ", document.UnitTokens, 0, func(g Group) any { return g.Read })
	if people {
		add("", "WRITTEN", document.UnitTokens, 0, func(g Group) any { return g.Write5m + g.Write1h + g.WriteOther })
	} else {
		add("cache_write_5m_tokens", "", "", 0, func(g Group) any { return g.Write5m })
		add("cache_write_1h_tokens", "", "", 0, func(g Group) any { return g.Write1h })
		add("cache_write_other_tokens", "", "", 0, func(g Group) any { return g.WriteOther })
	}
	add("input_uncached_tokens", "UNCACHED", document.UnitTokens, 0, func(g Group) any { return g.Uncached })
	add("output_tokens", "OUTPUT", document.UnitTokens, 0, func(g Group) any { return g.Output })
	return list
}

// Timed reports whether the groups are in order of time.
func (b *Breakdown) Timed() bool {
	return dimension(b.By[0]).timed
}

// WriteMetrics writes the groups as gauges in the text format of OpenMetrics 1.0, which the textfile collector of Prometheus's
// node exporter reads as well. Every metric has the names of the breakdown as labels.
func (b *Breakdown) WriteMetrics(w io.Writer) error {
	var out bytes.Buffer
	family := func(name, unit, help string, values func(g *Group, put func(label string, v float64))) {
		fmt.Fprintf(&out, "# TYPE %s gauge\n", name)
		if unit != "" {
			fmt.Fprintf(&out, "# UNIT %s %s\n", name, unit)
		}
		fmt.Fprintf(&out, "# HELP %s %s\n", name, help)
		for i := range b.Groups {
			g := &b.Groups[i]
			values(g, func(label string, v float64) {
				labels := make([]string, 0, len(b.By)+1)
				for k, by := range b.By {
					labels = append(labels, by+`="`+labelText.Replace(visible(g.Names[k]))+`"`)
				}
				if label != "" {
					labels = append(labels, `class="`+label+`"`)
				}
				fmt.Fprintf(&out, "%s{%s} %g\n", name, strings.Join(labels, ","), v)
			})
		}
	}
	one := func(of func(*Group) float64) func(*Group, func(string, float64)) {
		return func(g *Group, put func(string, float64)) { put("", of(g)) }
	}
	family("sim_cost_usd", "usd", "What calls cost at the API's prices.", one(func(g *Group) float64 { return g.USD }))
	family("sim_calls", "", "Calls of models.", one(func(g *Group) float64 { return float64(g.Calls) }))
	if b.Weighs {
		family("sim_context_tokens", "tokens", "Tokens in contexts, added up over calls.", one(func(g *Group) float64 { return float64(g.Tokens) }))
	} else {
		family("sim_misses", "", "Calls that read less from the cache than the call before had left.", one(func(g *Group) float64 { return float64(g.Misses) }))
		family("sim_miss_usd", "usd", "What writing again what was not read cost.", one(func(g *Group) float64 { return g.MissUSD }))
		family("sim_tokens", "", "Tokens by class.", func(g *Group, put func(string, float64)) {
			put("input_uncached", float64(g.Uncached))
			put("cache_read", float64(g.Read))
			put("cache_write_5m", float64(g.Write5m))
			put("cache_write_1h", float64(g.Write1h))
			put("cache_write_other", float64(g.WriteOther))
			put("output", float64(g.Output))
		})
	}
	out.WriteString("# EOF\n")
	_, err := w.Write(document.Inert(out.Bytes()))
	return err
}

// visible writes characters that a terminal would obey as their numbers, so that two names remain two.
func visible(name string) string {
	var b strings.Builder
	for _, r := range name {
		if r == '\n' || unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// labelText escapes what may not stand in the value of a label.
var labelText = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

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
	g.Unpriced += o.Unpriced
}
