package scenarios

import (
	"strings"
	"testing"
)

// What cannot be generated is named at once, with its line.
func TestGenerateProblems(t *testing.T) {
	const text = `schema: 1
sessions:
  paths: [recordings]
  generate:
    profile: chaat
    sessions: 0
`
	f, err := Parse(registry(t), []byte(text), "s.yaml")
	if err == nil {
		_, err = f.Expand()
	}
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"s.yaml:5: sessions.generate.profile makes sessions, sessions.paths reads them",
		"s.yaml:6: sessions.generate.sessions 0 must lie in 1…",
		`s.yaml:5: sessions.generate.profile cannot be read: no profile "chaat" (did you mean "chat"?)`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error does not say %q:\n%v", want, err)
		}
	}
}
