package claudecode

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/compactsim/compactsim/traces"
)

// script writes a transcript the way Claude Code does: one line per block,
// each the child of the line before it, a second apart.
type script struct {
	session string
	version string
	agent   string // id of a sub-agent: lines are sidechain lines
	head    string // uuid the next line hangs on; "" for none
	clock   time.Time
	lines   []string
	uuids   int
	wrap    string // tool id: lines are wrapped into progress lines of a parent
	stop    any    // the stop reason of responses
}

type fields map[string]any

func newScript(session string) *script {
	return &script{session: session, version: "2.1.40", clock: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
}

// add writes a line and returns its uuid.
func (s *script) add(f fields) string {
	s.uuids++
	s.clock = s.clock.Add(time.Second)
	line := fields{
		"uuid": fmt.Sprintf("%s%s-%d", s.session, s.agent, s.uuids), "parentUuid": nil,
		"sessionId": s.session, "version": s.version, "cwd": "/home/dev/project",
		"timestamp": s.clock.Format("2006-01-02T15:04:05.000Z"), "isSidechain": s.agent != "",
	}
	if s.head != "" {
		line["parentUuid"] = s.head
	}
	if s.agent != "" {
		line["agentId"] = s.agent
	}
	for k, v := range f {
		line[k] = v
	}
	s.head = line["uuid"].(string)
	if s.wrap != "" {
		line = s.progress(line)
	}
	s.raw(mustJSON(line))
	return s.head
}

// progress wraps a sub-agent's line as its parent logs it.
func (s *script) progress(line fields) fields {
	return fields{
		"type": "progress", "uuid": "p-" + line["uuid"].(string), "parentUuid": nil, "sessionId": s.session,
		"version": s.version, "timestamp": line["timestamp"], "isSidechain": false, "parentToolUseID": s.wrap,
		"data": fields{
			"message": fields{"type": line["type"], "message": line["message"], "uuid": line["uuid"], "timestamp": line["timestamp"]},
			"type":    "agent_progress", "agentId": s.agent,
		},
	}
}

func (s *script) raw(line string) { s.lines = append(s.lines, line) }

func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func (s *script) prompt(text string) string {
	return s.add(fields{"type": "user", "message": fields{"role": "user", "content": text}})
}

func (s *script) meta(text string) string {
	return s.add(fields{"type": "user", "isMeta": true, "message": fields{"role": "user", "content": text}})
}

func (s *script) result(tool, text string) string {
	return s.add(fields{"type": "user", "message": fields{"role": "user", "content": []fields{
		{"type": "tool_result", "tool_use_id": tool, "content": text},
	}}})
}

func text(t string) fields { return fields{"type": "text", "text": t} }

func use(id, name string, input fields) fields {
	return fields{"type": "tool_use", "id": id, "name": name, "input": input}
}

// readFile is a call of the Read tool.
func readFile(id, path string) fields { return use(id, "Read", fields{"file_path": path}) }

// tokensOf is usage with a total of which all but three tokens are read.
func tokensOf(total int) fields {
	return fields{
		"input_tokens": 3, "cache_read_input_tokens": total - 3, "cache_creation_input_tokens": 0,
		"cache_creation": fields{"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0}, "output_tokens": 1,
	}
}

// call writes the lines of a response: one per block.
func (s *script) call(id string, total int, blocks ...fields) string {
	return s.callUsage(id, tokensOf(total), blocks...)
}

func (s *script) callUsage(id string, usage fields, blocks ...fields) string {
	for _, b := range blocks {
		s.add(fields{"type": "assistant", "message": fields{
			"id": id, "model": "claude-opus-4-6", "role": "assistant", "content": []fields{b}, "usage": usage, "stop_reason": s.stop,
		}})
	}
	return s.head
}

func (s *script) system(subtype string, more fields) string {
	f := fields{"type": "system", "subtype": subtype}
	for k, v := range more {
		f[k] = v
	}
	return s.add(f)
}

// compact writes a boundary, which has no parent, and the summary after it.
func (s *script) compact(trigger string, pre int, summary string) {
	logical := s.head
	s.head = ""
	s.system("compact_boundary", fields{"logicalParentUuid": logical, "compactMetadata": fields{"trigger": trigger, "preTokens": pre}})
	s.add(fields{"type": "user", "isCompactSummary": true, "isVisibleInTranscriptOnly": true, "message": fields{"role": "user", "content": summary}})
}

func (s *script) bytes() []byte { return []byte(strings.Join(s.lines, "\n") + "\n") }

// folder writes files and returns the folder.
func folder(t testing.TB, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// corpusOf reads files and checks every session.
func corpusOf(t testing.TB, opts traces.Options, files map[string][]byte) *traces.Corpus {
	t.Helper()
	c, err := Read(context.Background(), opts, folder(t, files))
	if err != nil && !errors.Is(err, traces.ErrNoSessions) {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	for _, s := range c.Sessions {
		if err := s.Check(); err != nil {
			t.Error(err)
		}
	}
	return c
}

// sessionOf reads the only session of scripts, each a file of its own.
func sessionOf(t testing.TB, scripts ...*script) *traces.Session {
	t.Helper()
	files := map[string][]byte{}
	for i, s := range scripts {
		files[fmt.Sprintf("%d-%s%s.jsonl", i, s.session, s.agent)] = s.bytes()
	}
	c := corpusOf(t, traces.Options{}, files)
	if len(c.Sessions) != 1 {
		t.Fatalf("%d sessions, want 1; problems %v", len(c.Sessions), c.Problems)
	}
	return c.Sessions[0]
}

// shape writes the threads of a session with the calls on each, and where
// those that leave another thread do.
func shape(s *traces.Session) string {
	var lines []string
	for i := range s.Threads {
		t := &s.Threads[i]
		line := t.Kind.String()
		if t.Kind != traces.ThreadMain {
			line += " " + t.ID
		}
		if t.Parent >= 0 {
			from := "start"
			if t.ParentRound >= 0 {
				from = s.Threads[t.Parent].Rounds[t.ParentRound].ID
			}
			line += " from " + s.Threads[t.Parent].ID + "/" + from
		}
		line += ":"
		for r := range t.Rounds {
			line += " " + t.Rounds[r].ID
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// blocks writes the kinds and tokens of a span.
func blocks(s *traces.Session, p traces.Span) string {
	var b bytes.Buffer
	for i := p.From; i < p.To; i++ {
		if i > p.From {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%s:%d", s.Blocks[i].Kind, s.Blocks[i].Tokens)
	}
	return b.String()
}

func want(t testing.TB, what, got, wanted string) {
	t.Helper()
	if got != wanted {
		t.Errorf("%s:\ngot  %s\nwant %s", what, got, wanted)
	}
}

func words(n int) string { return strings.Repeat("word ", n/5) }

// dropField removes a field of a line.
func dropField(line, name string) string {
	var f fields
	if err := json.Unmarshal([]byte(line), &f); err != nil {
		panic(err)
	}
	delete(f, name)
	return mustJSON(f)
}
