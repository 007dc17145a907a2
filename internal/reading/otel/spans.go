package otel

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/internal/reading/assembly"
	"github.com/compactsim/compactsim/internal/reading/jsonscan"
	"github.com/compactsim/compactsim/sim/prompt"
)

// scanned is a span while it is read. Its values share the bytes of the text.
type scanned struct {
	trace, id, up, name []byte
	start, end, lasted  []byte
	all                 []byte
	failed              bool
	values              [numAttributes]value
}

// value is the JSON of an attribute, nil if the span does not have it.
type value struct {
	jsontext.Value
	place
}

// walker finds the spans in a text.
type walker struct {
	*file
	line, place int // line of a byte of the text
	text        []byte
	lines       bool // the text is one line
	known       bool // it holds spans, or what is known to be none
	bare        int  // parts of an export that hold no list of spans
}

// at returns the line of an offset; offsets never go back by more than an object.
func (w *walker) at(offset int) int {
	if !w.lines && offset > w.place {
		w.line += bytes.Count(w.text[w.place:offset], []byte("\n"))
		w.place = offset
	}
	return w.line
}

// value reads spans out of any value.
func (w *walker) value(s *jsonscan.Scanner) {
	switch s.Peek() {
	case '[':
		for range s.Elements {
			w.value(s)
		}
	case '{':
		w.object(s)
	default:
		s.Skip()
	}
}

// object reads an object and reports whether it is a span, or something that holds spans.
func (w *walker) object(s *jsonscan.Scanner) (holds bool) {
	from := s.Offset()
	line := w.at(from)
	var sp scanned
	for name := range s.Members {
		switch name := string(name); name {
		case "resourceSpans", "scopeSpans", "instrumentationLibrarySpans", "spans", "batches", "data", "trace": // OTLP, Tempo, Jaeger, a list with a head
			w.known = w.known || name == "resourceSpans"
			holds = true
			w.list(name, s)
		case "resource":
			w.resource(s)
		case "resourceLogs", "resourceMetrics":
			w.known = true
			w.Unknown[name]++
			s.Skip()
		case "type":
			typ := string(s.Str())
			w.known = w.known || typ == "metric" || typ == "log"
		default:
			sp.member(name, s)
		}
	}
	if s.Err() == nil && (sp.id != nil || sp.name != nil) && !sp.empty() {
		sp.all, w.known = s.From(from), true
		w.add(line, &sp)
		holds = true
	}
	return holds
}

// list reads what a member holds that lists spans, or parts of an export, each of which has a list of its own.
func (w *walker) list(name string, s *jsonscan.Scanner) {
	parts := name == "resourceSpans" || name == "scopeSpans"
	if (parts || name == "spans") && s.Peek() != '[' {
		w.bare++
	}
	if !parts || s.Peek() != '[' {
		w.value(s)
		return
	}
	for range s.Elements {
		if s.Peek() != '{' {
			w.bare++
			s.Skip()
		} else if !w.object(s) {
			w.bare++
		}
	}
}

// empty reports whether an object says nothing that a span of this convention says.
func (sp *scanned) empty() bool {
	for i := range sp.values {
		if sp.values[i].Value != nil {
			return false
		}
	}
	return sp.id == nil
}

// member reads a member of a span.
func (sp *scanned) member(name string, s *jsonscan.Scanner) {
	switch name {
	case "traceId", "traceID", "trace_id":
		sp.trace = s.Str()
	case "spanId", "spanID", "span_id":
		sp.id = s.Str()
	case "parentSpanId", "parent_span_id", "parent_id":
		sp.up = s.Str()
	case "references":
		sp.references(s)
	case "context":
		for name := range s.Members {
			sp.member(string(name), s)
		}
	case "name", "operationName", "spanName":
		sp.name = s.Str()
	case "startTimeUnixNano", "startTime", "start_time":
		sp.start = s.Raw()
	case "endTimeUnixNano", "endTime", "end_time":
		sp.end = s.Raw()
	case "duration":
		sp.lasted = s.Raw()
	case "status":
		v := s.Raw()
		sp.failed = bytes.Contains(v, []byte("ERROR")) || bytes.Contains(bytes.ReplaceAll(v, []byte(" "), nil), []byte(`"code":2`))
	case "attributes", "tags":
		sp.attributes(s, 0)
	case "events", "span_events":
		for range s.Elements {
			for name := range s.Members {
				if string(name) == "attributes" {
					sp.attributes(s, 100)
				} else {
					s.Skip()
				}
			}
		}
	default:
		s.Skip()
	}
}

// references reads the parent of a span from Jaeger's list.
func (sp *scanned) references(s *jsonscan.Scanner) {
	for range s.Elements {
		var id, typ []byte
		for name := range s.Members {
			switch string(name) {
			case "spanID":
				id = s.Str()
			case "refType":
				typ = s.Str()
			default:
				s.Skip()
			}
		}
		if string(typ) == "CHILD_OF" {
			sp.up = id
		}
	}
}

// attributes reads attributes, an object or a list of keys and values. rank is
// added to that of their names.
func (sp *scanned) attributes(s *jsonscan.Scanner, rank uint8) {
	eachAttribute(s, func(name, v []byte) {
		p, ok := names[string(name)]
		p.rank += rank
		if had := &sp.values[p.attribute]; ok && v != nil && (had.Value == nil || p.rank < had.rank) {
			*had = value{v, p}
		}
	})
}

// eachAttribute calls do with names and plain values.
func eachAttribute(s *jsonscan.Scanner, do func(name, v []byte)) {
	if s.Peek() == '{' {
		for name := range s.Members {
			do(name, plain(s.Raw()))
		}
		return
	}
	for range s.Elements {
		var key, v []byte
		for name := range s.Members {
			switch string(name) {
			case "key":
				key = s.Str()
			case "value":
				v = s.Raw()
			default:
				s.Skip()
			}
		}
		do(key, plain(v))
	}
}

// plain returns the value that an object of OTLP wraps, or the value itself. null
// for one that wraps nothing that is known.
func plain(v []byte) []byte {
	if len(v) == 0 || v[0] != '{' {
		return v
	}
	s := jsonscan.New(v)
	out := []byte("null")
	for name := range s.Members {
		switch string(name) {
		case "stringValue", "intValue", "doubleValue", "boolValue", "arrayValue", "kvlistValue":
			out = s.Raw()
		default:
			s.Skip()
		}
	}
	return out
}

// resource reads what a program says of itself.
func (w *walker) resource(s *jsonscan.Scanner) {
	for name := range s.Members {
		if string(name) != "attributes" {
			s.Skip()
			continue
		}
		eachAttribute(s, func(name, v []byte) {
			switch string(name) {
			case "service.name":
				w.service = text(v)
			case "service.version":
				w.version = text(v)
			}
		})
	}
}

// text returns a string, or the JSON of anything else but null.
func text(v []byte) string {
	var s string
	switch {
	case len(v) == 0 || v[0] == 'n':
		return ""
	case v[0] == '"' && assembly.Decode(v, &s) == nil:
		return s
	}
	return string(v)
}

// list returns the JSON of a list of messages, which is often in a string, and in
// one that may have been cut off. It uses scratch for what is in a string.
func (v *value) list(scratch *[]byte) []byte {
	if len(v.Value) > 0 && v.Value[0] == '"' {
		s := jsonscan.New(v.Value)
		return s.Text(scratch)
	}
	return v.Value
}

// number returns a whole number, which may be in a string; -1 for anything else.
func number(v []byte) int64 {
	v = bytes.Trim(v, `"`)
	if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
		return n
	}
	if f, err := strconv.ParseFloat(string(v), 64); err == nil && f == float64(int64(f)) {
		return int64(f)
	}
	return -1
}

// count returns a count of tokens. One that is left out is 0.
func (v *value) count() assembly.Count {
	if v.Value == nil {
		return assembly.Count{}
	}
	return assembly.Count{N: number(v.Value), Logged: true}
}

// scaled returns a measure in the unit of its place, 0 for none.
func (v *value) scaled() float64 {
	f, err := strconv.ParseFloat(string(bytes.Trim(v.Value, `"`)), 64)
	if v.Value == nil || err != nil || f != f {
		return 0
	}
	return f * v.scale
}

// digest names a span within all of a corpus by ids, zero for none.
func digest(trace, id []byte) (d prompt.Digest) {
	if len(id) > 0 {
		d = prompt.DigestBytes(trace).Extend(prompt.DigestBytes(id))
	}
	return d
}
