package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/internal/live/livetest"
)

// console is one command of a document with the output it shows.
type console struct {
	file string
	line int
	args []string
	want []string
}

// consoles returns the commands in the ```console blocks of a document: lines
// that begin with "$ sim", each followed by its output. A line "…" stands for
// any number of lines.
func consoles(t *testing.T, file string) []console {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []console
	inside := false
	for i, line := range strings.Split(string(text), "\n") {
		switch {
		case line == "```console":
			inside = true
		case line == "```":
			inside = false
		case inside && strings.HasPrefix(line, "$ sim"):
			all = append(all, console{file: file, line: i + 1, args: unquoted(strings.TrimPrefix(line, "$ sim "))})
		case inside && len(all) > 0:
			c := &all[len(all)-1]
			c.want = append(c.want, line)
		}
	}
	return all
}

// unquoted returns the words of a command, of which those in quotes may hold spaces.
func unquoted(line string) []string {
	var words []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 0 {
			words = append(words, strings.Fields(part)...)
		} else {
			words = append(words, part)
		}
	}
	return words
}

// docsServer is the address that documents name for a server of models.
const docsServer = "http://127.0.0.1:8765"

// Every command in the documents is executed, in order and in one folder per
// document, and prints what the document shows.
func TestDocuments(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, file := range files {
		commands := consoles(t, file)
		shown += len(commands)
		t.Run(filepath.Base(file), func(t *testing.T) {
			if len(commands) == 0 || apart(t) {
				return
			}
			t.Chdir(t.TempDir())
			server := livetest.Start(t)
			for _, c := range commands {
				for i := range c.args {
					c.args[i] = strings.Replace(c.args[i], docsServer, server.URL, 1)
				}
				var out, errs bytes.Buffer
				if code := execute(context.Background(), c.args, strings.NewReader(""), &out, &errs); code != exitOK {
					t.Fatalf("%s:%d: sim %s: exit %d: %s", c.file, c.line, strings.Join(c.args, " "), code, errs.String())
				}
				if missing, ok := showsInOrder(strings.Split(out.String(), "\n"), c.want); !ok {
					t.Errorf("%s:%d: sim %s does not print %q; it prints\n%s", c.file, c.line, strings.Join(c.args, " "), missing, out.String())
				}
			}
		})
	}
	if shown == 0 {
		t.Error("no document shows a command")
	}
}

// showsInOrder reports whether got is want, where "…" stands for any lines; otherwise
// it returns the first line that is missing.
func showsInOrder(got, want []string) (missing string, ok bool) {
	any := false
	for _, w := range want {
		if w == "…" {
			any = true
			continue
		}
		for any && len(got) > 0 && got[0] != w {
			got = got[1:]
		}
		if len(got) == 0 || got[0] != w {
			return w, false
		}
		got, any = got[1:], false
	}
	return "", true
}
