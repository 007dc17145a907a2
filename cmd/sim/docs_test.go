package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
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
		case inside && (strings.HasPrefix(line, "$ sim") || strings.HasPrefix(line, "$ export")):
			all = append(all, console{file: file, line: i + 1, args: unquoted(strings.TrimPrefix(strings.TrimPrefix(line, "$ "), "sim "))})
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

// docsPort is the port that documents name for a server of their own.
const docsPort = "8765"

// freePort returns a port that nobody listens at.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// usePort puts another port in the place of the documents' own.
func (c *console) usePort(port string) {
	for i := range c.args {
		c.args[i] = strings.ReplaceAll(c.args[i], ":"+docsPort, ":"+port)
	}
	for i := range c.want {
		c.want[i] = strings.ReplaceAll(c.want[i], ":"+docsPort, ":"+port)
	}
}

// settles sets the environment of an export, or begins a command that runs in the
// background until the document ends; false for any other.
func (c *console) settles(t *testing.T) bool {
	t.Helper()
	if c.args[0] == "export" {
		for _, pair := range c.args[1:] {
			name, value, _ := strings.Cut(pair, "=")
			t.Setenv(name, value)
		}
		return true
	}
	last := len(c.args) - 1
	if c.args[last] != "&" {
		return false
	}
	ctx, cancel := context.WithCancel(context.Background())
	out, in := io.Pipe()
	var wg sync.WaitGroup
	wg.Go(func() {
		code := execute(ctx, c.args[:last], strings.NewReader(""), in, io.Discard)
		in.CloseWithError(fmt.Errorf("it ended with %d", code))
	})
	t.Cleanup(func() {
		cancel()
		out.Close()
		wg.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || len(c.want) == 0 || strings.TrimSpace(line) != c.want[0] {
		t.Fatalf("%s:%d: sim %s begins with %q (%v), want %q", c.file, c.line, strings.Join(c.args, " "), line, err, c.want)
	}
	wg.Go(func() { _, _ = io.Copy(io.Discard, out) })
	return true
}

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
			port := freePort(t)
			for _, c := range commands {
				c.usePort(port)
				if c.settles(t) {
					continue
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
