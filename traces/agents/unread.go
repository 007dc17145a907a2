package agents

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/traces"
)

// unread are agents and tools whose recordings are known by sight and have no
// reader. They are looked for first, since some resemble what others write.
var unread = [...]*traces.Agent{
	{Name: "qwen-code", Title: "Qwen Code", Document: looks(func(l *look) bool {
		return l.UUID != "" && (l.Message.Parts != nil || l.SystemPayload != nil)
	})},
	{Name: "iflow", Title: "the iFlow CLI", Document: looks(func(l *look) bool {
		return l.UUID != "" && strings.HasPrefix(l.SessionID, "session-")
	})},
	{Name: "kimi-code", Title: "kimi-code", Document: looks(func(l *look) bool {
		return l.Type == "metadata" && l.Protocol != nil
	})},
	{Name: "agent-traces", Title: "the simple form of Hugging Face's agent traces, which has no token counts", Document: looks(func(l *look) bool {
		return l.Type == "session" && l.Harness != nil && l.Version == nil && l.Cwd == nil
	})},
	{Name: "langfuse", Title: "Langfuse, whose exports mix calls with the spans around them", Document: looks(func(l *look) bool {
		return l.Observations != nil || l.TraceID != nil && l.Observation != nil
	})},
	{Name: "litellm", Title: "LiteLLM, whose rows have no count of cached tokens", Document: looks(func(l *look) bool {
		return l.CallType != nil && (l.StartTime != nil || l.PromptTokens != nil)
	})},
	{Name: "cline-extension", Title: "the extensions Cline, Roo and Kilo", Document: func(head []byte) bool {
		return bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("[")) && bytes.Contains(head, []byte(`"ts"`)) &&
			(bytes.Contains(head, []byte(`"say"`)) || bytes.Contains(head, []byte(`"ask"`)))
	}},
}

// look are members of the first object of a file by which it is known.
type look struct {
	Type      string `json:"type"`
	UUID      string `json:"uuid"`
	SessionID string `json:"sessionId"`
	Message   struct {
		Parts jsontext.Value `json:"parts"`
	} `json:"message"`
	SystemPayload jsontext.Value `json:"systemPayload"`
	Protocol      jsontext.Value `json:"protocol_version"`
	Harness       jsontext.Value `json:"harness"`
	Version       jsontext.Value `json:"version"`
	Cwd           jsontext.Value `json:"cwd"`
	Observations  jsontext.Value `json:"observations"`
	Observation   jsontext.Value `json:"usageDetails"` // of a generation
	TraceID       jsontext.Value `json:"traceId"`
	CallType      jsontext.Value `json:"call_type"`
	StartTime     jsontext.Value `json:"startTime"`
	PromptTokens  jsontext.Value `json:"prompt_tokens"`
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
