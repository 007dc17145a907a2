package main

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/compactsim/compactsim/tools/tests/agenttest"
	"github.com/compactsim/compactsim/traces/facts"
)

// A form is another way in which the same recordings lie in a folder.
type otherForm struct {
	name  string
	write func(t *testing.T, dir string, files map[string][]byte)
}

// each writes every file under a name and in a form of its own.
func each(form func(t *testing.T, path string, text []byte)) func(*testing.T, string, map[string][]byte) {
	return func(t *testing.T, dir string, files map[string][]byte) {
		for name, text := range files {
			form(t, filepath.Join(dir, name), text)
		}
	}
}

var otherForms = []otherForm{
	{"other names and order", func(t *testing.T, dir string, files map[string][]byte) {
		for i, name := range slices.Sorted(maps.Keys(files)) {
			keep(t, filepath.Join(dir, fmt.Sprintf("%03d.jsonl", len(files)-i)), files[name])
		}
	}},
	{"copies", func(t *testing.T, dir string, files map[string][]byte) {
		for name, text := range files {
			keep(t, filepath.Join(dir, name), text)
			keep(t, filepath.Join(dir, "a copy of "+name), text)
		}
	}},
	{"a copy that ends early", func(t *testing.T, dir string, files map[string][]byte) {
		for name, text := range files {
			keep(t, filepath.Join(dir, name), text)
			if lines := bytes.SplitAfter(text, []byte("\n")); !bytes.HasPrefix(text, []byte("{\n")) && strings.HasPrefix(name, facts.ClaudeCode) {
				keep(t, filepath.Join(dir, "z"+name), bytes.Join(lines[:len(lines)/2], nil))
			}
		}
	}},
	{"links", each(func(t *testing.T, path string, text []byte) {
		keep(t, path, text)
		hard, soft := filepath.Join(filepath.Dir(path), "hard-"+filepath.Base(path)), filepath.Join(filepath.Dir(path), "soft-"+filepath.Base(path))
		if os.Link(path, hard) != nil || os.Symlink(path, soft) != nil {
			t.Skip("no links here")
		}
	})},
	{"gzip", each(func(t *testing.T, path string, text []byte) {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := w.Write(text); err != nil || w.Close() != nil {
			t.Fatal(err)
		}
		keep(t, path+".gz", b.Bytes())
	})},
	{"zstd", each(func(t *testing.T, path string, text []byte) {
		w, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		keep(t, path+".zst", w.EncodeAll(text, nil))
	})},
	{"CRLF", each(func(t *testing.T, path string, text []byte) {
		keep(t, path, bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")))
	})},
	{"byte order mark", each(func(t *testing.T, path string, text []byte) { keep(t, path, append([]byte("\xef\xbb\xbf"), text...)) })},
	{"no end of the last line", each(func(t *testing.T, path string, text []byte) { keep(t, path, bytes.TrimRight(text, "\n")) })},
	{"blank lines", each(func(t *testing.T, path string, text []byte) {
		keep(t, path, bytes.ReplaceAll(text, []byte("\n"), []byte("\n\n")))
	})},
	{"folders", each(func(t *testing.T, path string, text []byte) {
		dir := filepath.Join(filepath.Dir(path), "below", filepath.Base(path)+".d")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		keep(t, filepath.Join(dir, filepath.Base(path)), text)
	})},
	// A rollout and a session of pi say in their first line what they are, an export is one document.
	{"split files", each(func(t *testing.T, path string, text []byte) {
		lines := bytes.SplitAfter(text, []byte("\n"))
		if n := len(lines) / 2; strings.HasPrefix(filepath.Base(path), facts.ClaudeCode) {
			keep(t, strings.TrimSuffix(path, ".jsonl")+"-b.jsonl", bytes.Join(lines[:n], nil))
			keep(t, strings.TrimSuffix(path, ".jsonl")+"-a.jsonl", bytes.Join(lines[n:], nil))
			return
		}
		keep(t, path, text)
	})},
}

// The rows of recordings do not depend on how they lie in a folder.
func TestOtherForms(t *testing.T) {
	more, long := budget(1)
	if !long {
		t.Parallel()
	}
	seed := seedOf(t, long)
	list := findRecordings(t, long)
	for n := 0; more(n); n++ {
		r := rand.New(rand.NewPCG(seed, uint64(n)))
		files := map[string][]byte{}
		for i, agent := range agenttest.Agents() {
			if agent == facts.Kimi || agent == facts.MiniSWE {
				continue // its sessions are named by their folders or files, which other forms rename
			}
			from := list[i]
			if long {
				from = list[r.IntN(len(list))]
			}
			files[agentIn(from.name)+fmt.Sprint(i)+".jsonl"] = from.text
		}
		plain := t.TempDir()
		each(func(t *testing.T, path string, text []byte) { keep(t, path, text) })(t, plain, files)
		want, code, said := rowsOfRun(t, plain)
		if code != exitOK && !long || !long && len(want) != len(files) {
			t.Fatalf("exit %d, %d sessions: %s", code, len(want), said)
		}
		for _, form := range otherForms {
			dir := t.TempDir()
			form.write(t, dir, files)
			got, _, said := rowsOfRun(t, dir)
			for id, rows := range want {
				if !slices.Equal(got[id], rows) {
					t.Errorf("round %d of seed %d, %s: session %s has the rows\n%v, want\n%v\n%s", n, seed, form.name, id, got[id], rows, said)
				}
			}
			if len(got) != len(want) {
				t.Errorf("round %d of seed %d, %s: %d sessions, want %d\n%s", n, seed, form.name, len(got), len(want), said)
			}
		}
	}
}

// agentIn returns the agent that a path names, Claude Code for the real ones below
// its folder.
func agentIn(path string) string {
	for _, agent := range slices.Backward(agenttest.Agents()) {
		if strings.Contains(path, agent) {
			return agent
		}
	}
	return "other"
}
