package devserver_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/compactsim/compactsim/internal/live/devserver"
)

const conversation = `The parser in src/parser/lexer.go loses the last line of a file. Please find out why that happens.`

// asking writes a request for a summary.
func asking(instruction string, maxTokens string) string {
	quoted, _ := json.Marshal(instruction)
	said, _ := json.Marshal(conversation)
	return `{"model":"claude-opus-5","max_tokens":` + maxTokens + `,"messages":[{"role":"user","content":[{"type":"text","text":` + string(said) + `},{"type":"text","text":` + string(quoted) + `}]}]}`
}

// A summary has the sections that the instruction asks for, an analysis ahead of
// it, quotes of what was said, and about the size that was set. It is always the
// same.
func TestSummary(t *testing.T) {
	numbered := "Summarise. Write:\n1. Alpha Section: a\n2. Beta: b\n3. Gamma: c\n4. Delta: d\n5. Epsilon: e\n"
	s := serve(t, devserver.Options{SummaryTokens: 800})
	r := s.ask(asking(numbered, "4000"))
	text := r.Content[0].Text
	for _, want := range []string{"<analysis>\n", "</analysis>\n\n<summary>\n1. Alpha Section:\n", "\n5. Epsilon:\n", "src/parser/lexer.go", `"The parser in src/parser/lexer.go loses the last line of a file."`} {
		if !strings.Contains(text, want) {
			t.Errorf("the summary lacks %q:\n%s", want, text)
		}
	}
	if !strings.HasSuffix(text, "</summary>") || strings.Contains(text, "Write:") {
		t.Errorf("the summary ends wrong or quotes its instruction:\n%s", text)
	}
	if n := r.Usage.Output; n < 750 || n > 1000 {
		t.Errorf("%d tokens, want about 800", n)
	}
	if again := s.ask(asking(numbered, "4000")); again.Content[0].Text != text {
		t.Error("another text the second time")
	}
	if r := s.ask(asking("Write a summary.", "4000")); !strings.Contains(r.Content[0].Text, "9. Optional Next Step:") {
		t.Errorf("without sections in the instruction:\n%s", r.Content[0].Text)
	}
	if r := s.ask(asking("Hello.", "4000")); strings.Contains(r.Content[0].Text, "summary") {
		t.Errorf("nobody asked for a summary:\n%s", r.Content[0].Text)
	}
}

// Notes of a session keep the titles and lines in italics of their template.
func TestNotes(t *testing.T) {
	template := "Write the notes.\n\n# Session Title\n_Five words_\n\n# Current State\n_What is going on_\n\n# Files\n_Which_\n\n# Errors\n_What_\n\n# Worklog\n_Steps_\n\n"
	text := serve(t, devserver.Options{}).ask(asking(template, "4000")).Content[0].Text
	if !strings.HasPrefix(text, "<summary>\n# Session Title\n_Five words_\n") || !strings.Contains(text, "\n# Worklog\n_Steps_\n") || strings.Contains(text, "<analysis>") {
		t.Errorf("notes:\n%s", text)
	}
}

// The answer ends at the limit of output, which may be nothing.
func TestOutputLimit(t *testing.T) {
	s := serve(t, devserver.Options{})
	if r := s.ask(asking("Write a summary.", "50")); r.Stop != "max_tokens" || r.Usage.Output > 50 || r.Usage.Output < 45 {
		t.Errorf("%+v", r)
	}
	if r := s.ask(asking("Write a summary.", "0")); r.Stop != "max_tokens" || len(r.Content) != 0 {
		t.Errorf("%+v", r)
	}
}

// Requests are counted by what they say.
func TestCounts(t *testing.T) {
	s := serve(t, devserver.Options{}, "500@1")
	one, two := talk(message("user", hello)), talk(message("user", `{"type":"text","text":"bye"}`))
	for _, body := range []string{one, one, two} {
		s.post("/v1/messages", body)
	}
	resp, err := http.Get(s.url + "/debug/counts")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	var c devserver.Counts
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	seen := map[devserver.Count]int{}
	for _, n := range c.Digests {
		seen[n]++
	}
	if c.Requests != 3 || c.Answered != 2 || seen[devserver.Count{Requests: 2, Answered: 1}] != 1 || seen[devserver.Count{Requests: 1, Answered: 1}] != 1 {
		t.Errorf("counts %s", text)
	}
}
