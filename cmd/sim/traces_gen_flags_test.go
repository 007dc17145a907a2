package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
)

// What is wrong with the command line is a usage error, told before anything is
// computed: nothing is printed.
func TestWorkloadFlags(t *testing.T) {
	t.Parallel()
	nowhere := filepath.Join(t.TempDir(), "nowhere", "a")
	for _, args := range []string{
		"gen chat", "gen --list foo", "gen", "gen --profile chat --workers -1 -o " + nowhere,
		"gen --profile chat --format yaml -o " + nowhere, "gen --profile chat --sessions 0 -o " + nowhere,
		"fit", "fit a --base nosuch", "fit a -o " + nowhere, "fit a --workers -1",
	} {
		var out, errs bytes.Buffer
		code := execute(context.Background(), append([]string{"traces"}, strings.Fields(args)...), strings.NewReader(""), &out, &errs)
		if code != exitUsage || out.Len() > 0 || !strings.HasPrefix(errs.String(), "sim: ") {
			t.Errorf("sim traces %s: exit %d\n%s%s", args, code, &out, &errs)
		}
	}
}
