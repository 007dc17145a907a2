package assembly

import (
	"cmp"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/traces/internal/jsonscan"
)

// FunctionCall is a tool call among the parts of a content of Google's interface, as Gemini CLI and Qwen Code log it.
type FunctionCall struct {
	ID   string         `json:"id"`
	Name string         `json:"name"`
	Args jsontext.Value `json:"args"`
}

// FunctionResponse is the result of a tool among the parts of such a content.
type FunctionResponse struct {
	ID    string         `json:"id"`
	Said  FunctionOutput `json:"response"`
	Parts jsontext.Value `json:"parts"`
}

// FunctionOutput is what a tool said: its output, an error, or anything else.
type FunctionOutput struct {
	Output, Error string
	JSON          string // of the whole value, where it has no output that is a text
}

// Scan implements jsonscan.Scannable.
func (o *FunctionOutput) Scan(s *jsonscan.Scanner) {
	from, output := s.Offset(), false
	for name := range s.Members {
		switch {
		case string(name) == "output" && s.Peek() == '"':
			s.Decode(&o.Output)
			output = true
		case string(name) == "error" && s.Peek() == '"':
			s.Decode(&o.Error)
		default:
			s.Skip()
		}
	}
	if !output {
		o.JSON = string(s.From(from))
	}
}

// Text returns the output, or the whole value as JSON.
func (o *FunctionOutput) Text() string { return cmp.Or(o.JSON, o.Output) }
