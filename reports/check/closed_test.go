package check

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/validate"
)

const predictedRule = "  - {metric: billed_to_predicted, strategy: billed, max_increase: 2%, group: agent}\n"

// predictedRun is a run of ten sessions of an agent, each billed so many times its prediction of a dollar, with facts.
func predictedRun(agent string, times float64, facts map[string][2]float64) *Input {
	in := clients(1, 1, 1, 1, 1, 1, 1, 1, 1, 1)
	in.Price = func(string, func(string) float64) (map[string]float64, bool, error) { return nil, false, nil }
	for id, s := range in.Sessions {
		s.Agent, s.Facts = agent, facts
		in.Sessions[id] = s
	}
	cell := in.Cells[0].Draws[0]
	for i := range cell.Rows.Len() {
		cell.Rows.Edit(i, func(r *results.Row) { r.Figures[measures.PredictedUSD], r.Figures[measures.PredictedOfUSD] = 1, times })
		cell.Total.Figures[measures.PredictedUSD]++
		cell.Total.Figures[measures.PredictedOfUSD] += times
	}
	return in
}

// gateOf is a check with every question of the starter.
func gateOf(t *testing.T) *File {
	t.Helper()
	return levels(t, "baseline: base.json\nfacts: {max: 2%}\npaired: {max: 3%}\nprices: {max: 5%}\nrules:\n"+predictedRule)
}

var plainFacts = map[string][2]float64{validate.FactLifetime: {1, 1}, validate.FactPrice: {2, 1}}

// A baseline that is as broken as the run does not make it green: 3.04 times the prediction is above the limit of 1.25, and
// so is the run that makes the baseline. 1.2 is within the error of the model. A rule of the file sets another limit.
func TestBrokenBaseline(t *testing.T) {
	f := gateOf(t)
	for times, want := range map[float64][]string{
		1.2:  nil,
		3.04: {"billed_to_predicted of billed is 3.04, above 1.25", "whatever the baseline"},
	} {
		run := predictedRun("claude-code", times, plainFacts)
		says(t, against(t, f, run, run), want...)
	}
	own := levels(t, "baseline: base.json\nrules:\n"+predictedRule+"  - {metric: billed_to_predicted, strategy: billed, max: 4}\n")
	run := predictedRun("claude-code", 3.04, plainFacts)
	says(t, against(t, own, run, run))
}

// Sessions of an agent that the baseline does not have cannot be judged; accepted they are.
func TestAnotherAgent(t *testing.T) {
	f := gateOf(t)
	f.Window = 2
	was, now := predictedRun("claude-code", 1, plainFacts), predictedRun("codex", 1, plainFacts)
	now.SessionsDigest = "others"
	says(t, against(t, f, was, now), "10 sessions are of codex, an agent that base.json does not have", `--accept 'agent codex'`)
	f.Accept.Names = []string{"agent codex", "agent claude-code"}
	says(t, against(t, f, was, now))
}

// Of twenty sessions of the baseline ten are of Codex. Ten new ones without any of Codex are one in 2^10 by chance, and break the check until that
// is accepted; the next baseline then has no sessions of Codex. Two new ones are one in four, and a note.
func TestAgentThatVanishes(t *testing.T) {
	f := levels(t, "baseline: base.json\nwindow: 8\nfacts: {max: 2%}\nrules:\n"+predictedRule)
	b, err := f.NewBaseline(predictedRun("claude-code", 1, plainFacts))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range b.Past {
		p.ID, p.Agent, p.Groups = "codex "+p.ID, "codex", map[string]string{ByAgent: "codex"}
		b.Past = append(b.Past, p)
	}
	b.Sessions *= 2
	const gone = "no session of codex is here, of which base.json has 10 sessions"
	now := predictedRun("claude-code", 1, plainFacts)
	now.SessionsDigest = "others"
	renamed := map[string]Session{}
	for id, s := range now.Sessions {
		s.Name = "new " + id
		renamed[id] = s
	}
	now.Sessions = renamed
	says(t, f.Judge(now, Loaded{Baseline: b}), gone, "--accept 'agent codex'")
	f.Accept.Names = []string{"agent codex"}
	r := f.Judge(now, Loaded{Baseline: b})
	says(t, r)
	if next, err := f.NewBaseline(now); err != nil || slices.ContainsFunc(f.After(next, b).Past, func(p Past) bool { return p.Agent == "codex" }) {
		t.Errorf("the next baseline has sessions of Codex (%v)", err)
	}
	f.Accept.Names = nil
	for len(now.Sessions) > 2 {
		for id := range now.Sessions {
			delete(now.Sessions, id)
			break
		}
	}
	if r := f.Judge(now, Loaded{Baseline: b}); !r.OK || !slices.Contains(r.Notes, gone) {
		t.Errorf("%v %q, want the note that %s", r.Err(), r.Notes, gone)
	}
}

// A baseline that has none of the projects here holds nothing.
func TestGroupsThatNoBaselineHas(t *testing.T) {
	f := levels(t, "baseline: base.json\nrules:\n  - {metric: billed_to_predicted, strategy: billed, max_increase: 2%, group: project}\n")
	of := func(project string) *Input {
		in := predictedRun("claude-code", 1, plainFacts)
		in.SessionsDigest = project
		for id, s := range in.Sessions {
			s.Project, s.Name = project, project+id
			in.Sessions[id] = s
		}
		return in
	}
	says(t, against(t, f, of("api"), of("api")))
	says(t, against(t, f, of("api"), of("web")), "base.json has no sessions of any project here, so that nothing holds these", "--accept baseline")
}

// Where nothing has a price no change of a client costs anything: a limit on that cannot fail.
func TestFactsWithoutPrices(t *testing.T) {
	f := levels(t, "baseline: base.json\nunpriced: allow\nfacts: {max: 2%}\nrules:\n  - {metric: calls, max: 1000}\n")
	run := predictedRun("claude-code", 1, plainFacts)
	for i := range run.Cells[0].Draws[0].Rows.Len() {
		run.Cells[0].Draws[0].Rows.Edit(i, func(r *results.Row) { *r.CostByClass() = results.Cost{} })
	}
	says(t, against(t, f, run, run), "facts (max 2%): cannot fail: nothing here has a price")
}

// A question that the baseline has no figures for fails: facts, prices, and cells of the same sessions.
func TestBaselineWithoutFigures(t *testing.T) {
	f, run := gateOf(t), predictedRun("claude-code", 1, plainFacts)
	says(t, against(t, f, predictedRun("claude-code", 1, nil), run), "base.json has no facts of clients", "base.json has no prices of conversations")
	own := predictedRun("claude-code", 1, plainFacts)
	own.Cells = append(own.Cells, own.Cells[0])
	own.Cells[1].Name, own.Cells[1].Strategy = "own", "own"
	says(t, against(t, f, own, run), "the scenario has no cell own, of which base.json has costs of the same sessions")
	says(t, against(t, f, run, own), "base.json has no costs of cell own")
}

// Prices of conversations and of sub-agents are held apart: twice the price of a token is told by which. A price
// that falls breaks nothing.
func TestDearerModels(t *testing.T) {
	f := gateOf(t)
	at := func(own, agents float64) *Input {
		return predictedRun("claude-code", 1, map[string][2]float64{validate.FactLifetime: {1, 1}, validate.FactPrice: {own, 1}, validate.FactPriceAgent: {agents, 1}})
	}
	for _, c := range []struct {
		own, agents float64
		want        []string
	}{
		{2, 0.4, nil},
		{1, 0.1, nil},
		{2.09, 0.4, nil},
		{4, 0.4, []string{"the price of a million tokens of conversations is $4.00, 100 % more than in the baseline ($2.00; max 5%)"}},
		{2, 2, []string{"the price of a million tokens of sub-agents is $2.00, 400 % more than in the baseline ($0.400; max 5%)"}},
	} {
		says(t, against(t, f, at(2, 0.4), at(c.own, c.agents)), c.want...)
		if len(c.want) > 0 {
			f.Accept.Names = []string{"prices"}
			says(t, against(t, f, at(2, 0.4), at(c.own, c.agents)))
			f.Accept.Names = nil
		}
	}
}

// A model that models: does not name fails, however few its calls are.
func TestPinnedModels(t *testing.T) {
	f := levels(t, "models: [\"claude-opus-*\"]\nrules:\n  - {metric: cost_usd, strategy: billed, max: 1000}\n")
	run := predictedRun("claude-code", 1, plainFacts)
	for id, s := range run.Sessions {
		s.Models = map[string]int{"claude-opus-4-6": 100}
		run.Sessions[id] = s
	}
	says(t, f.Judge(run, Loaded{}))
	for _, s := range run.Sessions {
		s.Models["claude-fable-5"] = 1
		break
	}
	says(t, f.Judge(run, Loaded{}), "1 call went to claude-fable-5, which models: does not name")
}

// Lines that are lost are judged as a share where unread: does not count them: 1 in 10,000 is noted, 5 in 1,000 are
// suspect, 2 in 100 and a whole file fail.
func TestLostLinesAsShare(t *testing.T) {
	f := levels(t, "rules:\n  - {metric: cost_usd, max: 4}\n")
	for _, c := range []struct {
		lost, lines, whole int
		ok                 bool
		suspects           int
	}{{1, 10_000, 0, true, 0}, {5, 1000, 0, true, 1}, {2, 100, 0, false, 0}, {1, 10_000, 1, false, 0}} {
		now := plainRun()
		now.Lost, now.NumLost, now.LostLines, now.Lines = []string{"a.jsonl:7: bad"}, c.lost+c.whole, c.lost, c.lines
		if r := f.Judge(now, Loaded{}); r.OK != c.ok || r.count(Suspect) != c.suspects {
			t.Errorf("%+v: ok %t, %d suspect: %s", c, r.OK, r.count(Suspect), r.Verdict())
		}
	}
}

// An accepted fact is forgotten in earlier runs, and everything else in these runs stays.
func TestAcceptForgets(t *testing.T) {
	f := levels(t, "baseline: base.json\nwindow: 8\nfacts: {max: 2%}\nrules:\n"+factRules)
	f.Accept.Names = []string{validate.FactLifetime}
	was, err := f.NewBaseline(clients(1, 1, 1))
	if err != nil {
		t.Fatal(err)
	}
	now := clients(0, 0, 0)
	says(t, f.Judge(now, Loaded{Baseline: was}))
	b, err := f.NewBaseline(now)
	if err != nil {
		t.Fatal(err)
	}
	f.After(b, was)
	f.Accept.Names = nil
	if len(b.Past) != 6 {
		t.Fatalf("%d sessions, want 6 of two runs", len(b.Past))
	}
	later := clients(0, 0)
	if r := f.Judge(later, Loaded{Baseline: b}); !r.OK || strings.Contains(strings.Join(r.Changed, ""), "for an hour") {
		t.Errorf("%s: %q", r.Verdict(), r.Changed)
	}
	if was.Past[0].Facts[validate.FactLifetime] != [2]float64{1, 1} {
		t.Error("the earlier baseline itself was changed")
	}
}

// A question without a bar would ask nothing in silence.
func TestQuestionsWithoutBar(t *testing.T) {
	for _, key := range []string{"facts: {}", "facts: {lifetime: any}", "paired: {}", "paired:", "prices: {}", "models: []"} {
		if _, err := Parse([]byte("scenario: default\n"+key+"\nrules: [{metric: calls, max: 1}]\n"), "check.yaml"); err == nil || !strings.Contains(err.Error(), " asks nothing") {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// The comment has the runs of a window: with a price of $2, then $3, and bills of 1 and 1.1 times their prediction.
func TestHistory(t *testing.T) {
	f := levels(t, "baseline: base.json\nwindow: 8\nprices: {max: 100%}\nrules:\n"+predictedRule)
	dearer := map[string][2]float64{validate.FactPrice: {3, 1}}
	r := against(t, f, predictedRun("claude-code", 1, plainFacts), predictedRun("claude-code", 1.1, dearer))
	if len(r.History) != 2 || r.History[0].Price != 2 || r.History[1].Price != 3 || r.History[1].Run != 0 || math.Abs(r.History[1].Predicted-1.1) > 1e-9 {
		t.Errorf("%+v", r.History)
	}
	var text strings.Builder
	if err := r.Write(&text, "markdown"); err != nil || !strings.Contains(text.String(), "<summary>2 runs</summary>") || !strings.Contains(text.String(), "1.10 | ") || !strings.Contains(text.String(), "$3.00") {
		t.Errorf("%v: %s", err, text.String())
	}
}

// What no run is beyond its bar with is noted over many: bill over prediction rose from 1 in the first run, which the window of
// two no longer has, to 1.1, above 1.05, by 1.9 % each time. So are fewer than a fifth of the calls of any run.
func TestSlowRise(t *testing.T) {
	f := gateOf(t)
	f.Window = 2
	var b *Baseline
	var last *Report
	for times := 1.0; times < 1.1; times *= 1.019 {
		run := predictedRun("claude-code", times, plainFacts)
		run.SessionsDigest = strconv.FormatFloat(times, 'g', 5, 64)
		for id, s := range run.Sessions {
			s.Name = id + run.SessionsDigest
			run.Sessions[id] = s
		}
		if b != nil {
			last = f.Judge(run, Loaded{Baseline: b})
		}
		own, err := f.NewBaseline(run)
		if err != nil {
			t.Fatal(err)
		}
		b = f.After(own, b)
	}
	const rose = "bill over prediction rose from 1.00 in the first run to 1.10"
	if notes := strings.Join(last.Notes, "\n"); !last.OK || !strings.Contains(notes, rose) {
		t.Errorf("ok %t, %q", last.OK, notes)
	}
	f.Accept.Names = []string{"billed_to_predicted"}
	if own, _ := f.NewBaseline(predictedRun("claude-code", 1.09, plainFacts)); f.After(own, b).First.Predicted != 0 {
		t.Error("what is accepted is held against the first run still")
	}
	few := predictedRun("claude-code", 1.08, plainFacts)
	few.Calls = 1
	if notes := strings.Join(f.Judge(few, Loaded{Baseline: b}).Notes, "\n"); !strings.Contains(notes, "1 call here, and no run of base.json has fewer than 100") {
		t.Error(notes)
	}
}

// A model with a price of its own that is billed as another one is another price, unless the baseline's run was billed so.
func TestRenamedModels(t *testing.T) {
	f, was, now := gateOf(t), predictedRun("claude-code", 1, plainFacts), predictedRun("claude-code", 1, plainFacts)
	now.SessionsDigest, now.Renamed = "others", map[string]string{"claude-fable-5": "claude-haiku-4-5"}
	says(t, against(t, f, was, now), "other prices (claude-fable-5 is billed as claude-haiku-4-5 now)")
	was.Renamed = now.Renamed
	says(t, against(t, f, was, now))
}

// Three sessions of one call each cannot be judged where sessions of the baseline have more: nothing is read again. A single one
// is too few to tell.
func TestSessionsOfOneCall(t *testing.T) {
	f, was := gateOf(t), predictedRun("claude-code", 1, plainFacts)
	now := predictedRun("claude-code", 1, plainFacts)
	now.SessionsDigest = "others"
	cell := now.Cells[0].Draws[0]
	alone := func(row *results.Row) {
		row.Figures[measures.PredictedUSD], row.Figures[measures.PredictedOfUSD] = 0, 0
	}
	for i := range cell.Rows.Len() {
		cell.Rows.Edit(i, alone)
	}
	alone(&cell.Total)
	says(t, against(t, f, was, now), "no conversation here has a second call with counts of its tokens, and sessions of base.json have one")
}

// A baseline that a run began is no comparison, and one that a broken run replaces does not hide what was broken.
func TestBeginsAndReplaces(t *testing.T) {
	f, was, now := gateOf(t), predictedRun("claude-code", 1, plainFacts), predictedRun("claude-code", 1.2, plainFacts)
	now.SessionsDigest = "others"
	held := against(t, f, was, now)
	r := against(t, f, now, now)
	r.Replaces(held)
	if r.count(Suspect) != 1 || !strings.Contains(r.failures()[0].message, "is 1.20, above 1.02") || !strings.Contains(r.failures()[0].message, "this run replaces") {
		t.Errorf("%+v", r.failures())
	}
	r.Begins("base.json")
	var comment, log strings.Builder
	if err := errors.Join(r.Write(&comment, "markdown"), r.Annotate(&log, "check.yaml"), r.JUnit(&log)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(comment.String(), "⚠️ sim check") || !strings.Contains(comment.String(), "this run began base.json") || !strings.HasPrefix(log.String(), "::warning ") ||
		!strings.Contains(log.String(), `skipped message="nothing was held against an earlier run`) {
		t.Errorf("%s\n%s", comment.String(), log.String())
	}
}

// An agent that the baseline does not have enters no window by itself, and models: that any model passes is an error.
func TestStrangersDoNotJoin(t *testing.T) {
	f := gateOf(t)
	f.Window = 2
	was, now := predictedRun("claude-code", 1, plainFacts), predictedRun("codex", 1, plainFacts)
	now.SessionsDigest = "others"
	if r := against(t, f, was, now); !strings.Contains(r.Withheld(f), "--accept 'agent codex'") {
		t.Error(r.Withheld(f))
	}
	if _, err := Parse([]byte("scenario: {strategies: [recorded]}\nmodels: [\"*\"]\nrules:\n"+predictedRule), "check.yaml"); err == nil || !strings.Contains(err.Error(), "models cannot fail") {
		t.Errorf("error %v", err)
	}
}

// A baseline that does not tell its sessions apart by agent, or has no figures of these, cannot judge a rule by agent: that is no
// question of how many sessions there are.
func TestBaselineWithoutGroups(t *testing.T) {
	f, run := gateOf(t), predictedRun("claude-code", 1, plainFacts)
	now := predictedRun("claude-code", 1, plainFacts)
	now.SessionsDigest = "others"
	for id, s := range now.Sessions {
		s.Name = "other " + id
		now.Sessions[id] = s
	}
	for what, edit := range map[string]func(*Past){"groups": func(p *Past) { p.Groups = nil }, "parts": func(p *Past) { p.Parts = nil }} {
		b, err := f.NewBaseline(run)
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.Past {
			edit(&b.Past[i])
		}
		if r := f.Judge(now, Loaded{Baseline: b}); r.OK || r.count(Unjudged) != 1 {
			t.Errorf("without %s: ok %t, %s", what, r.OK, r.Verdict())
		}
	}
}
