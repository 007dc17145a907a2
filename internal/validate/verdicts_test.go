package validate

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// verdicts returns a report of calls by verdict and predicted miss, each of which
// left 1,000 tokens and read all of them, or none where it is short.
func verdicts(calls ...Call) *Report {
	for i := range calls {
		c := &calls[i]
		c.Session, c.Thread, c.Round, c.Class, c.Left = "s", "main", i, ClassPrompt, 1000
		c.Context = 1000
	}
	return newReport(calls, 0)
}

func verdictCall(v traces.Verdict, m prompt.MissClass, read int64) Call {
	return Call{round: &traces.Round{Verdict: v}, Miss: m, Actual: prompt.Usage{Read: read}}
}

// The server names a difference in four of seven calls; three of these are
// predicted to miss, two for the reason it gives. Of two calls that continue what
// was cached one is predicted to miss over a change; an expiry is none.
func TestVerdictsAgainstPredictions(t *testing.T) {
	r := verdicts(
		verdictCall(traces.VerdictSystem, prompt.MissHead, 0),
		verdictCall(traces.VerdictMessages, prompt.MissEdit, 100),
		verdictCall(traces.VerdictMessages, prompt.MissHead, 100),
		verdictCall(traces.VerdictTools, prompt.MissNone, 950),
		verdictCall(traces.VerdictSame, prompt.MissRewind, 1000),
		verdictCall(traces.VerdictSame, prompt.MissExpiry, 0),
		verdictCall(traces.VerdictUnknown, prompt.MissNone, 1000),
		verdictCall(traces.VerdictNone, prompt.MissHead, 0), // none logged: not counted
	)
	s := &traces.Session{ID: "s", Threads: []traces.Thread{{ID: "main"}}}
	r.CheckVerdicts([]*traces.Session{s}, func(*traces.Session) []Opinion {
		return []Opinion{{Round: 0, Detector: "server", Cause: "inside"}, {Round: 4, Detector: "none"}}
	})
	v := r.Verdicts
	if v == nil || v.Calls != 7 || v.Changed != 4 || v.Found != 3 || v.Agreed != 2 || v.Unfounded != 1 {
		t.Fatalf("%+v", v)
	}
	for _, want := range []VerdictLine{
		{By: "bill", Says: "short", Counts: map[string]int{"system_changed": 1, "messages_changed": 2, "same": 1}},
		{By: "bill", Says: "all", Counts: map[string]int{"tools_changed": 1, "same": 1, "unavailable": 1}},
		{By: "prediction", Says: "head", Counts: map[string]int{"system_changed": 1, "messages_changed": 1}},
		{By: "detector", Says: "none", Counts: map[string]int{"same": 1}},
		{By: "audit", Says: "inside", Counts: map[string]int{"system_changed": 1}},
	} {
		i := slices.IndexFunc(v.Rows, func(l VerdictLine) bool { return l.By == want.By && l.Says == want.Says })
		if i < 0 || len(v.Rows[i].Counts) != len(want.Counts) {
			t.Errorf("%s %s: %+v", want.By, want.Says, v.Rows)
			continue
		}
		for verdict, n := range want.Counts {
			if v.Rows[i].Counts[verdict] != n {
				t.Errorf("%s %s: %d calls %s, want %d", want.By, want.Says, v.Rows[i].Counts[verdict], verdict, n)
			}
		}
	}
	var b bytes.Buffer
	if err := r.Document().Write(&b, "table"); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"SAID BY", "TOOLS", "verdict on 7 calls", "names a difference in 4: 3 are predicted to miss, 2 of them"} {
		if !strings.Contains(b.String(), text) {
			t.Errorf("no %q in\n%s", text, b.String())
		}
	}
	if strings.Contains(b.String(), "NOT FOUND") {
		t.Errorf("a column without a call:\n%s", b.String())
	}
}

// The generated samples have no verdicts: nothing is shown.
func TestNoVerdicts(t *testing.T) {
	s := samples(t)[:1]
	r, err := Run(context.Background(), Options{Config: cell(t)}, s)
	if err != nil {
		t.Fatal(err)
	}
	r.CheckVerdicts(s, func(*traces.Session) []Opinion { return nil })
	if r.Verdicts != nil {
		t.Errorf("%+v", r.Verdicts)
	}
}
