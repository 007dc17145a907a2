package compactsim

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// inRow finds the tests of a row of docs/coverage.md: names, then their package.
var inRow = regexp.MustCompile("((?:`Test[A-Za-z0-9_]+`[ ,]*)+) in `([a-z0-9/_.-]+)`")

// Each row of docs/coverage.md names tests, and they are there. That tests of parameters rest on
// these parameters is for make mutants to show.
func TestCoverageNamesTests(t *testing.T) {
	text, err := os.ReadFile("docs/coverage.md")
	if err != nil {
		t.Fatal(err)
	}
	sources := map[string]string{}
	rows := 0
	for line := range strings.Lines(string(text)) {
		row, where, ok := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		if !ok || !strings.HasPrefix(line, "| ") || strings.HasPrefix(where, "test |") {
			continue
		}
		rows++
		found := inRow.FindAllStringSubmatch(where, -1)
		if len(found) == 0 {
			t.Errorf("%q names no test: want `TestX` in `package`", row)
		}
		for _, m := range found {
			for _, name := range strings.FieldsFunc(m[1], func(r rune) bool { return strings.ContainsRune("` ,", r) }) {
				if !strings.Contains(testsOf(t, sources, m[2]), "\nfunc "+name+"(") {
					t.Errorf("%q: there is no %s in %s", row, name, m[2])
				}
			}
		}
	}
	if rows < 400 {
		t.Errorf("%d rows were read", rows)
	}
}

// testsOf returns the source of a package's tests.
func testsOf(t *testing.T, known map[string]string, pkg string) string {
	t.Helper()
	if text, ok := known[pkg]; ok {
		return text
	}
	files, err := filepath.Glob(filepath.Join(filepath.FromSlash(pkg), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	known[pkg] = all.String()
	return known[pkg]
}
