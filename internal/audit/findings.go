package audit

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// largeContext is the context size above which reading is a finding, tokens.
const largeContext = 100_000

// minFinding is the least cost worth reporting, USD: half a cent.
const minFinding = 0.005

// evidence collects what findings rest on.
type evidence struct {
	causes  map[Cause]*tally
	pauses  [2]tally // short ones, of the conversation and of sub-agents
	hours   [2]tally // extra cost of an hour over 5 minutes
	context tally
	unread  tally
	lost    tally
}

// side returns 0 for the conversation and 1 for sub-agents.
func (c *call) side() int {
	if c.source == results.SourceAgent {
		return 1
	}
	return 0
}

func (e *evidence) call(c *call) {
	u := &c.r().Usage
	if over := u.Read - largeContext; over > 0 {
		e.context.add(c.session, c.place(), over, float64(over)*c.price[results.ClassRead],
			fmt.Sprintf("context of %d tokens", u.Input()))
	}
	if u.Write1h > 0 && c.model.known {
		premium := float64(u.Write1h) * (c.price[results.ClassWrite1h] - c.price[results.ClassWrite5m])
		e.hours[c.side()].add(c.session, c.place(), u.Write1h, premium, "written for an hour")
	}
	if c.missed == 0 {
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

// findings sets the findings of a report.
func (e *evidence) findings(r *Report, t *toolResults, top int) {
	list := e.lifetimes(r, top)
	for _, f := range []struct {
		cause  Cause
		title  string
		advice []Advice
	}{
		{CauseLongPause, "Pauses of more than an hour: the context is written again", adviseLongPause},
		{CauseMessages, "Messages that the client changed are written again, as the server says", adviseChanged},
		{CauseSystem, "A changed system prompt: the context is written again, as the server says", adviseChanged},
		{CauseTools, "Changed tools: the context is written again, as the server says", adviseTools},
		{CauseThinking, "Thinking switched on or off: the messages are written again", adviseThinking},
		{CauseInside, "Misses inside the lifetime that was paid for, cause not logged", adviseInside},
		{CauseCompaction, "Compactions: what is left of the context is written again", []Advice{adviseThresholds}},
		{CauseTail, "Small falls inside the lifetime", adviseInside},
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
		e.lost.finding("compactions_lost", "Compactions that cost more than they gave", top),
		e.context.finding("large_context",
			fmt.Sprintf("Reading the part of contexts above %d,000 tokens", largeContext/1000), top),
		e.unread.finding("never_read", "Written to the cache and never read", top),
	}
	list[0].Advice, list[1].Advice, list[2].Advice = adviseLost, []Advice{adviseThresholds}, adviseUnread
	list[0].Notes = []string{"simulated: no log shows most summary calls. sim chains --strategy recorded shows each"}
	list[2].Notes = []string{"what it cost beyond plain input; other conversations may have read the tools and the " +
		"system prompt of it, which no log shows"}
	return list
}

// lifetimes are the findings whose saving follows from the arithmetic of lifetimes.
// Writing for an hour is one only where 5 minutes would have been cheaper.
func (e *evidence) lifetimes(r *Report, top int) []Finding {
	var list []Finding
	for i := range r.Lifetimes {
		l := &r.Lifetimes[i]
		side, hour, five, whose := 0, adviseHour, adviseFive, "the conversation"
		if l.Source == "agent" {
			side, hour, five, whose = 1, adviseAgentsHour, adviseAgentsFive, "sub-agents"
		}
		if t := &e.pauses[side]; l.Tier == "5m" && t.count > 0 {
			f := t.finding("pause_over_5m_"+l.Source, "Pauses of 5 minutes to an hour outlived the entries of "+whose,
				top)
			r.priced(&f, hour,
				"an hour for these calls, and for the others that a setting for them touches, would have cost more "+
					"than it saved")
			f.Notes = append(f.Notes, r.bothWays(l.Source, whose)...)
			list = append(list, f)
		}
		if t := &e.hours[side]; l.Tier == "1h" && t.count > 0 && l.Recorded > l.All5m {
			f := t.finding("written_for_1h_"+l.Source, "An hour paid for where 5 minutes would do, "+whose, top)
			r.priced(&f, five,
				"5 minutes for these calls, and for the others that a setting for them touches, would have cost more "+
					"than they saved")
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
		twice.add(d.session, d.Place, d.Tokens, d.USD,
			fmt.Sprintf("%s, read at line %d already", d.Place.Text, d.First))
	}
	f := twice.finding("duplicate_reads", "Files read again unchanged while the first read was still there", top)
	f.Advice = adviseDuplicate
	for _, share := range f.Agents {
		if agents.Of(share.Agent).ClaudeCode || adviseOthers[share.Agent][f.Name] != nil {
			saves := share.USD
			if f.Saves != nil {
				saves += *f.Saves
			}
			f.Saves = &saves
		}
	}
	f.Notes = []string{"at most: what it cost to send them and carry them along; the calls themselves would have " +
		"been made"}
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
				tallies[k].add(c.session, c.Place, c.Tokens, c.USD,
					fmt.Sprintf("%s, %d tokens in %d calls", c.Place.Text, c.Tokens, c.Calls))
				if c.limited() { // only Claude Code has a setting for the limit
					saved[k] += c.above(kinds[k].bytes)
				}
				break
			}
		}
	}
	for k := range kinds {
		f := tallies[k].finding(kinds[k].name,
			fmt.Sprintf("%s (%d,000 tokens and more)", kinds[k].title, largeResult/1000), top)
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

// Settings of Claude Code, with the first version that has each (facts of the
// provider's documentation and change log: E2, E3, E4, E9). Where no source
// states a version, none is given.
var (
	adviseHour = []Advice{
		{Setting: "ENABLE_PROMPT_CACHING_1H=1", From: "2.1.108", Text: "environment: an hour for all calls",
			lives: scope{"1h", true, true}},
		{Setting: `"promptCacheTtl": "1h"`, From: "2.1.243", Text: "settings.json: an hour for the conversation alone",
			lives: scope{"1h", true, false}},
	}
	adviseFive = []Advice{
		{Setting: `"promptCacheTtl": "5m"`, From: "2.1.243",
			Text: "settings.json: entries of the conversation live 5 minutes", lives: scope{"5m", true, false}},
		{Setting: "FORCE_PROMPT_CACHING_5M=1", From: "2.1.108",
			Text:  "environment: 5 minutes for all calls, those of sub-agents too; it wins over other settings",
			lives: scope{"5m", true, true}},
	}
	adviseAgentsHour = []Advice{
		{Setting: "CLAUDE_CODE_SUBAGENT_PROMPT_CACHE_TTL=1h", From: "2.1.243",
			Text: "environment: entries of sub-agents live an hour", lives: scope{"1h", false, true}},
	}
	adviseAgentsFive = []Advice{
		{Setting: "CLAUDE_CODE_SUBAGENT_PROMPT_CACHE_TTL=5m", From: "2.1.243",
			Text: "environment: entries of sub-agents live 5 minutes", lives: scope{"5m", false, true}},
		{Setting: "FORCE_PROMPT_CACHING_5M=1", From: "2.1.108",
			Text:  "environment: 5 minutes for all calls, those of the conversation too; it wins over other settings",
			lives: scope{"5m", true, true}},
	}
	adviseLongPause = []Advice{
		{Setting: "/clear", Text: "when the task is done: the next one starts small; no entry outlives an hour"},
		{Setting: "/compact",
			Text: "before a long pause, while the cache is warm: what is written again afterwards is small"},
		{From: "2.1.286",
			Text: "the client compacts by itself after some 55 idle minutes of a context above 200,000 tokens " +
				"(CLAUDE_CODE_IDLE_COMPACT_MIN_TOKENS), if the server allows it"},
	}
	adviseInside = []Advice{
		{From: "2.1.260",
			Text: "no setting; the status line's prompt_cache.last_miss_cause tells the cause of each miss"},
		{Text: "known causes: diagnostics of language servers changed the prompt before 2.1.235; resuming missed the " +
			"cache from 2.1.69 to 2.1.90"},
	}
	adviseChanged = []Advice{
		{Text: "no setting; hooks that add context to results of tools, and a client that is closed and opened " +
			"again, are known to change what was sent before (2.1.204 to 2.1.224)"},
	}
	adviseTools = []Advice{
		{Setting: "/clear", Text: "behind a change of MCP servers: tools stand ahead of all that is cached"},
	}
	adviseThinking = []Advice{
		{From: "2.1.38", Text: "the client no longer switches thinking for commands, skills and plans"},
	}
	adviseModel = []Advice{
		{Setting: "/clear", Text: "before another model: models share nothing, the whole context is written again"},
		{From: "2.1.238", Text: "the client asks before it changes the model of a warm conversation"},
	}
	adviseEdit = []Advice{
		{Text: "no setting in the recorded versions: clearing old results breaks the cache behind the first of them"},
	}
	adviseLost = []Advice{
		{Setting: "/clear", Text: "when the task is nearly done, instead of a compaction that few calls follow"},
	}
	adviseThresholds = Advice{Setting: "sim advise PATH",
		Text: "tries what the client offers on these sessions, and says what saves and how sure that is"}
	adviseDuplicate = []Advice{
		{Text: "no setting: have CLAUDE.md ask for the part of a file that is needed, and not to read again what is " +
			"in the conversation"},
	}
	adviseUnread = []Advice{
		{Setting: "DISABLE_PROMPT_CACHING=1",
			Text: "environment: pays only where each session is a single call; the last call of a conversation is " +
				"always written in vain"},
	}
)

// limit is a setting that bounds the size of tool results.
type limit struct {
	name, title string
	setting     string
	text        string
	bytes       int64 // the setting cuts larger results to it; 0: there is no setting
	matches     func(*Carried) bool
}

// limits bound large results; the first that matches counts. The client's own limits are
// 30,000 characters for Bash, 25,000 tokens for MCP tools and 32,000 for sub-agents
// (facts E4); the proposed ones are a third of those, an assumption.
func limits() []limit {
	return []limit{
		{"large_mcp_results", "Large results of MCP tools", "MAX_MCP_OUTPUT_TOKENS=8000",
			"environment: the most tokens an MCP tool may return; 25,000 otherwise",
			24000, func(c *Carried) bool { return c.mcp }},
		{"large_command_results", "Large outputs of commands", "BASH_MAX_OUTPUT_LENGTH=10000",
			"environment: the most characters of a command's output; 30,000 otherwise",
			10000, func(c *Carried) bool { return c.Tool == "Bash" }},
		{"large_agent_results", "Large reports of sub-agents", "TASK_MAX_OUTPUT_LENGTH=10000",
			"environment: the most characters of a sub-agent's output; 32,000 otherwise",
			10000, func(c *Carried) bool { return c.Tool == "Task" || c.Tool == "TaskOutput" || c.Tool == "Agent" }},
		{"large_reads", "Large files read", "",
			"no setting: have CLAUDE.md ask for parts of large files (offset and limit) and for search before reading",
			0, func(c *Carried) bool { return c.Tool == "Read" }},
		{"large_results", "Other large tool results", "", "no setting of the client for these tools", 0,
			func(*Carried) bool { return true }},
	}
}

// largeResult is the least size of a large result, tokens. An assumption: 6 %
// of the recorded results are that large (254 of 3,946 of Claude Code, 214 of
// 3,810 of Codex).
const largeResult = 4000

// scope is the effect of a setting of cache lifetimes: which lifetime it sets,
// and for whose calls. The zero scope affects none.
type scope struct {
	tier         string // as in Lifetime
	main, agents bool
}

// touches reports whether the setting applies to the calls of a source.
func (s scope) touches(source string) bool {
	if source == "agent" {
		return s.agents
	}
	return s.main
}

// saving returns what a setting would have saved over all calls of Claude Code
// that it applies to, and how far the arithmetic is from the bill for those whose
// lifetime it changes, USD. It is chance if the saving's interval holds 0: sessions
// are resampled, with the error of the arithmetic against the bill.
func (r *Report) saving(s scope) (saves, off float64, chance bool) {
	at := map[*traces.Session]int{}
	var billed, model, is, was []float64
	for i := range r.Lifetimes {
		l := &r.Lifetimes[i]
		if !s.touches(l.Source) {
			continue
		}
		wrong := 0.0
		for _, x := range l.settable() {
			k, ok := at[x.session]
			if !ok {
				k, at[x.session] = len(was), len(was)
				billed, model, is, was = append(billed, 0), append(model, 0), append(is, 0), append(was, 0)
			}
			cost := x.all5m
			if s.tier == "1h" {
				cost = x.all1h
			}
			is[k], was[k] = is[k]+cost, was[k]+x.recorded
			saves += x.recorded - cost
			if l.Tier != s.tier {
				billed[k], model[k] = billed[k]+x.billed, model[k]+x.recorded
				wrong += x.recorded - x.billed
			}
		}
		off += math.Abs(wrong)
	}
	return saves, off, results.ErrorBetween(billed, model).Interval(is, was).Chance()
}

// priced gives each setting of a list its saving, best first, and the finding
// the saving of the best. A setting that saves nothing is left out, and where
// nothing of the finding is Claude Code's, so is the saving.
func (r *Report) priced(f *Finding, list []Advice, otherwise string) {
	if !slices.ContainsFunc(f.Agents, func(s Share) bool { return agents.Of(s.Agent).ClaudeCode }) {
		return
	}
	list = slices.Clone(list)
	for i := range list {
		saves, off, chance := r.saving(list[i].lives)
		list[i].Saves, list[i].Error, list[i].Chance = &saves, &off, chance
	}
	slices.SortStableFunc(list, func(a, b Advice) int { return cmp.Compare(*b.Saves, *a.Saves) })
	f.Saves, f.Error, f.Chance = list[0].Saves, list[0].Error, list[0].Chance
	f.Notes = append(f.Notes,
		"a saving is arithmetic over the recorded pauses of all calls that the setting touches, ± how far it is from "+
			"the bill; ~ the 95 % interval over sessions, with that error, holds 0")
	list = slices.DeleteFunc(list, func(a Advice) bool { return *a.Saves <= 0 })
	if len(list) == 0 {
		list = []Advice{{Text: otherwise}}
	}
	f.Advice = list
}

// bothWays says what one setting costs for all of a source that was billed for both
// lifetimes: what is cheaper for one part can be more expensive for the other.
func (r *Report) bothWays(source, whose string) []string {
	var recorded, five, hour float64
	n := 0
	for i := range r.Lifetimes {
		l := &r.Lifetimes[i]
		if l.Source != source || len(l.settable()) == 0 {
			continue
		}
		n++
		for _, x := range l.settable() {
			recorded, five, hour = recorded+x.recorded, five+x.all5m, hour+x.all1h
		}
	}
	if n < 2 {
		return nil
	}
	return []string{fmt.Sprintf("some calls of %s were billed for 5 minutes, others for an hour; all of them: $%.2f "+
		"as recorded, $%.2f for 5 minutes, $%.2f for an hour", whose, recorded, five, hour)}
}
