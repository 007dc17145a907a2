package audit

import (
	"fmt"

	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// largeContext is the context above which reading it is a finding, tokens.
const largeContext = 100_000

// minFinding is the least a finding is worth telling, USD: half a cent.
const minFinding = 0.005

// evidence gathers what findings rest on.
type evidence struct {
	causes  map[Cause]*tally
	pauses  [2]tally // short ones, of the conversation and of sub-agents
	hours   [2]tally // what an hour cost beyond 5 minutes
	context tally
	unread  tally
	lost    tally
	rewrite tally
	warm    float64 // estimate of the summary calls, USD
	cold    float64
}

// side tells the conversation from sub-agents.
func (c *call) side() int {
	if c.source == results.SourceAgent {
		return 1
	}
	return 0
}

func (e *evidence) call(c *call) {
	u := &c.r().Usage
	if over := u.Read - largeContext; over > 0 {
		e.context.add(c.session, c.place(), over, float64(over)*c.price[results.ClassRead], fmt.Sprintf("context of %d tokens", u.Input()))
	}
	if u.Write1h > 0 && c.model.known {
		premium := float64(u.Write1h) * (c.price[results.ClassWrite1h] - c.price[results.ClassWrite5m])
		e.hours[c.side()].add(c.session, c.place(), u.Write1h, premium, "written for an hour")
	}
	if c.missed == 0 || c.missUSD == 0 {
		return
	}
	cause := c.cause()
	text := fmt.Sprintf("%d tokens not read", c.missed)
	if c.gap > 0 {
		text += fmt.Sprintf(" after %d s", c.gap/1e9)
	}
	if c.changed != 0 {
		text += ", " + c.changed.String() + " changed"
	}
	if cause == CauseShortPause {
		e.pauses[c.side()].add(c.session, c.place(), c.missed, c.missUSD, text)
		return
	}
	if e.causes == nil {
		e.causes = map[Cause]*tally{}
	}
	if e.causes[cause] == nil {
		e.causes[cause] = &tally{}
	}
	e.causes[cause].add(c.session, c.place(), c.missed, c.missUSD, text)
}

// coldUntil is the last version whose summary call is taken to share nothing
// with the conversation (recordings: thresholds change between 2.1.20 and 2.1.25
// with the way the summary is made; assumed).
const coldUntil = "2.1.24"

// cold reports whether a session's summary calls are taken to be cold.
func cold(s *traces.Session) bool {
	return agents.ClaudeCode(s) && profile.Compare(s.Version(), coldUntil) <= 0
}

func (e *evidence) compaction(s *traces.Session, c *Compaction) {
	if !c.Measured {
		return
	}
	e.warm += c.CallWarm
	e.cold += c.CallCold
	e.rewrite.add(s, c.Place, c.After, c.Rewrite, fmt.Sprintf("%d → %d tokens", c.Before, c.After))
	if net := c.Net(); net < 0 {
		e.lost.add(s, c.Place, c.Removed, -net, fmt.Sprintf("%d calls followed", c.Calls))
	}
}

// findings makes the list.
func (e *evidence) findings(r *Report, t *toolResults, top int) {
	list := e.lifetimes(r, top)
	for _, f := range []struct {
		cause  Cause
		title  string
		advice []Advice
	}{
		{CauseLongPause, "Pauses of more than an hour: the context is written again", adviseLongPause},
		{CauseInside, "Misses inside the lifetime that was paid for, cause not logged", adviseInside},
		{CauseModel, "Models changed in the middle of a conversation", adviseModel},
		{CauseEdit, "Results cleared or the context cut: what stands behind is written again", adviseEdit},
		{CauseNoLifetime, "Misses of an automatic cache, which promises no lifetime", nil},
		{CauseUnknown, "Misses after a pause that the recording does not tell", nil},
	} {
		if tally := e.causes[f.cause]; tally != nil {
			one := tally.finding(string(f.cause), f.title, top)
			one.Advice = append(one.Advice, f.advice...)
			list = append(list, one)
		}
	}
	list = append(list, e.others(top)...)
	list = append(list, t.findings(top)...)
	for _, f := range list {
		f.perAgent()
		if f.USD >= minFinding {
			r.Findings = append(r.Findings, f)
		}
	}
	sortBy(r.Findings, func(f *Finding) float64 { return f.USD }, func(f *Finding) string { return f.Name })
}

// others are the findings about the context as a whole.
func (e *evidence) others(top int) []Finding {
	list := []Finding{
		e.rewrite.finding("compactions", "Compactions: what is left of the context is written again", top),
		e.lost.finding("compactions_lost", "Compactions that cost more than they gave", top),
		e.context.finding("large_context", fmt.Sprintf("Reading the part of contexts above %d,000 tokens", largeContext/1000), top),
		e.unread.finding("never_read", "Written to the cache and never read", top),
	}
	list[0].Advice, list[1].Advice, list[2].Advice, list[3].Advice = adviseCompactions, adviseLost, adviseContext, adviseUnread
	list[0].Notes = []string{fmt.Sprintf("the summary calls are in no log: an estimated $%.2f on a warm cache to $%.2f on a cold one, on top of the bill shown", e.warm, e.cold)}
	list[1].Notes = []string{"by the estimate of a cold summary call through " + coldUntil + ", a warm one later (assumed)"}
	list[3].Notes = []string{"what it cost beyond plain input; other conversations may have read the tools and the system prompt of it, which no log shows"}
	return list
}

// lifetimes are the findings whose saving is the arithmetic of lifetimes. Writing
// for an hour is one only where 5 minutes would have been cheaper.
func (e *evidence) lifetimes(r *Report, top int) []Finding {
	var list []Finding
	for i := range r.Lifetimes {
		l := &r.Lifetimes[i]
		side, hour, five, whose := 0, adviseHour, adviseFive, "the conversation"
		if l.Source == "agent" {
			side, hour, five, whose = 1, adviseAgentsHour, adviseAgentsFive, "sub-agents"
		}
		if t := &e.pauses[side]; l.Tier == "5m" && t.count > 0 {
			f := t.finding("pause_over_5m_"+l.Source, "Pauses of 5 minutes to an hour outlived the entries of "+whose, top)
			r.priced(&f, hour, "an hour for these calls, and for the others that a setting for them touches, would have cost more than it saved")
			f.Notes = append(f.Notes, r.bothWays(l.Source, whose)...)
			list = append(list, f)
		}
		if t := &e.hours[side]; l.Tier == "1h" && t.count > 0 && l.Recorded > l.All5m {
			f := t.finding("written_for_1h_"+l.Source, "An hour paid for where 5 minutes would do, "+whose, top)
			r.priced(&f, five, "5 minutes for these calls, and for the others that a setting for them touches, would have cost more than they saved")
			f.Notes = append(f.Notes, r.bothWays(l.Source, whose)...)
			list = append(list, f)
		}
	}
	return list
}

// findings are those about tool results.
func (t *toolResults) findings(top int) []Finding {
	var list []Finding
	var twice tally
	for i := range t.duplicates {
		d := &t.duplicates[i]
		twice.add(d.session, d.Place, d.Tokens, d.USD, fmt.Sprintf("%s, read at line %d already", d.Place.Text, d.First))
	}
	f := twice.finding("duplicate_reads", "Files read again unchanged while the first read was still there", top)
	saves := f.USD
	f.Saves, f.Advice = &saves, adviseDuplicate
	f.Notes = []string{"at most: what it cost to send them and carry them along; the calls themselves would have been made"}
	list = append(list, f)
	kinds := limits()
	tallies, saved := make([]tally, len(kinds)), make([]float64, len(kinds))
	for i := range t.all {
		c := &t.all[i]
		if c.Tokens < largeResult {
			continue
		}
		for k := range kinds {
			if kinds[k].matches(c) {
				tallies[k].add(c.session, c.Place, c.Tokens, c.USD, fmt.Sprintf("%s, %d tokens in %d calls", c.Place.Text, c.Tokens, c.Calls))
				if c.limited() { // the limit is a setting of Claude Code
					saved[k] += c.above(kinds[k].bytes)
				}
				break
			}
		}
	}
	for k := range kinds {
		f := tallies[k].finding(kinds[k].name, fmt.Sprintf("%s (%d,000 tokens and more)", kinds[k].title, largeResult/1000), top)
		f.Advice = []Advice{{Setting: kinds[k].setting, Text: kinds[k].text}}
		if kinds[k].bytes > 0 && tallies[k].agents[traces.AgentClaudeCode] > 0 {
			f.Saves, f.Advice[0].Saves = &saved[k], &saved[k]
			f.Notes = []string{"if what is cut off is not asked for again"}
		}
		list = append(list, f)
	}
	return list
}

// limited reports whether a setting of Claude Code limits the result.
func (c *Carried) limited() bool { return c.session == nil || agents.ClaudeCode(c.session) }

// above returns what the part of a result above a limit cost, USD.
func (c *Carried) above(bytes int64) float64 {
	if bytes == 0 || c.Bytes <= bytes {
		return 0
	}
	return c.USD * float64(c.Bytes-bytes) / float64(c.Bytes)
}
