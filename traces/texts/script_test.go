package texts

import (
	"context"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/internal/codex"
)

// files makes a file system of texts.
func files(texts map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, text := range texts {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

// claude reads transcripts of Claude Code.
func claude(t testing.TB, fsys fs.FS) *traces.Corpus {
	t.Helper()
	c, err := agents.ReadFS(context.Background(), traces.Options{}, fsys)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// rollouts reads rollouts of Codex.
func rollouts(t testing.TB, fsys fs.FS) *traces.Corpus {
	t.Helper()
	inputs, err := traces.FindFS(fsys)
	if err != nil {
		t.Fatal(err)
	}
	c, err := codex.ReadInputs(context.Background(), traces.Options{}, inputs, "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func open(t testing.TB, c *traces.Corpus, s *traces.Session) *Reader {
	t.Helper()
	r, err := Open(context.Background(), c, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// user and assistant are lines of Claude Code with the given content, JSON.
// Every response is a call of its own with a plausible bill.
func user(id, parent, content string) string {
	return `{"type":"user","uuid":"` + id + `","parentUuid":` + quote(parent) + `,"sessionId":"S","version":"2.1.60","cwd":"/p",` +
		`"timestamp":"2026-03-25T02:00:` + id[1:] + `.000Z","message":{"role":"user","content":` + content + `}}`
}

func assistant(id, parent, content string) string {
	return `{"type":"assistant","uuid":"` + id + `","parentUuid":` + quote(parent) + `,"sessionId":"S","version":"2.1.60","cwd":"/p",` +
		`"timestamp":"2026-03-25T02:00:` + id[1:] + `.000Z","message":{"id":"msg_` + id + `","role":"assistant","model":"claude-opus-4-6",` +
		`"stop_reason":"end_turn","usage":{"input_tokens":3,"cache_read_input_tokens":20000,"cache_creation_input_tokens":9000,"output_tokens":50},` +
		`"content":` + content + `}}`
}

func quote(id string) string {
	if id == "" {
		return "null"
	}
	return `"` + id + `"`
}

func lines(list ...string) string { return strings.Join(list, "\n") + "\n" }

// onLines returns the contents of the blocks that have a line, in the session's
// order, blocks that no line shows left out.
func onLines(t *testing.T, c *traces.Corpus) []Content {
	t.Helper()
	var list []Content
	for _, s := range c.Sessions {
		r := open(t, c, s)
		for i := range s.Blocks {
			if s.Blocks[i].Line == 0 {
				continue
			}
			got, err := r.Block(int32(i))
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, got)
		}
	}
	return list
}
