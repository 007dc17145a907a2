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
		"system": {line(tool, `"Be brief. Today is Tuesday."`, said), Parting{"system[0].text", 20, "Monday.", "Tuesday."}, true},
		"tool": {line(`{"name":"view","input_schema":{"properties":{"path":{"description":"a nöme"}}}}`, `"x"`, said),
			Parting{"tools[0].input_schema.properties.path.description", 4, "äme", "öme"}, true},
		"a tool more": {line(tool+`,{"name":"b"}`, `"Be brief. Today is Monday."`, said), Parting{"tools[1]", 0, "", `{"name":"b"}`}, true},
		"message":     {line(tool, `"Be brief. Today is Monday."`, `{"role":"user","content":"help"}`), Parting{"messages[0].content[0].text", 4, "lo", "p"}, true},
		"no message":  {line(tool, `"Be brief. Today is Monday."`, ""), Parting{"messages[0]", 0, `{"content":"hello","role":"user"}`, ""}, true},
		"no request":  {[]byte(`{"response":{}}`), Parting{}, false},
		"no JSON":     {[]byte(`{"request":`), Parting{}, false},
	} {
		if got, parts := Part(before, tc.after); got != tc.want || parts != tc.parts {
			t.Errorf("%s: %+v %v, want %+v", name, got, parts, tc.want)
		}
	}
	bare := []byte(`{"request":{"model":"m","input":"a"},"response":{}}`)
	raw := []byte(`{"request":{"body_raw":"{\"model\":\"m\",\"input\":\"b\"}"},"response":{}}`)
	if got, parts := Part(bare, raw); !parts || got.Path != "input[0].text" {
		t.Errorf("bodies in other forms: %+v %v", got, parts)
	}
}
