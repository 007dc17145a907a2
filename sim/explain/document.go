package explain

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/calls"
	"github.com/compactsim/compactsim/sim/results/studies"
	"github.com/compactsim/compactsim/strategies"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Options select what to show of an explanation.
type Options struct {
	Call  int  // number of the call to show in full; 0 for a list of calls
	All   bool // list every call, not only those where something happened
	Asked bool // a strategy was asked for: show what it would have done, beside what was billed
	// Parting is where the request of Call parts from the one before it, nil where no bodies show it.
	Parting *Parting
	// Beside is the session whose first request Call is compared with, "" for the one before.
	Beside string
	// Head are lines about the session.
	Head []string
}

// Document reports an explanation with its bill: a list of calls or one call in full. What was
// billed comes first, then what the model expects of the recording, then what a strategy that was
// asked for would have done. JSON has every call in full.
func Document(e *studies.Explanation, o Options) (*document.Document, error) {
	if o.Call < 0 || o.Call > len(e.Calls) {
		return nil, fmt.Errorf("call %d: the session has calls 1 to %d", o.Call, len(e.Calls))
	}
	shown := *e
	if o.Call > 0 {
		shown.Calls = e.Calls[o.Call-1 : o.Call]
	}
	d := &document.Document{
		Head: append(append([]string{
			fmt.Sprintf("session %s · %s · %s · window %s", e.Session, strings.TrimSpace(e.Agent+" "+e.Version), e.Strategy,
				document.Whole(e.Window)),
		}, o.Head...), trust(e, o.Asked)),
		Data: func() *document.Table { return data(&shown) },
		JSON: func(w io.Writer) error {
			if err := json.MarshalWrite(w, &shown, jsontext.AllowInvalidUTF8(true)); err != nil {
				return err
			}
			_, err := io.WriteString(w, "\n")
			return err
		},
	}
	if o.Call > 0 {
		d.Sections = whole(&shown.Calls[0], e.Strategy, &o)
	} else {
		d.Sections = list(e, &o)
	}
	return d, nil
}

// trust says what was billed, and how far what is simulated is from it.
func trust(e *studies.Explanation, asked bool) string {
	total := e.TurnEnds.CostUSD
	for i := range e.Calls {
		total += e.Calls[i].CostUSD
	}
	text := fmt.Sprintf("billed %s; the model computes %s", document.USD(e.BilledUSD, 2), document.USD(e.ModelUSD, 2))
	if e.ModelHiddenUSD > 0.005 {
		text += fmt.Sprintf(", including %s for calls that are in no log", document.USD(e.ModelHiddenUSD, 2))
	}
	ends := ""
	if e.TurnEnds.Calls > 0 {
		ends = fmt.Sprintf(", %s of that for %s beside the conversation, not listed here", document.USD(e.TurnEnds.CostUSD, 2),
			document.Count(e.TurnEnds.Calls, "call"))
	}
	if !asked {
		text += ends
	}
	if e.BilledUSD > 0 {
		text += "; model error " + document.SignedPercent((e.ModelUSD-e.ModelHiddenUSD)/e.BilledUSD-1)
	}
	if asked {
		text += fmt.Sprintf("; %s would have cost %s, simulated", e.Strategy, document.USD(total, 2)) + ends
	}
	return text
}

// list lists calls, one per line.
func list(e *studies.Explanation, o *Options) []document.Section {
	figures := []string{"READ", "MISSED", "WRITTEN", "UNCACHED", "OUTPUT", "BILLED", "MODEL READ", "MODEL"}
	if o.Asked {
		figures = []string{"READ", "MISSED", "BILLED", "MODEL", "CONTEXT THEN", "READ THEN", "MISSED THEN", "COST THEN"}
	}
	t := &document.Table{Columns: slices.Concat(document.Left("CALL", "THREAD"), document.Right("", "ROUND", "LINE"), document.Left("AFTER"),
		document.Right("", figures...), document.Left("WHAT"))}
	for i := range t.Columns {
		if slices.Contains([]string{"WRITTEN", "UNCACHED", "OUTPUT"}, t.Columns[i].Title) {
			t.Columns[i].Spare = 1
		}
	}
	last := ""
	for i := range e.Calls {
		c := &e.Calls[i]
		what, declined := happened(c, e.Window, o.Asked)
		again := what == "" && declined == last // the layer still declines
		if what == "" && !again {
			what = declined
		}
		last = declined
		if what == "" && !o.All {
			continue
		}
		t.Rows = append(t.Rows, append(line(c, o.Asked), what))
	}
	text := document.Count(len(e.Calls), "call")
	if hidden := len(e.Calls) - len(t.Rows); hidden > 0 {
		text += fmt.Sprintf("; %s had no event and are left out (--all lists them)", document.Whole(hidden))
	}
	text += ". Give a call's number to see it in full. READ to BILLED are logged; MODEL is what the model expects of the recording"
	if o.Asked {
		text += "; THEN is under " + e.Strategy
	}
	return []document.Section{{Blocks: []document.Block{t, document.Text{Text: text}}}}
}

// line returns the figures of a call in a list. A call that no log has is not billed; the model's
// figures for it stand in the columns of the simulation.
func line(c *studies.ExplainedCall, asked bool) []any {
	row := []any{c.Number, c.Thread, fmt.Sprint(c.Round), fmt.Sprint(c.Line), c.Trigger}
	b := c.Billed
	model := &studies.Split{Read: c.Read, CostUSD: c.CostUSD}
	if b != nil {
		model = b.Model
	} else if asked {
		model = nil
	}
	expected := []any{"", ""}
	if model != nil {
		expected = []any{model.Read, document.USD(model.CostUSD, 4)}
	}
	switch {
	case b == nil && asked:
		row = append(row, "", "", "")
	case b == nil:
		row = append(row, "", "", "", "", "", "")
	case asked:
		row = append(row, b.Read, orNothing(b.Missed), document.USD(b.CostUSD, 4))
	default:
		row = append(row, b.Read, orNothing(b.Missed), b.Write5m+b.Write1h, b.Uncached, b.Output, document.USD(b.CostUSD, 4))
	}
	if asked {
		return append(row, expected[1], c.Context, c.Read, orNothing(c.Shortfall()), document.USD(c.CostUSD, 4))
	}
	return append(row, expected...)
}

// orNothing returns a count for people, "" for none.
func orNothing(n int64) string {
	if n == 0 {
		return ""
	}
	return document.Whole(n)
}

// missed says why a call missed: by the bill, and by the model if that differs; for a strategy
// that was asked for, why it would have missed there.
func missed(c *studies.ExplainedCall, asked bool) string {
	b := c.Billed
	switch {
	case asked || b == nil:
		if c.Miss == "none" {
			return ""
		}
		return "miss: " + calls.Word(c.Miss) + " after " + document.Seconds(c.Idle)
	case b.Cause == "none" && (b.Model == nil || b.Model.Cause == "none"):
		return ""
	case b.Cause == "none":
		return "no miss; the model expects " + calls.Word(b.Model.Cause)
	case b.Model == nil || b.Model.Cause == b.Cause:
		return "miss: " + why(b)
	case b.Model.Cause == "none":
		return "miss: " + why(b) + "; the model expects none"
	}
	return "miss: " + why(b) + "; the model expects " + calls.Word(b.Model.Cause)
}

// why says why a billed call missed, with the evidence.
func why(b *studies.Billed) string {
	if w := word(b); !strings.HasPrefix(b.Evidence, w) {
		return fmt.Sprintf("%s (%s)", w, b.Evidence)
	}
	return b.Evidence
}

// word is the word for the class of a billed miss, or for a cause that recordings make likely.
func word(b *studies.Billed) string {
	if b.Confidence == string(calls.Likely) {
		return "likely"
	}
	return calls.Word(b.Cause)
}

// happened says in a few words what is notable about a call, and what a layer
// declined although its trigger had fired; "" for nothing.
func happened(c *studies.ExplainedCall, window int64, asked bool) (what, declined string) {
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
	if c.Again {
		parts = append(parts, "fetches again")
	}
	if c.Layer == "" && c.Context > window && window > 0 {
		parts = append(parts, "passes the window")
	}
	parts = append(parts, missed(c, asked))
	if c.Billed != nil {
		parts = append(parts, c.Billed.Notes...)
	}
	if c.Detector != "" {
		parts = append(parts, "detector: "+c.Detector)
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return strings.Join(parts, "; "), declined
}

// whole shows one call in full.
func whole(c *studies.ExplainedCall, strategy string, o *Options) []document.Section {
	who := "the conversation's request"
	switch {
	case c.Layer != "":
		who = "a call of " + c.Layer
	case c.Again:
		who = "a request that fetches again"
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
	part("billed", billed(c))
	switch {
	case o.Parting != nil && o.Beside != "":
		part("where its head parts from the head of session "+o.Beside, o.Parting.list(c.Billed))
	case o.Parting != nil:
		part("where the request parts from the one before", o.Parting.list(c.Billed))
	case o.Beside != "":
		part("its head", document.List{{Text: "the same as the head of session " + o.Beside}})
	}
	if c.Billed != nil && c.Billed.Model != nil {
		part("expected by the model", served(c.Billed.Model, calls.Word(c.Billed.Model.Cause), ""))
	}
	if o.Asked || c.Billed == nil {
		part("under "+strategy+" (simulated)", served(simulated(c), calls.Word(c.Miss), "output "+document.Whole(c.Output)))
	}
	if len(c.Steps) > 0 {
		part("before it", steps(c))
	}
	if c.Detector != "" {
		part("the client's break detector", document.List{{Text: c.Detector}})
	}
	part("prefix", document.List{{Text: prefix(c)}})
	part(fmt.Sprintf("request as simulated (%s tokens; ◆ cache marker; ░ read ▓ written 5m █ written 1h · uncached)",
		document.Whole(c.Context)), request(c))
	return sections
}

// simulated returns how a call is served under the explained strategy.
func simulated(c *studies.ExplainedCall) *studies.Split {
	return &studies.Split{Uncached: c.Uncached, Read: c.Read, Write5m: c.Write5m, Write1h: c.Write1h, CostUSD: c.CostUSD,
		Left: c.Expected, Missed: c.Shortfall(), Cause: c.Miss}
}

// billed says what was billed for a call, and why it missed.
func billed(c *studies.ExplainedCall) document.List {
	b := c.Billed
	if b == nil {
		return document.List{{Text: "nothing: no log records this call"}}
	}
	output := "output " + document.Whole(b.Output)
	if b.Logged != b.Output {
		output += fmt.Sprintf(" (logged %s)", document.Whole(b.Logged))
	}
	items := served(&b.Split, word(b), output)
	if b.Missed > 0 {
		text := fmt.Sprintf("the miss cost %s: %s", document.USD(b.MissUSD, 4), b.Evidence)
		if b.Confidence == string(calls.Logged) {
			text += "; this is " + b.Confidence // other evidence says who says it
		}
		items = append(items, document.Item{Text: text})
	}
	for _, note := range b.Notes {
		items = append(items, document.Item{Text: note})
	}
	if b.Server != "" {
		items = append(items, document.Item{Text: "the server says: " + b.Server})
	}
	return items
}

// served says how a call was served, what it missed and for what cause, and what it cost.
func served(s *studies.Split, cause, output string) document.List {
	read := "read " + document.Whole(s.Read)
	if s.Left > 0 {
		read += fmt.Sprintf(" of %s left in the cache", document.Whole(s.Left))
	}
	if s.Cause != "none" {
		read += fmt.Sprintf(": missed %s, %s", document.Whole(s.Missed), cause)
	}
	text := fmt.Sprintf("written %s for 5m, %s for 1h; uncached %s", document.Whole(s.Write5m), document.Whole(s.Write1h), document.Whole(s.Uncached))
	if output != "" {
		text += "; " + output
	}
	return document.List{{Text: read}, {Text: text + "; " + document.USD(s.CostUSD, 4)}}
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
				text += fmt.Sprintf(", %s tokens a remainder that recordings show beyond what the client restores", document.Whole(s.Remainder))
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
		return fmt.Sprintf("changed by %s at entry %d (now %s): %s tokens before it unchanged, %s from there on",
			e.Cause, e.Position, e.Kind, document.Whole(e.Ahead), document.Whole(e.Behind))
	}
}

// data returns one line for each call: what was billed, what the model expects, and what the
// explained strategy does. What a call lacks is empty.
func data(e *studies.Explanation) *document.Table {
	t := &document.Table{Columns: document.Columns("call", "thread", "kind", "round", "layer", "file", "line", "model", "after", "what")}
	for _, prefix := range []string{"billed_", "model_", ""} {
		for _, name := range splitColumns {
			t.Columns = append(t.Columns, document.Columns(prefix+name)...)
		}
	}
	t.Columns = append(t.Columns, document.Columns("output_tokens", "logged_output_tokens", "new_tokens", "unseen_tokens", "miss_usd",
		"evidence", "confidence", "server_verdict")...)
	for i := range e.Calls {
		c := &e.Calls[i]
		what, _ := happened(c, e.Window, true)
		row := []any{c.Number, c.Thread, c.Kind, c.Round, c.Layer, c.File, c.Line, c.Model, c.Trigger, what}
		b, logged := c.Billed, make([]any, 7)
		if b != nil {
			row = append(append(row, splitCells(&b.Split)...), splitCells(b.Model)...)
			logged = []any{b.Logged, b.New, b.Unseen, b.MissUSD, b.Evidence, b.Confidence, b.Server}
		} else {
			row = append(row, make([]any, 2*len(splitColumns))...)
		}
		row = append(row, splitCells(simulated(c))...)
		t.Rows = append(t.Rows, append(append(row, c.Output), logged...))
	}
	return t
}

// splitColumns name the parts of a split.
var splitColumns = []string{"read_tokens", "left_tokens", "missed_tokens", "miss", "write_5m_tokens", "write_1h_tokens", "uncached_tokens", "cost_usd"}

// splitCells returns the parts of a split in the order of its columns; empty ones for none.
func splitCells(s *studies.Split) []any {
	if s == nil {
		return make([]any, len(splitColumns))
	}
	return []any{s.Read, s.Left, s.Missed, s.Cause, s.Write5m, s.Write1h, s.Uncached, s.CostUSD}
}
