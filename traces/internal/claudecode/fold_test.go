package claudecode

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/internal/assembly"
)

// Of lines that say nothing, and of messages that no answer follows, 50,000 in a row are records of their own; what names one of the later
// lines as its parent finds it, and a session that goes on with one is the same session.
func TestRowsOfLines(t *testing.T) {
	const lines = 50_500
	for name, kind := range map[string]string{"system": `"type":"system","subtype":"x"`, "messages": `"type":"user","message":{"role":"user","content":"%07d"}`} {
		var b strings.Builder
		line := func(uuid, parent, session, what string) {
			fmt.Fprintf(&b, `{"uuid":%q,"parentUuid":%s,"sessionId":%q,"timestamp":"2026-03-01T10:00:00Z",%s}`+"\n", uuid, parent, session, what)
		}
		parent := "null"
		for i := range lines {
			uuid := fmt.Sprint("u", i)
			what := kind
			if strings.Contains(kind, "%") {
				what = fmt.Sprintf(kind, i)
			}
			line(uuid, parent, "s", what)
			parent = fmt.Sprintf("%q", uuid)
		}
		line("p", fmt.Sprintf(`"u%d"`, lines-5), "r", `"type":"user","message":{"role":"user","content":"go on"}`)
		line("a", `"p"`, "r", `"type":"assistant","message":{"id":"m","role":"assistant","model":"claude-opus-4-6","stop_reason":"end_turn",`+
			`"content":[{"type":"text","text":"x"}],"usage":{"input_tokens":900000,"cache_read_input_tokens":0,"cache_creation_input_tokens":4,"output_tokens":2}}`)
		inputs, err := traces.FindFS(fstest.MapFS{"s.jsonl": {Data: []byte(b.String())}})
		if err != nil {
			t.Fatal(err)
		}
		opts := traces.Options{}.WithDefaults()
		src, err := scan(t.Context(), opts, inputs.Files[0])
		if err != nil || len(src.records) != assembly.Unanswered+2 || len(src.pieces) > assembly.Unanswered+2 {
			t.Errorf("%s: %d records and %d pieces of %d lines, %v", name, len(src.records), len(src.pieces), lines, err)
		}
		c, err := ReadInputs(t.Context(), opts, inputs, "s.jsonl")
		if err != nil || len(c.Sessions) != 1 || c.Sessions[0].NumCalls() != 1 {
			t.Fatalf("%s: %d sessions, %v", name, len(c.Sessions), err)
		}
		bytes, s := 0, c.Sessions[0]
		for _, blk := range s.Blocks {
			bytes += int(blk.Bytes)
		}
		want, told := len("go on")+len("x"), name == "messages"
		if told {
			want += 7 * lines
		}
		if bytes != want {
			t.Errorf("%s: %d bytes, want %d", name, bytes, want)
		}
		if lost := slices.IndexFunc(s.Problems, func(p traces.Problem) bool { return strings.Contains(p.Text, "parent") }); lost >= 0 {
			t.Errorf("%s: %v", name, s.Problems[lost])
		}
		if told != slices.ContainsFunc(s.Problems, func(p traces.Problem) bool { return p.Text == assembly.FoldedNote }) {
			t.Errorf("%s: told %v in %v", name, !told, s.Problems)
		}
	}
}
