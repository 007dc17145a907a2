package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/calls"
	"github.com/compactsim/compactsim/sim/results/confusion"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
)

// largeContext is the context size above which reading is a finding, tokens.
const largeContext = 100_000

// minFinding is the least cost worth reporting, USD: half a cent.
const minFinding = 0.005

// evidence collects what findings rest on.
type evidence struct {
	causes  map[calls.Cause]*tally
	pauses  [2]tally // short ones, of the conversation and of sub-agents
	context tally
	unread  tally
	lost    tally
	// unbilled is the part of lost, USD, for summary calls of sessions whose logs show none: it is not in the bill.
	unbilled float64
}

// side returns 0 for the conversation and 1 for sub-agents.
func side(c *calls.Call) int {
	if c.Source == measures.SourceAgent {
		return 1
	}
	return 0
}

func (e *evidence) call(c *calls.Call) {
	u := &c.Recorded.Usage
	if over := u.Read - largeContext; over > 0 {
		e.context.add(callPlace(c), over, float64(over)*c.PerToken[measures.ClassRead],
			"context of "+document.Whole(u.Input())+" tokens")
	}
	if c.Missed == 0 {
		return
	}
	cause := c.Cause()
	text := fmt.Sprintf("billed $%.2f: read %d, written %d, uncached %d; missed %d, %s",
		c.Cost.Total(), u.Read, u.Writes(), u.Uncached, c.Missed, c.Evidence())
	if cause == calls.CauseShortPause {
		e.pauses[side(c)].add(callPlace(c), c.Missed, c.MissUSD, text)
		return
	}
	if e.causes[cause] == nil {
		e.causes[cause] = &tally{}
	}
	e.causes[cause].add(callPlace(c), c.Missed, c.MissUSD, text)
}

func (e *evidence) findings(r *Report, t *toolResults, top int) {
	list := []Finding{
		e.pauses[0].finding("pause_over_5m_main", "Pauses of 5 minutes to an hour: the conversation's cache entries expired", top),
		e.pauses[1].finding("pause_over_5m_agent", "Pauses of 5 minutes to an hour: the cache entries of sub-agents expired", top),
	}
	for cause, tally := range e.causes {
		list = append(list, tally.finding(string(cause), cause.Title(), top))
	}
	list = append(list, e.others(top)...)
	list = append(list, t.findings(top)...)
	for _, f := range list {
		if f.USD >= minFinding {
			r.Findings = append(r.Findings, f)
		}
	}
	sortBy(r.Findings, func(f *Finding) float64 { return f.USD }, func(f *Finding) string { return f.Name })
}

// others are the findings about the context as a whole.
func (e *evidence) others(top int) []Finding {
	list := []Finding{
		e.lost.finding("compactions_lost", "Compactions that cost more than they saved", top),
		e.context.finding("large_context",
			fmt.Sprintf("Reading what contexts hold beyond %d,000 tokens", largeContext/1000), top),
		e.unread.finding("never_read", "Written to the cache and never read", top),
	}
	list[0].Notes = []string{"simulated: no log shows most summary calls. sim audit --compactions --strategy recorded shows each"}
	if e.unbilled >= minFinding {
		list[0].Notes = append(list[0].Notes, fmt.Sprintf("$%.2f pays for summary calls that no log shows, and is not in the bill", e.unbilled))
	}
	list[2].Notes = []string{"COST is what writing cost beyond plain input; other conversations, which no log shows, may have read the " +
		"tools and the system prompt"}
	return list
}

// findings are those about tool results.
func (t *toolResults) findings(top int) []Finding {
	var list []Finding
	var twice tally
	for i := range t.duplicates {
		c := &t.duplicates[i]
		twice.add(c.place, c.tokens, c.usd, fmt.Sprintf("%s, already read at line %d", c.place.Text, c.first))
	}
	list = append(list, twice.finding("duplicate_reads", "Files read again unchanged while the first read was in the context", top))
	tallies := make([]tally, len(resultKinds))
	for i := range t.all {
		c := &t.all[i]
		if c.tokens < largeResult {
			continue
		}
		k := slices.IndexFunc(resultKinds, func(k resultKind) bool { return k.matches(c) })
		tallies[k].add(c.place, c.tokens, c.usd, fmt.Sprintf("%s, %s tokens in %s", c.place.Text, document.Whole(c.tokens), document.Count(c.calls, "call")))
	}
	for k := range resultKinds {
		list = append(list, tallies[k].finding(resultKinds[k].name,
			fmt.Sprintf("%s (%d,000 tokens and more)", resultKinds[k].title, largeResult/1000), top))
	}
	return list
}

// resultKind is a kind of large tool results.
type resultKind struct {
	name, title string
	matches     func(*carried) bool
}

// resultKinds are the kinds of large results; the first that matches counts.
var resultKinds = []resultKind{
	{"large_mcp_results", "Large results of MCP tools", func(c *carried) bool { return c.mcp }},
	{"large_command_results", "Large outputs of commands", func(c *carried) bool { return c.tool == "Bash" }},
	{"large_agent_results", "Large reports of sub-agents",
		func(c *carried) bool { return c.tool == "Task" || c.tool == "TaskOutput" || c.tool == "Agent" }},
	{"large_reads", "Large files read", func(c *carried) bool { return c.tool == "Read" }},
	{"large_results", "Other large tool results", func(*carried) bool { return true }},
}

// largeResult is the least size of a large result, tokens. An assumption: 6 % of the recorded results are that large
// (254 of 3,946 of Claude Code, 214 of 3,810 of Codex).
const largeResult = 4000

// misses sums up the calls that missed by cause, and the detector's verdicts.
type misses struct {
	byCause map[calls.Cause]*Miss
	daily   map[DailyMiss]float64
	said    [confusion.NumReasons]Said
}

func (m *misses) add(c *calls.Call, day string) {
	said := &m.said[c.Reason]
	said.Calls++
	if c.Missed == 0 {
		return
	}
	said.Missed++
	said.Tokens += c.Missed
	said.USD += c.MissUSD
	cause := c.Cause()
	if said.Causes == nil {
		said.Causes = map[calls.Cause]int{}
	}
	said.Causes[cause]++
	m.daily[DailyMiss{Day: day, Class: c.Class()}] += c.MissUSD
	if m.byCause[cause] == nil {
		m.byCause[cause] = &Miss{Cause: cause, Confidence: cause.Confidence()}
	}
	one := m.byCause[cause]
	one.Calls++
	one.Tokens += c.Missed
	one.USD += c.MissUSD
}

func (m *misses) report(r *Report) {
	for _, one := range m.byCause {
		r.Misses = append(r.Misses, *one)
	}
	for one, usd := range m.daily {
		one.USD = usd
		r.DailyMisses = append(r.DailyMisses, one)
	}
	slices.SortFunc(r.DailyMisses, func(a, b DailyMiss) int { return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Class, b.Class)) })
	sortBy(r.Misses, func(a *Miss) float64 { return a.USD }, func(a *Miss) string { return string(a.Cause) })
	for i := range m.said {
		if m.said[i].Calls > 0 {
			m.said[i].Reason = confusion.Reason(i).String()
			r.Detector = append(r.Detector, m.said[i])
		}
	}
}

// callPlace returns the place of a call in the recording.
func callPlace(c *calls.Call) Place {
	return placeOf(c.Session, c.Recorded.File, c.Recorded.Line)
}

func placeOf(s *traces.Session, file uint16, line int32) Place {
	p := Place{Call: calls.Name(s.ID, file, line), Session: s.ID, Line: int(line)}
	if int(file) < len(s.Files) {
		p.File = s.Files[file]
	}
	return p
}

// MostDearest is how many of the dearest misses are kept.
const MostDearest = 8

// Loss is one miss: when, how much was lost, and why.
type Loss struct {
	Call       string           `json:"call"` // as sim explain takes it
	Name       string           `json:"-"`    // the same with as much of the session's id as distinguishes it
	At         string           `json:"at"`   // in the zone of the report, 2026-02-21 14:05; NoDay for a call without a time
	Left       int64            `json:"left_tokens"`
	Missed     int64            `json:"missed_tokens"`
	USD        float64          `json:"cost_usd"`
	Cause      calls.Cause      `json:"cause"`
	Confidence calls.Confidence `json:"confidence,omitempty"`
	// Because is the cause that recordings make likely behind what was seen or said, "" for none.
	Because  calls.Cause `json:"because,omitempty"`
	Evidence string      `json:"evidence"`
}

// dearest keeps the misses that cost most.
type dearest struct {
	zone *time.Location
	list []Loss // dearest first
}

func (d *dearest) add(c *calls.Call) {
	if c.MissUSD <= 0 || len(d.list) == MostDearest && c.MissUSD <= d.list[MostDearest-1].USD {
		return
	}
	at := NoDay
	if !c.Untimed {
		at = time.Unix(0, c.At).In(d.zone).Format("2006-01-02 15:04")
	}
	cause, because := c.Cause(), calls.Cause("")
	if l, ok := c.Behind(); ok {
		because = calls.Cause(l.Kind.String())
	}
	d.list = append(d.list, Loss{
		Call: calls.Name(c.Session.ID, c.Recorded.File, c.Recorded.Line), At: at, Left: c.Left, Missed: c.Missed, USD: c.MissUSD, Cause: cause,
		Confidence: cause.Confidence(), Because: because, Evidence: c.Evidence(),
	})
	slices.SortStableFunc(d.list, func(a, b Loss) int { return cmp.Or(cmp.Compare(b.USD, a.USD), cmp.Compare(a.Call, b.Call)) })
	d.list = first(MostDearest, d.list)
}

// named gives the losses names by beginnings of ids.
func (d *dearest) named(short map[string]string) []Loss {
	for i := range d.list {
		l := &d.list[i]
		id, _, _ := strings.Cut(l.Call, ":")
		id, _, _ = strings.Cut(id, "/")
		l.Name = cmp.Or(short[id], id) + strings.TrimPrefix(l.Call, id)
	}
	return append([]Loss{}, d.list...)
}

// Dearest returns the misses of sessions that cost most, dearest first.
//
// Bodies of sessions that are not in memory are loaded one at a time; the error says which could not be loaded.
func Dearest(sessions []*traces.Session, prices calls.Prices, zone *time.Location) ([]Loss, error) {
	d := dearest{zone: zone}
	short, err := (&Options{Prices: prices}).walk(sessions, func(_ *traces.Session, table *calls.Table) {
		for _, thread := range table.Threads {
			for j := range thread {
				d.add(&thread[j])
			}
		}
	})
	return d.named(short), err
}
