package otel

import (
	"bytes"
	"cmp"
	"errors"
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/internal/reading/assembly"
	"github.com/compactsim/compactsim/internal/reading/jsonscan"
	"github.com/compactsim/compactsim/sim/prompt"
)

// values are what a span says, by what it is called here.
type values map[string]value

// value is the JSON of a value, which shares the bytes of the text.
type value struct {
	name string // by which the span says it
	json []byte
	rank int
}

var (
	errNoSpans = errors.New("it holds no spans")
	errNoList  = errors.New("a part of the export has no list of spans")
)

// read reads an object of the file: a span, or something that holds spans.
func (f *file) read(c *assembly.Cursor) error {
	f.shown, f.known, f.bare = false, false, false
	switch f.object(c); {
	case !f.shown && !f.known:
		return errNoSpans
	case f.bare:
		return errNoList
	}
	return nil
}

// object reads an object and reports whether it is a span or holds spans.
func (f *file) object(c *assembly.Cursor) (holds bool) {
	from, line := c.Offset(), c.Line()
	v := values{}
	for name := range c.Members {
		switch string(name) {
		case "resourceSpans", "scopeSpans", "instrumentationLibrarySpans", "spans", "batches", "data", "trace": // OTLP, Tempo, Jaeger, a list with a head
			f.list(string(name), c)
			holds = true
		case "resource":
			v.object(&c.Scanner, nil, 0)
			f.service, f.version = cmp.Or(v.text("service"), f.service), cmp.Or(v.text("version"), f.version)
		case "resourceLogs", "resourceMetrics":
			f.known = true
			f.Unknown[string(name)]++
			c.Skip()
		case "type":
			typ := string(c.Str())
			f.known = f.known || typ == "metric" || typ == "log"
		default:
			v.member(name, &c.Scanner, members, 0)
			f.shown = f.shown || v.has("span") && v.has("start") || v["name"].name == "spanName" && len(v) > 1
		}
	}
	if c.Err() == nil && (v.has("span") || v.has("name") && len(v) > 1) {
		f.known, holds = true, true
		f.add(line, v, c.From(from))
	}
	return holds
}

// list reads a member that lists spans, or parts of an export each of which has a list of its own.
func (f *file) list(name string, c *assembly.Cursor) {
	parts := name == "resourceSpans" || name == "scopeSpans"
	f.shown = f.shown || parts || strings.HasPrefix(name, "instrumentation")
	f.bare = f.bare || (parts || name == "spans") && c.Peek() != '['
	c.Each(func() {
		if !f.object(c) && parts {
			f.bare = true
		}
	})
}

// object reads what a span holds: members or attributes by their names, or one attribute with its key and its value.
func (v values) object(s *jsonscan.Scanner, names map[string]place, rank int) {
	var key, json []byte
	for name := range s.Members {
		switch string(name) {
		case "key":
			key = s.Str()
		case "value":
			json = plain(s)
		default:
			v.member(name, s, names, rank)
		}
	}
	v.take(names, key, json, rank)
}

// member reads a member of a span or of what it holds. rank is added to that of its name.
func (v values) member(name []byte, s *jsonscan.Scanner, names map[string]place, rank int) {
	switch string(name) {
	case "attributes", "tags":
		s.Each(func() { v.object(s, attributes, rank) })
	case "events", "span_events":
		s.Each(func() { v.object(s, nil, 100) }) // behind what the span itself says
	case "context":
		v.object(s, members, rank)
	case "references": // Jaeger's
		s.Each(func() {
			up := values{}
			if up.object(s, members, 0); up.text("reference") == "CHILD_OF" {
				v["parent"] = up["span"]
			}
		})
	default:
		v.take(names, name, plain(s), rank)
	}
}

// take takes the value of a name, unless one that counts first is there. A member that is null is none.
func (v values) take(names map[string]place, name, json []byte, rank int) {
	p, ok := names[string(name)]
	if had := v[p.what]; ok && json != nil && (had.json == nil || p.rank+rank < had.rank) && (p.attribute || json[0] != 'n') {
		v[p.what] = value{string(name), json, p.rank + rank}
	}
}

// plain reads a value, or what an object of OTLP wraps.
func plain(s *jsonscan.Scanner) []byte {
	from, object := s.Offset(), s.Peek() == '{'
	if !object {
		return s.Raw()
	}
	var wrapped []byte
	for name := range s.Members {
		if v := s.Raw(); bytes.HasSuffix(name, []byte("Value")) {
			wrapped = v
		}
	}
	if wrapped != nil {
		return wrapped
	}
	return s.From(from)
}

func (v values) has(what string) bool { return v[what].json != nil }

// text returns a string, or the JSON of anything else but null.
func (v values) text(what string) string { return assembly.TextOf(v[what].json) }

// number returns a number, which may be in a string, and whether it is one.
func (v values) number(what string) (float64, bool) {
	x, err := strconv.ParseFloat(string(bytes.Trim(v[what].json, `"`)), 64)
	return x, err == nil && x == x
}

// count returns a count of tokens, -1 for what is none.
func (v values) count(what string) assembly.Count {
	c := assembly.Count{Logged: v.has(what)}
	if x, ok := v.number(what); ok && x == float64(int64(x)) {
		c.N = int64(x)
	} else if c.Logged {
		c.N = -1
	}
	return c
}

// id names a span within all of a corpus, zero for none.
func (v values) id(what string) (d prompt.Digest) {
	if id := v.text(what); id != "" {
		d = prompt.DigestString(v.text("trace")).Extend(prompt.DigestString(id))
	}
	return d
}
