package devserver

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// request is what is read of a request to the Messages API.
type request struct {
	Model             string         `json:"model"`
	MaxTokens         *int           `json:"max_tokens"`
	System            content        `json:"system"`
	Tools             []tool         `json:"tools"`
	Messages          []message      `json:"messages"`
	Stream            bool           `json:"stream"`
	CacheControl      *control       `json:"cache_control"`
	ContextManagement *management    `json:"context_management"`
	Compaction        *summarize     `json:"compaction"`
	ToolChoice        jsontext.Value `json:"tool_choice"`
	Thinking          jsontext.Value `json:"thinking"`
	OutputConfig      jsontext.Value `json:"output_config"`
}

type message struct {
	Role    string  `json:"role"`
	Content content `json:"content"`
}

// control asks for a cache entry.
type control struct {
	Type string `json:"type"`
	TTL  string `json:"ttl,omitzero"`
}

type tool struct {
	Name         string         `json:"name"`
	CacheControl *control       `json:"cache_control"`
	Rest         jsontext.Value `json:",embed"`
}

// defined reports whether a tool is one of the provider's or has a schema that is
// an object.
func (t *tool) defined() bool {
	var rest struct {
		Type   string         `json:"type"`
		Schema jsontext.Value `json:"input_schema"`
	}
	if len(t.Rest) == 0 || json.Unmarshal(t.Rest, &rest) != nil {
		return false
	}
	return rest.Schema.Kind() == '{' || rest.Type != "" && rest.Type != "custom"
}

// block is a content block of any type; Rest holds what has no field here.
type block struct {
	Type         string         `json:"type"`
	CacheControl *control       `json:"cache_control"`
	Text         string         `json:"text"`
	ID           string         `json:"id"`
	Name         string         `json:"name"`
	Input        jsontext.Value `json:"input"`
	ToolUseID    string         `json:"tool_use_id"`
	Content      content        `json:"content"`
	IsError      bool           `json:"is_error"`
	Rest         jsontext.Value `json:",embed"`
}

// content is a list of blocks; a string is short for one text block.
type content []block

// UnmarshalJSONFrom reads a list, a string or null.
func (c *content) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	switch dec.PeekKind() {
	case '"':
		var s string
		if err := json.UnmarshalDecode(dec, &s); err != nil {
			return err
		}
		*c = content{{Type: "text", Text: s}}
		return nil
	case 'n':
		*c = nil
		return dec.SkipValue()
	}
	return json.UnmarshalDecode(dec, (*[]block)(c))
}

// text returns the texts of blocks, one after the other.
func (c content) text() string {
	if len(c) == 1 {
		return c[0].Text
	}
	var s []byte
	for i := range c {
		s = append(s, c[i].Text...)
	}
	return string(s)
}

// parse reads a request.
func parse(body []byte) (*request, *apiError) {
	var q request
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, invalid("the request is not valid: %v", err)
	}
	return &q, nil
}
