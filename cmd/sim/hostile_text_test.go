package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/cobra"
)

// hostileTexts are what a recording may say of its model, project, session and files.
var hostileTexts = []string{
	"\x1b[2J\x1b]0;owned\a\x1b[31mred", "c1\u009b31m\u009d0;t\u009c\x7f", "bidi\u202e\u2066gnp.exe\u2069\u200b", "a\rb\nc\vd\fe\bf",
	"::error file=x::owned", "x ##[error]owned ##vso[task.setvariable]x", "\n::add-mask::x",
	"=HYPERLINK(\"http://x\",\"y\")", "+1+cmd|' /C calc'!A0", "-2+3", "@SUM(1)", "\t=1",
	"</td><script>alert(1)</script>|`x`|[a](javascript:b)",
	"@octocat fixes #1 https://evil.example www.evil.example\x07",
}

// linked is what a forge makes a mention, an issue or a link of in Markdown, or a renderer (cmark-gfm 0.29): an address of www is one up
// to its first dot, whatever follows.
var linked = regexp.MustCompile(`(?i)@[a-z]|#[0-9]|\bgh-[0-9]|://|www\.|<[a-z/!]`)

// ownTags are what Markdown of sim has of HTML.
var ownTags = regexp.MustCompile(`</?(details|summary|sub|br)>`)

// unlinked fails for Markdown with a link, a mention or a tag that sim does not write itself.
func unlinked(t *testing.T, what, text string) {
	t.Helper()
	text = ownTags.ReplaceAllString(text, "")
	if at := linked.FindStringIndex(text); at != nil {
		t.Errorf("%s has a live link or a tag: %q", what, text[max(0, at[0]-40):min(len(text), at[1]+40)])
	}
}

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

// hostileFolder writes a session of each text into a folder of dir, some under names that have it, and returns the folder.
func hostileFolder(t *testing.T, dir string) (in string) {
	t.Helper()
	in = filepath.Join(dir, "in")
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
	return in
}

// No text of a recording reaches a terminal, a CI job, Markdown or CSV so that it is acted on,
// whatever the verb and the format.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := hostileFolder(t, dir)
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
			unlinked(t, "sim "+line, stdout)
			stdout = strings.ReplaceAll(stdout, "\u200b", "") // which breaks links
		}
		harmless(t, "sim "+line, stdout)
		harmless(t, "stderr of sim "+line, annotation.ReplaceAllString(stderr, ""))
		if strings.Contains(line, "csv") && code == exitOK {
			plainCells(t, "sim "+line, stdout)
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

// In the Markdown of every verb, nothing that a recording, a scenario or a run is called links, notifies or is a tag. The command
// itself says which verbs there are: one without a line here fails.
func TestMarkdownOfEveryVerb(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in, out := hostileFolder(t, dir), filepath.Join(dir, "out")
	name, err := json.Marshal("@octocat #1 GH-1 www.evil.example https://e.example <b>|`x`")
	if err != nil {
		t.Fatal(err)
	}
	scenario, check, strategy := filepath.Join(dir, "s.yaml"), filepath.Join(dir, "c.yaml"), filepath.Join(dir, "@octocat #1.yaml")
	for path, text := range map[string]string{
		scenario: "name: NAME\ndoc: NAME\nstrategies:\n  - {name: NAME, doc: NAME, preset: auto-compact/167k}\n  - none\n",
		strategy: "name: NAME\ndoc: NAME\nlayers: []\n",
		check:    "scenario: s.yaml\nrules:\n  - {metric: cost_usd, max: 0.000001, strategy: NAME, group: project}\n  - {metric: cost_usd, max: 0, group: model}\n",
	} {
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "NAME", string(name))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if code, _, stderr := exec(t, "run", "-q", "--out", out, scenario, in); code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	lines := map[string][]string{
		"run": {scenario, in}, "ablate": {scenario, in}, "rank": {scenario}, "tune": {in}, "advise": {in}, "audit": {"--by", "project,model", in},
		"explain": {"--all", hostileTexts[13] + "s13" + hostileTexts[13], in}, "compare": {"@octocat=" + out, "#1 www.evil.example=" + out},
		"check": {check, in}, "validate": {in}, "traces ls": {in}, "traces store ls": {}, "scenarios ls": {}, "strategies ls": {},
		"strategies diff": {"none", "auto-compact/167k"}, "strategies check": {strategy, in},
	}
	var try func(cmd *cobra.Command, path string)
	try = func(cmd *cobra.Command, path string) {
		for _, c := range cmd.Commands() {
			try(c, strings.TrimSpace(path+" "+c.Name()))
		}
		flag := cmd.Flags().Lookup("format")
		if flag == nil || !strings.Contains(flag.Usage, "markdown") || flag.Hidden {
			return
		}
		args, known := lines[path]
		if !known {
			t.Errorf("sim %s writes Markdown, and no line of this test runs it", path)
			return
		}
		code, stdout, stderr := exec(t, slices.Concat(strings.Fields(path), args, []string{"--format", "markdown"})...)
		if code != exitOK && code != exitCheck || stdout == "" {
			t.Errorf("sim %s: exit %d, %s", path, code, stderr)
		}
		unlinked(t, "sim "+path, stdout)
		harmless(t, "sim "+path, strings.ReplaceAll(stdout, "\u200b", ""))
		delete(lines, path)
	}
	try(newRoot(), "")
	for path := range lines {
		t.Errorf("sim %s does not write Markdown", path)
	}
}
