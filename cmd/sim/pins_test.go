package main

import (
	"os"
	"regexp"
	"testing"
)

// Actions that run beside recordings are named by the digest of a commit: a tag may move.
func TestActionsArePinned(t *testing.T) {
	uses := regexp.MustCompile(`(?m)uses: *(\S+)@(\S+)`)
	pinned := regexp.MustCompile(`^([0-9a-f]{40}|COMMIT)$`)
	for _, name := range []string{"../../action.yml", "../../docs/ci.md"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		found := uses.FindAllStringSubmatch(string(text), -1)
		if len(found) == 0 {
			t.Errorf("%s uses no action", name)
		}
		for _, m := range found {
			if !pinned.MatchString(m[2]) {
				t.Errorf("%s: %s", name, m[0])
			}
		}
	}
}
