package agents

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
)

const (
	// sniffed is how much of a file is looked at, bytes: the first line of a
	// rollout carries the instructions, ≈ 40 kB, but its type comes first.
	sniffed = 64 << 10
	// sniffedLines is how many lines are tried: the first may be damaged.
	sniffedLines = 8
)

// claim is whose a file is: nil when nobody claims it, or it cannot be read. rival is another one who claims it.
type claim struct{ agent, rival *facts.Agent }

// sniff returns the agent that wrote a file, by its first lines.
func sniff(in traces.Input) claim {
	for _, n := range []int{sniffed / 16, sniffed} {
		head, err := in.Head(n)
		if c := claimOf(head); c.agent != nil || err != nil || len(head) < n {
			return c
		}
	}
	return claim{}
}

// claimOf returns the agent that wrote a file that begins with head.
func claimOf(head []byte) claim {
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	if c := claimBy(func(a *facts.Agent) bool { return a.Document != nil && a.Document(head) }); c.agent != nil {
		return c
	}
	tried := 0
	for line := range bytes.Lines(head) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if a := agentOfLine(line); a != nil {
			return claim{agent: a}
		}
		if tried++; tried == sniffedLines {
			break
		}
	}
	return claim{}
}

// agentOfLine returns the agent that wrote a line, which may be cut off.
func agentOfLine(line []byte) *facts.Agent {
	d := jsontext.NewDecoder(bytes.NewReader(line), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return nil
	}
	typ := ""
	for {
		t, err := d.ReadToken()
		if err != nil || t.Kind() != '"' {
			return nil
		}
		name := t.String()
		if c := claimBy(func(a *facts.Agent) bool { return a.Member != nil && a.Member(typ, name) }); c.agent != nil {
			return c.agent
		}
		if name != "type" {
			if err := d.SkipValue(); err != nil {
				return nil
			}
			continue
		}
		if t, err = d.ReadToken(); err != nil {
			return nil
		}
		typ = t.String()
	}
}

// known are all agents, those with a reader first.
var known = slices.Concat(list[:], unread[:])

// claimBy returns the first agent that claims something.
func claimBy(claims func(*facts.Agent) bool) (c claim) {
	for _, a := range known {
		switch {
		case !claims(a):
		case c.agent != nil:
			c.rival = a
			return c
		default:
			c.agent = a
		}
	}
	return c
}

// unread are agents and tools whose recordings are known by sight and have no
// reader. They are looked for first, since some resemble what others write.
var unread = [...]*facts.Agent{
	{Name: "iflow", Title: "the iFlow CLI", Document: looks(func(l *look) bool {
		return l.UUID != "" && strings.HasPrefix(l.SessionID, "session-")
	})},
	{Name: "agent-traces", Title: "the simple form of Hugging Face's agent traces, which has no token counts", Document: looks(func(l *look) bool {
		return l.Type == "session" && l.Harness != nil && l.Version == nil && l.Cwd == nil
	})},
	{Name: "langfuse", Title: "Langfuse, whose exports mix calls with the spans around them", Document: func(head []byte) bool { // long inputs may hide the rest of an observation
		return holds(head, `"observations"`, `"GENERATION"`) || holds(head, `"traceId"`, `"GENERATION"`)
	}},
	{Name: "langsmith", Title: "LangSmith, whose runs mix calls with the steps around them", Document: func(head []byte) bool {
		return holds(head, `"run_type"`, `"start_time"`)
	}},
	{Name: "litellm", Title: "LiteLLM, whose rows without messages have no count of cached tokens", Document: func(head []byte) bool {
		return !holds(head, `"messages"`) && looks(func(l *look) bool {
			return l.CallType != nil && (l.StartTime != nil || l.PromptTokens != nil)
		})(head)
	}},
	{Name: "cline-extension", Title: "the extensions Cline, Roo and Kilo", Document: func(head []byte) bool {
		return bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("[")) && holds(head, `"ts"`) && (holds(head, `"say"`) || holds(head, `"ask"`))
	}},
}

// holds reports whether the head of a file holds all of some texts.
func holds(head []byte, texts ...string) bool {
	return !slices.ContainsFunc(texts, func(text string) bool { return !bytes.Contains(head, []byte(text)) })
}

// look are members of the first object of a file by which it is known.
type look struct {
	Type         string         `json:"type"`
	UUID         string         `json:"uuid"`
	SessionID    string         `json:"sessionId"`
	Harness      jsontext.Value `json:"harness"`
	Version      jsontext.Value `json:"version"`
	Cwd          jsontext.Value `json:"cwd"`
	CallType     jsontext.Value `json:"call_type"`
	StartTime    jsontext.Value `json:"startTime"`
	PromptTokens jsontext.Value `json:"prompt_tokens"`
}

// looks returns a function that reports whether the first object of a file, alone or in a
// list, is as is says, as far as the head has it.
func looks(is func(*look) bool) func(head []byte) bool {
	return func(head []byte) bool {
		d := jsontext.NewDecoder(bytes.NewReader(head), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
		if d.PeekKind() == '[' {
			_, _ = d.ReadToken() // it was peeked at
		}
		var l look
		_ = json.UnmarshalDecode(d, &l) // what precedes a cut or a member of another kind has been read
		return is(&l)
	}
}
