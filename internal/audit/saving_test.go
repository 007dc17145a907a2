package audit

import (
	"testing"

	"github.com/compactsim/compactsim/traces"
)

// settings is the bill by lifetime of the recorded sessions of Claude Code that
// the page docs/audit.md names, in cents, and of a session of pi, where an hour
// would have cost more.
func settings() *Report {
	claude, pi := &traces.Session{Agent: traces.AgentClaudeCode}, &traces.Session{Agent: traces.AgentPi}
	l := func(source, tier string, billed, recorded, all5m, all1h float64) Lifetime {
		return Lifetime{Source: source, Tier: tier, sessions: []sessionLifetime{
			{claude, billed, recorded, all5m, all1h}, {pi, 50, 44.22, 44.22, 45.33},
		}}
	}
	return &Report{Lifetimes: []Lifetime{
		l("main", "5m", 90.00, 90.49, 90.49, 82.40),
		l("main", "1h", 149.89, 139.88, 147.12, 139.88),
		l("agent", "5m", 0.90, 0.90, 0.90, 1.05),
		l("agent", "1h", 46.08, 46.08, 38.23, 46.08),
	}}
}

// A setting for all calls saves what it saves on some of them less what it costs
// on the others, and its error is that of all calls it changes.
func TestSavingOfASetting(t *testing.T) {
	for _, test := range []struct {
		name       string
		scope      scope
		saves, off float64
	}{
		{"none", scope{}, 0, 0},
		{"an hour, all", scope{"1h", true, true}, 8.09 - 0.15, 0.49},
		{"an hour, conversation", scope{"1h", true, false}, 8.09, 0.49},
		{"an hour, sub-agents", scope{"1h", false, true}, -0.15, 0},
		{"5 minutes, all", scope{"5m", true, true}, 7.85 - 7.24, 10.01},
		{"5 minutes, sub-agents", scope{"5m", false, true}, 7.85, 0},
		{"5 minutes, conversation", scope{"5m", true, false}, -7.24, 10.01},
	} {
		t.Run(test.name, func(t *testing.T) {
			saves, off, _ := settings().saving(test.scope)
			wantUSD(t, "saving", saves, test.saves)
			wantUSD(t, "error", off, test.off)
		})
	}
}

// The best setting comes first, and one that would have cost more is no advice.
func TestAdviceByItsSaving(t *testing.T) {
	claude := []Share{{traces.AgentPi, 2}, {traces.AgentClaudeCode, 1}}
	f := Finding{Agents: claude}
	settings().priced(&f, adviseHour, "")
	if len(f.Advice) != 2 || f.Advice[0].Setting != `"promptCacheTtl": "1h"` || adviseHour[0].Saves != nil {
		t.Errorf("%+v", f.Advice)
	}
	wantUSD(t, "the finding's", *f.Saves, 8.09)
	wantUSD(t, "for all calls", *f.Advice[1].Saves, 7.94)
	f = Finding{Agents: claude}
	settings().priced(&f, adviseFive, "nothing")
	if len(f.Advice) != 1 || f.Advice[0].Setting != "FORCE_PROMPT_CACHING_5M=1" {
		t.Errorf("5 minutes for the conversation cost more: %+v", f.Advice)
	}
	f = Finding{Agents: claude}
	settings().priced(&f, adviseAgentsHour, "nothing")
	if len(f.Advice) != 1 || f.Advice[0].Text != "nothing" {
		t.Errorf("%+v", f.Advice)
	}
	wantUSD(t, "sub-agents", *f.Saves, -0.15)
	f = Finding{Agents: claude[:1]}
	settings().priced(&f, adviseHour, "")
	if f.Saves != nil || f.Error != nil || f.Notes != nil {
		t.Errorf("a saving by a setting that the client lacks: %+v", f)
	}
}

// What reading files again cost is a saving where there is advice against it.
func TestSavingOfDuplicates(t *testing.T) {
	of := func(agent string) Carried {
		return Carried{session: &traces.Session{Agent: agent}, Place: Place{File: agent}, USD: 2}
	}
	for _, test := range []struct {
		agents []Carried
		saves  float64
	}{
		{[]Carried{of(traces.AgentPi)}, 0},
		{[]Carried{of(traces.AgentPi), of(traces.AgentCodex), of(traces.AgentClaudeCode)}, 4},
	} {
		saves := 0.0
		if f := (&toolResults{duplicates: test.agents}).findings(0)[0]; f.Saves != nil {
			saves = *f.Saves
		}
		wantUSD(t, "duplicates", saves, test.saves)
	}
}

// Each agent of a finding has its own settings and its share; what is for any
// agent stands once, and of one agent alone no share is told.
func TestAdviceByAgent(t *testing.T) {
	both := []Share{{traces.AgentCodex, 34.75}, {traces.AgentClaudeCode, 17.33}}
	for _, test := range []struct {
		name   string
		agents []Share
		want   []Advice
	}{
		{"both", both, []Advice{{}, {Agent: traces.AgentCodex, USD: 34.75}, {Agent: traces.AgentClaudeCode, USD: 17.33}}},
		{"Codex", both[:1], []Advice{{}, {}}},
		{"Claude Code", both[1:], []Advice{{}, {}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			own := Advice{Setting: "of Claude Code"}
			f := Finding{Name: string(CauseEdit), Agents: test.agents, Advice: []Advice{adviseThresholds, own}}
			f.perAgent()
			if len(f.Advice) != len(test.want) || f.Advice[0].Setting != adviseThresholds.Setting {
				t.Fatalf("%+v", f.Advice)
			}
			for i, a := range f.Advice {
				if a.Agent != test.want[i].Agent || a.USD != test.want[i].USD {
					t.Errorf("%+v", a)
				}
			}
			if claude := f.Advice[len(f.Advice)-1].Setting == own.Setting; claude != (test.name != "Codex") {
				t.Errorf("the settings are %+v", f.Advice)
			}
		})
	}
}

// Every finding that sessions of Codex can have says what to do, and the shares
// of agents add up to what it cost.
func TestFindingsOfAnyAgentHaveAdvice(t *testing.T) {
	for name, sessions := range corpora(t) {
		r := Run(sessions, Options{Prices: auditPrices(t)})
		for _, f := range r.Findings {
			sum := 0.0
			for _, s := range f.Agents {
				sum += s.USD
			}
			if len(f.Advice) == 0 && f.Name != string(CauseUnknown) {
				t.Errorf("%s: nothing to do about %s", name, f.Name)
			}
			wantUSD(t, name+": "+f.Name, sum, f.USD)
		}
	}
}

// Twenty sessions that each save a tenth leave no chance, whatever few cents the
// arithmetic is off; one session in twenty that saves does, and so does an error
// as large as the bill.
func TestChanceOfASaving(t *testing.T) {
	for _, test := range []struct {
		name   string
		off    float64
		saves  func(i int) float64
		chance bool
	}{
		{"all save", 0.01, func(int) float64 { return 1 }, false},
		{"one saves", 0.01, func(i int) float64 { return max(0, 20*float64(1-i)) }, true},
		{"the arithmetic is off", 9, func(int) float64 { return 1 }, true},
	} {
		l := Lifetime{Source: "main", Tier: "5m"}
		for i := range 20 {
			x := l.in(&traces.Session{Agent: traces.AgentClaudeCode})
			*x = sessionLifetime{session: x.session, billed: 10 + test.off, recorded: 10, all1h: 10 - test.saves(i), all5m: 10}
		}
		r := &Report{Lifetimes: []Lifetime{l}}
		if _, _, got := r.saving(scope{"1h", true, true}); got != test.chance {
			t.Errorf("%s: chance %v, want %v", test.name, got, test.chance)
		}
	}
}
