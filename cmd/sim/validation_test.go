package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// recordedSets are the sets of recordings beside the module.
var recordedSets = []string{"traces", "traces-2", "traces-3", "traces-4", "traces-5"}

// again is the number of a session whose id another has too.
var again = regexp.MustCompile(`-\d{1,2}$`)

// seen reports whether rules and numbers may be chosen on a session: on every session of the first set, and elsewhere on sessions whose id has a
// SHA-256 that begins with 0 to 7. Where ids are placeholders the number is part of them.
func seen(set, id string) bool {
	if !strings.Contains(id, "{{") {
		id = again.ReplaceAllString(id, "")
	}
	return set == recordedSets[0] || sha256.Sum256([]byte(id))[0] < 0x80
}

// seenRecordings makes a folder of links to the seen sessions, agent/provider/set/file, and returns it. It skips the test without
// recordings.
func seenRecordings(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("recorded sessions take long")
	}
	dir := t.TempDir()
	for _, set := range recordedSets {
		from, err := filepath.Abs(filepath.Join("..", "..", "..", "shared", set))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(from); err != nil {
			t.Skip("no recorded sessions beside the module:", err)
		}
		c, err := agents.Read(context.Background(), traces.Options{}, from)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range c.Sessions {
			if !seen(set, s.ID) || len(s.Models) == 0 {
				continue
			}
			to := filepath.Join(dir, s.Agent, cmp.Or(promptcache.ProviderOf(s.Models[0]), "unknown"), set)
			for _, f := range s.Files {
				rel, err := filepath.Rel(from, f)
				if err != nil {
					t.Fatal(err)
				}
				link(t, f, filepath.Join(to, rel))
			}
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// link makes a link to a file, with the folders above it, unless it is there.
func link(t *testing.T, file, at string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, at); err != nil && !os.IsExist(err) {
		t.Fatal(err)
	}
}

// validationPage is the page that has the tables of recorded sessions.
var validationPage = filepath.Join("..", "..", "docs", "validation.md")

// holds compares a part of the page, between a line that begins <!-- NAME: and the next <!-- end -->, with what it should be, or writes it
// if SIM_UPDATE_DOCS is set.
func holds(t *testing.T, page, name, want string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, begun := strings.Cut(string(text), "<!-- "+name+":")
	head, rest, _ := strings.Cut(rest, "\n\n")
	part, _, ended := strings.Cut(rest, "\n\n<!-- end -->")
	if !begun || !ended {
		t.Fatalf("%s has no part %s", page, name)
	}
	if want = strings.TrimSpace(want); part == want {
		return
	}
	if os.Getenv(updateDocs) == "" {
		t.Errorf("%s, %s: shows\n%s\nwant\n%s\n%s=1 go test ./cmd/sim -run '%s' writes it", page, name, part, want, updateDocs, t.Name())
		return
	}
	old, made := "<!-- "+name+":"+head+"\n\n"+part, "<!-- "+name+":"+head+"\n\n"+want
	write(t, page, []byte(strings.Replace(string(text), old, made, 1)))
}

// The table of all agents and providers is what sim validate prints of the seen sessions, and no error there or under sim run is
// beyond its interval.
func TestRecordedAgents(t *testing.T) {
	t.Parallel()
	page, err := filepath.Abs(validationPage)
	if err != nil {
		t.Fatal(err)
	}
	dir := seenRecordings(t)
	_, out, _ := exec(t, "validate", "-q", "--no-store", "--replications", "200", "--format", "markdown", dir)
	_, table, _ := strings.Cut(out, "\n| BY AGENT")
	table, _, _ = strings.Cut(table, "\n\n")
	holds(t, page, "agents", "| BY AGENT"+table)
	holds(t, page, "model error", modelErrors(t, dir))
}

// modelErrors returns the table of the model error under sim run, by agent and provider, and fails where 0 is not in the interval.
func modelErrors(t *testing.T, dir string) string {
	folders, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(folders)
	b := &strings.Builder{}
	b.WriteString("| agent, provider | sessions | net | with expected losses | interval |\n|---|---:|---:|---:|---:|\n")
	for _, f := range folders {
		var run struct {
			Provenance struct {
				Error struct {
					Billed   float64 `json:"billed_usd"`
					Recorded float64 `json:"recorded_usd"`
					Loss     float64 `json:"expected_loss_usd"`
					Sessions int     `json:"sessions"`
					Low      float64 `json:"low"`
					High     float64 `json:"high"`
				} `json:"model_error"`
			} `json:"provenance"`
		}
		read(t, &run, "run", "-q", "--no-store", "--strategy", "recorded", "--format", "json", f)
		e := &run.Provenance.Error
		name := filepath.Base(filepath.Dir(f)) + ", " + filepath.Base(f)
		if e.Sessions == 0 || e.Billed == 0 {
			continue
		}
		if e.Low > 0 || e.High < 0 {
			t.Errorf("%s: the model error is %.1f to %.1f %%, which is beyond 0", name, 100*e.Low, 100*e.High)
		}
		fmt.Fprintf(b, "| %s | %d | %s | %s | %s … %s |\n", name, e.Sessions,
			signed(e.Recorded/e.Billed-1), signed((e.Recorded+e.Loss)/e.Billed-1), signed(e.Low), signed(e.High))
	}
	return b.String()
}

// signed formats a share in percent.
func signed(x float64) string { return strings.Replace(fmt.Sprintf("%+.1f %%", 100*x), "-", "−", 1) }
