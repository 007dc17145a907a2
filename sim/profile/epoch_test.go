package profile

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// evidence returns a profile with epochs from 2.1.0, 2.1.10 and 2.1.20 and what
// one rule did in some epochs.
func evidence(r Rule, trials ...Trial) *Profile {
	return &Profile{Epochs: []string{"2.1.0", "2.1.10", "2.1.20"}, Evidence: Evidence{r.String(): trials}}
}

// An epoch goes from its first version to the first version of the next.
func TestEpoch(t *testing.T) {
	p := evidence(RuleHook)
	for version, want := range map[string]string{
		"2.0.76": "", "": "", "2.1.0": "2.1.0", "2.1.9": "2.1.0", "2.1.10": "2.1.10", "2.1.19": "2.1.10", "2.1.20": "2.1.20", "3.0.0": "2.1.20",
	} {
		if got := p.Epoch(version); got != want {
			t.Errorf("version %q is of epoch %q, want %q", version, got, want)
		}
	}
}

// In an epoch with evidence a rule holds if a coin seldom does as well: three calls
// of three (1/8) and five of six (7/64) are enough, two of two (1/4) and four of five
// (6/32) are not. Where that leaves it open, it holds if a rule that is taken where all other
// epochs together gain would have held.
func TestRulesByEvidence(t *testing.T) {
	trial := func(from string, with, without int) Trial {
		return Trial{From: from, Calls: 50, Gained: with, Lost: without}
	}
	dearer := func(t Trial) Trial { t.Saved = -0.01; return t }
	for _, tc := range []struct {
		name   string
		trials []Trial
		want   [3]bool // in each epoch
	}{
		{"nothing known", nil, [3]bool{}},
		{"three calls", []Trial{trial("2.1.0", 3, 0)}, [3]bool{true, false, false}},
		{"two calls", []Trial{trial("2.1.0", 2, 0)}, [3]bool{}},
		{"five of six", []Trial{trial("2.1.0", 5, 1)}, [3]bool{true, false, false}},
		{"four of five", []Trial{trial("2.1.0", 4, 1)}, [3]bool{}},
		{"hundreds of calls", []Trial{trial("2.1.0", 1400, 1200)}, [3]bool{true, false, false}},
		{"loses alone", []Trial{trial("2.1.0", 0, 3)}, [3]bool{}},
		{"nothing here, but elsewhere", []Trial{trial("2.1.0", 0, 0), trial("2.1.10", 4, 0)}, [3]bool{false, true, false}},
		{"two calls in each of two epochs", []Trial{trial("2.1.0", 2, 0), trial("2.1.10", 2, 0)}, [3]bool{true, true, true}},
		{"one call in each of two epochs", []Trial{trial("2.1.0", 1, 0), trial("2.1.10", 1, 0)}, [3]bool{}},
		{"won where it is open, lost elsewhere", []Trial{trial("2.1.0", 4, 0), trial("2.1.10", 4, 0), trial("2.1.20", 0, 3)},
			[3]bool{true, true, false}},
		{"open, and others are against each other", []Trial{trial("2.1.0", 2, 0), trial("2.1.10", 2, 0), trial("2.1.20", 0, 3)}, [3]bool{}},
		{"gains calls and costs more", []Trial{dearer(trial("2.1.0", 3, 0)), trial("2.1.10", 4, 0)}, [3]bool{false, true, false}},
	} {
		p := evidence(RuleHook, tc.trials...)
		for i, version := range []string{"2.1.3", "2.1.10", "2.1.99"} {
			if got := p.RulesFor(version).Has(RuleHook); got != tc.want[i] {
				t.Errorf("%s: holds at %s is %v, want %v", tc.name, version, got, tc.want[i])
			}
		}
		if got := p.RulesFor("2.1.3") &^ Set(0).With(RuleHook); got != 0 {
			t.Errorf("%s: rules without evidence hold: %b", tc.name, got)
		}
	}
}

// What is reported of recordings elsewhere counts where the profile has no trial of its own: a rule of teammates holds for the
// epoch of 2.1.39, and in no other.
func TestReportedTrials(t *testing.T) {
	p, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	for version, want := range map[string]bool{"2.1.37": false, "2.1.38": true, "2.1.42": true, "2.1.70": false, "1.0.3": false} {
		if got := p.RulesFor(version).Has(RuleTeam); got != want {
			t.Errorf("teammates of %s: the rule holds is %v, want %v", version, got, want)
		}
	}
	p.Evidence = p.Evidence.With(Evidence{RuleTeam.String(): {{From: "2.1.38", Calls: 5, Lost: 5}}})
	if p.RulesFor("2.1.40").Has(RuleTeam) {
		t.Error("the profile's own trials against the rule do not count")
	}
}

// Force and Forbid overrule the evidence; what is both is off.
func TestForcedRules(t *testing.T) {
	p := evidence(RuleHook, Trial{From: "2.1.0", Calls: 4, Gained: 4})
	p.Force = Set(0).With(RuleAway).With(RuleWarm)
	p.Forbid = Set(0).With(RuleHook).With(RuleWarm)
	if got, want := p.RulesFor("2.1.0"), Set(0).With(RuleAway); got != want {
		t.Errorf("rules %b, want %b", got, want)
	}
}

// The share of turns with a hidden call comes from the epoch and the way of starting, weighed by
// samples, else from the way of starting, else from all, but for programs; ahead of a notice it is
// a share of its own. It stays in 0.1…0.9.
func TestHiddenFor(t *testing.T) {
	row := func(from, entry string, notice bool, share float64, n int) Habit {
		return Habit{From: from, Entry: entry, Notice: notice, Estimate: Estimate{Value: share, N: n}}
	}
	p := evidence(RuleHook)
	p.Hidden = []Habit{
		row("2.1.0", "cli", false, 0.2, 30), row("2.1.10", "cli", false, 0.6, 10), row("2.1.10", "claude-desktop", false, 1, 20),
		row("2.1.10", "cli", true, 0, 50),
	}
	for _, tc := range []struct {
		name, version, entry string
		notice               bool
		want                 float64
	}{
		{"as known", "2.1.12", "cli", false, 0.6},
		{"another epoch of the same entry", "2.1.20", "cli", false, (0.2*30 + 0.6*10) / 40},
		{"an entry nobody knows", "2.1.12", "claude-vscode", false, (0.2*30 + 0.6*10 + 1*20) / 60},
		{"started by a program", "2.1.12", "sdk-cli", false, 0},
		{"never less than a tenth", "2.1.12", "cli", true, 0.1},
		{"never more than nine", "2.1.12", "claude-desktop", false, 0.9},
		{"notices elsewhere", "2.1.0", "claude-desktop", true, 0.1},
	} {
		if got := p.HiddenFor(tc.version, tc.entry, tc.notice); math.Abs(got-tc.want) > 1e-12 {
			t.Errorf("%s: %g, want %g", tc.name, got, tc.want)
		}
	}
	if got := new(Profile).HiddenFor("2.1.0", "cli", false); got != leastHabit {
		t.Errorf("nothing known: %g, want %g", got, leastHabit)
	}
}

// What others' first calls tell of one: never the session's own, the size of the
// last of the same user, version, model and way of starting, the median of others
// where the user has none, and a share of its own for each user.
func TestFirstCall(t *testing.T) {
	row := func(user, version, model, entry, session string, at, read int64) FirstRead {
		return FirstRead{User: user, Version: version, Model: model, Entry: entry, Session: session, At: at, Read: read}
	}
	me := row("ann", "2.1.12", "opus", "cli", "me", 100, 0)
	for _, tc := range []struct {
		name   string
		reads  []FirstRead
		share  float64
		tokens int64
	}{
		{"nothing known", nil, 0, 0},
		{"only the session itself", []FirstRead{row("ann", "2.1.12", "opus", "cli", "me", 100, 20_000)}, 0, 0},
		// Of all 2 of 2 count for one call beside a half: (0.5 + 2)/3 = 0.8333; the user's own 2 of 2 beside that:
		// (0.8333 + 2)/3 = 0.944 is taken for sure.
		{"the user's last of the same kind", []FirstRead{
			row("ann", "2.1.12", "opus", "cli", "a", 10, 20_000), row("ann", "2.1.12", "opus", "cli", "b", 90, 21_000),
		}, 1, 21_000},
		{"the last one before, not the nearer one after", []FirstRead{
			row("ann", "2.1.12", "opus", "cli", "a", 10, 20_000), row("ann", "2.1.12", "opus", "cli", "b", 101, 21_000),
		}, 1, 20_000},
		{"the first one after where none is before", []FirstRead{
			row("ann", "2.1.12", "opus", "cli", "a", 300, 20_000), row("ann", "2.1.12", "opus", "cli", "b", 200, 21_000),
		}, 1, 21_000},
		{"the same version before the same epoch", []FirstRead{
			row("ann", "2.1.12", "opus", "cli", "a", 10, 20_000), row("ann", "2.1.13", "opus", "cli", "b", 90, 21_000),
		}, 1, 20_000},
		{"the same version before the same model", []FirstRead{
			row("ann", "2.1.12", "sonnet", "cli", "a", 10, 20_000), row("ann", "2.1.0", "opus", "cli", "b", 90, 21_000),
		}, 1, 20_000}, // of the epoch one of one, (0.5 + 1)/2 = 0.75, and own (0.75 + 1)/2 = 0.875, taken for sure
		{"a cold one has no size, but counts", []FirstRead{
			row("ann", "2.1.12", "opus", "cli", "a", 10, 20_000), row("ann", "2.1.12", "opus", "cli", "b", 90, 0),
		}, 0.5, 20_000},
		// Nothing of the user's own: the share of all, (0.5 + 3)/4 = 0.875, is taken for sure.
		{"another user by version, the median", []FirstRead{
			row("bob", "2.1.12", "opus", "cli", "a", 10, 30_000), row("cid", "2.1.12", "opus", "cli", "b", 20, 18_000),
			row("dan", "2.1.12", "opus", "cli", "c", 30, 20_000),
		}, 1, 20_000},
		{"another user's version before his epoch", []FirstRead{
			row("bob", "2.1.13", "opus", "cli", "a", 10, 30_000), row("bob", "2.1.12", "opus", "cli", "b", 20, 18_000),
		}, 0.833333, 18_000},
		// In an epoch nobody has been seen in the share is a half; sizes come from other epochs.
		{"another epoch", []FirstRead{row("bob", "2.1.0", "opus", "cli", "a", 10, 30_000)}, 0.5, 30_000},
		{"without a user nobody is the same", []FirstRead{row("", "2.1.12", "opus", "cli", "a", 10, 30_000)}, 0.75, 30_000},
	} {
		p := evidence(RuleHook)
		p.Learn(tc.reads, nil)
		f := me
		if strings.HasPrefix(tc.name, "without a user") {
			f.User = ""
		}
		if share, tokens := p.FirstCall(&f); math.Abs(share-tc.share) > 1e-6 || tokens != tc.tokens {
			t.Errorf("%s: %g of %d tokens, want %g of %d", tc.name, share, tokens, tc.share, tc.tokens)
		}
	}
}

// Names of versions, models and clients are kept as they are; what is no name, or
// too long for one, is kept as none.
func TestName(t *testing.T) {
	for s, want := range map[string]string{
		"2.1.220": "2.1.220", "claude-opus-4-5[1m]": "claude-opus-4-5[1m]", "us.anthropic.claude-v1:0": "us.anthropic.claude-v1:0",
		"": "", "2.1.62 ##[error]": "", "2.1.62\u202egpj": "", "a\nb": "", strings.Repeat("x", 81): "",
	} {
		if got := Name(s); got != want {
			t.Errorf("%q is kept as %q, want %q", s, got, want)
		}
	}
}

// Learning takes each session once, keeps what it knew, and does not depend on
// the order.
func TestLearn(t *testing.T) {
	a, b, c := FirstRead{Session: "a", At: 3, Read: 1}, FirstRead{Session: "b", At: 1, Read: 2}, FirstRead{Session: "c", At: 3, Read: 3}
	var p, q Profile
	p.Learn([]FirstRead{a, b, c}, nil)
	q.Learn([]FirstRead{c}, nil)
	q.Learn([]FirstRead{b, a, b}, nil)
	if want := []FirstRead{b, a, c}; !slices.Equal(p.FirstReads, want) || !slices.Equal(q.FirstReads, want) {
		t.Errorf("learned %v and %v, want %v", p.FirstReads, q.FirstReads, want)
	}
	p.Learn(nil, []FirstRead{c, b})
	if want := []FirstRead{b, c}; !slices.Equal(p.Codex.First, want) || len(p.FirstReads) != 3 {
		t.Errorf("learned %v of Codex, want %v", p.Codex.First, want)
	}
	before := slices.Clone(p.FirstReads)
	other := p
	other.Learn([]FirstRead{{Session: "a", Read: 99}, {Session: "d", At: 2}}, nil)
	other.Learn(nil, []FirstRead{{Session: "e", At: 2}})
	if len(p.Codex.First) != 2 || len(other.Codex.First) != 3 {
		t.Errorf("a copy learned, and %v", p.Codex.First)
	}
	if !slices.Equal(p.FirstReads, before) || len(other.FirstReads) != 4 || other.FirstReads[2] != a {
		t.Errorf("learned %v, and the profile it was copied from has %v", other.FirstReads, p.FirstReads)
	}
}

// What is wrong with rules, epochs and first reads is named with its place.
func TestParseOfEvidenceIsStrict(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"epochs: [2.1.10, 2.1.9]\n", "epochs lists versions out of order: versions must ascend"},
		{"rules: {moon: [{from: 2.1.0, calls: 1}]}\n", "rules.moon is no rule"},
		{"rules: {resume: [{from: 2.1.0, calls: 1}, {from: 2.1.9, calls: 1, gained: 2}]}\n", "rules.resume[1] has more hits than calls"},
		{"rules: {resume: [{from: 2.1.0, calls: 1, lost: 2}]}\n", "rules.resume[0] has more hits than calls"},
		{"rules: {resume: [{from: 2.1.0, calls: -1}]}\n", "calls -1 must not be negative"},
		{"rules: {resume: [{from: 2.1.0, cals: 1}]}\n", `unknown key "cals"`},
		{"hidden_call_share: [{from: 2.1.0, value: 1.5}]\n", "hidden_call_share[0]: 1.5 must lie in 0…1"},
		{"first_reads: [{session: a, read: -1}]\n", "first_reads[0].read -1 must not be negative"},
		{"first_reads: [{session: a, tokens: 1}]\n", `unknown key "tokens"`},
	} {
		_, err := Parse([]byte(tc.text), "p.yaml")
		if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "p.yaml") {
			t.Errorf("%q: %v, want %q", tc.text, err, tc.want)
		}
	}
}
