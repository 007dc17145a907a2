package explain

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// Five sessions to one model. The second and third part from the session before at character 9 and 8 of the second block of
// the system prompt, the fourth has the head of the third, and the fifth has a tool more. Another model's session is compared with none.
func TestHeads(t *testing.T) {
	fsys := fstest.MapFS{}
	for i, x := range []struct{ model, tools, day string }{
		{"claude-opus-4-8", `{"name":"view"}`, "11"}, {"claude-opus-4-8", `{"name":"view"}`, "12"}, {"claude-haiku-4-5", `{"name":"view"}`, "12"},
		{"claude-opus-4-8", `{"name":"view"}`, "22"}, {"claude-opus-4-8", `{"name":"view"}`, "22"}, {"claude-opus-4-8", `{"name":"view"},{"name":"b"}`, "22"},
	} {
		body := fmt.Sprintf(`{"model":%q,"tools":[%s],"system":[{"type":"text","text":%q},{"type":"text","text":%q}],"messages":[{"role":"user","content":"hello %d"}]}`,
			x.model, x.tools, strings.Repeat("Help. ", 500), "Day is "+x.day+strings.Repeat(". Mind.", 300), i)
		fsys[fmt.Sprintf("s%d.jsonl", i)] = &fstest.MapFile{Data: fmt.Appendf(nil, `{"start":%d,"end":%d,"request":%s,"response":{"id":"m%d","model":%q,`+
			`"content":[{"type":"text","text":"ok"}],"usage":{"input_tokens":0,"cache_read_input_tokens":600,"cache_creation_input_tokens":400,"output_tokens":1}}}`+"\n",
			1780000000+100*i, 1780000001+100*i, body, i, x.model)}
	}
	corpus, err := agents.ReadFS(context.Background(), traces.Options{}, fsys)
	if err != nil {
		t.Fatal(err)
	}
	prices, err := costmodel.Default()
	if err != nil {
		t.Fatal(err)
	}
	heads, err := Heads(corpus, prices)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, h := range heads {
		got[h.place()] = fmt.Sprint(h.Sessions)
		// The first block is 3,000 of about 5,160 bytes, the second 2,109; all but some 30 bytes of a request are its head.
		behind := map[string][2]int64{"tools[1]": {980, 1000}, "the same": {0, 0}, "system[1].text, characters 8 … 9": {800, 830}}[h.place()]
		if h.Behind < behind[0] || h.Behind > behind[1] || (h.USD > 0) != (h.Behind > 0) {
			t.Errorf("%s: %d tokens behind it, want %v; $%f", h.place(), h.Behind, behind, h.USD)
		}
	}
	if want := map[string]string{"system[1].text, characters 8 … 9": "2", "the same": "1", "tools[1]": "1"}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
	p, other, err := PartHead(corpus, prices, "s1")
	if err != nil || other != "s0" || p.place() != "system[1].text, character 9" || !strings.HasPrefix(p.Was, "1. Mind") || !strings.HasPrefix(p.Is, "2. Mind") {
		t.Errorf("%+v, %q, %v", p, other, err)
	}
	if p, other, err := PartHead(corpus, prices, "s4"); p != nil || other != "s3" || err != nil {
		t.Errorf("the same head: %+v, %q, %v", p, other, err)
	}
	if p, other, err := PartHead(corpus, prices, "s2"); p != nil || other != "" || err != nil {
		t.Errorf("another model: %+v, %q, %v", p, other, err)
	}
}
