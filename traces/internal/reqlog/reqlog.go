// Package reqlog reads logs of the requests that a program sent to a model, with
// the responses: the bodies of Anthropic's and OpenAI's interfaces, as pairs in
// lines of JSON (claude-trace, or a line that a program writes itself), as records
// of their own (agentcap), or in a list (nock, with which Cline records). Headers
// hold keys; they are not read.
//
// A request shows all that was sent: tools, system prompt, messages and the markers
// of the cache. So the prefix of a conversation is known, and what a request changed
// of the one before.
package reqlog

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/internal/assembly"
)

// Agent is the name of the recorded agent in Session.Agent.
const Agent = traces.AgentRequests

// Describe returns what the rest of the program needs to know of programs that are
// known by their requests. Where these are not shown, one message is taken to be marked.
func Describe() *traces.Agent {
	return assembly.Client(&traces.Agent{
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
var bodyMembers = []string{"messages", "input", "model", "system", "instructions", "tools", "max_tokens", "stream", "metadata"}

// exchangeIn reports whether a value, which may be cut off, is an exchange, or a list of these: a request with its method or
// two members of a body, a record of agentcap, or one of nock. Rows of LiteLLM, which have no cached counts, are none.
func exchangeIn(head []byte) bool {
	seen := assembly.Names(bytes.TrimLeft(head, " \t\r\n["), 3)
	body := slices.DeleteFunc(slices.Clone(bodyMembers), func(name string) bool { return !seen["request."+name] && !seen["request.body."+name] })
	switch {
	case seen["prompt_tokens"] || seen["call_type"]:
		return false
	case len(body) > 1 && slices.Contains(bodyMembers[:3], body[0]), seen["request.url"] && seen["request.method"]:
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
		f.Problems.Add(f.Name, 0, "%d requests cannot be read to their end; what is missing counts as unseen", f.cut)
	}
	return f, err
}

// read reads an exchange.
func (f *file) read(c *assembly.Cursor) error {
	var x exchange
	line := c.Line()
	if c.Decode(&x); c.Err() == nil && f.add(line, &x) {
		return nil
	}
	return errNoExchanges
}

// texts reads the texts of a line or a document again.
func texts(text []byte) []traces.Text {
	f := newFile(assembly.Again())
	_, _ = assembly.Objects(text, 1, errNoExchanges, f.read) // as far as it is readable
	return f.Texts()
}
