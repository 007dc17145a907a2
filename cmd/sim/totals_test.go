package main

import (
	"encoding/json"
	"math"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/tools/tests/agenttest"
	"github.com/compactsim/compactsim/traces/facts"
)

// total is what a verb tells of a folder: its bill, USD, and how many sessions that is of.
type total struct {
	usd      float64
	sessions int
}

// telling are the verbs that tell a bill, and how each tells it in JSON.
var telling = []struct {
	args []string
	of   func(t *testing.T, text []byte) total
}{
	{[]string{"traces", "ls"}, func(t *testing.T, text []byte) total {
		list := decoded[[]struct {
			USD float64 `json:"billed_usd"`
		}](t, text)
		sum := total{sessions: len(list)}
		for _, s := range list {
			sum.usd += s.USD
		}
		return sum
	}},
	{[]string{"run", "--strategy", "none"}, billedIn},
	{[]string{"audit"}, func(t *testing.T, text []byte) total {
		a := decoded[struct {
			Sessions int
			Total    struct {
				USD float64 `json:"cost_usd"`
			}
		}](t, text)
		return total{a.Total.USD, a.Sessions}
	}},
	{[]string{"advise"}, func(t *testing.T, text []byte) total {
		a := decoded[struct {
			USD    float64 `json:"paid_usd"`
			Agents []struct {
				Sessions  int
				Uncounted int `json:"sessions_without_usage"`
			}
		}](t, text)
		sum := total{usd: a.USD}
		for _, x := range a.Agents {
			sum.sessions += x.Sessions + x.Uncounted
		}
		return sum
	}},
}

// billedIn reads the bill of a run.
func billedIn(t *testing.T, text []byte) total {
	run := decoded[struct {
		Cells []struct {
			Cell     string
			Sessions int
			Metrics  struct {
				USD float64 `json:"cost_usd"`
			}
		}
	}](t, text)
	for _, c := range run.Cells {
		if c.Cell == "billed" {
			return total{c.Metrics.USD, c.Sessions}
		}
	}
	return total{}
}

func decoded[T any](t *testing.T, text []byte) (v T) {
	t.Helper()
	if err := json.Unmarshal(text, &v); err != nil {
		t.Errorf("%v in %.200s", err, text)
	}
	return v
}

// paidOnPage is where a page tells the bill.
var paidOnPage = regexp.MustCompile(`(\$[\d,.]+\d) paid at API prices`)

// Every verb tells the same bill of the same sessions: of one of each agent, of a Copilot session whose log counts outputs
// alone, and of the recordings.
func TestTotals(t *testing.T) {
	made := t.TempDir()
	for _, agent := range agenttest.Agents() {
		keep(t, filepath.Join(made, agent+".jsonl"), []byte(agenttest.Sample(agent, agent, 1)))
	}
	lines := strings.SplitAfter(agenttest.Sample(facts.Copilot, "outputs", 2), "\n")
	keep(t, filepath.Join(made, "outputs.jsonl"), []byte(strings.Join(lines[:7], ""))) // ends before any count of input
	folders, err := filepath.Glob(filepath.Join("..", "..", "..", "shared", "traces*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range append(folders, made) {
		var first total
		for i, verb := range telling {
			args := append(append([]string{}, verb.args...), "--format", "json", dir)
			code, text, errs := exec(t, args...)
			if code != exitOK {
				t.Errorf("%s: sim %s: exit code %d: %s", dir, strings.Join(verb.args, " "), code, errs)
				continue
			}
			got := verb.of(t, []byte(text))
			if i == 0 {
				first = got
			}
			if !(math.Abs(got.usd-first.usd) < 1e-6) || got.sessions != first.sessions {
				t.Errorf("%s: sim %s tells $%.6f of %d sessions, $%+.6f and %+d against sim %s", filepath.Base(dir),
					strings.Join(verb.args, " "), got.usd, got.sessions, got.usd-first.usd, got.sessions-first.sessions,
					strings.Join(telling[0].args, " "))
			}
		}
		code, text, errs := exec(t, "report", dir)
		paid := paidOnPage.FindStringSubmatch(text)
		if code != exitOK || paid == nil || paid[1] != document.USD(first.usd, 2) {
			t.Errorf("%s: sim report: exit code %d, tells %q, want %s: %s", filepath.Base(dir), code, paid, document.USD(first.usd, 2), errs)
		}
		if first.usd == 0 || first.sessions == 0 {
			t.Errorf("%s: $%.2f of %d sessions", dir, first.usd, first.sessions)
		}
	}
}
