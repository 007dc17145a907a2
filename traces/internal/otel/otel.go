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
	"context"

	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/internal/assembly"
)

// Agent is the name of the recorded agent in Session.Agent.
const Agent = traces.AgentOTel

// Describe returns what the rest of the program needs to know of programs that are only known by their spans: nothing but
// that they mark the last message for models of Anthropic and fill the window.
func Describe() *traces.Agent {
	return assembly.Client(&traces.Agent{
		Name: Agent, Title: "OpenTelemetry GenAI spans", Read: assembly.ReadBy(Agent, scan, sessions), Texts: texts, Document: document, Markers: 1,
		Member: func(typ, name string) bool {
			return typ == "span" && (name == "traceId" || name == "spanId") || typ == "" && (name == "resourceSpans" || name == "scopeSpans")
		},
		Places: func(h *traces.Home) {
			h.Add(traces.Place{Agent: Agent, Flat: true}, h.Getenv("COPILOT_OTEL_FILE_EXPORTER_PATH"))
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
		f.Problems.Add(f.Name, 0, "%d spans have messages that cannot be read to their end; what is missing counts as unseen", f.cut)
	}
	if f.objects > 0 {
		f.Problems.Add(f.Name, 0, "%d spans have no cached counts of their own; these come from the usage object that they hold", f.objects)
	}
	return f, err
}

// texts reads the texts of a file again.
func texts(text []byte) []traces.Text {
	f := &file{Log: assembly.NewLog(assembly.Again())}
	_, _ = assembly.Objects(text, 1, errNoSpans, f.read) // as far as it is readable
	return f.Texts()
}
