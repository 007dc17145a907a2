package explain

import (
	"fmt"
	"testing"
)

// The place where two requests part is the first in the order of the cache; markers and messages that follow are none.
func TestPart(t *testing.T) {
	line := func(tools, system, messages string) []byte {
		return fmt.Appendf(nil, `{"start":1,"request":{"method":"POST","body":{"model":"m","tools":[%s],"system":%s,"messages":[%s]}},"response":{}}`,
			tools, system, messages)
	}
	const (
		tool = `{"name":"view","input_schema":{"properties":{"path":{"description":"a näme"}}}}`
		said = `{"role":"user","content":"hello"}`
	)
	before := line(tool, `"Be brief. Today is Monday."`, said)
	for name, tc := range map[string]struct {
		after []byte
		want  Parting
		parts bool
	}{
		"the same":          {before, Parting{}, false},
		"a message follows": {line(tool, `"Be brief. Today is Monday."`, said+`,{"role":"assistant","content":"hi"}`), Parting{}, false},
		"markers": {line(tool, `[{"type":"text","text":"Be brief. Today is Monday.","cache_control":{"type":"ephemeral"}}]`,
			`{"role":"user","content":[{"type":"text","text":"hello","cache_control":{"type":"ephemeral"}}]}`), Parting{}, false},
		"system": {line(tool, `"Be brief. Today is Tuesday."`, said), Parting{Path: "system[0].text", At: 20, Was: "Monday.", Is: "Tuesday."}, true},
		"tool": {line(`{"name":"view","input_schema":{"properties":{"path":{"description":"a nöme"}}}}`, `"x"`, said),
			Parting{Path: "tools[0].input_schema.properties.path.description", At: 4, Was: "äme", Is: "öme"}, true},
		"a tool more": {line(tool+`,{"name":"b"}`, `"Be brief. Today is Monday."`, said), Parting{Path: "tools[1]", At: 0, Was: "", Is: `{"name":"b"}`}, true},
		"message":     {line(tool, `"Be brief. Today is Monday."`, `{"role":"user","content":"help"}`), Parting{Path: "messages[0].content[0].text", At: 4, Was: "lo", Is: "p"}, true},
		"no message":  {line(tool, `"Be brief. Today is Monday."`, ""), Parting{Path: "messages[0]", At: 0, Was: `{"content":"hello","role":"user"}`, Is: ""}, true},
		"no request":  {[]byte(`{"response":{}}`), Parting{}, false},
		"no JSON":     {[]byte(`{"request":`), Parting{}, false},
	} {
		got, parts := Part(before, tc.after)
		if parts && (got.Ahead <= 0 && got.Path != "tools[0]" || got.Whole < got.Ahead) {
			t.Errorf("%s: %d of %d bytes ahead", name, got.Ahead, got.Whole)
		}
		if got.Ahead, got.Whole = 0, 0; got != tc.want || parts != tc.parts {
			t.Errorf("%s: %+v %v, want %+v", name, got, parts, tc.want)
		}
	}
	bare := []byte(`{"request":{"model":"m","input":"a"},"response":{}}`)
	raw := []byte(`{"request":{"body_raw":"{\"model\":\"m\",\"input\":\"b\"}"},"response":{}}`)
	if got, parts := Part(bare, raw); !parts || got.Path != "input[0].text" {
		t.Errorf("bodies in other forms: %+v %v", got, parts)
	}
}
