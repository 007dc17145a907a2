//go:build unix

package main

import (
	"os"
	"path/filepath"
	"testing"
)

// Sessions of one folder are no other folder's, in a folder that both comparisons keep.
func TestSessionsOfFolders(t *testing.T) {
	from, dir := t.TempDir(), t.TempDir()
	for _, name := range []string{"a", "b"} {
		folder := filepath.Join(from, name)
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name+".jsonl"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		b := &bench{dir: dir, sessions: folder}
		if err := b.provide(1); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(b.sessions, "0-0", name+".jsonl")); err != nil {
			t.Error(err)
		}
	}
}

// A copy of recordings has ids of its own in names and lines, and is the recording otherwise.
func TestCopiesHaveTheirOwnIds(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	const name, line = "0b1e1f9a-13c2-4f6e-8a1b-0123456789ab", `{"sessionId":"0b1e1f9a-13c2-4f6e-8a1b-0123456789ab","id":"msg_01X","cost":0.25}`
	if err := os.WriteFile(filepath.Join(from, name+".jsonl"), []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	for copied, want := range []string{line, `{"sessionId":"1b1e1f9a-13c2-4f6e-8a1b-0123456789ab","id":"msg_11X","cost":0.25}`} {
		if err := unpack(from, to, copied); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(to, string("01"[copied])+name[1:]+".jsonl"))
		if string(got) != want || err != nil {
			t.Errorf("copy %d: %s, %v, want %s", copied, got, err, want)
		}
	}
}
