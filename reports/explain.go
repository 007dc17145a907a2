package reports

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/sim/results"
)

// ExplainOptions select what of an explanation is shown.
type ExplainOptions struct {
	Call int  // number of the call to show whole; 0 for a list of calls
	All  bool // list every call, not only those where something happened
	// Logged is what the recording says; the zero value says nothing.
	Logged Logged
}

// Explain writes an explanation as text, or as JSON with every call whole.
func Explain(w io.Writer, format string, e *results.Explanation, o ExplainOptions) error {
	if o.Call < 0 || o.Call > len(e.Calls) {
		return fmt.Errorf("call %d: the session has calls 1 to %d", o.Call, len(e.Calls))
	}
	var b bytes.Buffer
	switch format {
	case "json":
		shown := *e
		if o.Call > 0 {
			shown.Calls = e.Calls[o.Call-1 : o.Call]
		}
		if err := json.MarshalWrite(&b, &shown, jsontext.AllowInvalidUTF8(true)); err != nil {
			return fmt.Errorf("encode an explanation: %w", err)
		}
		b.WriteByte('\n')
	case "table":
		fmt.Fprintf(&b, "session %s · %s %s · %s · window %s\n", Printable(e.Session), Printable(e.Agent),
			Printable(e.Version), Printable(e.Strategy), Grouped(float64(e.Window), 0))
		explainTrust(&b, e, &o.Logged)
		if o.Call > 0 {
			explainCall(&b, &e.Calls[o.Call-1], &o.Logged)
		} else if err := explainList(&b, e, o); err != nil {
			return err
		}
	default:
		return fmt.Errorf("unknown format %q (known: table, json)", format)
	}
	return flush(w, &b)
}

// explainList lists calls, one a line.
func explainList(b *bytes.Buffer, e *results.Explanation, o ExplainOptions) error {
	g := grid{left: []bool{false, true, false, false, true, false, false, false, false, true}}
	for _, title := range []string{"CALL", "THREAD", "ROUND", "LINE", "AFTER", "CONTEXT", "READ", "MISSED", "COST", "WHAT"} {
		g.head = append(g.head, field{text: title})
	}
	hidden, last := 0, ""
	for i := range e.Calls {
		c := &e.Calls[i]
		what, declined := happened(c, e.Window)
		again := what == "" && declined == last // the layer goes on declining
		if what == "" && !again {
			what = declined
		}
		last = declined
		if logged := o.Logged.loggedText(c); logged != "" {
			what = strings.TrimPrefix(what+"; "+logged, "; ")
		}
		if what == "" && !o.All {
			hidden++
			continue
		}
		missed := ""
		if n := c.Shortfall(); n > 0 {
			missed = Grouped(float64(n), 0)
		}
		row := []string{
			Grouped(float64(c.Number), 0), Printable(c.Thread), fmt.Sprint(c.Round), fmt.Sprint(c.Line), c.Trigger,
			Grouped(float64(c.Context), 0), Grouped(float64(c.Read), 0), missed, usd(c.CostUSD, 4), what,
		}
		var fields []field
		for _, text := range row {
			fields = append(fields, field{text: text})
		}
		g.rows = append(g.rows, fields)
	}
	if err := writeText(b, g); err != nil {
		return fmt.Errorf("laying out a table: %w", err)
	}
	fmt.Fprintf(b, "\n%s", CountOf(len(e.Calls), "call"))
	if hidden > 0 {
		fmt.Fprintf(b, ", %s of them without an event left out (--all lists them)", Grouped(float64(hidden), 0))
	}
	b.WriteString("; a call's number shows it whole\n")
	return nil
}

// happened says in a few words what is worth knowing of a call, and what a layer
// declined although its trigger had fired; "" when nothing is.
func happened(c *results.ExplainedCall, window int64) (what, declined string) {
	var parts []string
	fired := ""
	for i := range c.Steps {
		s := &c.Steps[i]
		switch {
		case s.Boundary != "":
			parts = append(parts, fired, fmt.Sprintf("%s %s → %s", s.Boundary, tokens(float64(s.Before)), tokens(float64(s.After))))
			fired = ""
		case s.Fired:
			fired = fmt.Sprintf("%s %s ≥ %s", s.Measure, Grouped(float64(s.Measured), 0), Grouped(float64(s.Value), 0))
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
		parts = append(parts, "miss: "+c.Miss+" after "+duration(c.Idle))
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return Printable(strings.Join(parts, "; ")), Printable(declined)
}

// explainCall shows one call whole.
func explainCall(b *bytes.Buffer, c *results.ExplainedCall, l *Logged) {
	who := "the conversation's request"
	if c.Layer != "" {
		who = "a call of " + c.Layer
	}
	fmt.Fprintf(b, "call %d · %s · thread %s (%s) round %d · after %s · %s\n", c.Number, Printable(who), Printable(c.Thread), c.Kind, c.Round, c.Trigger, Printable(c.Model))
	if c.File != "" {
		fmt.Fprintf(b, "  recorded at %s:%d\n", Printable(c.File), c.Line)
	}
	fmt.Fprintf(b, "  from %s to %s on the session's clock, %s after the last response\n\n", duration(c.Start), duration(c.End), duration(c.Idle))
	explainSteps(b, c)
	explainPrefix(b, c)
	explainServed(b, c, l)
	explainSegments(b, c)
}

func explainSteps(b *bytes.Buffer, c *results.ExplainedCall) {
	if len(c.Steps) == 0 {
		return
	}
	b.WriteString("before it\n")
	for i := range c.Steps {
		s := &c.Steps[i]
		fmt.Fprintf(b, "  %-16s ", Printable(s.Layer))
		switch {
		case s.Boundary != "":
			fmt.Fprintf(b, "%s: %s → %s tokens", s.Boundary, Grouped(float64(s.Before), 0), Grouped(float64(s.After), 0))
			if s.Chained {
				b.WriteString(", of a context that held a summary already")
			}
		case s.Measure != "":
			relation, fired := "<", "did not fire"
			if s.Fired {
				relation, fired = "≥", "fired"
			}
			fmt.Fprintf(b, "trigger %s %s %s %s: %s", s.Measure, Grouped(float64(s.Measured), 0), relation, Grouped(float64(s.Value), 0), fired)
		default:
			fmt.Fprintf(b, "%s: %s", s.Hook, s.Verdict)
			if s.Reason != "" {
				fmt.Fprintf(b, ", %s", Printable(s.Reason))
			}
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
}

func explainPrefix(b *bytes.Buffer, c *results.ExplainedCall) {
	b.WriteString("prefix\n")
	switch e := c.Change; {
	case c.First:
		b.WriteString("  the first request of its thread\n\n")
	case e == nil:
		b.WriteString("  unchanged: the request only appends to what the thread sent before\n\n")
	default:
		fmt.Fprintf(b, "  changed by %s at entry %d (now %s): %s tokens in front of it unchanged, %s from there on\n\n",
			e.Cause, e.Position, e.Kind, Grouped(float64(e.Ahead), 0), Grouped(float64(e.Behind), 0))
	}
}

func explainServed(b *bytes.Buffer, c *results.ExplainedCall, l *Logged) {
	fmt.Fprintf(b, "served (simulated)\n  read %s", Grouped(float64(c.Read), 0))
	if c.Expected > 0 {
		fmt.Fprintf(b, " of %s expected", Grouped(float64(c.Expected), 0))
	}
	if c.Miss != "none" {
		fmt.Fprintf(b, ": missed %s, class %s", Grouped(float64(c.Shortfall()), 0), c.Miss)
	}
	if n := l.read(c); n >= 0 {
		fmt.Fprintf(b, "\n  the recording read %s", Grouped(float64(n), 0))
	}
	fmt.Fprintf(b, "\n  written %s for 5m, %s for 1h; uncached %s; output %s; %s\n\n",
		Grouped(float64(c.Write5m), 0), Grouped(float64(c.Write1h), 0), Grouped(float64(c.Uncached), 0),
		Grouped(float64(c.Output), 0), usd(c.CostUSD, 4))
}

// barWidth is how many characters stand for the whole request.
const barWidth = 40

// shades draw cache classes apart without colour.
var shades = map[string]string{"read": "░", "write_5m": "▓", "write_1h": "█", "uncached": "·"}

// explainSegments draws the request, a segment a line, as long as it is heavy.
func explainSegments(b *bytes.Buffer, c *results.ExplainedCall) {
	fmt.Fprintf(b, "request (%s tokens; ◆ cache marker; ░ read ▓ written 5m █ written 1h · uncached)\n", Grouped(float64(c.Context), 0))
	from := int64(0)
	for _, s := range folded(c) {
		name := s.Kind
		if s.Form != "" {
			name += " (" + s.Form + ")"
		}
		left, right := cells(from, c.Context), cells(from+s.Tokens, c.Context)
		from += s.Tokens
		bar := strings.Repeat(" ", left) + strings.Repeat(shades[s.Class], max(1, right-left))
		mark := ""
		if s.Marker {
			mark = " ◆"
		}
		line := fmt.Sprintf("  %-22s %5s × %9s  %s%s", name, Grouped(float64(s.Blocks), 0), Grouped(float64(s.Tokens), 0), bar, mark)
		fmt.Fprintln(b, strings.TrimRight(line, " "))
	}
}

// folded joins the small segments of a conversation that share a cache class:
// what stands out stays alone.
func folded(c *results.ExplainedCall) []results.Segment {
	var list []results.Segment
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
func standsBack(s *results.Segment, total int64) bool {
	switch s.Kind {
	case "prompt", "text", "thinking", "tool_use", "tool_result", "unseen", "image", "document":
		return (s.Form == "" || s.Form == "cleared") && s.Tokens*20 < total
	}
	return false
}

// cells returns how many characters stand for n of total tokens.
func cells(n, total int64) int {
	if total <= 0 {
		return 0
	}
	return int(n * barWidth / total)
}
