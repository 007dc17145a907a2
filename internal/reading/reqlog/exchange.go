package reqlog

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/reading/assembly"
	"github.com/compactsim/compactsim/internal/reading/jsonscan"
	"github.com/compactsim/compactsim/sim/prompt"
)

// exchange is a request with its response, or one of the two, while it is read. Its
// values share the bytes of the text.
type exchange struct {
	line              int
	id, task          string
	path              string
	start, end        []byte
	status            int64
	request, response []byte // JSON of a body, or a string that holds it; of a response also the text of a stream
	body              []byte // of one of the two
	answers           bool   // a record of a response
}

// member reads a member of an exchange. Those that are not named here, headers among
// them, are not looked at.
func (x *exchange) member(name string, s *jsonscan.Scanner) {
	switch name {
	case "request":
		x.request = x.half(s, &x.start, "model")
	case "response":
		x.response, x.answers = x.half(s, &x.end, "usage", "choices", "content", "output", "error"), true
	case "body":
		x.body = s.Raw()
	case "raw":
		x.response, x.answers = s.Raw(), true
	case "request_id":
		x.id = string(s.Str())
	case "task_id", "session_id":
		x.task = string(s.Str())
	case "path", "url", "upstream_url":
		x.path = string(s.Str())
	case "start", "start_time", "captured_at":
		x.start = s.Raw()
	case "end", "end_time":
		x.end = s.Raw()
	case "captured_at_resp":
		x.end, x.answers = s.Raw(), true
	case "status", "status_code":
		x.status, _ = s.Int()
	default:
		s.Skip()
	}
}

// half reads a request or a response: an object that holds a body, or the body itself,
// which has one of some members.
func (x *exchange) half(s *jsonscan.Scanner, at *[]byte, members ...string) []byte {
	from := s.Offset()
	if s.Peek() != '{' {
		return s.Raw()
	}
	var body []byte
	bare := false
	for name := range s.Members {
		switch name := string(name); name {
		case "body", "body_raw":
			if v := s.Raw(); len(v) > 0 && v[0] != 'n' {
				body = v
			}
		case "timestamp":
			*at = s.Raw()
		case "url", "status_code":
			x.member(name, s)
		default:
			bare = bare || slices.Contains(members, name)
			s.Skip()
		}
	}
	if body == nil && bare {
		return s.From(from)
	}
	return body
}

// call is a call of a model, or one half of it.
type call struct {
	*assembly.Request
	half   string // the id that its halves share, "" for none
	asked  bool   // the request is known
	told   bool   // the response is known
	failed bool
}

// paths are those of interfaces that are known.
var paths = regexp.MustCompile(`/(messages|completions|responses)/?(\?|$)`)

// add adds an exchange. It reports whether it is one at all.
func (f *file) add(x *exchange) bool {
	if x.request == nil && x.response == nil && x.body == nil {
		return false
	}
	if x.body != nil && x.response == nil && x.answers {
		x.response = x.body
	} else if x.body != nil && x.request == nil {
		x.request = x.body
	}
	c := &call{half: x.id, Request: &assembly.Request{
		Source: f.File, Line: int32(x.line), ID: x.id, Session: x.task, Whole: true, Start: f.Moment(x.line, x.start), End: f.Moment(x.line, x.end),
	}}
	f.ask(c, plain(x.request, &f.scratch[0]))
	f.hear(c, x)
	if x.path != "" && !paths.MatchString(x.path) {
		if c.asked && c.Usage.OK && c.Usage.Output > 0 {
			f.Lacks(1, x.line, "the answer of %.40q has the token counts of a call, and the path is that of no known interface", x.path)
		}
		c.asked, c.told = false, false
	}
	if !c.asked && !c.told || c.failed && !c.Usage.OK {
		f.others++
		f.Unknown["exchange/"+map[bool]string{true: "failed", false: "other"}[c.failed]]++
		return true
	}
	c.Start = cmp.Or(c.Start, c.End)
	c.End = max(c.End, c.Start)
	c.First = c.End
	f.Speaks(c.half)
	f.Speaks(c.Session)
	f.calls = append(f.calls, c)
	return true
}

// plain returns the text of a body that is one, or its JSON; nil for none.
func plain(v []byte, scratch *[]byte) []byte {
	switch {
	case len(v) == 0 || v[0] == 'n':
		return nil
	case v[0] == '"':
		s := jsonscan.New(v)
		return bytes.TrimSpace(s.Text(scratch))
	}
	return v
}

// ask reads the body of a request.
func (f *file) ask(c *call, body []byte) {
	if len(body) == 0 || body[0] != '{' {
		return
	}
	var system, tools []byte
	s := jsonscan.New(body)
	for name := range s.Members {
		switch string(name) {
		case "model":
			c.Model = modelName(string(s.Str()))
		case "system", "instructions":
			system = s.Raw()
		case "tools":
			tools = s.Raw()
		case "messages", "input":
			c.asked = true
			system = slices.Concat(system, c.list(f.List(&s)))
		case "metadata":
			c.Session = cmp.Or(c.Session, sessionOf(s.Raw()))
		case "prompt_cache_key":
			c.Session = cmp.Or(c.Session, string(s.Str()))
		case "cache_control": // of all that is sent, on its last block
			c.Markers++
			s.Skip()
		default:
			s.Skip()
		}
	}
	if s.Err() != nil { // cut off where the log limits bodies
		f.Unknown["request/cut off"]++
	}
	for i, v := range [...][]byte{tools, system} {
		if len(v) > 0 && v[0] != 'n' {
			c.Show([...]prompt.Kind{prompt.KindTools, prompt.KindSystem}[i], f.unmarked(v))
		}
	}
}

// marker is a cache marker with the comma before or after it.
var marker = regexp.MustCompile(`,\s*"cache_control"\s*:\s*(\{[^{}]*\}|null)|"cache_control"\s*:\s*(\{[^{}]*\}|null)\s*,?`)

// unmarked returns tools or a system prompt without cache markers, which move from request to
// request. What came before is not looked at again.
func (f *file) unmarked(v []byte) []byte {
	if !bytes.Contains(v, []byte(`"cache_control"`)) {
		return v
	}
	d := prompt.DigestBytes(v)
	if f.heads[d] == nil {
		f.heads[d] = marker.ReplaceAll(v, nil)
	}
	return f.heads[d]
}

// list takes the messages of a request. It returns those of the system at their beginning.
func (c *call) list(list []*assembly.Message) (system []byte) {
	for len(list) > 0 && list[0].System {
		system, list = append(system, list[0].JSON...), list[1:]
	}
	for _, m := range list {
		if m.Marked {
			c.Markers++
		}
	}
	c.Messages = list
	return system
}

// modelName returns the name of a model without that of its provider.
func modelName(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// inUser finds the session in the user of a request, as Claude Code names it.
var inUser = regexp.MustCompile(`session_(?:id\\*"\s*:\s*\\*")?([0-9A-Za-z_.-]{1,64})\\*"`)

// sessionOf returns the session that the metadata of a request names, "" for none.
func sessionOf(metadata []byte) string {
	if m := inUser.FindSubmatch(metadata); m != nil {
		return string(m[1])
	}
	return ""
}
