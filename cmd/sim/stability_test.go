package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/tools/tests/agenttest"
)

// What docs/stability.md promises is held by tests that there are, and its table of losses has every format, with all that cannot be told.
func TestStabilityNamesTests(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/stability.md")
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	err = filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(text, -1) {
			there[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(string(page), -1)
	if len(names) < 50 {
		t.Errorf("%d names of tests", len(names))
	}
	for _, m := range names {
		if !there[m[1]] {
			t.Errorf("there is no test %s", m[1])
		}
	}
	for _, m := range regexp.MustCompile("`(\\w+\\.txt(?:ar)?)`").FindAllStringSubmatch(string(page), -1) {
		if _, err := os.Stat(filepath.Join("testdata", "script", m[1])); err != nil {
			t.Errorf("there is no script %s", m[1])
		}
	}
	for _, agent := range agenttest.Agents() {
		_, row, found := strings.Cut(string(page), "\n| `"+agent+"` |")
		row, _, _ = strings.Cut(row, "\n")
		if !found || !strings.Contains(row, "`Test") {
			t.Errorf("no row of %s names a test", agent)
		}
		for _, list := range untold[agent] {
			for _, field := range list {
				if !strings.Contains(row, "`"+field+"`") {
					t.Errorf("the row of %s lacks %s, which cannot be told", agent, field)
				}
			}
		}
	}
}
