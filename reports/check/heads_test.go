package check

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// What keeps a baseline from being compared is named, whatever the figures.
func TestBaselineOfAnotherRun(t *testing.T) {
	f := parsed(t, "  - {metric: cost_usd, max_increase: 1%}\n")
	for want, change := range map[string]func(*Input){
		"base.json holds other sessions: 2 with 20 calls, not these 2 with 21": func(in *Input) { in.SessionsDigest, in.Calls = "other", 21 },
		"base.json belongs to another scenario":                                func(in *Input) { in.ScenarioDigest = "other" },
		"base.json has not 1 seed of cost_usd of this cell":                    func(in *Input) { in.Cells[0].Name, in.Cells[0].Strategy = "t", "t" },
		"no sessions with calls":                                               func(in *Input) { in.Sessions = nil },
		"base.json belongs to other prices (of opus)": func(in *Input) {
			in.Rates = map[string]results.Cost{"opus": {measures.ClassRead: 2}}
		},
		"cost_usd is NaN":  func(in *Input) { in.Cells[0].Draws[0].Total.Figures[measures.StorageUSD] = math.NaN() },
		"cost_usd is +Inf": func(in *Input) { in.Cells[0].Draws[0].Total.Figures[measures.StorageUSD] = math.Inf(1) },
	} {
		in := plainRun()
		change(in)
		says(t, against(t, f, plainRun(), in), want)
	}
	f.ScenarioMayChange = true
	in := plainRun()
	in.ScenarioDigest, in.Rates["opus"] = "other", results.Cost{}
	r := against(t, f, plainRun(), in)
	says(t, r)
	want := []string{"base.json belongs to other prices, as scenario_may_change allows", "base.json belongs to another scenario, as scenario_may_change allows"}
	if diff := cmp.Diff(want, r.Notes); diff != "" {
		t.Error(diff)
	}
}

// What is beyond the bar is told ahead of a baseline of another scenario, which sends
// the reader there: an update would make it the baseline.
func TestBreachesComeFirst(t *testing.T) {
	f := parsed(t, "  - {metric: cost_usd, max_increase: 1%}\n")
	now := input(one("s", tally{session: "a", usd: 5, read: 90, written: 10}, tally{session: "b", usd: 1, read: 90, written: 10}))
	now.ScenarioDigest = "other"
	all := against(t, f, plainRun(), now).failures()
	if len(all) != 2 || !strings.HasPrefix(all[0].message, "cost_usd of s is $6.00") ||
		!strings.Contains(all[1].message, "if it is meant: sim check --update --accept baseline begins it anew") {
		t.Errorf("%+v", all)
	}
	now = plainRun()
	now.ScenarioDigest = "other"
	says(t, against(t, f, plainRun(), now), "--accept baseline begins it anew; scenario_may_change")
}

// A baseline that is not there is told once, not for each rule on it.
func TestMissingBaselineIsToldOnce(t *testing.T) {
	f := parsed(t, "  - {metric: cost_usd, max_increase: 1%}\n  - {metric: calls, max_increase: 1%}\n")
	r := f.Judge(plainRun(), Loaded{Err: errors.New("base.json is not there")})
	if all := r.failures(); len(all) != 1 || all[0].message != "no baseline: base.json is not there" {
		t.Errorf("%+v", all)
	}
	for _, s := range r.Results {
		if s.Status != Unjudged || s.Message != "there is no baseline to hold it against" {
			t.Errorf("%+v", s)
		}
	}
}

// Pseudonyms on one side, or under two keys, are told from other sessions; the names
// of groups that they make are no failures of their own.
func TestPseudonymsOfAnotherKey(t *testing.T) {
	f := parsed(t, "  - {metric: cost_usd, group: project, max_increase: 1%}\n")
	keyed := func(key string) *Input {
		in := plainRun()
		in.Key, in.SessionsDigest = key, "5e55"+key
		in.Sessions["a"], in.Sessions["b"] = Session{Project: "p" + key}, Session{Project: "q" + key}
		return in
	}
	for _, keys := range [][2]string{{"", "k"}, {"k", ""}, {"k", "l"}} {
		r := against(t, f, keyed(keys[0]), keyed(keys[1]))
		says(t, r, "base.json was made with another key of --anonymize, or without one")
		if len(r.failures()) != 1 {
			t.Errorf("%+v", r.failures())
		}
	}
	says(t, against(t, f, keyed("k"), keyed("k")))
	was := keyed("k")
	was.Sessions["a"], was.Sessions["b"] = Session{Project: "r"}, Session{Project: "s"}
	if r := against(t, f, was, keyed("k")); len(r.failures()) == 0 {
		t.Error("groups that the baseline has not fail without a word")
	}
}

// Calls with counts that cannot be read fail the check, as far as they are not allowed.
func TestUncounted(t *testing.T) {
	now := plainRun()
	now.Uncounted, now.UncountedText = 2, "2 of 9 calls"
	f := levels(t, "unread: 100\nrules:\n  - {metric: cost_usd, max: 4}\n")
	says(t, f.Judge(now, Loaded{}), "2 of 9 calls; the bill is wrong by these; uncounted: 0 are allowed; sim audit -v lists them, and uncounted: 2 in check.yaml lets them pass")
	f.Uncounted = 2
	r := f.Judge(now, Loaded{})
	says(t, r)
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "uncounted: 2 allows that") {
		t.Errorf("notes %q", r.Notes)
	}
}

// What was lost in reading fails the check by name, as far as it is not allowed.
func TestLost(t *testing.T) {
	now := plainRun()
	now.Lost, now.NumLost = []string{"a.jsonl: file is empty", "b.jsonl:7: text ends in a string"}, 2
	f := levels(t, "rules:\n  - {metric: cost_usd, max: 4}\n")
	says(t, f.Judge(now, Loaded{}), "not read: a.jsonl: file is empty", "not read: b.jsonl:7: text ends in a string")
	f.Unread = new(int)
	*f.Unread = 1
	says(t, f.Judge(now, Loaded{}), "2 lines, files or sessions could not be read, 1 are allowed by unread or the baseline")
	*f.Unread = 2
	r := f.Judge(now, Loaded{})
	says(t, r)
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "as unread or the baseline allows") {
		t.Errorf("notes %q", r.Notes)
	}
	*f.Unread, now.NumLost = 0, 1000
	now.Lost = slices.Repeat(now.Lost, 50)
	if r := f.Judge(now, Loaded{}); len(r.Problems) != maxLost+1 {
		t.Errorf("%d problems, want %d names and their number", len(r.Problems), maxLost)
	}
}
