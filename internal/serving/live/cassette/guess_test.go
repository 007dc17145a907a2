package cassette

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
)

// A PIN that an answer is cannot be found by trying all of them, nor its length: every digest of a
// redacted file is under a key that is not stored, and lengths are in steps.
func TestShortTextsCannotBeGuessed(t *testing.T) {
	read := func(pin string) string {
		t.Helper()
		dir := t.TempDir()
		c := answered(nth(1))
		c.Reply.Text, c.Reply.ToolCalls = "<summary>"+pin+"</summary>", []string{pin}
		store(t, dir, Options{Redact: true}, c)
		b, err := os.ReadFile(dir + "/" + c.Call.Key().String() + suffix)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	file := read("4711")
	for n := range 10_000 {
		pin := fmt.Sprintf("%04d", n)
		if strings.Contains(file, keyOf(prompt.DigestString(pin)).String()[:16]) {
			t.Fatalf("%s is found by its digest:\n%s", pin, file)
		}
	}
	// But for digests and times the files of two texts of other lengths are the same.
	digests := regexp.MustCompile(`\b([0-9a-f]{16}|[0-9a-f]{32}|[0-9a-f]{64})\b`)
	if a, b := digests.ReplaceAllString(file, ""), digests.ReplaceAllString(read("471147114711"), ""); a != b {
		t.Errorf("lengths show:\n%s\n%s", a, b)
	}
}
