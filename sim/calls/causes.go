package calls

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/breaks"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/signs"
)

// Cause says why a call missed, as far as the recording shows: by the logged
// events, the model, and the pause compared with the billed lifetime.
type Cause string

// The causes. If several apply, Call.Cause decides.
const (
	CauseCompaction Cause = "compaction"    // a summary replaced the messages
	CauseEdit       Cause = "edit"          // the agent cleared results, or the context shrank and no line says why
	CauseModel      Cause = "model"         // another model
	CauseLongPause  Cause = "pause_over_1h" // longer than any lifetime on offer
	CauseShortPause Cause = "pause_over_5m" // an entry that lived 5 minutes; one with an hour would have lasted
	CauseMessages   Cause = "messages"      // the server says, or the bodies show, that the client changed its messages
	CauseSystem     Cause = "system"        // or its system prompt
	CauseTools      Cause = "tools"         // or its tools
	CauseThinking   Cause = "thinking"      // thinking was switched on or off, in clients where that costs
	CauseInside     Cause = "inside"        // within the lifetime that was paid for, for no visible reason
	CauseTail       Cause = "tail"          // within the lifetime, and too small for the detector to call it a break
	CauseUnknown    Cause = "unknown"       // the recording does not say how long the pause was
	CauseNoLifetime Cause = "automatic"     // an automatic cache: it promises no lifetime
)

// Confidence says how a cause is known.
type Confidence string

// The ways in which causes are known.
const (
	Seen   Confidence = "seen in the bodies or said by the server"
	Logged Confidence = "in the log"
	Likely Confidence = "likely by what recordings show"
)

// about is what there is to say of a cause.
type about struct {
	class      exchange.MissClass // of the cache model; a miss that only recordings explain is an eviction there
	confidence Confidence         // "" for a cause that is none
	phrase     string             // what shows it, a clause
	short      string             // the cause in a few words
	title      string             // of a finding
}

var causes = map[Cause]about{
	CauseCompaction: {exchange.MissCompaction, Logged, "a summary replaced the messages", "a compaction", "Compactions: what is left of the context is written again"},
	CauseEdit: {exchange.MissEdit, Logged, "the context was cleared or cut", "results cleared or cut",
		"Results cleared or the context cut: what follows is written again"},
	CauseModel:      {exchange.MissModel, Logged, "another model", "another model", "Models changed in the middle of a conversation"},
	CauseLongPause:  {exchange.MissExpiry, Logged, "a pause over an hour", "a pause over an hour", "Pauses of more than an hour: the context is written again"},
	CauseShortPause: {exchange.MissExpiry, Logged, "a pause over 5 minutes, 5-minute entries", "a pause over 5 minutes", "Pauses of 5 minutes to an hour"},
	CauseMessages:   {exchange.MissEdit, Seen, "the messages changed", "changed messages", "Messages that the client changed are written again"},
	CauseSystem:     {exchange.MissHead, Seen, "the system prompt changed", "a changed system prompt", "A changed system prompt: the context is written again"},
	CauseTools:      {exchange.MissHead, Seen, "the tools changed", "changed tools", "Changed tools: the context is written again"},
	CauseThinking: {exchange.MissHead, Logged, "thinking was switched on or off", "thinking switched",
		"Thinking switched on or off: the messages are written again"},
	CauseInside: {exchange.MissEviction, "", "inside the lifetime, no visible reason", "no visible reason",
		"Misses inside the lifetime that was paid for, cause not logged"},
	CauseTail:       {exchange.MissEviction, "", "a small fall inside the lifetime", "a small fall", "Small falls inside the lifetime"},
	CauseUnknown:    {exchange.MissEviction, "", "the pause is not recorded", "a pause of unknown length", "Misses after a pause of unknown length"},
	CauseNoLifetime: {exchange.MissEviction, "", "an automatic cache, no lifetime promised", "an automatic cache", "Misses of an automatic cache, which promises no lifetime"},
}

// likely are what there is to say of a kind of event that stands before a call: its name, a clause that follows "because", and what the
// server says of the request where it changed for that reason; nothing where it did not change.
var likely = [profile.NumKinds]struct {
	short   string // in a few words
	because string
	changes []signs.Verdict
}{
	profile.KindLookBack: {"too many blocks at once", "more blocks came at once than a server looks back for", nil},
	profile.KindLoaded:   {"tools loaded", "a search loaded tools", []signs.Verdict{signs.VerdictTools}},
	profile.KindServers: {"other MCP servers", "the list of MCP servers or of tools to load changed",
		[]signs.Verdict{signs.VerdictTools, signs.VerdictSystem}},
	profile.KindListing:  {"other skills or agents", "the list of skills or agents changed", []signs.Verdict{signs.VerdictMessages, signs.VerdictSystem}},
	profile.KindVersion:  {"another version", "another version of the client went on", anyChange},
	profile.KindProcess:  {"a new process", "the client was started anew", anyChange},
	profile.KindFork:     {"resumed or forked", "the session was resumed or forked", anyChange},
	profile.KindHook:     {"a hook of a tool", "a hook had added context to a tool's result in the turn before", []signs.Verdict{signs.VerdictMessages}},
	profile.KindPlanMode: {"plan mode", "plan mode began or ended", anyChange},
	profile.KindEffort:   {"another effort", "the effort changed", anyChange},
	profile.KindChosen:   {"a model chosen", "a command chose a model", []signs.Verdict{signs.VerdictModel}},
	profile.KindMemory:   {"edited memory", "the agent had edited its instructions or its memory", []signs.Verdict{signs.VerdictMessages, signs.VerdictSystem}},
	profile.KindBranch:   {"another branch", "the branch of git changed", []signs.Verdict{signs.VerdictSystem}},
	profile.KindTeam:     {"a teammate", "a teammate began or wrote", []signs.Verdict{signs.VerdictMessages}},
	profile.KindRetry:    {"a refused request", "the server had refused a request before", nil},
	profile.KindSearch:   {"a search of the web", "the server had searched the web", []signs.Verdict{signs.VerdictMessages}},
	profile.KindSteered:  {"a person cut in", "a person wrote while the agent worked", anyChange},
	profile.KindLate:     {"a long pause", "the pause was long", nil},
	profile.KindHour:     {"a pause over an hour", "an hour had passed", nil},
	profile.KindOpening:  {"a young thread", "the thread was young", nil},
	profile.KindPrompt:   {"a prompt", "a prompt came, where clients put their request together anew", anyChange},
}

var anyChange = []signs.Verdict{signs.VerdictMessages, signs.VerdictSystem, signs.VerdictTools}

// about returns what there is to say of a cause.
func (c Cause) about() about {
	if a, ok := causes[c]; ok {
		return a
	}
	for k := range profile.NumKinds {
		if k.String() == string(c) {
			return about{exchange.MissEviction, Likely, likely[k].because, "likely " + likely[k].short, "Likely because " + likely[k].because}
		}
	}
	return about{}
}

// Phrase says what shows the cause, a clause.
func (c Cause) Phrase() string {
	a := c.about()
	if a.confidence == Likely {
		return "likely because " + a.phrase
	}
	return a.phrase
}

// Short is the cause in a few words.
func (c Cause) Short() string { return c.about().short }

// Title is the title of a finding of misses with the cause.
func (c Cause) Title() string { return c.about().title }

// Confidence says how the cause is known, "" for none.
func (c Cause) Confidence() Confidence { return c.about().confidence }

// Paused reports whether a pause is the likely cause.
func (c Cause) Paused() bool {
	return string(c) == profile.KindLate.String() || string(c) == profile.KindHour.String()
}

// Explains reports whether the server's verdict on a call leaves room for a kind of event as the cause: it names what the kind
// changes, or no difference where the kind changes nothing, or nothing that could be compared.
func (c *Call) Explains(k profile.Kind) bool {
	v := c.Recorded.Verdict
	return v == signs.VerdictNone || v == signs.VerdictUnknown || v == signs.VerdictGone ||
		v == signs.VerdictSame && likely[k].changes == nil || slices.Contains(likely[k].changes, v)
}

// Class returns why a call missed in the words of the cache model; MissNone if it did not.
func (c *Call) Class() exchange.MissClass {
	if c.Missed <= 0 {
		return exchange.MissNone
	}
	return c.Cause().about().class
}

// Text says the class of a cause and what shows it.
func (c Cause) Text() string {
	a := c.about()
	if a.confidence == Likely {
		return "likely (" + a.phrase + ")"
	}
	return Word(a.class.String()) + " (" + a.phrase + ")"
}

// Evidence says what the recording shows for the cause of a call's miss; "" without one.
func (c *Call) Evidence() string {
	if c.Missed <= 0 {
		return ""
	}
	cause := c.Cause().about()
	text := c.Cause().Phrase()
	if cause.confidence == Seen {
		text = c.says() + text + c.place()
	}
	if c.Gap >= 0 && !c.Back {
		text += ", " + document.Seconds(float64(c.Gap)/1e9) + " after the last response"
	}
	l, ok := c.Behind()
	if ok {
		text += "; likely because " + likely[l.Kind].because
	} else if cause.confidence == Likely {
		l, ok = c.Likely()
	}
	if ok {
		text += fmt.Sprintf(" (in recordings %d of %d such calls fell, %s expected)", l.Fell, l.Calls, expected(l.Expected))
		anew := l.Kind == profile.KindProcess || l.Kind == profile.KindFork
		if v := c.Session.Version(); anew && v != "" && agents.ClaudeCode(c.Session) && profile.Compare(v, LastGitState) <= 0 {
			text += "; a client of " + v + " has the state of git in its system prompt, which another process takes anew"
		}
	}
	if c.Fell() && cause.class != exchange.MissExpiry {
		if floor := c.Floor(); floor != "" {
			text += "; the read fell to " + floor
		}
	}
	return text
}

// Behind returns the kind of event that most likely made the client change what the server says has changed: none that only sets
// the scene, and none where the bodies show what changed.
func (c *Call) Behind() (profile.Lift, bool) {
	if c.Cause().Confidence() != Seen || c.Recorded.Parted > 0 {
		return profile.Lift{}, false
	}
	l, ok := c.Likely()
	return l, ok && !slices.Contains(ranks[len(ranks)-1], l.Kind)
}

// expected says how many calls were expected to fall.
func expected(n float64) string {
	if n < 0.1 {
		return "fewer than 0.1"
	}
	return strconv.FormatFloat(n, 'f', 1, 64)
}

// nearState is how far a read may lie from a state of the cache that it shows, tokens.
const nearState = 64

// LastGitState is the last version of Claude Code that puts the state of git into the system prompt: a process that goes on with a
// session after it changed reads tools and the static part alone (runs of 2.1.17 to 2.1.332 on loopback, 2026-11-27).
const LastGitState = "2.1.267"

// Floor says what the read of a call that fell shows of what was left: nothing, the head of the prompt, or an older state of the
// thread; "" where it fits none.
func (c *Call) Floor() string {
	read := c.Recorded.Usage.Read
	if read == 0 {
		return "nothing"
	}
	slack := int64(nearState)
	if c.Automatic() {
		slack = step
	}
	at := func(state int64) bool {
		return read <= state && state-read <= slack || read > state && read-state <= nearState
	}
	for i := c.Round - 2; i >= 0; i-- {
		r := &c.Thread.Rounds[i]
		if i > 0 && at(c.leaves(&r.Usage)) {
			return "what the call at line " + strconv.Itoa(int(r.Line)) + " had left"
		}
	}
	if first := &c.Thread.Rounds[0]; c.Round > 0 && (at(first.Usage.Read) || at(c.leaves(&first.Usage))) {
		return "the head of the prompt"
	}
	if p, err := profile.Default(); err == nil && agents.ClaudeCode(c.Session) {
		if static := float64(p.StaticFor(c.Session.Version())); math.Abs(float64(read)-static) <= near*static {
			return "the static part of the prompt"
		}
	}
	return ""
}

// says begins what is known of a change: who says it.
func (c *Call) says() string {
	if c.Recorded.Parted > 0 {
		return "the bodies show that "
	}
	return "the server says that "
}

// place says where the bodies part, "" where that is not known.
func (c *Call) place() string {
	at := int64(c.Recorded.Parted)
	switch {
	case c.Recorded.Verdict == signs.VerdictMessages && at > 0:
		return ", from message " + document.Whole(at) + " on"
	case c.Recorded.Verdict == signs.VerdictSystem && at > 1:
		return ", from byte " + document.Whole(at) + " on"
	}
	return ""
}

// Word is the word for a class of misses in texts, of the bill and of the model alike.
func Word(class string) string {
	if class == exchange.MissEviction.String() {
		return "unexplained"
	}
	return strings.ReplaceAll(class, "_", " ")
}

// step is the unit of an automatic cache, tokens; a smaller difference is no miss (facts:
// every read is a multiple of 128, most end within 1,024 of what was sent).
const step = 1024

// miss sets how much of what the previous call had left, tokens, the call did not read, as far as it
// sent it again: a context that shrank has less to read.
func (c *Call) miss(left int64) {
	u := &c.Recorded.Usage
	c.Left = left
	c.Missed = max(0, min(c.Left, c.Leaves())-u.Read)
	if c.Automatic() && c.Missed <= step {
		c.Missed = 0
	}
	c.MissUSD = float64(c.Missed) * max(0, c.Fresh()-c.PerToken[measures.ClassRead])
}

// verdicts are the causes that the server names.
var verdicts = map[signs.Verdict]Cause{
	signs.VerdictMessages: CauseMessages, signs.VerdictSystem: CauseSystem, signs.VerdictTools: CauseTools,
}

// Cause returns why a call missed. The server's verdict compares requests and ignores
// lifetimes, so an expiry counts before it. So does an edited context, unless the verdict
// names the system prompt or the tools: in the cache model it would have missed anyway.
func (c *Call) Cause() Cause {
	paused := c.Gap >= 0 && !c.Back
	named := verdicts[c.Recorded.Verdict]
	switch {
	case c.Acted.Has(traces.EventCompact):
		return CauseCompaction
	case c.Round > 0 && c.Switched(), c.Resumed && !c.Thread.Left.Model:
		return CauseModel
	case c.Automatic() && c.Acted == 0 && named != "":
		return named // the bodies show what was sent otherwise
	case c.Automatic() && (c.Acted == 0 || c.shortAhead()):
		return c.likely(CauseNoLifetime)
	case !c.Automatic() && paused && c.Gap > breaks.Long:
		return CauseLongPause
	case !c.Automatic() && paused && c.Gap > breaks.Short && c.Tier == exchange.TTL5m:
		return CauseShortPause
	case c.Acted != 0 && (named == "" || named == CauseMessages):
		return CauseEdit
	case named != "":
		return named
	case c.think:
		return CauseThinking
	case !paused:
		return CauseUnknown
	case c.Missed <= breaks.MinDrop || float64(c.Missed) <= breaks.MinDropShare*float64(c.Left):
		return CauseTail
	}
	return c.likely(CauseInside)
}

// likely returns the cause that recordings make likely, else the one that is given.
func (c *Call) likely(none Cause) Cause {
	if l, ok := c.Likely(); ok {
		return Cause(l.Kind.String())
	}
	return none
}

// shortAhead reports whether most of what a call of an automatic cache missed
// lies before what was cleared. Such a cache reads up to the first change;
// others fall back to the marker before it, so that their reads say nothing.
func (c *Call) shortAhead() bool { return c.ahead >= 0 && 2*(c.ahead-c.Recorded.Usage.Read) > c.Missed }

// CountMisses counts, in the billed row of a session, the misses that its recording shows, and the calls that hit.
func (t *Table) CountMisses(row *results.Row) {
	for _, calls := range t.Threads {
		for i := range calls {
			if c := &calls[i]; !c.First() || c.Resumed {
				row.CountMiss(c.Class(), c.Missed)
			}
		}
	}
}
