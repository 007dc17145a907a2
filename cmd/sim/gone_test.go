package main

import (
	"context"
	"io"
	"strings"
	"testing"
)

// What is gone answers with the one line that names what serves instead, as wrong usage, even with
// flags behind it that nothing knows any more.
func TestGone(t *testing.T) {
	for name, instead := range gone {
		args := strings.Fields(name)[1:]
		switch {
		case strings.HasPrefix(name, "--"):
			args = append([]string{"run"}, strings.Fields(name)...)
		case !strings.Contains(name, "--"):
			args = append(args, "--never-a-flag")
		}
		var stderr strings.Builder
		code := execute(context.Background(), args, strings.NewReader(""), io.Discard, &stderr)
		want := "sim: " + name + " is gone: " + instead + "\n"
		if code != exitUsage || stderr.String() != want {
			t.Errorf("%s: exit code %d, %q, want %d, %q", name, code, stderr.String(), exitUsage, want)
		}
		if strings.Contains(instead, "\n") {
			t.Errorf("%s: what serves instead is more than a line", name)
		}
	}
}
