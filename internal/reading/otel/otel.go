// Package otel reads OpenTelemetry spans of the GenAI convention, by which any
// program can report its calls of a model: OTLP as JSON or lines of it, exports
// of Tempo and Jaeger, lists of spans, and the lines of the Copilot CLI's file
// exporter.
//
// One call is the innermost span with token counts, and never that of an agent,
// a workflow or a tool, which repeat sums. Calls of one conversation are a
// session; below the span of a tool they are a sub-agent's. Texts are optional.
// Without them tools still show what a call answers.
package otel

import (
	"bytes"
	"context"
	"errors"

	"github.com/compactsim/compactsim/internal/reading/assembly"
	"github.com/compactsim/compactsim/internal/reading/jsonscan"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// Agent is the name of the recorded agent in Session.Agent.
const Agent = traces.AgentOTel

// Describe returns what the rest of the program needs to know of programs that
// are only known by their spans: nothing but that they mark the last message for
// models of Anthropic and fill the window.
func Describe() *traces.Agent {
	return assembly.Client(&traces.Agent{
		Name: Agent, Title: "OpenTelemetry GenAI spans", Read: assembly.ReadBy(Agent, scan, sessions), Texts: texts, Document: document, Markers: 1,
		Member: func(typ, name string) bool {
			return typ == "span" && (name == "traceId" || name == "spanId") || typ == "" && (name == "resourceSpans" || name == "scopeSpans")
		},
		Places: func(h *traces.Home) {
			h.Add(traces.Place{Agent: Agent, Flat: true}, h.Getenv("COPILOT_OTEL_FILE_EXPORTER_PATH"))
		},
	}, 100)
}

// document reports whether a file begins with spans: an object or a list of
// objects that names spans of OTLP, or that has the id and the start of a span.
func document(head []byte) bool {
	s := jsonscan.New(head)
	return spansIn(&s)
}

func spansIn(s *jsonscan.Scanner) bool {
	if s.Peek() == '[' {
		found := false
		for range s.Elements {
			found = found || spansIn(s)
			break //nolint:staticcheck // the first element is enough
		}
		return found
	}
	id, start, attributes, scope := false, false, false, false
	for name := range s.Members {
		switch name := string(name); name {
		case "resourceSpans", "scopeSpans", "instrumentationLibrarySpans":
			return true
		case "batches", "data", "spans", "trace":
			if spansIn(s) {
				return true
			}
			continue
		case "context":
			id = bytes.Contains(s.Raw(), []byte("span_id"))
			continue
		case "spanId", "spanID", "span_id":
			id = true
		case "startTimeUnixNano", "startTime", "start_time":
			start = true
		case "attributes":
			attributes = true
		case "spanName":
			scope = true
		}
		if id && start || scope && attributes {
			return true
		}
		s.Skip()
	}
	return false
}

// file is one file.
type file struct {
	*assembly.File
	spans            []*span
	service, version string
	maker            assembly.Maker
	messages         map[prompt.Digest]*assembly.Message // read so far
	scratch          []byte
	calls            int // spans that may be calls
	cut              int // spans whose messages are cut off
}

func newFile(f *assembly.File, mk assembly.Maker) *file {
	return &file{File: f, maker: mk, messages: map[prompt.Digest]*assembly.Message{}}
}

var (
	errNoSpans = errors.New("it holds no spans")
	errNoList  = errors.New("a part of the export has no list of spans")
)

// scan reads one file. What precedes a defect in a document is kept.
func scan(ctx context.Context, opts traces.Options, in traces.Input) (*file, error) {
	base := assembly.NewFile(in.Name, opts)
	f := newFile(base, assembly.Maker{Ear: opts.Listener, Unknown: base.Unknown})
	err := f.ReadValues(ctx, opts, in, f.walk)
	if err == nil && len(f.spans) == 0 && f.Problems.Total == 0 {
		err = f.Refuse(0, errNoSpans)
	}
	if f.cut > 0 {
		f.Problems.Add(f.Name, 0, "%d spans have messages that cannot be read to their end; what is missing counts as unseen", f.cut)
	}
	return f, err
}

// walk reads the spans in a text, which begins on a line.
func (f *file) walk(text []byte, line int, lined bool) error {
	w := &walker{file: f, text: text, line: line, lines: lined}
	s := jsonscan.New(w.text)
	for s.Peek() != 0 && s.Err() == nil {
		w.value(&s)
	}
	if s.End(); s.Err() == nil && !w.known {
		return errNoSpans
	}
	if s.Err() == nil && w.bare > 0 {
		return errNoList
	}
	return s.Err()
}

// texts reads the texts of a file again.
func texts(text []byte) (list []traces.Text) {
	f := newFile(assembly.NewFile("", traces.Options{}), assembly.Maker{Keep: true})
	_ = f.walk(text, 1, false) // as far as it is readable
	for _, m := range f.messages {
		list = append(list, assembly.TextsOf(m.Blocks)...)
	}
	for _, sp := range f.spans {
		list = append(list, assembly.TextsOf(sp.blocks())...)
	}
	return list
}
