package reqlog

import (
	"bytes"
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces/internal/assembly"
	"github.com/compactsim/compactsim/traces/internal/jsonscan"
)

// exchange is a request with its response, or one of the two, while it is read, by the names that their writers
// use: programs of their own, claude-trace, agentcap, nock, Bedrock's log of invocations, Helicone, LiteLLM and HAR. Its
// values share the bytes of the text. Members that are not named here, headers among them, are not looked at.
type exchange struct {
	ID       jsontext.Value `json:"request_id|requestId"`
	Task     jsontext.Value `json:"task_id|session_id"`
	Path     jsontext.Value `json:"path|url|upstream_url"`
	Method   jsontext.Value `json:"method"`
	Model    jsontext.Value `json:"modelId|model"`
	Start    jsontext.Value `json:"start|start_time|startTime|captured_at|request_created_at|startedDateTime"`
	End      jsontext.Value `json:"end|end_time|endTime|response_created_at"`
	At       jsontext.Value `json:"timestamp|created_at|ts"` // where neither is known
	Took     jsontext.Value `json:"time"`                    // of HAR, ms
	Late     jsontext.Value `json:"captured_at_resp"`        // of a record of a response
	Status   jsontext.Value `json:"status|status_code|response_status"`
	Request  half           `json:"request|request_body|input"`
	Response half           `json:"response|response_body|output"`
	Messages jsontext.Value `json:"messages"`  // of a line that is the body of the request
	Served   jsontext.Value `json:"cache_hit"` // by the gateway, which asked no model
	Kind     jsontext.Value `json:"call_type"` // of LiteLLM, which leaves out counts that a provider did not say
	Stream   jsontext.Value `json:"raw"`       // of a response
	Body     jsontext.Value `json:"body"`      // of one of the two
	HAR      struct {
		Entries jsontext.Value `json:"entries"`
	} `json:"log"`
}

// half is a request or a response: an object that holds a body, or the body itself, which has one of some members. A body is
// JSON, or a string that holds it or the text of a stream.
type half struct {
	there                    bool
	json, time, path, status jsontext.Value
	method                   jsontext.Value
}

// bodied are members of bodies; see half.
var bodied = []string{"model", "usage", "choices", "output", "error", "messages", "contents", "candidates"}

// Scan implements jsonscan.Scannable.
func (h *half) Scan(s *jsonscan.Scanner) {
	from, bare := s.Offset(), false
	h.there = true
	if s.Peek() != '{' {
		h.json = s.Raw()
		return
	}
	for name := range s.Distinct {
		switch v := s.Raw(); string(name) {
		case "body", "body_raw", "inputBodyJson", "outputBodyJson":
			if len(v) > 0 && v[0] != 'n' {
				h.json = v
			}
		case "postData", "content": // of HAR; the content of an answer is a list
			var said struct {
				Text jsontext.Value `json:"text"`
			}
			if len(v) > 0 && v[0] == '{' && jsonscan.Decode(v, &said) == nil {
				h.json = said.Text
			}
			bare = bare || len(v) > 0 && v[0] == '['
		case "timestamp":
			h.time = v
		case "url":
			h.path = v
		case "status_code", "status":
			h.status = v
		case "method":
			h.method = v
		default:
			bare = bare || slices.Contains(bodied, string(name))
		}
	}
	if h.json == nil && bare {
		h.json = s.From(from)
	}
}

// call is a call of a model, or one half of a call.
type call struct {
	*assembly.Request
	half   string // the id that its halves share, "" for none
	after  string // the response that the request goes on with, "" for none
	asked  bool   // the request is known
	told   bool   // the response is known
	failed bool
	same   prompt.Digest // of times, request and response, which stand for the id that neither has; zero with an id or without times
}

// paths are the paths of interfaces that are known.
var paths = regexp.MustCompile(`/(messages|completions|responses)/?(\?|$)|/models/([^/:]+):(generateContent|streamGenerateContent|rawPredict|streamRawPredict)|/model/([^/]+)/(converse|invoke)`)

// modelIn returns the model that a path names, "" for none: Google's and Bedrock's interfaces have it there.
func modelIn(path string) string {
	m := paths.FindStringSubmatch(path)
	if m == nil {
		return ""
	}
	name, _ := url.PathUnescape(cmp.Or(m[3], m[5]))
	return name
}

// first returns the text of the first value that is there.
func first(list ...jsontext.Value) string {
	for _, v := range list {
		if text := assembly.TextOf(v); text != "" {
			return text
		}
	}
	return ""
}

// bodies returns the bodies of the request and the response, nil for one that is not there; whole is the exchange itself, which is
// the body of the request where its messages stand beside the response.
func (x *exchange) bodies(whole []byte) (ask, answer []byte) {
	ask, answer = x.Request.json, x.Response.json
	if len(x.Stream) > 0 {
		answer = x.Stream
	}
	if answer == nil && (x.Response.there || x.Late != nil) {
		answer = x.Body
	} else if ask == nil {
		ask = x.Body
	}
	if ask == nil && len(x.Messages) > 0 || len(ask) > 0 && ask[0] == '[' {
		ask = whole
	}
	return ask, answer
}

// add adds an exchange. It reports whether it is one at all.
func (f *file) add(line int, x *exchange, whole []byte) bool {
	ask, answer := x.bodies(whole)
	path := first(x.Path, x.Request.path, x.Response.path)
	if ask == nil && answer == nil && path == "" {
		return false
	}
	r := &assembly.Request{Place: assembly.Place{Source: f.File, Line: int32(line)}, ID: first(x.ID), Session: first(x.Task), Signs: assembly.Signs{Whole: true}}
	r.Start, r.End = f.Moment(line, []byte(first(x.Start, x.Request.time))), f.Moment(line, []byte(first(x.End, x.Late, x.Response.time)))
	if took, err := strconv.ParseFloat(string(x.Took), 64); err == nil && r.Start > 0 && r.End == 0 && took > 0 {
		r.End = r.Start + int64(took*1e6)
	}
	r.Model = assembly.ModelName(cmp.Or(first(x.Model), modelIn(path)))
	c := &call{half: r.ID, Request: r}
	ask = assembly.Inner(ask, &f.scratch[0])
	f.ask(c, ask)
	status, _ := strconv.Atoi(first(x.Status, x.Response.status))
	c.failed = status >= 400
	answer = assembly.Inner(answer, &f.scratch[1])
	a := f.Response(answer)
	if c.hear(a); len(x.Kind) > 0 && !a.Cached() {
		c.Usage = assembly.Usage{Reasoning: -1, Bad: true}
	}
	if c.Start == 0 && c.End == 0 {
		c.Start = f.Moment(line, x.At)
	}
	if c.ID == "" && c.asked && c.told && (c.Start > 0 || c.End > 0) {
		c.same = prompt.DigestBytes(ask).Extend(prompt.DigestBytes(answer)).ExtendInt(uint64(c.Start)).ExtendInt(uint64(c.End))
	}
	f.Keep(c.Reply...)
	posted := cmp.Or(first(x.Method, x.Request.method), "POST") == "POST" // others look at what is there
	switch known := paths.MatchString(path); {
	case path != "" && !known:
		if posted && c.told && c.Usage.OK && c.Usage.Output > 0 {
			f.Lacks(1, line, "the answer of %.40q has the token counts of a call, and its path belongs to no known interface", path)
		}
		c.asked, c.told = false, false
	case known && posted && !c.asked && !c.told && !c.failed:
		f.Lacks(1, line, "the request to %.40q has no response that could be read", path)
	}
	if !c.asked && !c.told || c.failed && !c.Usage.OK || string(x.Served) == "true" {
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

// hear takes a response.
func (c *call) hear(a *assembly.Response) {
	c.told, c.failed = a.Known, c.failed || a.Failed
	c.ID, c.Model = cmp.Or(a.ID, c.ID), cmp.Or(a.Served(), c.Model)
	if c.End == 0 {
		c.End = c.Source.Moment(int(c.Line), a.Created)
	}
	c.Summaries, c.Says = a.Summaries, a.Says()
	c.Reply, c.Usage, c.Open, c.USD = a.Reply(), a.Usage(), a.Open, c.Source.Cost(int(c.Line), a.USD())
}

// ask reads the body of a request.
func (f *file) ask(c *call, body []byte) {
	if len(body) == 0 || body[0] != '{' {
		return
	}
	var system, tools []byte
	var placed assembly.Placed
	s := jsonscan.New(body)
	for name := range s.Distinct {
		switch string(name) {
		case "model":
			c.Model = assembly.ModelName(string(s.Str()))
		case "system", "instructions", "systemInstruction", "system_instruction":
			system = s.Raw()
		case "tools", "toolConfig":
			tools = s.Raw()
		case "previous_response_id":
			c.after = string(s.Str())
		case "messages", "input", "contents":
			c.asked = true
			system = slices.Concat(system, c.list(f.List(&s)))
		case "metadata":
			c.Session = cmp.Or(c.Session, sessionOf(s.Raw()))
		case "prompt_cache_key":
			c.Session = cmp.Or(c.Session, string(s.Str()))
		case "cache_control":
			placed.TTL, placed.Whole = assembly.Marker(s.Raw())
		default:
			s.Skip()
		}
	}
	if s.Err() != nil { // cut off where the log limits bodies
		f.cut++
	}
	for i, v := range [...][]byte{tools, system} {
		if len(v) == 0 || v[0] == 'n' {
			continue
		}
		marks, bare := assembly.MarksIn(v), f.unmarked(v)
		placed.Head([...]prompt.Level{prompt.LevelTools, prompt.LevelSystem}[i], marks, len(bytes.TrimRight(v, "] \t\r\n")))
		if i == 1 {
			c.System = f.share(bare)
		}
		var pieces [][]byte // between marks
		for k := range marks {
			from := 0
			if k > 0 {
				from = marks[k-1].Behind
			}
			pieces = append(pieces, f.unmarked(v[from:marks[k].Behind]))
		}
		if len(marks) > 0 {
			pieces = append(pieces, f.unmarked(v[marks[len(marks)-1].Behind:]))
		}
		c.Show([...]prompt.Kind{prompt.KindTools, prompt.KindSystem}[i], bare, pieces...)
	}
	if c.asked {
		c.Breakpoints = placed.Place(c.Messages)
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

// maxKept is the longest system prompt that is kept, bytes.
const maxKept = 256 << 10

// share returns a copy of a system prompt that all requests with it share, nil for a long one.
func (f *file) share(system []byte) []byte {
	if len(system) > maxKept {
		return nil
	}
	d := prompt.DigestBytes(system)
	if f.systems[d] == nil {
		f.systems[d] = bytes.Clone(system)
	}
	return f.systems[d]
}

// list takes the messages of a request. It returns the system's messages at their beginning.
func (c *call) list(list []*assembly.Message) (system []byte) {
	for len(list) > 0 && list[0].System {
		system, list = append(system, list[0].JSON...), list[1:]
	}
	c.Messages = list
	return system
}

// inUser finds the session in the user of a request, as Claude Code names it.
var inUser = regexp.MustCompile(`session_(?:id\\*"\s*:\s*\\*")?([0-9A-Za-z_.-]{1,64})\\*"`)

// sessionOf returns the session that the metadata of a request names, "" for none.
func sessionOf(metadata []byte) string {
	if m := inUser.FindSubmatch(metadata); m != nil {
		return string(m[1])
	}
	return ""
}
