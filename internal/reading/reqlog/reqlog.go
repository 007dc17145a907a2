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

	"github.com/compactsim/compactsim/internal/reading/assembly"
	"github.com/compactsim/compactsim/internal/reading/jsonscan"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// Agent is the name of the recorded agent in Session.Agent.
const Agent = traces.AgentRequests

// Describe returns what the rest of the program needs to know of programs that are
// known by their requests. Where these are not shown, one message is taken to be marked.
func Describe() *traces.Agent {
	return assembly.Client(&traces.Agent{
		Name: Agent, Title: "request logs", Read: assembly.ReadBy(Agent, scan, sessions), Texts: texts, Document: document, Markers: 1,
	}, 100)
}

// document reports whether one of the first values of a file, or of a list there, is an
// exchange: a request with its method or the members of a body and beside it a
// response, a record of agentcap, or one of nock.
func document(head []byte) bool {
	for range firstLines {
		head = bytes.TrimLeft(head, " \t\r\n")
		s := jsonscan.New(head)
		if s.Peek() == '[' {
			for range s.Elements {
				if exchangeIn(&s) {
					return true
				}
				break //nolint:staticcheck // the first element is enough
			}
			return false
		}
		if exchangeIn(&s) {
			return true
		}
		i := bytes.IndexByte(head, '\n')
		if i < 0 {
			return false
		}
		head = head[i+1:]
	}
	return false
}

// firstLines are tried: some may be damaged.
const firstLines = 8

// exchangeIn reports whether an object, which may be cut off, is an exchange.
func exchangeIn(s *jsonscan.Scanner) bool {
	seen := map[string]bool{}
	for name := range s.Members {
		name := string(name)
		if seen[name] = true; name == "request" && s.Peek() == '{' {
			if asks(s) {
				return !seen["prompt_tokens"] && !seen["call_type"] // as rows of LiteLLM have, without cached counts
			}
			continue
		}
		if seen["request_id"] && (seen["captured_at"] || seen["captured_at_resp"]) || seen["scope"] && seen["method"] && seen["path"] {
			return true
		}
		s.Skip()
	}
	return false
}

// asks reports whether an object is a request with its method, or the body of one.
func asks(s *jsonscan.Scanner) bool {
	seen, members := map[string]bool{}, 0
	for name := range s.Members {
		name := string(name)
		seen[name] = true
		switch name {
		case "model", "messages", "input", "system", "instructions", "tools", "max_tokens", "stream", "metadata":
			members++
		case "body":
			if s.Peek() == '{' {
				if asks(s) {
					return true
				}
				continue
			}
		}
		if seen["url"] && seen["method"] || members >= 2 && (seen["messages"] || seen["input"] || seen["model"]) {
			return true
		}
		s.Skip()
	}
	return false
}

// file is one file.
type file struct {
	*assembly.File
	maker    assembly.Maker
	calls    []*call
	messages map[prompt.Digest]*message // by the digest of their JSON
	heads    map[prompt.Digest][]byte   // likewise, without markers
	scratch  [2][]byte                  // of bodies that are texts
	others   int                        // exchanges that are no calls of a model
}

// message is a message of a request.
type message struct {
	*assembly.Message
	marked bool // it carries a cache marker
}

func newFile(f *assembly.File, mk assembly.Maker) *file {
	return &file{File: f, maker: mk, messages: map[prompt.Digest]*message{}, heads: map[prompt.Digest][]byte{}}
}

var errNoExchanges = errors.New("it holds no requests to a model")

// scan reads one file. What precedes a defect in a document is kept.
func scan(ctx context.Context, opts traces.Options, in traces.Input) (*file, error) {
	base := assembly.NewFile(in.Name, opts)
	f := newFile(base, assembly.Maker{Ear: opts.Listener, Unknown: base.Unknown})
	err := f.ReadValues(ctx, opts, in, f.walk)
	if err == nil && len(f.calls)+f.others == 0 && f.Problems.Total == 0 {
		err = f.Refuse(0, errNoExchanges)
	}
	return f, err
}

// walk reads the exchanges in a text, which begins on a line.
func (f *file) walk(text []byte, line int, lined bool) error {
	s := jsonscan.New(text)
	place, known := 0, false
	var value func()
	value = func() {
		switch s.Peek() {
		case '[':
			for range s.Elements {
				value()
			}
		case '{':
			if at := s.Offset(); !lined {
				line += bytes.Count(text[place:at], []byte("\n"))
				place = at
			}
			x := exchange{line: line}
			for name := range s.Members {
				x.member(string(name), &s)
			}
			if s.Err() == nil {
				known = f.add(&x) || known
			}
		default:
			s.Skip()
		}
	}
	for s.Peek() != 0 && s.Err() == nil {
		value()
	}
	if s.End(); s.Err() == nil && !known {
		return errNoExchanges
	}
	return s.Err()
}

// texts reads the texts of a line or a document again.
func texts(text []byte) (list []traces.Text) {
	f := newFile(assembly.NewFile("", traces.Options{}), assembly.Maker{Keep: true})
	_ = f.walk(text, 1, false) // as far as it is readable
	for _, m := range f.messages {
		list = append(list, assembly.TextsOf(m.Blocks)...)
	}
	for _, c := range f.calls {
		list = append(list, assembly.TextsOf(c.Reply)...)
	}
	return list
}
