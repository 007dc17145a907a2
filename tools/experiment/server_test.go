package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A miniature is a client of the Messages interface: it keeps a history, marks the system prompt and the last block, runs no tool
// but knows what each would show, and compacts when the prompt passes a limit.
type miniature struct {
	t       *testing.T
	url     string
	script  *Script
	limit   int
	history []object
	clock   func(time.Duration)
	compact int
}

func (m *miniature) post(messages []object) map[string]any {
	m.t.Helper()
	b, err := json.Marshal(object{"model": "claude-opus-4-7", "tools": []any{object{"name": "Read", "description": strings.Repeat("look at it ", 400)}},
		"system": []any{object{"type": "text", "text": "You help.", "cache_control": object{"type": "ephemeral"}}}, "messages": messages})
	if err != nil {
		m.t.Fatal(err)
	}
	res, err := http.Post(m.url+"/v1/messages", "application/json", bytes.NewReader(b))
	if err != nil {
		m.t.Fatal(err)
	}
	defer res.Body.Close()
	var out map[string]any
	if err := json.NewDecoder(res.Body).Decode(&out); err != nil || res.StatusCode != http.StatusOK {
		m.t.Fatalf("status %d, %v, %v", res.StatusCode, out, err)
	}
	return out
}

func said(role string, content ...object) object { return object{"role": role, "content": content} }

// turn says a prompt and goes on until the turn ends.
func (m *miniature) turn(p Prompt) {
	m.clock(time.Duration(p.Pause) * time.Minute)
	m.history = append(m.history, said("user", object{"type": "text", "text": p.Text}))
	for {
		last := m.history[len(m.history)-1]["content"].([]object)
		last[len(last)-1]["cache_control"] = object{"type": "ephemeral"}
		out := m.post(m.history)
		delete(last[len(last)-1], "cache_control")
		var answer, results []object
		for _, c := range out["content"].([]any) {
			c := c.(map[string]any)
			answer = append(answer, c)
			if c["type"] == "tool_use" {
				results = append(results, object{"type": "tool_result", "tool_use_id": c["id"], "content": m.show(c["input"].(map[string]any))})
			}
		}
		m.history = append(m.history, said("assistant", answer...))
		if results == nil {
			return
		}
		m.history = append(m.history, said("user", results...))
		u := out["usage"].(map[string]any)
		if u["input_tokens"].(float64)+u["cache_read_input_tokens"].(float64)+u["cache_creation_input_tokens"].(float64) > float64(m.limit) {
			ask := append(m.history[:len(m.history):len(m.history)], said("user", object{"type": "text", "text": "Make a detailed summary of it all, with <analysis>."}))
			s := m.post(ask)["content"].([]any)[0].(map[string]any)
			_, short, _ := strings.Cut(s["text"].(string), "<summary>")
			m.history = []object{said("user", object{"type": "text", "text": short})}
			m.compact++
		}
	}
}

// show returns what a tool would print.
func (m *miniature) show(in map[string]any) string {
	if path, ok := in["file_path"].(string); ok {
		return m.script.Files[strings.TrimPrefix(path, project+"/")]
	}
	command, _ := in["command"].(string)
	if n, ok := strings.CutPrefix(command, "./check "); ok {
		return m.script.Files[checkFile(n)]
	}
	return m.script.Files[strings.TrimPrefix(command, "cat ")]
}

// play runs a miniature client through a script.
func play(t *testing.T, name string, limit int) (*server, *miniature) {
	t.Helper()
	s := &server{script: newScript(name), dialect: claude}
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	m := &miniature{t: t, url: web.URL, script: s.script, limit: limit, clock: s.pause}
	for _, p := range s.script.Threads[0].Prompts {
		m.turn(p)
	}
	return s, m
}

// The n-th main call gets the n-th step, whatever was compacted, so two settings have the same steps and different bills.
func TestServerFollowsTheScript(t *testing.T) {
	var bills []*bill
	for _, limit := range []int{1 << 30, 30000} {
		s, m := play(t, "build", limit)
		steps := s.script.Threads[0].Steps
		b := newBill(&run{Name: "x", Client: claude}, s.rows)
		if len(b.Compactions) != m.compact || b.Calls != len(steps)+m.compact || (limit == 30000) != (m.compact > 2) {
			t.Errorf("limit %d: %d calls and %d compactions, want %d and %d", limit, b.Calls, len(b.Compactions), len(steps)+m.compact, m.compact)
		}
		if err := secondOpinion(s.sent, s.rows); err != nil {
			t.Error(err)
		}
		bills = append(bills, b)
	}
	if a, b := bills[0].Models["claude-opus-4-7"], bills[1].Models["claude-opus-4-7"]; a.Read <= b.Read || a.prompt() <= b.prompt() {
		t.Errorf("without limit %+v, with it %+v: want more read without, and more tokens in all", a, b)
	}
}

// Pauses beyond the lifetime are written again, and a bill that is wrong by a token is noticed by the second cache.
func TestPausesExpireAndTheSecondCacheSeesAll(t *testing.T) {
	s, _ := play(t, "pauses", 1<<30)
	long := 0
	for _, p := range s.script.Threads[0].Prompts {
		if p.Pause >= 5 {
			long++
		}
	}
	cold := 0
	for i, r := range s.rows[1:] {
		if r.Usage.Read == 0 && s.rows[i].Usage.prompt() >= leastTokens(r.Model) {
			cold++
		}
	}
	if long == 0 || cold != long {
		t.Errorf("%d cold calls behind the first, want one for each of %d pauses of five minutes and more", cold, long)
	}
	if err := secondOpinion(s.sent, s.rows); err != nil {
		t.Error(err)
	}
	s.rows[7].Usage.Read++
	if err := secondOpinion(s.sent, s.rows); err == nil || !strings.Contains(err.Error(), "call 8") {
		t.Errorf("the wrong bill of call 8 gives %v", err)
	}
}

// An agent that reads again fetches only what the request lacks: nothing while all is there, more the more is taken out.
func TestRecallFetchesWhatIsLacking(t *testing.T) {
	again := map[int]int{}
	for _, limit := range []int{1 << 30, 60000, 30000} {
		s, _ := play(t, "recall", limit)
		b := newBill(&run{Name: "x", Client: claude}, s.rows)
		again[limit] = b.Again
		if s.places["main"].step != len(s.script.Threads[0].Steps) {
			t.Errorf("limit %d: the agent is at step %d of %d", limit, s.places["main"].step, len(s.script.Threads[0].Steps))
		}
	}
	if again[1<<30] != 0 || again[60000] == 0 || again[30000] <= again[60000] {
		t.Errorf("rounds of fetches by limit: %v", again)
	}
}

// The same seed makes the same script, and the marks of needs stand in one place of the project alone.
func TestScriptsAreTheSameEachTime(t *testing.T) {
	for _, sh := range shapes {
		a, b := newScript(sh.name), newScript(sh.name)
		if x, y := fmt.Sprint(a.Files, *a.Threads[0]), fmt.Sprint(b.Files, *b.Threads[0]); x != y {
			t.Errorf("%s differs from time to time", sh.name)
		}
		for _, step := range a.Threads[0].Steps {
			for _, n := range step.Needs {
				where := 0
				for _, text := range a.Files {
					where += strings.Count(text, n.Mark)
				}
				if where != 1 {
					t.Errorf("%s: mark %q stands in %d places", sh.name, n.Mark, where)
				}
			}
		}
	}
}

// Qwen Code asks for a summary with the conversation's own tools, so that its words alone tell (0.24.4, seen), and wants it in an element of
// its own.
func TestSummaryOfQwenCode(t *testing.T) {
	r := request{tools: 14, last: "Generate the <state_snapshot> of all that was said."}
	if got := r.kind(); got != "compact" {
		t.Errorf("kind %q, want compact", got)
	}
	if got, want := qwen.summary("abcdef"), "<analysis>\nab\n</analysis>\n<state_snapshot>\nabcdef</state_snapshot>"; got != want {
		t.Errorf("summary %q, want %q", got, want)
	}
}
