package synthetic

import (
	"bytes"
	"encoding/json"
	"testing"
)

// record is a line as a reader sees it.
type record map[string]any

func (r record) str(key string) string { s, _ := r[key].(string); return s }

func (r record) sub(key string) record { m, _ := r[key].(map[string]any); return m }

func (r record) int(key string) int64 { f, _ := r[key].(float64); return int64(f) }

func (r record) list(key string) []record {
	l, _ := r[key].([]any)
	var out []record
	for _, x := range l {
		m, _ := x.(map[string]any)
		out = append(out, m)
	}
	return out
}

// kind names a line for the schema: type and subtype.
func (r record) kind() string {
	switch {
	case r.str("subtype") != "":
		return r.str("type") + "/" + r.str("subtype")
	case r.str("type") == "progress":
		return "progress/" + r.sub("data").str("type")
	case r.str("type") == "user" && r["toolUseResult"] != nil:
		return "user/result"
	case r.str("type") == "user" && r["isCompactSummary"] != nil:
		return "user/summary"
	case r.str("type") == "user" && r["sourceToolAssistantUUID"] != nil:
		return "user/agent result"
	case r.str("type") == "user" && r["agentId"] != nil:
		return "user/task"
	case r.str("type") == "user":
		return "user/prompt"
	}
	return r.str("type")
}

func parseLines(t *testing.T, text []byte) []record {
	t.Helper()
	var out []record
	for i, line := range bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n")) {
		var r record
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		out = append(out, r)
	}
	return out
}

func generate(t testing.TB, name string, seed uint64) *Session {
	t.Helper()
	p, _, ok := Named(name)
	if !ok {
		t.Fatalf("no profile %q", name)
	}
	s, err := Generate(p, seed)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func written(t testing.TB, f File) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := f.WriteClaudeCode(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// eachFile runs a test on every file of every named profile, and on the
// fan-out written as one stream.
func eachFile(t *testing.T, test func(t *testing.T, s *Session, name string, lines []record)) {
	for _, name := range Names() {
		s := generate(t, name, 3)
		for _, f := range s.Files() {
			t.Run(name+"/"+f.Name[len(s.ID()):], func(t *testing.T) {
				test(t, s, f.Name, parseLines(t, written(t, f)))
			})
		}
	}
	t.Run("fan-out/one stream", func(t *testing.T) {
		s := generate(t, "fan-out", 3)
		var b bytes.Buffer
		if err := WriteClaudeCode(&b, s); err != nil {
			t.Fatal(err)
		}
		test(t, s, s.ID()+".jsonl", parseLines(t, b.Bytes()))
	})
}

// A line's parent stands before it, as a boundary's logical parent does; time
// never runs back; no uuid comes twice.
func TestLinesFormATree(t *testing.T) {
	eachFile(t, func(t *testing.T, _ *Session, _ string, lines []record) {
		seen := map[string]bool{}
		last := ""
		for i, r := range lines {
			if r.str("type") == "file-history-snapshot" {
				continue
			}
			id := r.str("uuid")
			if seen[id] {
				t.Fatalf("line %d: uuid %s comes twice", i+1, id)
			}
			for _, key := range []string{"parentUuid", "logicalParentUuid"} {
				if p := r.str(key); p != "" && !seen[p] {
					t.Errorf("line %d: %s %s is not before it", i+1, key, p)
				}
			}
			if at := r.str("timestamp"); at < last {
				t.Errorf("line %d: %s after %s", i+1, at, last)
			} else {
				last = at
			}
			seen[id] = true
		}
	})
}

// The API demands a result for every tool use and the reverse; results name
// the line of their tool use.
func TestToolUsesArePaired(t *testing.T) {
	eachFile(t, func(t *testing.T, _ *Session, _ string, lines []record) {
		uses := map[string]string{}
		for i, r := range lines {
			for _, b := range r.sub("message").list("content") {
				switch b.str("type") {
				case "tool_use":
					uses[b.str("id")] = r.str("uuid")
				case "tool_result":
					line, ok := uses[b.str("tool_use_id")]
					if !ok {
						t.Errorf("line %d: result of unknown call %s", i+1, b.str("tool_use_id"))
					}
					if r.str("sourceToolAssistantUUID") != line || r.str("parentUuid") != line {
						t.Errorf("line %d: result is no child of its call's line", i+1)
					}
					delete(uses, b.str("tool_use_id"))
				}
			}
		}
		for id := range uses {
			t.Errorf("call %s has no result", id)
		}
	})
}

// A file of an agent belongs to its session and to the Task that names it.
func TestAgentFiles(t *testing.T) {
	s := generate(t, "fan-out", 3)
	files := s.Files()
	if len(files) != 1+s.NumAgents() || s.NumAgents() == 0 {
		t.Fatalf("%d files for %d agents", len(files), s.NumAgents())
	}
	named := map[string]bool{}
	for _, r := range parseLines(t, written(t, files[0])) {
		if id := r.sub("toolUseResult").str("agentId"); id != "" {
			named[id] = true
		}
	}
	for i, f := range files[1:] {
		for _, r := range parseLines(t, written(t, f)) {
			if r.str("sessionId") != s.ID() || r["isSidechain"] != true || !named[r.str("agentId")] {
				t.Fatalf("%s: line of %s, sidechain %v, agent %s", f.Name, r.str("sessionId"), r["isSidechain"], r.str("agentId"))
			}
		}
		if want := s.ID() + "/subagents/agent-" + s.threads[i+1].agent + ".jsonl"; f.Name != want {
			t.Errorf("file %s, want %s", f.Name, want)
		}
	}
}
