package calls

import (
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/breaks"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

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
	c.MissUSD = float64(c.Missed) * max(0, c.Fresh()-c.PerToken[results.ClassRead])
}

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

// verdicts are the causes that the server names.
var verdicts = map[traces.Verdict]Cause{
	traces.VerdictMessages: CauseMessages, traces.VerdictSystem: CauseSystem, traces.VerdictTools: CauseTools,
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
	case c.Automatic() && (c.Acted == 0 || c.shortAhead()):
		return CauseNoLifetime
	case !c.Automatic() && paused && c.Gap > breaks.Long:
		return CauseLongPause
	case !c.Automatic() && paused && c.Gap > breaks.Short && c.Tier == prompt.TTL5m:
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
	return CauseInside
}

// shortAhead reports whether most of what a call of an automatic cache missed
// lies before what was cleared. Such a cache reads up to the first change;
// others fall back to the marker before it, so that their reads say nothing.
func (c *Call) shortAhead() bool { return c.ahead >= 0 && 2*(c.ahead-c.Recorded.Usage.Read) > c.Missed }

// classes are the cache model's classes of the causes. A miss within the
// lifetime for no visible reason is an eviction there.
var classes = map[Cause]prompt.MissClass{
	CauseCompaction: prompt.MissCompaction, CauseEdit: prompt.MissEdit, CauseMessages: prompt.MissEdit,
	CauseThinking: prompt.MissHead, CauseModel: prompt.MissModel, CauseLongPause: prompt.MissExpiry,
	CauseShortPause: prompt.MissExpiry, CauseSystem: prompt.MissHead, CauseTools: prompt.MissHead,
	CauseInside: prompt.MissEviction, CauseTail: prompt.MissEviction, CauseUnknown: prompt.MissEviction,
	CauseNoLifetime: prompt.MissEviction,
}

// Class returns why a call missed in the words of the cache model; MissNone if it did not.
func (c *Call) Class() prompt.MissClass {
	if c.Missed <= 0 {
		return prompt.MissNone
	}
	return classes[c.Cause()]
}

// phrases say what the recording shows for a cause.
var phrases = map[Cause]string{
	CauseCompaction: "a summary replaced the messages",
	CauseEdit:       "the context was cleared or cut",
	CauseModel:      "another model",
	CauseLongPause:  "a pause over an hour",
	CauseShortPause: "a pause over 5 minutes, 5-minute entries",
	CauseMessages:   "the messages changed",
	CauseSystem:     "the system prompt changed",
	CauseTools:      "the tools changed",
	CauseThinking:   "thinking was switched on or off",
	CauseInside:     "inside the lifetime, no visible reason",
	CauseTail:       "a small fall inside the lifetime",
	CauseUnknown:    "the pause is not recorded",
	CauseNoLifetime: "an automatic cache, no lifetime promised",
}

// Text says the class of a cause and what shows it.
func (c Cause) Text() string { return Word(classes[c].String()) + " (" + phrases[c] + ")" }

// Evidence says what the recording shows for the cause of a call's miss; "" without one.
func (c *Call) Evidence() string {
	if c.Missed <= 0 {
		return ""
	}
	text := phrases[c.Cause()]
	if named := verdicts[c.Recorded.Verdict]; named != "" && named == c.Cause() {
		text = c.says() + text + c.place()
	}
	if c.Gap >= 0 && !c.Back {
		text += ", " + document.Seconds(float64(c.Gap)/1e9) + " after the last response"
	}
	return text
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
	case c.Recorded.Verdict == traces.VerdictMessages && at > 0:
		return ", from message " + document.Whole(at) + " on"
	case c.Recorded.Verdict == traces.VerdictSystem && at > 1:
		return ", from byte " + document.Whole(at) + " on"
	}
	return ""
}

// Word is the word for a class of misses in texts, of the bill and of the model alike.
func Word(class string) string {
	if class == prompt.MissEviction.String() {
		return "unexplained"
	}
	return strings.ReplaceAll(class, "_", " ")
}

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
