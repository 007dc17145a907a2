package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// File names reach the terminal without their control characters, in problems and
// in errors.
func TestNamesDoNotSpeakToTheTerminal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := "a\x1b[31mred.jsonl"
	if err := os.WriteFile(filepath.Join(dir, name), []byte("no JSON\n"), 0o644); err != nil {
		t.Skip("no such names here: ", err)
	}
	for _, args := range [][]string{{"run", "-v", dir}, {"run", "--strict", dir}} {
		var out, messages bytes.Buffer
		code := execute(context.Background(), args, strings.NewReader(""), &out, &messages)
		text := messages.String()
		if code == exitOK || strings.Contains(text, "\x1b") || !strings.Contains(text, "a\uFFFD[31mred.jsonl") {
			t.Errorf("sim %s: exit code %d, %q", args, code, text)
		}
	}
}
