package explain

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/study/studies"
	"github.com/compactsim/compactsim/strategies"
)

// Options select what to show of an explanation.
type Options struct {
	Call int  // number of the call to show in full; 0 for a list of calls
	All  bool // list every call, not only those where something happened
	// Logged is what the recording says; may be zero.
	Logged Logged
}

// Logged is what the recording says about the replayed session.
type Logged struct {
	USD float64 // of all calls, logged usage × price
	// Reads are the logged reads of the explanation's calls, tokens, in order; −1
	// for a call that no log shows. Empty unless the strategy is the recorded one,
	// because others send other requests.
	Reads []int64
}

// Document reports an explanation: a list of calls or one call in full. JSON
// has every call in full.
func Document(e *studies.Explanation, o Options) (*document.Document, error) {
	if o.Call < 0 || o.Call > len(e.Calls) {
		return nil, fmt.Errorf("call %d: the session has calls 1 to %d", o.Call, len(e.Calls))
	}
	shown := *e
	if o.Call > 0 {
		shown.Calls = e.Calls[o.Call-1 : o.Call]
	}
	d := &document.Document{
		Head: []string{
			fmt.Sprintf("session %s · %s · %s · window %s", e.Session, strings.TrimSpace(e.Agent+" "+e.Version), e.Strategy,
				document.Whole(e.Window)),
			o.Logged.trust(e),
		},
		JSON: func(w io.Writer) error {
			if err := json.MarshalWrite(w, &shown, jsontext.AllowInvalidUTF8(true)); err != nil {
				return err
			}
			_, err := io.WriteString(w, "\n")
			return err
		},
	}
	if o.Call > 0 {
		d.Sections = whole(&shown.Calls[0], &o.Logged)
	} else {
		d.Sections = list(e, &o)
	}
	return d, nil
}

// read returns the logged read of a call, −1 if unknown.
func (l *Logged) read(c *studies.ExplainedCall) int64 {
	if i := c.Number - 1; i >= 0 && i < len(l.Reads) {
		return l.Reads[i]
	}
	return -1
}

// differs reports whether a call's logged read is far from the simulated one,
// so that the explanation may not apply: a tenth of its context, an assumption.
func (l *Logged) differs(c *studies.ExplainedCall) bool {
	n := l.read(c)
	return n >= 0 && max(n-c.Read, c.Read-n)*10 > c.Context
}

// trust says what in an explanation is simulated, and how far its total is from
// the bill.
func (l *Logged) trust(e *studies.Explanation) string {
	total, hidden, apart := 0.0, 0.0, 0
	for i := range e.Calls {
		c := &e.Calls[i]
		total += c.CostUSD
		if len(l.Reads) > 0 && l.read(c) < 0 {
			hidden += c.CostUSD
		}
		if l.differs(c) {
			apart++
		}
	}
	ends := &e.TurnEnds
	text := fmt.Sprintf("reads, misses and costs are simulated: %s in all, billed %s", document.USD(total+ends.CostUSD, 2),
		document.USD(l.USD, 2))
	if hidden > 0 {
		text += fmt.Sprintf("; %s of it for calls no log shows", document.USD(hidden, 2))
	}
	if ends.Calls > 0 {
		text += fmt.Sprintf("; %s of it for %s at the end of turns, neither logged nor listed",
			document.USD(ends.CostUSD, 2), document.Count(ends.Calls, "call"))
	}
	if len(l.Reads) > 0 && l.USD > 0 {
		text += "; model error " + document.SignedPercent((total-hidden)/l.USD-1)
	}
	if apart > 0 {
		text += fmt.Sprintf("; %s read another amount as logged, by more than a tenth of the context",
			document.Count(apart, "call"))
	}
	return text
}

// list lists calls, one per line.
func list(e *studies.Explanation, o *Options) []document.Section {
	t := &document.Table{Columns: slices.Concat(document.Left("CALL", "THREAD"), document.Right("", "ROUND", "LINE"),
		document.Left("AFTER"),
		document.Right("", "CONTEXT", "READ", "MISSED", "COST"), document.Left("WHAT"))}
	last := ""
	for i := range e.Calls {
		c := &e.Calls[i]
		what, declined := happened(c, e.Window)
		again := what == "" && declined == last // the layer still declines
		if what == "" && !again {
			what = declined
		}
		last = declined
		if o.Logged.differs(c) {
			what = strings.TrimPrefix(what+"; logged: read "+document.Whole(o.Logged.read(c)), "; ")
		}
		if what == "" && !o.All {
			continue
		}
		missed := ""
		if n := c.Shortfall(); n > 0 {
			missed = document.Whole(n)
		}
		t.Rows = append(t.Rows, []any{
			c.Number, c.Thread, fmt.Sprint(c.Round), fmt.Sprint(c.Line), c.Trigger, c.Context, c.Read, missed,
			document.USD(c.CostUSD, 4), what,
		})
	}
	text := document.Count(len(e.Calls), "call")
	if hidden := len(e.Calls) - len(t.Rows); hidden > 0 {
		text += fmt.Sprintf(", %s of them without an event left out (--all lists them)", document.Whole(hidden))
	}
	return []document.Section{{Blocks: []document.Block{t,
		document.Text{Text: text + "; a call's number shows it whole"}}}}
}

// happened says in a few words what is notable about a call, and what a layer
// declined although its trigger had fired; "" for nothing.
func happened(c *studies.ExplainedCall, window int64) (what, declined string) {
	var parts []string
	fired := ""
	tokens := func(n int64) string { return document.Tokens(n) }
	for i := range c.Steps {
		s := &c.Steps[i]
		switch {
		case s.Boundary != "":
			parts = append(parts, fired, fmt.Sprintf("%s %s → %s", s.Boundary, tokens(s.Before), tokens(s.After)))
			fired = ""
		case s.Fired:
			fired = fmt.Sprintf("%s %s ≥ %s", s.Measure, measured(s, s.Measured), measured(s, s.Value))
		case s.Verdict == "declined" && fired != "":
			declined, fired = s.Layer+" declined: "+s.Reason, ""
		case s.Verdict == "failed":
			parts = append(parts, fired, s.Layer+" failed: "+s.Reason)
			fired = ""
		}
	}
	if c.Layer != "" {
		parts = append(parts, fired, "call of "+c.Layer)
	}
	if c.Layer == "" && c.Context > window && window > 0 {
		parts = append(parts, "passes the window")
	}
	if c.Miss != "none" {
		parts = append(parts, "miss: "+c.Miss+" after "+document.Seconds(c.Idle))
	}
	if c.Detector != "" {
		parts = append(parts, "detector: "+c.Detector)
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return strings.Join(parts, "; "), declined
}

// whole shows one call in full.
func whole(c *studies.ExplainedCall, l *Logged) []document.Section {
	who := "the conversation's request"
	if c.Layer != "" {
		who = "a call of " + c.Layer
	}
	var origin document.List
	if c.File != "" {
		origin = append(origin, document.Item{Text: fmt.Sprintf("recorded at %s:%d", c.File, c.Line)})
	}
	origin = append(origin,
		document.Item{Text: fmt.Sprintf("from %s to %s on the session's clock, %s after the last response",
			document.Seconds(c.Start), document.Seconds(c.End), document.Seconds(c.Idle))})
	sections := []document.Section{{
		Name: fmt.Sprintf("call %d · %s · thread %s (%s) round %d · after %s · %s",
			c.Number, who, c.Thread, c.Kind, c.Round, c.Trigger, c.Model),
		Blocks: []document.Block{origin},
	}}
	part := func(name string, block document.Block) {
		sections = append(sections, document.Section{Name: name, Blocks: []document.Block{block}})
	}
	if len(c.Steps) > 0 {
		part("before it", steps(c))
	}
	part("prefix", document.List{{Text: prefix(c)}})
	part("served (simulated)", served(c, l))
	part(fmt.Sprintf("request (%s tokens; ◆ cache marker; ░ read ▓ written 5m █ written 1h · uncached)",
		document.Whole(c.Context)), request(c))
	return sections
}

func steps(c *studies.ExplainedCall) document.List {
	var items document.List
	for i := range c.Steps {
		s := &c.Steps[i]
		var text string
		switch {
		case s.Boundary != "":
			text = fmt.Sprintf("%s: %s → %s tokens", s.Boundary, document.Whole(s.Before), document.Whole(s.After))
			if s.Remainder > 0 {
				text += fmt.Sprintf(", %s of them a remainder that recordings show beyond what the client restores", document.Whole(s.Remainder))
			}
			if s.Chained {
				text += ", of a context that held a summary already"
			}
		case s.Measure != "":
			relation, fired := "<", "did not fire"
			if s.Fired {
				relation, fired = "≥", "fired"
			}
			text = fmt.Sprintf("trigger %s %s %s %s: %s", s.Measure, measured(s, s.Measured), relation,
				measured(s, s.Value), fired)
		default:
			text = fmt.Sprintf("%s: %s", s.Hook, s.Verdict)
			if s.Reason != "" {
				text += ", " + s.Reason
			}
		}
		items = append(items, document.Item{Label: s.Layer, Text: text})
	}
	return items
}

// measured formats what a trigger measures; times are in ns.
func measured(s *studies.Step, v int64) string {
	if s.Measure == strategies.MeasureIdle.String() {
		return document.Seconds(float64(v) / 1e9)
	}
	return document.Whole(v)
}

func prefix(c *studies.ExplainedCall) string {
	switch e := c.Change; {
	case c.First:
		return "the first request of its thread"
	case e == nil:
		return "unchanged: the request only appends to what the thread sent before"
	default:
		return fmt.Sprintf("changed by %s at entry %d (now %s): %s tokens in front of it unchanged, %s from there on",
			e.Cause, e.Position, e.Kind, document.Whole(e.Ahead), document.Whole(e.Behind))
	}
}

func served(c *studies.ExplainedCall, l *Logged) document.List {
	read := "read " + document.Whole(c.Read)
	if c.Expected > 0 {
		read += fmt.Sprintf(" of %s expected", document.Whole(c.Expected))
	}
	if c.Miss != "none" {
		read += fmt.Sprintf(": missed %s, class %s", document.Whole(c.Shortfall()), c.Miss)
	}
	items := document.List{{Text: read}}
	if n := l.read(c); n >= 0 {
		items = append(items, document.Item{Text: "the recording read " + document.Whole(n)})
	}
	if c.Detector != "" {
		items = append(items, document.Item{Text: "the client's break detector: " + c.Detector})
	}
	return append(items, document.Item{Text: fmt.Sprintf("written %s for 5m, %s for 1h; uncached %s; output %s; %s",
		document.Whole(c.Write5m), document.Whole(c.Write1h), document.Whole(c.Uncached), document.Whole(c.Output), document.USD(c.CostUSD, 4))})
}

// barWidth is the number of characters for the whole request.
const barWidth = 40

// shades distinguish cache classes without colour.
var shades = map[string]string{"read": "░", "write_5m": "▓", "write_1h": "█", "uncached": "·"}

// request draws the request, one segment per line, in proportion to its size.
func request(c *studies.ExplainedCall) *document.Table {
	t := &document.Table{Columns: slices.Concat(document.Left("SEGMENT"), document.Right("", "BLOCKS", "TOKENS"),
		document.Left("WHERE"))}
	from := int64(0)
	for _, s := range folded(c) {
		name := s.Kind
		if s.Form != "" {
			name += " (" + s.Form + ")"
		}
		if s.Blocks == 0 {
			name += " (rest)"
		}
		left, right := characters(from, c.Context), characters(from+s.Tokens, c.Context)
		from += s.Tokens
		bar := strings.Repeat(" ", left) + strings.Repeat(shades[s.Class], max(1, right-left))
		if s.Marker {
			bar += " ◆"
		}
		t.Rows = append(t.Rows, []any{name, s.Blocks, s.Tokens, bar})
	}
	return t
}

// folded joins the small segments of a conversation with the same cache class;
// notable ones stay separate.
func folded(c *studies.ExplainedCall) []studies.Segment {
	var list []studies.Segment
	open := false // the last of list is a run of small segments
	for _, s := range c.Segments {
		small := standsBack(&s, c.Context)
		if n := len(list); open && small && list[n-1].Class == s.Class {
			list[n-1].Blocks += s.Blocks
			list[n-1].Tokens += s.Tokens
			list[n-1].Marker = s.Marker
			if list[n-1].Form != s.Form {
				list[n-1].Form = "partly cleared"
			}
			list[n-1].Kind = "conversation"
		} else {
			list = append(list, s)
		}
		open = small && !s.Marker
	}
	return list
}

// standsBack reports whether a segment is an ordinary part of the conversation
// and less than a twentieth of the request.
func standsBack(s *studies.Segment, total int64) bool {
	switch s.Kind {
	case "prompt", "text", "thinking", "tool_use", "tool_result", "unseen", "image", "document":
		return (s.Form == "" || s.Form == "cleared") && s.Tokens*20 < total
	}
	return false
}

// characters returns the number of characters for n of total tokens.
func characters(n, total int64) int {
	if total <= 0 {
		return 0
	}
	return int(n * barWidth / total)
}
