package scenarios

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/compactsim/compactsim/internal/studies"
)

// tried returns what became of the claims of a name.
func tried(t *testing.T, name string, assignments ...string) map[string]*studies.Finding {
	t.Helper()
	list, err := TryClaims(context.Background(), registry(t), prices(t), name, assignments)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]*studies.Finding{}
	for i := range list {
		if found[list[i].ID] != nil {
			t.Errorf("two claims %s", list[i].ID)
		}
		found[list[i].ID] = &list[i]
	}
	return found
}

// every holds what became of all claims, which several tests ask.
var every struct {
	once sync.Once
	list map[string]*studies.Finding
}

func triedAll(t *testing.T) map[string]*studies.Finding {
	every.once.Do(func() { every.list = tried(t, allClaims) })
	return every.list
}

// Figures that were worked out by hand are those of the simulation, and no reason
// leaves a figure open.
func TestClaimsAgreeWithHand(t *testing.T) {
	hands := 0
	for id, f := range triedAll(t) {
		if strings.ContainsAny(f.Reason, "{}") {
			t.Errorf("%s: reason %q", id, f.Reason)
		}
		for j := range f.Figures {
			x := &f.Figures[j]
			if x.Hand != "" {
				hands++
			}
			if !x.Agrees() {
				t.Errorf("%s: %s is %v, by hand %s = %v", id, x.Name, x.Value, x.Hand, x.ByHand)
			}
		}
	}
	if hands == 0 {
		t.Error("no figure was worked out by hand")
	}
}

// Without its mechanism, or what speaks against it, every claim gets another verdict.
func TestVerdictsFollowTheMechanism(t *testing.T) {
	for id, f := range triedAll(t) {
		if f.Verdict() == f.VerdictWithout() {
			t.Errorf("%s is %v with and without %v", id, f.Verdict(), f.Without)
		}
	}
}

// Anyone can try to break a claim: with its mechanism set off it is as it is
// without. Of all claims, those remain whose scenarios have the setting.
func TestClaimsCanBeBroken(t *testing.T) {
	const id = "breaker-stops-runaway"
	f := tried(t, id, "full-compact.breaker=0")[id]
	if x := &f.Figures[0]; f.Verdict() != studies.Partly || x.Value != 71 || *x.Without != 71 {
		t.Errorf("%v: %+v", f.Verdict(), x)
	}
	some := tried(t, allClaims, "strategies.breaker.full-compact.breaker=3")
	if all := len(triedAll(t)); len(some) != 1 || all < 46 {
		t.Errorf("%d claims of %d have a strategy breaker", len(some), all)
	}
	if list := tried(t, "claims/partial"); len(list) != 5 {
		t.Errorf("%d claims of a scenario", len(list))
	}
	for want, args := range map[string][]string{
		`did you mean "breaker-stops-runaway"`: {"breaker-stops-runway"},
		"unknown parameter":                    {id, "full-compact.braker=0"},
	} {
		_, err := TryClaims(context.Background(), registry(t), prices(t), args[0], args[1:])
		if !errors.Is(err, ErrClaim) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", args, err, want)
		}
	}
}

// The verdicts of the list of claims (SPEC §12, column expect).
func TestExpectedVerdicts(t *testing.T) {
	found := triedAll(t)
	for id, want := range map[string]studies.Verdict{
		"request-uncached":     studies.Reproduced,
		"request-cached":       studies.Refuted, // the read alone is $0.06
		"compact-saves":        studies.Refuted, // where attachments count
		"session-memory-call":  studies.Reproduced,
		"session-memory-free":  studies.Refuted, // with extraction and re-writes counted
		"latch-flip":           studies.Refuted, // only with ttl_in_key
		"latch-flip-keyed":     studies.Reproduced,
		"hour-wasted-on-forks": studies.Reproduced,
		"hour-saves-creation":  studies.Partly,     // 20,000 are tools and system prompt: of a young conversation only
		"fork-fleet-share":     studies.Partly,     // 98 % miss; the share is that of sessions that compact more often
		"minimum-saving":       studies.Reproduced, // 17k of results, 10k clearable: must not fire
		"percent-override":     studies.Reproduced,
	} {
		if f := found[id]; f == nil || f.Verdict() != want {
			t.Errorf("%s: %+v, want %v", id, f, want)
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
		"  - {id: a, claim: b, source: c, reason: d, without: [seed=2], figures: []}":                                                                               "no figure is claimed",
		"  - {id: a, claim: b, source: c, reason: '{x}', figures: [{name: y, cell: none, metric: calls, claimed: {is: above}}]}":                                    "names no figure: {x}",
		"  - {id: a, claim: b, source: c, reason: d, without: [seed=2], figures: [{name: y, cell: none, metric: callz, claimed: {is: above}}]}":                     `unknown metric "callz"`,
		"  - {id: a, claim: b, source: c, reason: d, without: [seed=2], figures: [{name: y, cell: none, calls: {of: reed}, claimed: {is: above}}]}":                 `unknown value "reed"`,
		"  - {id: a, claim: b, source: c, reason: d, without: [seed=2], figures: [{name: y, cell: none, calls: {of: read, source: sub}, claimed: {is: above}}]}":    `unknown value "sub"`,
		"  - {id: a, claim: b, source: c, reason: d, without: [seed=2], figures: [{name: y, cell: none, calls: {of: read, thread: x}, claimed: {is: above}}]}":      "want main or the number",
		"  - {id: a, claim: b, source: c, reason: d, without: [seed=2], figures: [{name: y, cell: none, metric: calls, claimed: {is: near}}]}":                      `unknown relation "near"`,
		"  - {id: a, claim: b, source: c, reason: d, without: [seed=2], figures: [{name: y, cell: nome, metric: calls, claimed: {is: above}}]}":                     `no cell "nome"`,
		"  - {id: a, claim: b, source: c, reason: d, without: [seed=2], figures: [{name: y, cell: none, compactions: {of: saved, nth: 1}, claimed: {is: above}}]}":  "there are 0, not 1",
		"  - {id: a, claim: b, source: c, reason: d, without: [seed=2], figures: [{name: y, cell: none, calls: {of: read, behind: 1}, claimed: {is: above}}]}":      "there are 0 compactions",
		"  - {id: a, claim: b, source: c, reason: d, without: [seed=2], figures: [{name: y, cell: none, metric: calls, firings: x, claimed: {is: above}}]}":         "one of metric",
		"  - {id: a, claim: b, source: c, reason: d, figures: [{name: y, cell: none, metric: calls, claimed: {is: above}}]}":                                        "without says nothing",
		"  - {id: a, claim: b, source: c, reason: d, without: [seed=2], figures: [{name: y, cell: none, metric: calls, as: x, claimed: {is: above}}]}":              `as: unknown value "x"`,
		"  - {id: a, claim: b, source: c, reason: d, without: [sed=2], figures: [{name: y, cell: none, metric: calls, claimed: {is: above}}]}":                      `unknown parameter "sed"`,
		"  - {id: a, claimed: b, source: c, reason: d, without: [seed=2], figures: []}":                                                                             "claimed",
		"  - {id: a, claim: b, source: c, reason: d, without: [seed=2], figures: [{name: y, cell: none, metric: cache_hit_ratioo, claimed: {is: above, valu: 3}}]}": "valu",
	} {
		f, err := Parse(registry(t), []byte(head+text+"\n"), "t.yaml")
		if err != nil {
			t.Fatal(err)
		}
		claims, err := f.claimed()
		if err == nil {
			_, err = f.try(context.Background(), prices(t), &claims[0], nil)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
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
