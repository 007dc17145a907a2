package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// What the client says becomes x of the same length, also in JSON within a text; what the script says, ids and numbers of lines stay.
func TestMask(t *testing.T) {
	r := &run{Name: "claude-survey-A", Client: claude, Script: "survey"}
	m := newMasker(r)
	s := newScript("survey")
	prompt := s.Threads[0].Prompts[0].Text
	file := s.Files["check"]
	long := "\t// closed: is not of the script but has words"
	doc, err := json.Marshal(map[string]any{
		"a": prompt, "b": "<note>Please be careful with this file.</note>", "c": "    12→" + s.Threads[0].Steps[0].Say, "d": file,
		"e": `{"text":"Please be careful with this file."}`, "f": long, "osVersion": "Linux 6.1.2-arch", "g": "Read"})
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]string
	if err := json.Unmarshal(m.json(doc), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"a": prompt, "b": "<note>xxxxxx xx xxxxxxx xxxx xxxx xxxx.</note>", "c": "    12→" + s.Threads[0].Steps[0].Say, "d": file,
		"e": `{"text":"xxxxxx xx xxxxxxx xxxx xxxx xxxx."}`, "f": "\t// xxxxxx: xx xxx xx xxx xxxxxx xxx xxx xxxxx", "osVersion": "Linux xxxxxxxxxx", "g": "Read"}
	for k, w := range want {
		if got[k] != w {
			t.Errorf("%s: %q, want %q", k, got[k], w)
		}
	}
	id := "0123abcd-1234-4321-8888-0123456789ab"
	a := string(m.numbered([]byte(id + " and " + id)))
	other := newMasker(&run{Name: "another", Script: "survey"})
	if x, y, _ := strings.Cut(a, " and "); x != y || x == id || len(x) != len(id) || x == string(other.numbered([]byte(id))) {
		t.Errorf("ids became %q", a)
	}
}

// A recording is read by the texts of its script, which it is compressed by: two sessions on one cache.
func TestCorpus(t *testing.T) {
	for _, r := range runs {
		if r.Name != "claude-pair-A" {
			continue
		}
		c, done, err := corpus(t.Context(), ".", r)
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Sessions) != 2 || len(c.Problems) > 0 {
			t.Errorf("%d sessions, want the script's 2; problems %v", len(c.Sessions), c.Problems)
		}
		if err := done(); err != nil {
			t.Error(err)
		}
	}
}
