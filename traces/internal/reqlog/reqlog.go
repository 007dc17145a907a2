// Package reqlog reads logs of the requests that a program sent to a model, with
// the responses: the bodies of the interfaces of Anthropic, OpenAI, Google and Bedrock, as pairs in
// lines of JSON (claude-trace, Bedrock's log of invocations, Helicone, LiteLLM, or a line that a program writes itself), as
// records of their own (agentcap), in a list (nock, with which Cline records), or in a HAR file, as browsers and proxies
// export it. Headers hold keys; they are not read.
//
// A request shows all that was sent: tools, system prompt, messages and the markers
// of the cache. So the prefix of a conversation is known, and what a request changed
// of the one before.
package reqlog

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/numbers"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/internal/assembly"
)

// Agent is the name of the recorded agent in Session.Agent.
const Agent = facts.Requests

// Describe returns what the rest of the program needs to know of programs that are
// known by their requests. Where these are not shown, one message is taken to be marked.
func Describe() *facts.Agent {
	return assembly.Client(&facts.Agent{
		Name: Agent, Title: "request logs", Read: assembly.ReadBy(Agent, scan, sessions), Texts: texts, Document: document, Markers: 1,
	}, 100, 0)
}

// firstLines are tried: some may be damaged.
const firstLines = 8

// document reports whether one of the first values of a file, or of a list there, is an exchange.
func document(head []byte) bool {
	for range firstLines {
		line, rest, more := bytes.Cut(bytes.TrimLeft(head, " \t\r\n["), []byte("\n"))
		if exchangeIn(head) {
			return true
		}
		if head = rest; !more || len(line) == 0 {
			return false
		}
	}
	return false
}

// bodyMembers are some of those that the body of a request has.
var bodyMembers = []string{"messages", "input", "contents", "model", "system", "instructions", "systemInstruction", "tools",
	"max_tokens", "stream", "metadata", "generationConfig", "inferenceConfig"}

// exchangeIn reports whether a value, which may be cut off, is an exchange, or a list of these: a request with its method or
// two members of a body, a call that Bedrock or LiteLLM logs, a record of agentcap, one of nock, or a HAR file.
func exchangeIn(head []byte) bool {
	seen := assembly.Names(bytes.TrimLeft(head, " \t\r\n["), 3)
	body := slices.DeleteFunc(slices.Clone(bodyMembers), func(name string) bool {
		return !seen["request."+name] && !seen["request.body."+name] && !seen["request_body."+name]
	})
	switch {
	case seen["call_type"] && seen["startTime"] && seen["messages"]:
		return true
	case seen["prompt_tokens"] || seen["call_type"]:
		return false
	case len(body) > 1 && slices.Contains(bodyMembers[:4], body[0]), seen["request.url"] && seen["request.method"]:
		return true
	case seen["modelId"] && seen["operation"] && seen["input"], seen["log.version"] && seen["log.creator"]:
		return true
	}
	return seen["request_id"] && (seen["captured_at"] || seen["captured_at_resp"]) || seen["scope"] && seen["method"] && seen["path"]
}

// file is one file.
type file struct {
	*assembly.Log
	calls   []*call
	heads   map[prompt.Digest][]byte // without markers, by the digests of their JSON
	systems map[prompt.Digest][]byte // system prompts, by their digests
	scratch [2][]byte                // of bodies that are texts
	others  int                      // exchanges that are no calls of a model
	cut     int                      // requests that are cut off
}

func newFile(f *assembly.File) *file {
	return &file{Log: assembly.NewLog(f), heads: map[prompt.Digest][]byte{}, systems: map[prompt.Digest][]byte{}}
}

var errNoExchanges = errors.New("it holds no requests to a model")

// scan reads one file. What precedes a defect in a document is kept.
func scan(ctx context.Context, opts traces.Options, in traces.Input) (*file, error) {
	f := newFile(assembly.NewFile(in.Name, opts))
	err := f.ReadObjects(ctx, opts, in, errNoExchanges, f.read)
	if f.cut > 0 {
		f.Problems.Add(f.Name, 0, "%s cannot be read to the end; what is missing counts as unseen", numbers.Counted(f.cut, "request", "requests"))
	}
	return f, err
}

// read reads an exchange.
func (f *file) read(c *assembly.Cursor) error {
	var x exchange
	line, from := c.Line(), c.Offset()
	if c.Decode(&x); c.Err() != nil {
		return errNoExchanges
	}
	if len(x.HAR.Entries) > 0 {
		_, err := assembly.Objects(x.HAR.Entries, line, errNoExchanges, f.read)
		return err
	}
	if !f.add(line, &x, c.From(from)) {
		return errNoExchanges
	}
	return nil
}

// texts reads the texts of a line or a document again.
func texts(text []byte) []traces.Text {
	f := newFile(assembly.Again())
	_, _ = assembly.Objects(text, 1, errNoExchanges, f.read) // as far as it is readable
	return f.Texts()
}

// whole returns the calls of some files, with halves put together. A call without an id that comes again, in one file or several,
// with the same times, request and response is one.
func whole(files []*file) (list []*call) {
	halves, seen := map[string]*call{}, map[prompt.Digest]bool{}
	for _, f := range files {
		if f.others > 0 && len(f.calls) == 0 {
			f.Problems.Add(f.Name, 0, "%s, none a call of a model that was answered", numbers.Counted(f.others, "exchange", "exchanges"))
		}
		again, line := 0, 0
		for _, c := range f.calls {
			if !c.same.IsZero() {
				if seen[c.same] {
					again, line = again+1, cmp.Or(line, int(c.Line))
					continue
				}
				seen[c.same] = true
			}
			c.Session, c.Nth = cmp.Or(c.Session, f.Stem()), len(list)
			if o := halves[c.half]; c.half != "" && o != nil && o.asked != c.asked && o.told != c.told {
				o.join(c)
				continue
			}
			halves[c.half] = c
			list = append(list, c)
		}
		if again > 0 {
			f.Problems.Add(f.Name, line, "calls that are told a second time, without an id and with the same times, request and response: %d; each counts once", again)
		}
		f.calls = nil
	}
	return list
}

// continueCalls puts in front of requests that name the response they go on with, as OpenAI's newer interface lets them, what the
// request before sent and was answered.
func continueCalls(list []*call) []*call {
	if !slices.ContainsFunc(list, func(c *call) bool { return c.after != "" }) {
		return list
	}
	said := map[string][]*assembly.Message{} // by responses: up to the answer
	slices.SortStableFunc(list, func(a, b *call) int { return cmp.Compare(a.Start, b.Start) })
	for _, c := range list {
		before, known := said[c.after]
		if c.after != "" && known {
			c.Messages = slices.Concat(before, c.Messages)
		} else if c.after != "" {
			c.Source.Problems.Add(c.Source.Name, int(c.Line), "the request goes on with response %.40q, which is not in the log; what precedes it counts as unseen", c.after)
		}
		if c.ID != "" {
			said[c.ID] = append(slices.Clip(c.Messages), assembly.NewMessage(true, c.Reply))
		}
	}
	return list
}

// join adds the other half of a call.
func (c *call) join(o *call) {
	req, resp := c.Request, o.Request
	if !c.asked {
		req, resp = resp, req
	}
	req.Nth = c.Nth
	req.ID, req.End, req.First, req.Usage, req.Open, req.Says, req.Reply = resp.ID, resp.End, resp.End, resp.Usage, resp.Open, resp.Says, resp.Reply
	req.Model, req.USD = cmp.Or(resp.Model, req.Model), req.USD+resp.USD
	c.Request, c.asked, c.told, c.failed = req, true, true, c.failed || o.failed
}

// sessions makes a session of the calls that name one, and of the calls of a file that name none.
func sessions(opts *traces.Options, files []*file) []*assembly.Session {
	var all []*assembly.Request
	for _, c := range continueCalls(whole(files)) {
		if !c.failed || c.Usage.OK {
			all = append(all, c.Request)
		}
	}
	return assembly.Sessions(opts, Agent, all)
}
