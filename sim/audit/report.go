package audit

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/calls"
	"github.com/compactsim/compactsim/sim/explain"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/facts"
)

// Schema is the version of a report as JSON.
const Schema = 3

// Report explains a bill. Amounts are USD at API prices, counts of tokens are tokens. Lists are sorted by USD, largest
// first, unless stated otherwise; months, weeks and days are in order.
type Report struct {
	Schema   int    `json:"schema"` // Schema
	Sessions int    `json:"sessions"`
	From     string `json:"from"` // day of the first call in Zone; "" when no call has a time
	Until    string `json:"until"`
	Zone     string `json:"zone"` // of days, weeks and months
	// Remarks say what was read and what could not be read.
	Remarks []string `json:"remarks"`
	Total   Sum      `json:"total"`
	// LoggedOutputUSD is the cost of the outputs as logged. The bill uses derived
	// counts where the logged ones are not final.
	LoggedOutputUSD float64 `json:"logged_output_usd"`
	// UnloggedWritesUSD is the additional cost if all that was not read was
	// written, for providers that bill writes and log none.
	UnloggedWritesUSD float64 `json:"unlogged_writes_usd"`
	// Stated compares the bill with the costs that clients log. Their prices may be others, and their logs may lack calls.
	Stated Stated `json:"stated"`

	Splits  []Split  `json:"splits"`
	Days    []Day    `json:"days"` // in order
	Changes []Change `json:"changes"`
	// Heads are how far the heads of sessions of request logs are shared; nil where no log shows bodies.
	Heads    []explain.Head `json:"heads,omitempty"`
	Findings []Finding      `json:"findings"`
	Misses   []Miss         `json:"misses"`
	Dearest  []Loss         `json:"dearest_misses"` // at most MostDearest
	// DailyMisses are for charts, by day and class.
	DailyMisses []DailyMiss `json:"-"`
	Detector    []Said      `json:"detector"` // by reason, in the order of the reasons
	Content     []Content   `json:"content"`
	Defects     []Defect    `json:"defects"`

	short map[string]string // beginnings of ids that distinguish the sessions
}

// Day has the sums of the calls of a day to one model in one project.
type Day struct {
	Day     string `json:"day"` // such as 2026-02-21, or NoDay
	Project string `json:"project"`
	Model   string `json:"model"`
	Sum
}

// Sum adds up calls.
type Sum struct {
	Calls      int   `json:"calls"`
	Uncached   int64 `json:"input_uncached_tokens"`
	Read       int64 `json:"cache_read_tokens"`
	Write5m    int64 `json:"cache_write_5m_tokens"`
	Write1h    int64 `json:"cache_write_1h_tokens"`
	WriteOther int64 `json:"cache_write_other_tokens"`
	Output     int64 `json:"output_tokens"`
	// Limited are the tokens that count against the input rate limit: those not
	// read from the cache (platform.claude.com, rate limits).
	Limited int64   `json:"rate_limit_tokens"`
	USD     float64 `json:"cost_usd"`
	// SearchUSD is the part of USD for searches of the web by the server, beside the tokens.
	SearchUSD float64 `json:"search_usd,omitzero"`
}

func (s *Sum) add(u *prompt.Usage, cost *results.Cost, search float64) {
	s.Calls++
	s.Uncached += u.Uncached
	s.Read += u.Read
	s.Write5m += u.Write5m
	s.Write1h += u.Write1h
	s.WriteOther += u.WriteOther
	s.Output += u.Output
	s.Limited += u.Uncached + u.Writes()
	s.USD += cost.Total() + search
	s.SearchUSD += search
}

// Stated holds what clients logged as the cost of sessions against the bill of the same sessions.
type Stated struct {
	Sessions  int     `json:"sessions"`   // with a logged cost, all calls and models of which are in the bill
	LoggedUSD float64 `json:"logged_usd"` // by the clients
	USD       float64 `json:"usd"`        // at API prices
}

// Plus adds the calls of t.
func (s *Sum) Plus(t *Sum) {
	s.Calls += t.Calls
	s.Uncached += t.Uncached
	s.Read += t.Read
	s.Write5m += t.Write5m
	s.Write1h += t.Write1h
	s.WriteOther += t.WriteOther
	s.Output += t.Output
	s.Limited += t.Limited
	s.USD += t.USD
	s.SearchUSD += t.SearchUSD
}

// Input returns all input tokens.
func (s *Sum) Input() int64 { return s.Uncached + s.Read + s.Write5m + s.Write1h + s.WriteOther }

// Split is the bill by one property of calls. Its lines add up to the total.
type Split struct {
	By    string `json:"by"` // class, model, source, project, month, week, day or session
	Lines []Line `json:"lines"`
}

// Line is one value of a property.
type Line struct {
	Name string `json:"name"`
	Sum
}

// Place is a line of a recording.
type Place struct {
	Call    string  `json:"call"` // as sim explain takes it (calls.Name): the first one that sends a result, where the place is the result
	Session string  `json:"session"`
	File    string  `json:"file"`
	Line    int     `json:"line"`
	USD     float64 `json:"cost_usd"`
	Text    string  `json:"text,omitempty"` // what is there
}

// Finding is something that cost money.
type Finding struct {
	Name   string   `json:"name"`  // for machines
	Title  string   `json:"title"` // one line for people
	USD    float64  `json:"cost_usd"`
	Count  int      `json:"count"`
	Tokens int64    `json:"tokens"`
	Notes  []string `json:"notes,omitempty"`
	Places []Place  `json:"places"`
}

// Miss is what was missed for one cause.
type Miss struct {
	Cause calls.Cause `json:"cause"`
	// Confidence says how the cause is known, empty for none.
	Confidence calls.Confidence `json:"confidence,omitempty"`
	Calls      int              `json:"calls"`
	Tokens     int64            `json:"tokens"`
	USD        float64          `json:"cost_usd"` // for writing what could have been read
}

// DailyMiss is what was missed on a day for the causes of a class.
type DailyMiss struct {
	Day   string // such as 2026-02-21, or NoDay
	Class exchange.MissClass
	USD   float64 // for writing what could have been read
}

// Said counts the detector's verdicts of one kind.
type Said struct {
	Reason string  `json:"reason"`
	Calls  int     `json:"calls"`
	Missed int     `json:"calls_that_missed"` // of these, those that read less than the previous call had left
	Tokens int64   `json:"missed_tokens"`
	USD    float64 `json:"cost_usd"`
	// Causes are the calls that missed by cause. The detector does not see what a
	// cause rests on: logged events, and billed lifetimes.
	Causes map[calls.Cause]int `json:"causes,omitempty"`
}

// Defect is something in the input that limits what can be said.
type Defect struct {
	Kind  string   `json:"kind"`
	Text  string   `json:"text"`
	Count int      `json:"count"`
	Names []string `json:"names"` // sessions, models or projects concerned
	// Kinds divides Count where it counts calls without a price, and is zero elsewhere.
	Kinds calls.Tally `json:"kinds,omitzero"`
}

// data returns an audit as one list for spreadsheets. Each line names the part
// of the report it belongs to; what a line lacks is empty.
func (r *Report) data() *document.Table {
	l := lines{Table: document.Table{Columns: document.Columns("section", "name", "text", "cost_usd", "count", "tokens",
		"output_tokens", "rate_limit_tokens", "session", "file", "line")}}
	l.sum("total", "", &r.Total)
	for i := range r.Splits {
		for j := range r.Splits[i].Lines {
			l.sum(r.Splits[i].By, r.Splits[i].Lines[j].Name, &r.Splits[i].Lines[j].Sum)
		}
	}
	for i := range r.Findings {
		l.finding(&r.Findings[i])
	}
	for i := range r.Changes {
		c := &r.Changes[i]
		text := fmt.Sprintf("%s of %s: %s before, %s since %s (95 %%: %s … %s), by chance in %s", c.What, c.Agent, c.figure(c.Before),
			c.figure(c.After), c.From, c.Low, c.High, document.Percent(c.Chance))
		l.add("change", c.By, text)
	}
	for _, m := range r.Misses {
		l.add("miss", string(m.Cause), string(m.Cause.Confidence()), m.USD, m.Calls, m.Tokens)
	}
	for _, d := range r.Detector {
		l.add("detector", d.Reason, "", d.USD, d.Calls, d.Tokens)
	}
	for _, c := range r.Content {
		l.add("content", c.Part, "", c.USD, nil, c.Tokens)
	}
	for _, d := range r.Defects {
		l.add("open", d.Kind, d.Text+": "+strings.Join(d.Names, ", "), nil, d.Count)
	}
	return &l.Table
}

// lines is the list under construction.
type lines struct{ document.Table }

// add adds a line of the first values.
func (l *lines) add(values ...any) {
	l.Rows = append(l.Rows, append(values, make([]any, len(l.Columns)-len(values))...))
}

func (l *lines) sum(section, name string, s *Sum) {
	l.add(section, name, "", s.USD, s.Calls, s.Input(), s.Output, s.Limited)
}

func (l *lines) finding(f *Finding) {
	l.add("finding", f.Name, f.Title, f.USD, f.Count, f.Tokens)
	for i := range f.Places {
		p := &f.Places[i]
		l.add("place", f.Name, p.Text, p.USD, nil, nil, nil, nil, p.Session, p.File, p.Line)
	}
}

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
	for i, part := range [measures.NumClasses]prompt.Usage{
		measures.ClassUncached: {Uncached: u.Uncached}, measures.ClassRead: {Read: u.Read}, measures.ClassWrite5m: {Write5m: u.Write5m},
		measures.ClassWrite1h: {Write1h: u.Write1h}, measures.ClassWriteOther: {WriteOther: u.WriteOther}, measures.ClassOutput: {Output: u.Output},
	} {
		if part != (prompt.Usage{}) {
			cost := results.Cost{}
			cost[i] = c.Cost[i]
			b.byClass[i].add(&part, &cost, 0)
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
