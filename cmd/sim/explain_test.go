package main

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/cmd/sim/internal/outputs"
	"github.com/compactsim/compactsim/sim/audit"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/studies"
)

// What sim explain says a session costs is what its row of sim run says, to within rounding. The samples
// teach the profile how the person's first calls fare, so an explanation that learned from less differs. In
// a closed loop the conversation makes calls that no recording has.
func TestExplainAgreesWithRun(t *testing.T) {
	for name, flags := range map[string][]string{"open": {"--open-loop", "--profile", "none"}, "closed": {"--set", "agent.refetch=fitted"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if ends := explainAgrees(t, flags...); ends == 0 && name == "closed" { // a profile adds them
				t.Error("no sample has a call at the end of a turn")
			}
		})
	}
}

// explainAgrees returns the number of calls at the ends of turns.
func explainAgrees(t *testing.T, set ...string) (atEnds int) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	if code, _, errs := exec(t, append([]string{"run", "-q"}, append(set, "--strategy", "own,auto-compact/155k", "--out", dir)...)...); code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	run, err := outputs.ReadRun(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range run.Cells {
		c := &run.Cells[i]
		if c.Strategy == measures.StrategyBilled {
			continue
		}
		for _, row := range c.Rows.All() {
			code, out, errs := exec(t, append([]string{"explain", "-q", row.Session, "--strategy", c.Strategy, "--format", "json"}, set...)...)
			if code != 0 {
				t.Fatalf("explain %s: exit %d: %s", row.Session, code, errs)
			}
			var e studies.Explanation
			if err := json.NewDecoder(strings.NewReader(out)).Decode(&e); err != nil {
				t.Fatal(err)
			}
			total := e.TurnEnds.CostUSD
			for j := range e.Calls {
				total += e.Calls[j].CostUSD
			}
			if want := row.CostUSD(); math.Abs(total-want) > 1e-9*want {
				t.Errorf("%s of %s: explained $%.6f, run $%.6f", c.Cell, row.Session, total, want)
			}
			if calls := len(e.Calls) + e.TurnEnds.Calls; calls != row.N(measures.Calls) {
				t.Errorf("%s of %s: explained %d calls, run %d", c.Cell, row.Session, calls, row.N(measures.Calls))
			}
			atEnds += e.TurnEnds.Calls
		}
	}
	return atEnds
}

// What the audit says a call missed and what that cost is what an explanation of the call says was billed, whatever
// the model expects.
func TestExplainAgreesWithAudit(t *testing.T) {
	t.Parallel()
	code, out, errs := exec(t, "audit", "-q", "--top", "0", "--format", "json")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	var report audit.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatal(err)
	}
	looked := 0
	for _, f := range report.Findings {
		for _, p := range f.Places {
			_, told, ok := strings.Cut(p.Text, "; missed ")
			if !ok {
				continue
			}
			looked++
			code, out, errs := exec(t, "explain", "-q", p.Call, "--format", "json")
			if code != 0 {
				t.Fatalf("explain %s: exit %d: %s", p.Call, code, errs)
			}
			var e studies.Explanation
			if err := json.Unmarshal([]byte(out), &e); err != nil {
				t.Fatal(err)
			}
			b := e.Calls[0].Billed
			if want := fmt.Sprintf("%d, %s", b.Missed, b.Evidence); told != want || math.Abs(p.USD-b.MissUSD) > 1e-9 {
				t.Errorf("%s: the audit has $%.6f, %q, the explanation $%.6f, %q", p.Call, p.USD, told, b.MissUSD, want)
			}
		}
	}
	if looked < 10 { // the samples have 14 misses
		t.Errorf("%d misses compared", looked)
	}
}

// A call of a request log says where its request parts from the one before it, with what stood there; one that only goes on
// says nothing, and no export has the texts.
func TestExplainWhereRequestsPart(t *testing.T) {
	var log, messages strings.Builder
	messages.WriteString(`{"role":"user","content":"hello"}`)
	for i, day := range []string{"Monday", "Monday", "Tuesday"} {
		fmt.Fprintf(&log, `{"start":%d,"end":%d,"request":{"method":"POST","url":"https://api.anthropic.com/v1/messages","body":{"model":"claude-opus-4-6",`+
			`"system":[{"type":"text","text":"%sIt is %s.","cache_control":{"type":"ephemeral"}}],"messages":[%s]}},"response":{"status_code":200,"body":`+
			`{"id":"m%d","type":"message","role":"assistant","model":"claude-opus-4-6","content":[{"type":"text","text":"yes"}],"usage":{"input_tokens":9,`+
			`"output_tokens":3,"cache_read_input_tokens":%d,"cache_creation_input_tokens":%d}}}}`+"\n",
			1780000000+20*i, 1780000005+20*i, strings.Repeat("rule ", 5000), day, messages.String(), i, []int{0, 6000, 0}[i], []int{6000, 20, 6040}[i])
		fmt.Fprintf(&messages, `,{"role":"assistant","content":"yes"},{"role":"user","content":"next %d"}`, i)
	}
	name := filepath.Join(t.TempDir(), "parts.jsonl")
	keep(t, name, []byte(log.String()))
	const at = "system[0].text, character 25,007" // behind 25,000 characters of rules and "It is "
	for call, want := range map[string]bool{"2": false, "3": true} {
		code, stdout, stderr := exec(t, "explain", "parts", call, "--no-store", name)
		if code != 0 || strings.Contains(stdout, at) != want || strings.Contains(stdout, "Tuesday.") != want {
			t.Errorf("call %s: exit %d, want the parting: %v\n%s%s", call, code, want, stdout, stderr)
		}
	}
	if _, stdout, _ := exec(t, "explain", "parts", "3", "--no-store", "--format", "json", name); strings.Contains(stdout, "Tuesday") || len(stdout) == 0 {
		t.Errorf("JSON has the texts: %s", stdout)
	}
}
