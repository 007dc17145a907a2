package otel

import (
	"bytes"
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
			of := values{}
			for name := range c.Members {
				of.member(name, &c.Scanner)
			}
			f.service, f.version = of.text("service"), of.text("version")
		case "resourceLogs", "resourceMetrics":
			f.known = true
			f.Unknown[string(name)]++
			c.Skip()
		case "type":
			typ := string(c.Str())
			f.known = f.known || typ == "metric" || typ == "log"
		default:
			v.member(name, &c.Scanner)
			f.shown = f.shown || v.has("span") && v.has("start")
		}
	}
	if c.Err() == nil && (v.has("span") || v.has("name") && v.speaks()) {
		f.shown, holds = true, true
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

// member reads a member of a span.
func (v values) member(name []byte, s *jsonscan.Scanner) {
	switch string(name) {
	case "references": // Jaeger's
		s.Each(func() {
			up := values{}
			for name := range s.Members {
				up.member(name, s)
			}
			if up.text("reference") == "CHILD_OF" {
				v["parent"] = up["span"]
			}
		})
	case "context":
		for name := range s.Members {
			v.member(name, s)
		}
	case "attributes", "tags":
		v.attributes(s, 0)
	case "events", "span_events":
		s.Each(func() {
			for name := range s.Members {
				if string(name) == "attributes" {
					v.attributes(s, 100) // behind those of the span
				} else {
					s.Skip()
				}
			}
		})
	default:
		if json := s.Raw(); json != nil && json[0] != 'n' {
			v.take(members, name, json, 0)
		}
	}
}

// attributes reads attributes, an object or a list of keys and values.
func (v values) attributes(s *jsonscan.Scanner, rank int) {
	if s.Peek() == '{' {
		for name := range s.Members {
			v.take(attributes, name, plain(s), rank)
		}
		return
	}
	s.Each(func() {
		var key, json []byte
		for name := range s.Members {
			switch string(name) {
			case "key":
				key = s.Str()
			case "value":
				json = plain(s)
			default:
				s.Skip()
			}
		}
		v.take(attributes, key, json, rank)
	})
}

// take takes the value of a name, unless one that counts first is there. rank is added to that of the name.
func (v values) take(names map[string]place, name, json []byte, rank int) {
	p, ok := names[string(name)]
	if had := v[p.what]; ok && json != nil && (had.json == nil || p.rank+rank < had.rank) {
		v[p.what] = value{string(name), json, p.rank + rank}
	}
}

// plain reads a value, or what an object of OTLP wraps; null for one that wraps nothing.
func plain(s *jsonscan.Scanner) []byte {
	if s.Peek() != '{' {
		return s.Raw()
	}
	out := []byte("null")
	for name := range s.Members {
		if bytes.HasSuffix(name, []byte("Value")) {
			out = s.Raw()
		} else {
			s.Skip()
		}
	}
	return out
}

func (v values) has(what string) bool { return v[what].json != nil }

// speaks reports whether a span has an attribute of the convention.
func (v values) speaks() bool {
	for _, x := range v {
		if _, ok := attributes[x.name]; ok {
			return true
		}
	}
	return false
}

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
