package main

import (
	"flag"
	"os"
	osexec "os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// apartVariable says, in the environment of a process that apart began, which test
// it is for.
const apartVariable = "SIM_TEST_APART"

// apart runs a test that changes the folder or the environment, which a whole process shares, in a
// process of its own, so that it can run in parallel with
// others. It returns true where the test is over with that, and false inside
// that process, where the test begins:
//
//	if apart(t) {
//		return
//	}
//
// Where coverage is measured the test runs here and alone, for it is counted here.
func apart(t *testing.T) bool {
	t.Helper()
	if os.Getenv(apartVariable) != "" || testing.CoverMode() != "" {
		return false // no process of a process: whatever it was asked to run, it runs
	}
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"-test.v", "-test.count=1", "-test.run=" + apartPattern(t.Name(), flag.Lookup("test.run").Value.String())}
	if testing.Short() {
		args = append(args, "-test.short")
	}
	if end, ok := t.Deadline(); ok {
		args = append(args, "-test.timeout="+time.Until(end).String())
	}
	cmd := osexec.CommandContext(t.Context(), exe, args...)
	cmd.Env = append(os.Environ(), apartVariable+"="+t.Name())
	out, err := cmd.CombinedOutput()
	switch verdict := apartVerdict(t.Name(), string(out)); {
	case err != nil || verdict != "PASS" && verdict != "SKIP":
		t.Fatalf("%v\n%s", err, out)
	case verdict == "SKIP":
		t.Skipf("%s", out)
	case testing.Verbose():
		t.Logf("%s", out)
	}
	return true
}

// apartPattern selects a test by its full name, and of the tests below it what the pattern of this
// process selects, or every test when the pattern has alternatives.
func apartPattern(name, pattern string) string {
	elements := strings.Split(name, "/")
	for i, e := range elements {
		elements[i] = "^" + regexp.QuoteMeta(e) + "$"
	}
	if given := strings.Split(pattern, "/"); len(given) > len(elements) && !strings.Contains(pattern, "|") {
		elements = append(elements, given[len(elements):]...)
	}
	return strings.Join(elements, "/")
}

// apartVerdict returns how a test ended by what its process printed, "" when it
// did not run.
func apartVerdict(name, out string) string {
	m := regexp.MustCompile(`(?m)^ *--- (PASS|FAIL|SKIP): ` + regexp.QuoteMeta(name) + ` \(`).FindStringSubmatch(out)
	if m == nil {
		return ""
	}
	return m[1]
}

// A test that runs apart is meant by its whole name, is believed only when it ran,
// and lets through what of its parts was asked for.
func TestApart(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, pattern, want string }{
		{"TestGate", "", "^TestGate$"},
		{"TestGate", "Gate|Scripts", "^TestGate$"},
		{"TestGate", "Gate/no_key", "^TestGate$/no_key"},
		{"TestGate", "Gate/(a|b)|Doc", "^TestGate$"},
		{"TestDocuments/ci.md", "TestDocuments/ci", `^TestDocuments$/^ci\.md$`},
	} {
		if got := apartPattern(tc.name, tc.pattern); got != tc.want {
			t.Errorf("%s of %q: %s, want %s", tc.name, tc.pattern, got, tc.want)
		}
	}
	for out, want := range map[string]string{
		"testing: warning: no tests to run\nPASS\n":                      "",
		"=== RUN   TestA\n--- PASS: TestA (0.00s)\nPASS\n":               "PASS",
		"--- SKIP: TestA (0.00s)\n    a_test.go:1: no\nPASS\n":           "SKIP",
		"--- FAIL: TestA (0.00s)\n    --- PASS: TestA/b (0.00s)\nFAIL\n": "FAIL",
		"--- PASS: TestAb (0.00s)\nPASS\n":                               "",
		"--- PASS: TestB (0.00s)\n    --- PASS: TestA (0.00s)\nPASS\n":   "PASS",
	} {
		if got := apartVerdict("TestA", out); got != want {
			t.Errorf("%q: %q, want %q", out, got, want)
		}
	}
}
