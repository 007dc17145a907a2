package synthetic

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
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

// parsedFiles are the lines of all files that eachFile has met, by name.
var parsedFiles = map[string][]record{}

// eachFile runs a test on every file of the samples, and of generated sessions in
// which rare things happen often. Tests must not change the lines.
func eachFile(t *testing.T, test func(t *testing.T, name string, lines []record)) {
	if len(parsedFiles) == 0 {
		for name, gz := range sampleFiles(t) {
			parsedFiles["sample/"+name] = parseLines(t, gunzip(t, gz))
		}
		for _, name := range WorkloadNames() {
			w := workload(t, name)
			w.Images, w.Rewinds, w.Turns.Max = 0.3, 0.3, 12
			for i := range 3 {
				for file, f := range transcripts(t, w, generator(t, w).Session(5, i)) {
					parsedFiles[name+"/"+file] = parseLines(t, f.Data)
				}
			}
		}
	}
	for name, lines := range parsedFiles {
		_, file, _ := strings.Cut(name, "/")
		t.Run(name, func(t *testing.T) { test(t, file, lines) })
	}
}

// A line's parent stands before it, as a boundary's logical parent does; time
// never runs back; no uuid comes twice.
func TestLinesFormATree(t *testing.T) {
	eachFile(t, func(t *testing.T, _ string, lines []record) {
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
	eachFile(t, func(t *testing.T, _ string, lines []record) {
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
	w := workload(t, "fan-out")
	s := generator(t, w).Session(3, 0)
	files := w.Transcripts(s)
	written := transcripts(t, w, s)
	if len(files) < 2 || files[0].Name != s.ID+".jsonl" {
		t.Fatalf("%d files, first %s", len(files), files[0].Name)
	}
	named := map[string]bool{}
	for _, r := range parseLines(t, written[files[0].Name].Data) {
		if id := r.sub("toolUseResult").str("agentId"); id != "" {
			named[id] = true
		}
	}
	for _, f := range files[1:] {
		for _, r := range parseLines(t, written[f.Name].Data) {
			id := r.str("agentId")
			if r.str("sessionId") != s.ID || r["isSidechain"] != true || !named[id] || f.Name != s.ID+"/subagents/agent-"+id+".jsonl" {
				t.Fatalf("%s: line of %s, sidechain %v, agent %s", f.Name, r.str("sessionId"), r["isSidechain"], id)
			}
		}
	}
}

// failing refuses everything after n bytes.
type failing struct{ n int }

func (f *failing) Write(p []byte) (int, error) {
	if f.n -= len(p); f.n < 0 {
		return 0, errors.New("disk full")
	}
	return len(p), nil
}

func TestWriteErrorsAreReturned(t *testing.T) {
	w := workload(t, "long-refactor")
	s := generator(t, w).Session(1, 0)
	for _, n := range []int{0, 100_000} {
		if err := w.Transcripts(s)[0].Write(&failing{n}); err == nil || !strings.Contains(err.Error(), "disk full") {
			t.Errorf("after %d bytes: error %v", n, err)
		}
	}
}

func TestTimestamp(t *testing.T) {
	if got, want := timestamp(time.Date(2026, 2, 3, 4, 5, 6, 789_999_999, time.UTC).UnixNano()), "2026-02-03T04:05:06.789Z"; got != want {
		t.Errorf("timestamp %s, want %s", got, want)
	}
}

// Lines are written as encoding/json writes them without escaping HTML.
func TestJSONIsThatOfTheStandardLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "text")
		n, is := rapid.Int64().Draw(t, "n"), rapid.Bool().Draw(t, "is")
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		err := enc.Encode(struct {
			A string
			B []any
			C any
			D struct{ E bool }
		}{text, []any{n, text + "\u2028\x7f\b\f<>&"}, nil, struct{ E bool }{is}})
		if err != nil {
			t.Fatal(err)
		}
		got := appendJSON(nil, fields{"A", text, "B", []any{n, text + "\u2028\x7f\b\f<>&"}, "C", nil, "D", fields{"E", is}})
		var a, b any
		if err := errors.Join(json.Unmarshal(got, &a), json.Unmarshal(want.Bytes(), &b)); err != nil || !reflect.DeepEqual(a, b) {
			t.Errorf("%s, want %s (%v)", got, want.String(), err)
		}
	})
}
