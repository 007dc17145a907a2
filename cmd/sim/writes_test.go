package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/compactsim/compactsim/internal/kit/files"
	"github.com/compactsim/compactsim/tools/tests/filestest"
)

// oneCall is a session of one call, the smallest there is.
const oneCall = `{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s","version":"2.1.62","cwd":"/p",` +
	`"timestamp":"2026-03-01T10:00:00.000Z","message":{"role":"user","content":"look at main.go"}}
{"type":"assistant","uuid":"a1","parentUuid":"u1","sessionId":"s","version":"2.1.62","cwd":"/p",` +
	`"timestamp":"2026-03-01T10:00:05.000Z","message":{"id":"msg_1","role":"assistant","model":"claude-opus-4-6",` +
	`"stop_reason":"end_turn","content":[{"type":"text","text":"It is empty."}],"usage":{"input_tokens":3,` +
	`"cache_read_input_tokens":0,"cache_creation_input_tokens":10997,"cache_creation":{"ephemeral_5m_input_tokens":10997,"ephemeral_1h_input_tokens":0},"output_tokens":9}}}
`

// oneUser is a scenario of one user.
const oneUser = `{schema: 1, name: tiny, strategies: [auto-compact/167k], users: {organisations: {
  one: {users: 1, kinds: {api: 1}, sessions: {profiles: {short-fix: 1}}}}}}
`

// writers are the command lines that write files into DIR: one that makes the old ones and one
// that puts new ones in their place.
var writers = []struct{ old, fresh string }{
	{"run -q --strategy recorded,none --out DIR/out IN", "run -q --strategy none --force --out DIR/out IN"},
	{"run -q IN/../users.yaml --out DIR/out", "run -q IN/../users.yaml --set users.seed=2 --force --out DIR/out"},
	{"run -q --chart DIR/c.svg --strategy recorded IN", "run -q --chart DIR/c.svg IN"},
	{"calibrate -q -o DIR/p.yaml --name one IN", "calibrate -q -o DIR/p.yaml --name two IN"},
	{"validate -q --chart DIR/v.svg IN", "validate -q --chart DIR/v.svg IN"},
	{"report -q -o DIR/r.html --strategy recorded IN", "report -q -o DIR/r.html --strategy none IN"},
}

// tree returns the files under a folder as readers find them: files of a journal in their
// places, and no names of ours.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	found, waiting := map[string]string{}, map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if path == dir && errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		if folder, name, ok := strings.Cut(rel, ".sim-journal/"); ok {
			if name != ".plan" {
				waiting[folder+name] = string(text)
			}
		} else if !strings.Contains(rel, ".sim-new-") {
			found[rel] = string(text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(found, waiting)
	return found
}

// Whatever write of whatever verb fails, alone or with all that follow as after a kill, what is
// there is the old or the new, whole, and the exit code says so.
func TestEveryWriteFails(t *testing.T) {
	t.Parallel()
	for _, w := range writers {
		t.Run(strings.Join(strings.Fields(w.fresh)[:2], "_"), func(t *testing.T) {
			t.Parallel()
			top := t.TempDir()
			in := filepath.Join(top, "in")
			if err := os.Mkdir(in, 0o755); err != nil {
				t.Fatal(err)
			}
			for name, text := range map[string]string{"in/s.jsonl": oneCall, "users.yaml": oneUser} {
				if err := os.WriteFile(filepath.Join(top, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			run := func(ctx context.Context, line, dir string) (int, string) {
				var b bytes.Buffer
				line = strings.NewReplacer("DIR", dir, "IN", in).Replace(line)
				return execute(ctx, strings.Fields(line), strings.NewReader(""), &b, &b), b.String()
			}
			whole := func(lines ...string) map[string]string {
				dir := t.TempDir()
				for _, line := range lines {
					if code, text := run(t.Context(), line, dir); code != exitOK {
						t.Fatalf("sim %s: exit %d, %s", line, code, text)
					}
				}
				return tree(t, dir)
			}
			old, fresh := whole(w.old), whole(w.old, w.fresh)
			before := t.TempDir()
			run(t.Context(), w.old, before)
			count := &filestest.Failing{}
			if code, text := run(files.With(t.Context(), count), w.fresh, t.TempDir()); code != exitOK {
				t.Fatal(text)
			}
			ops, _ := count.Ops()
			stride := 1
			if torture() == 0 {
				stride = ops/3 + 1
			}
			failed := 0
			for n := 0; n < ops+2; n += stride {
				for _, dead := range []bool{false, true} {
					dir := t.TempDir()
					if err := os.CopyFS(dir, os.DirFS(before)); err != nil {
						t.Fatal(err)
					}
					disk := &filestest.Failing{At: n + 1, Err: syscall.ENOSPC, Dead: dead}
					code, text := run(files.With(t.Context(), disk), w.fresh, dir)
					failed++
					checkWhole(t, fmt.Sprintf("%s, operation %d, dead %t", w.fresh, n+1, dead), tree(t, dir), old, fresh, code, text)
				}
			}
			t.Logf("%d failing writes", failed)
		})
	}
}

// checkWhole fails unless a folder has the old files or the new ones. Of the old ones those may
// remain that nothing took the place of.
func checkWhole(t *testing.T, what string, found, old, fresh map[string]string, code int, text string) {
	t.Helper()
	if maps.Equal(found, old) && code != exitOK {
		return
	}
	for name := range found {
		if _, ok := fresh[name]; !ok && code != exitOK && found[name] == old[name] {
			delete(found, name)
		}
	}
	if !maps.Equal(found, fresh) {
		t.Errorf("%s: exit %d, neither old nor new: %s", what, code, text)
	}
}
