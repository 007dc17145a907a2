package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// advised is what sim advise prints as JSON, as far as other commands repeat it.
type advised struct {
	PaidUSD float64 `json:"paid_usd"`
	Agents  []struct {
		Agent   string  `json:"agent"`
		AsIsUSD float64 `json:"as_is_usd"`
		Changes []struct {
			Set      string  `json:"set"`
			SavesUSD float64 `json:"saves_usd"`
		} `json:"changes"`
	} `json:"agents"`
}

// read decodes what a command prints as JSON.
func read(t *testing.T, into any, args ...string) {
	t.Helper()
	code, out, errs := exec(t, args...)
	if err := json.Unmarshal([]byte(out), into); code != exitOK || err != nil {
		t.Fatalf("%q: exit %d, %v, %s", args, code, err, errs)
	}
}

// costOfOwn returns the cost of strategy own as sim run has it, USD.
func costOfOwn(t *testing.T, agent, path string, more ...string) float64 {
	t.Helper()
	var run struct {
		Cells []struct {
			Strategy string             `json:"strategy"`
			Metrics  map[string]float64 `json:"metrics"`
		} `json:"cells"`
	}
	read(t, &run, append([]string{"run", "--format", "json", "--agent", agent, "--strategy", "own", path}, more...)...)
	for _, c := range run.Cells {
		if c.Strategy == "own" {
			return c.Metrics["cost_usd"]
		}
	}
	t.Fatalf("no cell own of %s in %s", agent, path)
	return 0
}

// What to set has one answer: the saving that advise states is the difference of two runs to
// the cent, of one sign with it, and is what the audit's last line and the page's first lines quote.
func oneAnswer(t *testing.T, path string) (changes int) {
	t.Helper()
	var advice advised
	read(t, &advice, "advise", "--format", "json", path)
	_, audit, _ := exec(t, "audit", path)
	page := filepath.Join(t.TempDir(), "page.html")
	if code, _, errs := exec(t, "report", "-q", path, "-o", page); code != exitOK {
		t.Fatalf("exit %d, %s", code, errs)
	}
	shown, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range advice.Agents {
		asIs := costOfOwn(t, a.Agent, path)
		if math.Abs(asIs-a.AsIsUSD) > 0.005 {
			t.Errorf("%s, %s: as it is $%.2f in a run, $%.2f in the advice", path, a.Agent, asIs, a.AsIsUSD)
		}
		for i, c := range a.Changes {
			changes++
			if saves := asIs - costOfOwn(t, a.Agent, path, "--set", c.Set); math.Abs(saves-c.SavesUSD) > 0.005 || saves <= 0 {
				t.Errorf("%s, %s: %s saves $%.2f in runs, $%.2f in the advice", path, a.Agent, c.Set, saves, c.SavesUSD)
			}
			usd := fmt.Sprintf("$%.2f", c.SavesUSD)
			if i == 0 && (!strings.Contains(audit, usd) || !strings.Contains(string(shown), usd)) {
				t.Errorf("%s, %s: %s saves %s: the audit or the page has another figure", path, a.Agent, c.Set, usd)
			}
		}
	}
	return changes
}

// On 12 generated sessions the threshold is worth lowering; tune finds the same one.
func TestOneAnswer(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "corpus")
	if code, _, errs := exec(t, "traces", "gen", "--profile", "long-refactor", "--sessions", "12", "--seed", "3", "-o", dir); code != exitOK {
		t.Fatal(errs)
	}
	if oneAnswer(t, dir) == 0 {
		t.Fatal("nothing is advised")
	}
	var advice advised
	read(t, &advice, "advise", "--format", "json", dir)
	setting, value, _ := strings.Cut(advice.Agents[0].Changes[0].Set, "=")
	_, out, errs := exec(t, "tune", "-q", "--strategy", "own", "--set", setting+"=[40,45,50,60,70,80,90]", dir)
	if want := fmt.Sprintf("best   own %s=%s\n", setting, value); !strings.Contains(out, want) {
		t.Errorf("tune says\n%s%s, want %q", out, errs, want)
	}
}

// The same on recorded sessions of several agents.
func TestOneAnswerOnRecordings(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "..", "shared", "traces")
	if _, err := os.Stat(path); err != nil || testing.Short() {
		t.Skip("no recorded sessions beside the module, or -short")
	}
	if oneAnswer(t, path) == 0 {
		t.Error("nothing is advised")
	}
}
