package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The files that the document on workloads shows can be run as they stand there,
// and the scenario generates as many calls as the document says.
func TestWorkloadsShowFilesThatRun(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "workloads.md"))
	if err != nil {
		t.Fatal(err)
	}
	if apart(t) {
		return
	}
	t.Chdir(t.TempDir())
	blocks := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$").FindAllSubmatch(text, -1)
	for i, name := range []string{"nights", "mine"} {
		if len(blocks) != 2 || !bytes.Contains(blocks[i][1], []byte("\nname: "+name+"\n")) {
			t.Fatalf("%d files are shown, want nights and mine", len(blocks))
		}
		if err := os.WriteFile(name+"-shown.yaml", blocks[i][1], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) string {
		var out, errs bytes.Buffer
		if code := execute(context.Background(), args, strings.NewReader(""), &out, &errs); code != exitOK {
			t.Fatalf("sim %s: exit %d: %s", strings.Join(args, " "), code, &errs)
		}
		return out.String()
	}
	said := regexp.MustCompile(`(\d+) nights, ([\d,]+) calls`).FindSubmatch(text)
	if said == nil {
		t.Fatal("the document does not say how many nights and calls there are")
	}
	if got, want := run("run", "nights-shown.yaml"), string(said[1])+" sessions · "+string(said[2])+" calls · "; !strings.HasPrefix(got, want) {
		t.Errorf("the scenario prints %.80s…, want %s", got, want)
	}
	if err := os.WriteFile("mine.yaml", []byte(run("traces", "gen", "--profile", "chat")), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := run("run", "mine-shown.yaml", "--set", "users.organisations.us.users=8", "--set", "users.organisations.others.users=2"); !strings.Contains(got, "10 users of 2 organisations") {
		t.Errorf("the scenario prints %s", got)
	}
}
