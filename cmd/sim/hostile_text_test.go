package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// hostileTexts are what a recording may say of its model, project, session and files.
var hostileTexts = []string{
	"\x1b[2J\x1b]0;owned\a\x1b[31mred", "c1\u009b31m\u009d0;t\u009c\x7f", "bidi\u202e\u2066gnp.exe\u2069\u200b", "a\rb\nc\vd\fe\bf",
	"::error file=x::owned", "x ##[error]owned ##vso[task.setvariable]x", "\n::add-mask::x",
	"=HYPERLINK(\"http://x\",\"y\")", "+1+cmd|' /C calc'!A0", "-2+3", "@SUM(1)", "\t=1",
	"</td><script>alert(1)</script>|`x`|[a](javascript:b)",
	"@octocat fixes #1 https://evil.example www.evil.example\x07",
}

// linked is what a forge makes a mention, an issue or a link of in Markdown.
var linked = regexp.MustCompile(`@[A-Za-z]|#[0-9]|://|www\.[a-z]`)

// hostileSession is a session of three calls in which every text that reaches a report is text.
func hostileSession(n int, text string) string {
	var b strings.Builder
	line := func(v any) {
		j, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		b.Write(append(j, '\n'))
	}
	type m = map[string]any
	id, parent := fmt.Sprint("s", n, text), any(nil)
	for i := range 3 {
		user, answer := fmt.Sprintf("u%d-%d", n, i), fmt.Sprintf("a%d-%d", n, i)
		head := func(kind, uuid string, second int) m {
			return m{"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": text + id, "version": "2.1.62" + text,
				"cwd": text + "/p", "gitBranch": text, "timestamp": fmt.Sprintf("2026-03-01T10:%02d:%02d.000Z", i, second)}
		}
		ask := head("user", user, 0)
		content := any("look at " + text)
		if i > 0 {
			content = []m{{"type": "tool_result", "tool_use_id": fmt.Sprintf("t%d-%d", n, i-1), "content": text}}
		}
		ask["message"] = m{"role": "user", "content": content}
		line(ask)
		parent = user
		reply := head("assistant", answer, 5)
		reply["message"] = m{"id": "msg" + user, "role": "assistant", "model": text + "claude", "stop_reason": "tool_use",
			"content": []m{{"type": "tool_use", "id": fmt.Sprintf("t%d-%d", n, i), "name": text, "input": m{"file_path": text}}},
			"usage":   m{"input_tokens": 3, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 9000 + i, "output_tokens": 9}}
		line(reply)
		parent = answer
	}
	b.WriteString(`{"type":"nonsense` + "\n")
	return b.String()
}

// runnerCommand is what runners of CI jobs carry out: GitHub, Azure, TeamCity.
var runnerCommand = regexp.MustCompile(`(?m)^\s*::|##\w*\[`)

// annotation is a command that sim check itself gives, for a rule that fails.
var annotation = regexp.MustCompile(`(?m)^::error file=[^,:]*,line=\d+,title=`)

// harmless fails for text that a terminal or the runner of a CI job would act on.
func harmless(t *testing.T, what, text string) {
	t.Helper()
	for i, r := range text {
		if r != '\n' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf)) {
			t.Errorf("%s has %U: %q", what, r, text[max(0, i-60):min(len(text), i+20)])
			break
		}
	}
	if at := runnerCommand.FindStringIndex(text); at != nil {
		t.Errorf("%s has a command: %q", what, text[max(0, at[0]-40):min(len(text), at[1]+40)])
	}
}

// plainCells fails for CSV with a cell that a spreadsheet takes for a formula.
func plainCells(t *testing.T, what, text string) {
	t.Helper()
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
	for _, line := range lines {
		for _, cell := range line {
			var number float64
			_, err := fmt.Sscan(cell, &number)
			if s := strings.TrimSpace(cell); s != "" && strings.ContainsRune("=+-@", rune(s[0])) && (err != nil || strings.ContainsAny(s, "=|")) {
				t.Errorf("%s has the cell %q", what, cell)
			}
		}
	}
}

// No text of a recording reaches a terminal, a CI job, Markdown or CSV so that it is acted on,
// whatever the verb and the format.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := filepath.Join(dir, "in")
	if err := os.Mkdir(in, 0o755); err != nil {
		t.Fatal(err)
	}
	for i, text := range hostileTexts {
		name := fmt.Sprintf("%d.jsonl", i)
		if i < 4 && os.PathSeparator == '/' {
			name = strings.ReplaceAll(text, "/", "") + name
		}
		if err := os.WriteFile(filepath.Join(in, name), []byte(hostileSession(i, text)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	check := filepath.Join(dir, "check.yaml")
	if err := os.WriteFile(check, []byte("scenario: {strategies: [none]}\nrules:\n"+
		"  - {metric: cost_usd, max: 0.000001, group: project}\n  - {metric: cost_usd, max: 0.000001, group: model}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out, session := filepath.Join(dir, "out"), hostileTexts[0]+"s0"+hostileTexts[0]
	lines := []string{"run -v --split --strategy recorded,none --out OUT IN", "check -v --github --file CHECK IN", "explain --all SESSION IN", "explain SESSION 2 IN",
		"run --dry-run IN"}
	for _, format := range []string{"table", "markdown", "csv", "json"} {
		for _, verb := range []string{"run IN", "traces ls IN", "audit IN", "audit --compactions IN", "compare OUT --strategy recorded,none",
			"validate IN"} {
			lines = append(lines, verb+" --format "+format)
		}
	}
	lines = append(lines, "run --per-session --format csv IN", "check --format json CHECK IN", "calibrate IN", "audit --by project,model --format openmetrics IN")
	for _, line := range lines {
		var args []string
		for _, arg := range strings.Fields(line) {
			args = append(args, strings.NewReplacer("DIR", dir, "IN", in, "OUT", out, "CHECK", check, "SESSION", session).Replace(arg))
		}
		code, stdout, stderr := exec(t, args...)
		if code != exitOK && code != exitCheck || code == exitOK && stdout == "" {
			t.Errorf("sim %s: exit %d, %q", line, code, stderr)
		}
		if strings.Contains(line, "markdown") {
			if at := linked.FindStringIndex(stdout); at != nil {
				t.Errorf("sim %s has a live link: %q", line, stdout[max(0, at[0]-40):min(len(stdout), at[1]+40)])
			}
			stdout = strings.ReplaceAll(stdout, "\u200b", "") // which breaks links
		}
		harmless(t, "sim "+line, stdout)
		harmless(t, "stderr of sim "+line, annotation.ReplaceAllString(stderr, ""))
		if strings.Contains(line, "csv") && code == exitOK {
			plainCells(t, "sim "+line, stdout)
		}
		if strings.Contains(line, "markdown") && strings.Contains(stdout, "<script") {
			t.Errorf("sim %s has a <script", line)
		}
	}
	for name, text := range tree(t, dir) {
		switch ext := filepath.Ext(name); {
		case strings.HasPrefix(name, "in/"):
		case ext == ".txt":
			harmless(t, name, text)
		case ext == ".csv":
			harmless(t, name, text)
			plainCells(t, name, text)
		}
	}
}
