package codex_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/internal/codex"
)

// rollout writes the lines of a rollout as Codex does, one second apart from
// 2026-06-01 10:00:00 on.
type rollout struct {
	lines                 []string
	second                int
	input, cached, output int
}

func (r *rollout) line(typ, payload string) *rollout {
	r.lines = append(r.lines, fmt.Sprintf(`{"timestamp":"2026-06-01T%02d:%02d:%02d.000Z","type":%q,"payload":%s}`,
		10+r.second/3600, r.second/60%60, r.second%60, typ, payload))
	r.second++
	return r
}

func (r *rollout) wait(seconds int) *rollout { r.second += seconds; return r }

// begin writes the head: no instructions, so the prefix is the built-in tools.
func (r *rollout) begin(id, model string) *rollout {
	r.line("session_meta", fmt.Sprintf(`{"id":%q,"cwd":"/repo","cli_version":"0.142.0"}`, id))
	return r.line("turn_context", fmt.Sprintf(`{"model":%q}`, model))
}

func (r *rollout) item(payload string) *rollout { return r.line("response_item", payload) }

func (r *rollout) user(text string) *rollout {
	return r.item(fmt.Sprintf(`{"type":"message","role":"user","content":[{"type":"input_text","text":%q}]}`, text))
}

func (r *rollout) assistant(id, text string) *rollout {
	return r.item(fmt.Sprintf(`{"type":"message","id":%q,"role":"assistant","content":[{"type":"output_text","text":%q}]}`, id, text))
}

func (r *rollout) reason(id string) *rollout {
	return r.item(fmt.Sprintf(`{"type":"reasoning","id":%q,"summary":[],"encrypted_content":"REDACTED"}`, id))
}

func (r *rollout) tool(id, call, cmd string) *rollout {
	return r.item(fmt.Sprintf(`{"type":"function_call","id":%q,"name":"exec_command","arguments":%q,"call_id":%q}`, id, fmt.Sprintf(`{"cmd":%q}`, cmd), call))
}

func (r *rollout) result(call, text string) *rollout {
	return r.item(fmt.Sprintf(`{"type":"function_call_output","call_id":%q,"output":%q}`, call, text))
}

// count writes the token counts of a call: input, its cached part, output, its reasoning part.
func (r *rollout) count(input, cached, output, reasoning int) *rollout {
	r.sum(input, cached, output)
	return r.event(fmt.Sprintf(`{"input_tokens":%d,"cached_input_tokens":%d,"output_tokens":%d,"reasoning_output_tokens":%d,"total_tokens":%d}`,
		input, cached, output, reasoning, input+output))
}

// sum adds counts to the totals.
func (r *rollout) sum(input, cached, output int) *rollout {
	r.input, r.cached, r.output = r.input+input, r.cached+cached, r.output+output
	return r
}

// event writes token counts with the totals so far.
func (r *rollout) event(last string) *rollout {
	return r.line("event_msg", fmt.Sprintf(`{"type":"token_count","info":{"total_token_usage":{"input_tokens":%d,"cached_input_tokens":%d,"output_tokens":%d},"last_token_usage":%s}}`,
		r.input, r.cached, r.output, last))
}

func (r *rollout) text() string { return strings.Join(r.lines, "\n") + "\n" }

// write puts files into a folder.
func write(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// read reads files and checks every session.
func read(t testing.TB, files map[string]string) *traces.Corpus {
	t.Helper()
	c, err := readPaths(traces.Options{}, write(t, files))
	if err != nil {
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

func readOne(t testing.TB, r *rollout) *traces.Session {
	t.Helper()
	c := read(t, map[string]string{"a.jsonl": r.text()})
	if len(c.Sessions) != 1 {
		t.Fatalf("%d sessions, want 1", len(c.Sessions))
	}
	return c.Sessions[0]
}

// readPaths reads the rollouts under paths.
func readPaths(opts traces.Options, paths ...string) (*traces.Corpus, error) {
	inputs, err := traces.Find(context.Background(), opts, paths...)
	if err != nil {
		return nil, err
	}
	return codex.ReadInputs(context.Background(), opts, inputs, strings.Join(paths, ", "))
}
