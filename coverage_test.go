package compactsim

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/strategies"
)

// coverageRow is a row of a table of docs/coverage.md: what, the file that does
// it, and the names to look for there.
type coverageRow struct {
	line    int
	section string
	what    string
	file    string
	names   []string
}

var inCode = regexp.MustCompile("`([^`]+)`")

// coverage reads the tables of docs/coverage.md.
func coverage(t *testing.T) []coverageRow {
	t.Helper()
	text, err := os.ReadFile("docs/coverage.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []coverageRow
	section := ""
	for i, line := range strings.Split(string(text), "\n") {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			section = title
		}
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if !strings.HasPrefix(line, "| ") || len(cells) != 3 || strings.HasPrefix(cells[0], "---") || cells[1] == "where" {
			continue
		}
		row := coverageRow{line: i + 1, section: section, what: cells[0], file: strings.Trim(cells[1], "`")}
		for _, m := range inCode.FindAllStringSubmatch(cells[2], -1) {
			row.names = append(row.names, m[1])
		}
		rows = append(rows, row)
	}
	return rows
}

// Every behaviour of the documents is done by a file that exists and holds the
// names the table gives.
func TestCoverageNamesWhatExists(t *testing.T) {
	files := map[string]string{}
	sections := map[string]int{}
	for _, row := range coverage(t) {
		sections[row.section]++
		if _, read := files[row.file]; !read {
			text, err := os.ReadFile(row.file)
			if err != nil {
				t.Errorf("docs/coverage.md:%d: %v", row.line, err)
			}
			files[row.file] = string(text)
		}
		if len(row.names) == 0 {
			t.Errorf("docs/coverage.md:%d: %s: no name to look for", row.line, row.what)
		}
		for _, name := range row.names {
			word := regexp.MustCompile(`(^|[^\w])` + regexp.QuoteMeta(name) + `($|[^\w])`)
			if files[row.file] != "" && !word.MatchString(files[row.file]) {
				t.Errorf("docs/coverage.md:%d: %s holds no %s", row.line, row.file, name)
			}
		}
	}
	for _, want := range []string{
		"Presets", "One turn", "Token counting", "Thresholds", "Tool-result storage", "Microcompact", "Session memory",
		"Full compact", "Beyond the conversation", "The request and the cache", "Switches",
	} {
		if sections[want] == 0 {
			t.Errorf("docs/coverage.md: no table in section %q", want)
		}
	}
}

// Every switch of every layer has a test that shows what it changes.
func TestEverySwitchHasATest(t *testing.T) {
	registry, err := strategies.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	for _, row := range coverage(t) {
		if row.section == "Switches" {
			shown[strings.Trim(row.what, "`")] = true
		}
	}
	for _, layer := range registry.Layers() {
		def, _ := registry.Definition(layer)
		for _, p := range strategies.Parameters(def.Params()) {
			if p.Value != "true" && p.Value != "false" {
				continue
			}
			if name := layer + "." + p.Path; !shown[name] {
				t.Errorf("docs/coverage.md: no test for the switch %s", name)
			}
			delete(shown, layer+"."+p.Path)
		}
	}
	for name := range shown {
		if strings.Contains(name, ".") && !strings.HasPrefix(name, "client.") && !strings.HasPrefix(name, "server.") {
			t.Errorf("docs/coverage.md: %s is no switch of a layer", name)
		}
	}
}

// numbers is the section of what is switched by a number or a name.
const numbers = "Switches that are numbers or names"

// Every number or name that takes something out of action in a preset has a test
// that shows what it changes, and every one in the table is there.
func TestEveryNumberThatSwitchesHasATest(t *testing.T) {
	registry, err := strategies.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	for _, row := range coverage(t) {
		if row.section == numbers {
			shown[strings.Trim(row.what, "`")] = true
		}
	}
	for _, preset := range registry.Presets() {
		s, err := registry.Strategy(preset)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range s.Mechanisms() {
			if m.Now != "true" && m.Now != "false" && !shown[m.Path] {
				t.Errorf("docs/coverage.md: no test for %s, which %s switches", m.Path, preset)
			}
		}
	}
	paths := map[string]bool{}
	for _, layer := range registry.Layers() {
		def, _ := registry.Definition(layer)
		for _, p := range strategies.Parameters(def.Params()) {
			paths[layer+"."+p.Path] = true
		}
	}
	for name := range shown {
		layer, _, _ := strings.Cut(name, ".")
		if _, ours := registry.Definition(layer); ours && !paths[name] {
			t.Errorf("docs/coverage.md: %s is no parameter of a layer", name)
		}
	}
}
