package scenarios

import (
	"context"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/internal/studies"
)

// tryClaims runs a scenario of claims after some assignments.
func tryClaims(t *testing.T, name string, assignments ...string) map[string]*studies.Finding {
	t.Helper()
	b, err := LookupBuiltin("claims/" + name)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Parse(registry(t), b.Text, b.Name+".yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range assignments {
		if err := f.Assign(a); err != nil {
			t.Fatal(err)
		}
	}
	list, err := f.try(context.Background(), prices(t))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]*studies.Finding{}
	for i := range list {
		found[list[i].ID] = &list[i]
	}
	return found
}

// Figures that were worked out by hand are those of the simulation, ids are
// unique, and no reason leaves a figure open.
func TestClaimsAgreeWithHand(t *testing.T) {
	list, err := TryClaims(context.Background(), registry(t), prices(t))
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	hands := 0
	for i := range list {
		f := &list[i]
		if ids[f.ID] {
			t.Errorf("two claims %s", f.ID)
		}
		ids[f.ID] = true
		if strings.ContainsAny(f.Reason, "{}") {
			t.Errorf("%s: reason %q", f.ID, f.Reason)
		}
		for j := range f.Figures {
			x := &f.Figures[j]
			if x.Hand != "" {
				hands++
			}
			if !x.Agrees() {
				t.Errorf("%s: %s is %v, by hand %s = %v", f.ID, x.Name, x.Value, x.Hand, x.ByHand)
			}
		}
	}
	if hands == 0 {
		t.Error("no figure was worked out by hand")
	}
}

// A verdict follows what is simulated: with a mechanism switched it is another.
func TestVerdictsFollowTheMechanism(t *testing.T) {
	const reproduced, partly, refuted = studies.Reproduced, studies.Partly, studies.Refuted
	for _, tc := range []struct {
		scenario, set, id string
		as, then          studies.Verdict
	}{
		{"breaker", "strategies.breaker.full-compact.breaker=0", "breaker-stops-runaway", reproduced, partly},
		{"skill-listing", "strategies.sent-again.full-compact.attachments.resend_skill_listing=false", "skill-listing", reproduced, refuted},
		{"frozen-results", "strategies.frozen.tool-storage.freeze=false", "frozen-decisions", reproduced, partly},
		{"guard-loop", "strategies.unguarded.session-memory.guard=true", "guard-stops-loop", reproduced, partly},
		{"organisations", "sessions.organisations=one", "global-scope", reproduced, refuted},
		{"microcompact", "strategies.in-place.microcompact.enabled=false", "clearing-warm-breaks", reproduced, refuted},
		{"guard-deadlock", "strategies.not-barred.session-memory.extract.barred=true", "guard-stops-deadlock", reproduced, partly},
		{"full-compact", "full-compact.attachments.files.count=0", "compact-saves", refuted, reproduced},
	} {
		if got := tryClaims(t, tc.scenario)[tc.id].Verdict(); got != tc.as {
			t.Errorf("%s: %v, want %v", tc.id, got, tc.as)
		}
		if got := tryClaims(t, tc.scenario, tc.set)[tc.id].Verdict(); got != tc.then {
			t.Errorf("%s with %s: %v, want %v", tc.id, tc.set, got, tc.then)
		}
	}
}

// The verdicts of the list of claims (SPEC §12, column expect).
func TestExpectedVerdicts(t *testing.T) {
	list, err := TryClaims(context.Background(), registry(t), prices(t))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]studies.Verdict{}
	for i := range list {
		found[list[i].ID] = list[i].Verdict()
	}
	for id, want := range map[string]studies.Verdict{
		"request-uncached":     studies.Reproduced,
		"request-cached":       studies.Refuted, // the read alone is $0.06
		"compact-saves":        studies.Refuted, // where attachments count
		"session-memory-call":  studies.Reproduced,
		"session-memory-free":  studies.Refuted, // with extraction and re-writes counted
		"latch-flip":           studies.Refuted, // only with ttl_in_key
		"latch-flip-keyed":     studies.Reproduced,
		"hour-wasted-on-forks": studies.Reproduced,
		"minimum-saving":       studies.Reproduced, // 17k of results, 10k clearable: must not fire
		"percent-override":     studies.Reproduced,
	} {
		if got, ok := found[id]; !ok || got != want {
			t.Errorf("%s: %v, want %v", id, got, want)
		}
	}
}

// Every relation, on both sides of its edge.
func TestRelations(t *testing.T) {
	for _, tc := range []struct {
		b           bound
		holds, fail float64
	}{
		{bound{Is: "about", Value: 100, Tolerance: 0.1}, 110, 111},
		{bound{Is: "about", Value: 100}, 100, 100.5},
		{bound{Is: "between", Value: 30, To: 60}, 60, 61},
		{bound{Is: "at_least", Value: 5}, 5, 4},
		{bound{Is: "at_most", Value: 5}, 5, 6},
		{bound{Is: "above", Value: 0}, 1, 0},
		{bound{Is: "below", Value: 0}, -1, 0},
	} {
		if !relations[tc.b.Is].holds(tc.holds, &tc.b) || relations[tc.b.Is].holds(tc.fail, &tc.b) {
			t.Errorf("%+v: %v and %v", tc.b, relations[tc.b.Is].holds(tc.holds, &tc.b), relations[tc.b.Is].holds(tc.fail, &tc.b))
		}
	}
	if len(relations) != 6 {
		t.Errorf("%d relations", len(relations))
	}
}

// What is wrong with claims is said, with the claim.
func TestBadClaims(t *testing.T) {
	const head = "strategies: [none]\nsessions: {paths: [\"made:turns\"]}\nclaims:\n"
	for text, want := range map[string]string{
		"  - {id: a, claim: b, source: c, reason: d, figures: []}":                                                                               "no figure is claimed",
		"  - {id: a, claim: b, source: c, reason: '{x}', figures: [{name: y, cell: none, metric: calls, claimed: {is: above}}]}":                 "names no figure: {x}",
		"  - {id: a, claim: b, source: c, reason: d, figures: [{name: y, cell: none, metric: callz, claimed: {is: above}}]}":                     `unknown metric "callz"`,
		"  - {id: a, claim: b, source: c, reason: d, figures: [{name: y, cell: none, calls: {of: reed}, claimed: {is: above}}]}":                 `unknown value "reed"`,
		"  - {id: a, claim: b, source: c, reason: d, figures: [{name: y, cell: none, calls: {of: read, source: sub}, claimed: {is: above}}]}":    `unknown value "sub"`,
		"  - {id: a, claim: b, source: c, reason: d, figures: [{name: y, cell: none, calls: {of: read, thread: x}, claimed: {is: above}}]}":      "want main or the number",
		"  - {id: a, claim: b, source: c, reason: d, figures: [{name: y, cell: none, metric: calls, claimed: {is: near}}]}":                      `unknown relation "near"`,
		"  - {id: a, claim: b, source: c, reason: d, figures: [{name: y, cell: nome, metric: calls, claimed: {is: above}}]}":                     `no cell "nome"`,
		"  - {id: a, claim: b, source: c, reason: d, figures: [{name: y, cell: none, compactions: {of: saved, nth: 1}, claimed: {is: above}}]}":  "there are 0, not 1",
		"  - {id: a, claim: b, source: c, reason: d, figures: [{name: y, cell: none, calls: {of: read, behind: 1}, claimed: {is: above}}]}":      "there are 0 compactions",
		"  - {id: a, claim: b, source: c, reason: d, figures: [{name: y, cell: none, metric: calls, firings: x, claimed: {is: above}}]}":         "one of metric",
		"  - {id: a, claimed: b, source: c, reason: d, figures: []}":                                                                             "claimed",
		"  - {id: a, claim: b, source: c, reason: d, figures: [{name: y, cell: none, metric: cache_hit_ratioo, claimed: {is: above, valu: 3}}]}": "valu",
	} {
		f, err := Parse(registry(t), []byte(head+text+"\n"), "t.yaml")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.try(context.Background(), prices(t)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\n%v, want %q", text, err, want)
		}
	}
}

// Claims are no part of what is run: the scenario is the one without them.
func TestClaimsLeaveTheScenarioAsItIs(t *testing.T) {
	const text = "strategies: [none]\n"
	with := expand(t, text+"claims:\n  - {id: a}\n")
	plain, err := expand(t, text).Resolved()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := with.Resolved(); err != nil || string(got) != string(plain) {
		t.Errorf("%v\n%s\nwant\n%s", err, got, plain)
	}
}

// Sessions made for a question are found by name and stand by themselves.
func TestMadeSessions(t *testing.T) {
	for name := range made {
		c, err := MadeSessions([]string{madePrefix + name})
		if err != nil || c == nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, s := range c.Sessions {
			if s.NumCalls() == 0 || s.End <= s.Start {
				t.Errorf("%s: %d calls, %d…%d", name, s.NumCalls(), s.Start, s.End)
			}
		}
	}
	for _, tc := range []struct {
		paths []string
		want  string
	}{
		{[]string{"made:turn"}, `did you mean`},
		{[]string{"made:turns", "a.jsonl"}, "cannot be mixed"},
	} {
		if _, err := MadeSessions(tc.paths); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v: %v, want %q", tc.paths, err, tc.want)
		}
	}
	if c, err := MadeSessions([]string{"a.jsonl"}); c != nil || err != nil {
		t.Errorf("%v, %v for a recording", c, err)
	}
}
