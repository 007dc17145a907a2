package main

import (
	"bytes"
	"context"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// shownCommand is one command of a document with the output it shows.
type shownCommand struct {
	file string
	line int
	args []string
	into string // the file that its output goes to
	want []string
}

// consoles returns the commands in the ```console blocks of a document: lines
// that begin with "$ sim", each followed by its output. A line "…" stands for
// any number of lines.
func consoles(t *testing.T, file string) []shownCommand {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []shownCommand
	inside := false
	for i, line := range strings.Split(string(text), "\n") {
		switch {
		case line == "```console":
			inside = true
		case line == "```":
			inside = false
		case inside && strings.HasPrefix(line, "$ sim"):
			line, into, _ := strings.Cut(line, " > ")
			all = append(all, shownCommand{file: file, line: i + 1, into: into, args: unquoted(strings.TrimPrefix(line, "$ sim "))})
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

// run executes a command and returns what it prints, unless that goes to a file.
func (c *shownCommand) run(t *testing.T) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := execute(context.Background(), c.args, strings.NewReader(""), &out, &errs); code != exitOK {
		t.Fatalf("%s:%d: sim %s: exit %d: %s", c.file, c.line, strings.Join(c.args, " "), code, errs.String())
	}
	if c.into == "" {
		return out.String()
	}
	write(t, c.into, out.Bytes())
	return ""
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
			server := startModels(t)
			for _, c := range commands {
				for i := range c.args {
					c.args[i] = strings.Replace(c.args[i], docsServer, server.URL, 1)
				}
				out := c.run(t)
				if os.Getenv(updateDocs) != "" {
					c.renew(t, strings.Split(out, "\n"))
					continue
				}
				if missing, ok := showsInOrder(strings.Split(out, "\n"), c.want); !ok {
					t.Errorf("%s:%d: sim %s does not print %q; it prints\n%s", c.file, c.line, strings.Join(c.args, " "), missing, out)
				}
			}
		})
	}
	if shown == 0 {
		t.Error("no document shows a command")
	}
}

// updateDocs, set in the environment, makes TestDocuments write what commands print into
// the documents, line by line where they differ. A person reads the difference.
const updateDocs = "SIM_UPDATE_DOCS"

// renew replaces each run of lines that a document shows of a command's output by the
// lines of the output that resemble it most.
func (c *shownCommand) renew(t *testing.T, got []string) {
	t.Helper()
	text, err := os.ReadFile(c.file)
	if err != nil {
		t.Fatal(err)
	}
	lines, from := strings.Split(string(text), "\n"), 0
	for i := 0; i < len(c.want); i++ {
		if c.want[i] == "…" {
			continue
		}
		n := 1
		for i+n < len(c.want) && c.want[i+n] != "…" {
			n++
		}
		if at := resembling(got, c.want[i:i+n], from); at >= 0 {
			copy(lines[c.line+i:c.line+i+n], got[at:at+n])
			from = at + n
		}
		i += n - 1
	}
	write(t, c.file, []byte(strings.Join(lines, "\n")))
}

// resembling returns where in got, from a line on, as many lines as want begin that have
// the most of its words, -1 for nowhere.
func resembling(got, want []string, from int) int {
	best, most := -1, 0
	for at := from; at+len(want) <= len(got); at++ {
		alike := 0
		for i, w := range want {
			words := strings.Fields(got[at+i])
			for j, word := range strings.Fields(w) {
				if j < len(words) && words[j] == word {
					alike++
				}
			}
		}
		if alike > most {
			best, most = at, alike
		}
	}
	return best
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

// The commands of docs/analysis.md that are not of sim print what stands below them.
func TestAnalysisDocument(t *testing.T) {
	if apart(t) {
		return
	}
	file, err := filepath.Abs("../../docs/analysis.md")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := osexec.LookPath("awk"); err != nil {
		t.Skip("no awk")
	}
	t.Chdir(t.TempDir())
	for _, c := range consoles(t, file) {
		c.run(t)
	}
	out, err := osexec.CommandContext(t.Context(), "sh", "-c", fenced(t, string(text), "sh")).CombinedOutput()
	if want := fenced(t, string(text), "text"); err != nil || string(out) != want {
		t.Errorf("%v: the command prints\n%s, want\n%s", err, out, want)
	}
}

// fenced returns the only block of a language in a document.
func fenced(t *testing.T, text, language string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, "\n```"+language+"\n")
	block, _, closed := strings.Cut(rest, "```\n")
	if !ok || !closed {
		t.Fatalf("no block of %s", language)
	}
	return block
}

// The scripts of docs/analysis.md read the data of a chart, where Python has what they import.
func TestFigureScripts(t *testing.T) {
	python, err := osexec.LookPath("python3")
	if err != nil || osexec.CommandContext(t.Context(), python, "-c", "import matplotlib, duckdb").Run() != nil {
		t.Skip("no Python with matplotlib and DuckDB")
	}
	file, err := filepath.Abs("../../docs/analysis.md")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, c := range consoles(t, file) {
		if strings.Contains(strings.Join(c.args, " "), "--chart") {
			c.run(t)
		}
	}
	query := "import duckdb\nassert len(duckdb.sql('''" + fenced(t, string(text), "SQL") + "''').fetchall()) == 13\n"
	for _, script := range []string{fenced(t, string(text), "py"), query} {
		cmd := osexec.CommandContext(t.Context(), python, "-c", script)
		cmd.Env = append(os.Environ(), "MPLBACKEND=Agg")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %s\n%s", err, script, out)
		}
	}
	if info, err := os.Stat("again.pdf"); err != nil || info.Size() < 1000 {
		t.Error("matplotlib drew nothing:", err)
	}
}

// Help lists a flag that audit takes only with --compactions under that flag, and nowhere else.
func TestHelpOfFlagsThatNeedAnother(t *testing.T) {
	_, help, _ := exec(t, "audit", "--help")
	_, only, found := strings.Cut(help, "Only with --compactions:\n")
	only, rest, _ := strings.Cut(only, "\n\n")
	for _, flag := range []string{"--prices-at", "--verify", "--strategy"} {
		if !found || !strings.Contains(only, flag) || strings.Contains(rest, flag) {
			t.Errorf("%s stands elsewhere in\n%s", flag, help)
		}
		if code, _, stderr := exec(t, "audit", flag, "x"); code != 2 || flag != "--verify" && !strings.Contains(stderr, "needs --compactions") {
			t.Errorf("audit %s: exit %d, %s", flag, code, stderr)
		}
	}
}
