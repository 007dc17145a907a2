//go:build unix

package main

import (
	"os"
	"path/filepath"
	"testing"
)

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
