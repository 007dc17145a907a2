// Package otel reads OpenTelemetry spans of the GenAI convention, by which any
// program can report its calls of a model: OTLP as JSON or as lines of JSON, exports
// of Tempo and Jaeger, lists of spans, and the lines of the Copilot CLI's file
// exporter.
//
// One call is the innermost span with token counts, and never the span of an agent,
// a workflow or a tool, which repeat sums. Calls of one conversation are a
// session; below the span of a tool they are a sub-agent's. Texts are optional.
// Without them tools still show what a call answers.
package otel

import (
	"cmp"
	"context"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/numbers"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/internal/assembly"
)

// span is what is kept of a span.
type span struct {
	key, up             prompt.Digest // up is zero for none
	trace, conversation string        // that it names itself
	name                string        // of a tool: the id of its call
	scope               string        // the library that reports it, as far as it says
	answered            bool          // it has the id of the response
	label               string        // what the program calls it, of a call or a bare span
	bare                bool          // it says nothing by which it could be a call
	file                *file
	line                int
	start, end          int64            // unix ns
	open                bool             // it says no end
	tool                []assembly.Block // of a tool: its call and its result
	call                *assembly.Request

	nth   int       // in the order of the files and their lines
	lane  [2]string // its conversation, and there the tool whose sub-agent it is of
	below *span     // the tool that it is below, nil for none
	over  []*span   // calls that hold it, from the inside out
}

// sessions makes a session of each conversation. A trace is a turn.
func sessions(opts *traces.Options, files []*file) []*assembly.Session {
	list, of := collect(files)
	climb(list, of)
	innermost(list)
	pair(list)
	slices.SortStableFunc(list, func(a, b *span) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end))
	})
	var all []*assembly.Request
	lanes := map[[2]string][]*assembly.Request{}
	for _, sp := range once(list, of) {
		r := sp.call
		r.Nth = sp.nth
		if r.Session, r.Lane, r.Turn = sp.lane[0], sp.lane[1], sp.trace; sp.below != nil {
			r.Starter = sp.below.tool[0].ID
		}
		lanes[sp.lane] = append(lanes[sp.lane], r)
		all = append(all, r)
	}
	for _, sp := range list {
		if sp.tool != nil {
			use(lanes[sp.lane], sp)
		}
	}
	return assembly.Sessions(opts, Agent, all)
}

// collect returns the spans of all files. One that arrives twice counts once.
func collect(files []*file) (list []*span, of map[prompt.Digest]*span) {
	of = map[prompt.Digest]*span{}
	called := map[string]bool{} // names of calls
	for _, f := range files {
		for _, sp := range f.spans {
			if sp.call != nil && sp.call.Usage.OK {
				called[sp.label] = true
			}
		}
	}
	for _, f := range files {
		for _, sp := range f.spans {
			if sp.bare && called[sp.label] {
				f.Lacks(1, sp.line, "span %.40q has no attributes of a call, and others of its name are calls", sp.label)
			}
		}
		if len(f.spans) > 0 && !slices.ContainsFunc(f.spans, func(sp *span) bool { return sp.call != nil }) {
			f.Problems.Add(f.Name, 0, "%s, none a call of a model with token counts", numbers.Counted(len(f.spans), "span", "spans"))
		}
		twice, open, ended := 0, 0, false
		for _, sp := range f.spans {
			if sp.call != nil && sp.open {
				open++
			}
			ended = ended || sp.call != nil && !sp.open
			o := of[sp.key]
			if o == nil {
				of[sp.key], sp.nth = sp, len(list)
				list = append(list, sp)
			} else if twice++; sp.richer(o) {
				sp.nth = o.nth
				*o = *sp
			}
		}
		if open > 0 && ended { // what tells that two spans report one call
			f.Problems.Add(f.Name, 0, "%s no end, and others of the file have one: calls that two spans report may count twice",
				numbers.Counted(open, "span of a call has", "spans of calls have"))
		}
		if f.spans = nil; twice > 0 {
			f.Problems.Add(f.Name, 0, "%s a second time; each is counted once", numbers.Counted(twice, "span arrives", "spans arrive"))
		}
	}
	return list, of
}

// richer reports whether a span says more than another one of its id.
func (sp *span) richer(o *span) bool {
	if sp.call != nil && o.call != nil {
		return sp.call.Usage.OK && !o.call.Usage.OK
	}
	return sp.call != nil || o.call == nil && sp.end > o.end
}

// maxOver is how many spans of one call are told apart.
const maxOver = 64

// climb finds what is above each span, as far as that is known. What the tools of a call do are other calls. A span is of
// the conversation that it names, that the first one above it names, or its trace.
func climb(list []*span, of map[prompt.Digest]*span) {
	named := map[string]string{}
	for _, sp := range list {
		named[sp.trace] = cmp.Or(named[sp.trace], sp.conversation)
	}
	for _, sp := range list {
		in, n := sp.conversation, 0
		for up := of[sp.up]; up != nil && up != sp && n < len(list); up = of[up.up] {
			n++
			in = cmp.Or(in, up.conversation)
			switch {
			case sp.below != nil:
			case up.tool != nil:
				sp.below, sp.lane[1] = up, up.name
			case up.call != nil && len(sp.over) < maxOver:
				sp.over = append(sp.over, up)
			}
		}
		sp.lane[0] = cmp.Or(in, named[sp.trace], sp.trace, sp.file.Stem())
	}
}

// innermost drops calls that hold another one, as several libraries make spans of one call, and keeps what they alone say. Of
// a call whose counts only an outer span has, that one stays.
func innermost(list []*span) {
	outer := map[*span]bool{}
	for _, counted := range [...]bool{true, false} {
		for _, sp := range list {
			if sp.call == nil || sp.call.Usage.OK != counted {
				continue
			}
			for _, up := range sp.over {
				if up.call.Usage.OK && !counted {
					outer[sp] = outer[sp] || !outer[up]
					break
				}
				if outer[up] = true; sp.call.Usage.Same(&up.call.Usage) {
					sp.call.Adopt(up.call)
				}
			}
		}
	}
	for sp, is := range outer {
		if is {
			sp.call = nil
		}
	}
}

// pair makes one call of two spans beside each other that a library reports for a streamed call: the request's span, which has
// no counts, and an instant with them once the response has ended.
func pair(list []*span) {
	slices.SortStableFunc(list, func(a, b *span) int { return cmp.Compare(a.start, b.start) })
	asked := map[prompt.Digest][]*span{} // by the span above
	for _, sp := range list {
		switch r := sp.call; {
		case r == nil || sp.scope == "":
		case !r.Usage.OK && !sp.answered:
			asked[sp.up] = append(asked[sp.up], sp)
		case r.Usage.OK && sp.start == sp.end:
			i := slices.IndexFunc(asked[sp.up], func(o *span) bool {
				return o.trace == sp.trace && o.scope == sp.scope && o.call.Model == r.Model && o.call.Head == r.Head &&
					slices.EqualFunc(o.call.Messages, r.Messages, func(a, b *assembly.Message) bool { return a.Digest == b.Digest })
			})
			if i >= 0 {
				o := asked[sp.up][i]
				asked[sp.up] = slices.Delete(asked[sp.up], i, i+1)
				r.Start, r.First, sp.start, o.call = o.start, o.end, o.start, nil
			}
		}
	}
}

// once returns the calls, without those inside another one that report the same.
func once(list []*span, of map[prompt.Digest]*span) (kept []*span) {
	traced := map[string][]*span{} // by conversation: a span may have lost its trace
	for _, sp := range list {
		if sp.call == nil {
			continue
		}
		before := traced[sp.lane[0]]
		recent := before[max(0, len(before)-8):]
		if i := slices.IndexFunc(recent, func(o *span) bool { return sp.repeats(o, of) }); i >= 0 {
			sp.file.Problems.Add(sp.file.Name, sp.line, "another span reports the call of this span; it is counted once")
			if recent[i].call.Usage.Read == 0 && sp.call.Usage.Read > 0 {
				recent[i].call.Usage = sp.call.Usage
			}
			if recent[i].call.Adopt(sp.call); sp.answered && !recent[i].answered {
				recent[i].call.ID = sp.call.ID
			}
			continue
		}
		kept, traced[sp.lane[0]] = append(kept, sp), append(before, sp)
	}
	return kept
}

// repeats reports whether a span reports the call of an earlier one that encloses it, with the same counts: where the
// span above one is not known, or where two libraries report beside each other. Of these only one knows the
// id of the response, or each says who it is, and only one may know what was read.
func (sp *span) repeats(o *span, of map[prompt.Digest]*span) bool {
	a, b := &sp.call.Usage, &o.call.Usage
	if sp.end > o.end || sp.start == sp.end || !a.OK || !b.OK {
		return false
	}
	if !a.Same(b) {
		return sp.scope != o.scope && (of[o.up] == nil || of[sp.up] == nil) &&
			a.Input() == b.Input() && a.Output == b.Output && (a.Read == 0) != (b.Read == 0)
	}
	if of[o.up] == nil || of[sp.up] == nil {
		return *a == *b || sp.scope != o.scope
	}
	return sp.up == o.up && (sp.scope != o.scope || sp.answered != o.answered)
}

// use gives a tool to the call that asked for it, the last one that began before it. The response had ended by then, even if
// the span had not. Where no messages are shown, the tool is part of the response, and its result of the next request.
func use(calls []*assembly.Request, t *span) {
	i, _ := slices.BinarySearchFunc(calls, t.start, func(r *assembly.Request, at int64) int {
		return cmp.Or(cmp.Compare(r.Start, at), -1)
	})
	if i == 0 || t.start == 0 {
		return
	}
	r := calls[i-1]
	r.End, r.First = min(r.End, t.start), min(r.First, t.start)
	if r.Messages != nil || i < len(calls) && calls[i].Messages != nil {
		return
	}
	r.Reply = append(r.Reply, t.tool[0])
	if i < len(calls) {
		calls[i].Results = append(calls[i].Results, t.tool[1])
	}
}

// Agent is the name of the recorded agent in Session.Agent.
const Agent = facts.OTel

// Describe returns what the rest of the program needs to know of programs that are only known by their spans: nothing but
// that they mark the last message for models of Anthropic and fill the window.
func Describe() *facts.Agent {
	return assembly.Client(&facts.Agent{
		Name: Agent, Title: "OpenTelemetry GenAI spans", Read: assembly.ReadBy(Agent, scan, sessions), Texts: texts, Document: document, Markers: 1,
		Member: func(typ, name string) bool {
			return typ == "span" && (name == "traceId" || name == "spanId") || typ == "" && (name == "resourceSpans" || name == "scopeSpans")
		},
		Places: func(h *facts.Home) {
			h.Add(facts.Place{Agent: Agent, Flat: true}, h.Getenv("COPILOT_OTEL_FILE_EXPORTER_PATH"))
		},
	}, 100, 0)
}

// file is one file.
type file struct {
	*assembly.Log
	spans            []*span
	service, version string // of the program, as it said last
	scope            string // of the library whose spans follow
	scratch          []byte
	shown            bool  // it shows spans, also if they are cut off
	bad              error // of what is read
	objects          int   // calls whose counts come from an object that holds them
	cut              int   // spans whose messages are cut off
}

// document reports whether a file begins with spans, one or a list.
func document(head []byte) bool {
	f, c := &file{Log: assembly.NewLog(assembly.Again())}, assembly.NewCursor(head, 1)
	c.Each(func() { f.object(c) })
	return f.shown
}

// scan reads one file. What precedes a defect in a document is kept.
func scan(ctx context.Context, opts traces.Options, in traces.Input) (*file, error) {
	f := &file{Log: assembly.NewLog(assembly.NewFile(in.Name, opts))}
	err := f.ReadObjects(ctx, opts, in, errNoSpans, f.read)
	if err == nil && len(f.spans) == 0 && f.Problems.Total == 0 {
		err = f.Refuse(0, errNoSpans)
	}
	if f.cut > 0 {
		f.Problems.Add(f.Name, 0, "%s messages that cannot be read to their end; what is missing counts as unseen", numbers.Counted(f.cut, "span has", "spans have"))
	}
	if f.objects > 0 {
		f.Problems.Add(f.Name, 0, "cached counts come from the usage object that a span holds: %s", numbers.Counted(f.objects, "span", "spans"))
	}
	return f, err
}

// texts reads the texts of a file again.
func texts(text []byte) []traces.Text {
	f := &file{Log: assembly.NewLog(assembly.Again())}
	_, _ = assembly.Objects(text, 1, errNoSpans, f.read) // as far as it is readable
	return f.Texts()
}
