package codex

import (
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// record is one line of a rollout.
type record struct {
	Timestamp string         `json:"timestamp"`
	Type      string         `json:"type"`
	Payload   jsontext.Value `json:"payload"`
}

// meta is the payload of a session_meta line.
type meta struct {
	ID           string         `json:"id"`
	Cwd          string         `json:"cwd"`
	Version      string         `json:"cli_version"`
	Instructions jsontext.Value `json:"base_instructions"`
	Tools        jsontext.Value `json:"dynamic_tools"`
}

// turnContext is the payload of a turn_context line.
type turnContext struct {
	Model string `json:"model"`
}

// responseItem is the payload of a response_item line: an item of the
// conversation as the API has it.
type responseItem struct {
	Type      string         `json:"type"`
	Role      string         `json:"role"`
	ID        string         `json:"id"`
	CallID    string         `json:"call_id"`
	Name      string         `json:"name"`
	Namespace string         `json:"namespace"`
	Content   jsontext.Value `json:"content"`
	Summary   jsontext.Value `json:"summary"`
	Encrypted string         `json:"encrypted_content"`
	Arguments jsontext.Value `json:"arguments"`
	Input     jsontext.Value `json:"input"`
	Action    jsontext.Value `json:"action"`
	Output    jsontext.Value `json:"output"`
	Tools     jsontext.Value `json:"tools"`
}

// eventMsg is the payload of an event_msg line, as far as it is read.
type eventMsg struct {
	Type string         `json:"type"`
	Info jsontext.Value `json:"info"`
}

type tokenInfo struct {
	Total tokenUsage `json:"total_token_usage"`
	Last  tokenUsage `json:"last_token_usage"`
	// Window is the context window the client works with, tokens.
	Window int64 `json:"model_context_window"`
}

// tokenUsage is what the API reported. Input includes what was read from the
// cache and what was written to it.
type tokenUsage struct {
	Input      int64 `json:"input_tokens"`
	Cached     int64 `json:"cached_input_tokens"`
	CacheWrite int64 `json:"cache_write_tokens"`
	Output     int64 `json:"output_tokens"`
	Reasoning  int64 `json:"reasoning_output_tokens"`
	Total      int64 `json:"total_tokens"`
}

// compacted is the payload of a compacted line.
type compacted struct {
	Message string         `json:"message"`
	History []responseItem `json:"replacement_history"`
}

// contentPart is one part of a message or of a tool's output.
type contentPart struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

var errNoRecord = errors.New("line is no record of a rollout: it has no type")

// decode reads JSON that need not be UTF-8: invalid bytes are a defect of their
// own, told after what can be read has been.
func decode(b []byte, v any) error {
	return json.Unmarshal(b, v, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
}

// text returns the text of a JSON value: a string's own, else the JSON.
func text(v jsontext.Value) []byte {
	if v.Kind() != '"' {
		return v
	}
	b, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		return v // invalid UTF-8: the raw text serves as well
	}
	return b
}
