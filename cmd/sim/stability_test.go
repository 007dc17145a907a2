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

// What docs/stability.md promises is held by tests that there are. It has every format, a test for each loss that is told, and all
// fields that cannot be told.
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
	losses := map[string]string{} // by format, the name of its heading
	_, sections, _ := strings.Cut(string(page), "\n### Losses, by format\n")
	sections, _, _ = strings.Cut(sections, "\n### ")
	for _, section := range strings.Split(sections, "\n#### ")[1:] {
		heading, text, _ := strings.Cut(section, "\n")
		losses[strings.ReplaceAll(strings.ToLower(heading), " ", "-")] = text
	}
	for _, agent := range agenttest.Agents() {
		told, not, found := strings.Cut(losses[agent], "Cannot be told")
		if !found || !strings.Contains(string(page), "](#"+agent+")") {
			t.Errorf("the page lacks what cannot be told of %s, or a link to it", agent)
		}
		items := strings.Split(told, "\n- ")[1:]
		if len(items) == 0 {
			t.Errorf("%s: nothing is told", agent)
		}
		for _, item := range items {
			if !strings.Contains(item, "`Test") {
				t.Errorf("%s: no test is named for %q", agent, item)
			}
		}
		for _, list := range untold[agent] {
			for _, field := range list {
				if !strings.Contains(not, "`"+field+"`") {
					t.Errorf("the page lacks %s of %s, which cannot be told", field, agent)
				}
			}
		}
	}
}
