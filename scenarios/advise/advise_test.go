package advise

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/scenarios/choose"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/tools/tests/scenariostest"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/facts"
)

// adviserOf returns an adviser with the strategies and the prices of the program.
func adviserOf(t testing.TB, seed uint64) *adviser {
	t.Helper()
	return newAdviser(&scenarios.Plan{Registry: scenariostest.Registry(t), Prices: scenariostest.Prices(t), Seed: seed})
}

// A change that saves 10 % of every session is told with that share; one
// that saves in a third of the sessions and costs as much in another is not advised.
func TestJudgeOnUnseenSessions(t *testing.T) {
	const n = 30
	base, tenth, noise := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range n {
		base[i] = 5 + float64(i%7)
		tenth[i] = 0.9 * base[i]
		noise[i] = base[i] + []float64{-1, 0, 1}[i*7%3]
	}
	steady, chance := Change{SavesUSD: 1}, Change{SavesUSD: 1}
	steady.judge([][]float64{base, tenth}, choose.UnitsOf(nameless(len(base))))
	chance.judge([][]float64{base, noise}, choose.UnitsOf(nameless(len(base))))
	if math.Abs(steady.Unseen-0.1) > 1e-9 || !steady.wins() {
		t.Errorf("a tenth of every session: %+v", steady)
	}
	if chance.wins() {
		t.Errorf("chance is advised: %+v", chance)
	}
}

// A value that is chosen because it fits one session does not win on other sessions.
func TestJudgeSeesWhatOneSessionChose(t *testing.T) {
	base, one := make([]float64, 20), make([]float64, 20)
	for i := range base {
		base[i], one[i] = 10, 10.1
	}
	one[4] = 1 // saves 9 here, and costs 1.9 in the 19 others
	c := Change{SavesUSD: 7}
	c.judge([][]float64{base, one}, choose.UnitsOf(nameless(len(base))))
	if c.wins() || c.Unseen > 0.01 {
		t.Errorf("the gain of one session is told as one of all: %+v", c)
	}
}

// Twelve people of five sessions each, of whom five save much and seven lose a little, in every session: session by session that
// is sure, and person by person it is not, as sessions of one person are alike. With as many projects as sessions the
// same change is advised, and five projects are too few to be drawn.
func TestPeopleAreDrawnTogether(t *testing.T) {
	judged := func(projects func(i int) string) *Change {
		var sessions []*traces.Session
		base, other := make([]float64, 60), make([]float64, 60)
		for i := range base {
			base[i], other[i] = 10, 10.9
			if i%12%2 == 0 && i%12 < 9 {
				other[i] = 8
			}
			sessions = append(sessions, &traces.Session{Project: projects(i)})
		}
		c := &Change{SavesUSD: 1}
		c.judge([][]float64{base, other}, choose.UnitsOf(sessions))
		return c
	}
	one := judged(func(i int) string { return fmt.Sprint("/srv/", i) })
	if one.Drawn == "person" || one.Drawn == "project" {
		t.Errorf("drawn by %s, where each session has a project of its own", one.Drawn)
	}
	people := judged(func(i int) string { return fmt.Sprintf("/home/p%d/src/%d", i%12, i) })
	if people.Drawn != "person" || people.High-people.Low <= one.High-one.Low || people.wins() {
		t.Errorf("drawn by %s, %.3f … %.3f; session by session %.3f … %.3f", people.Drawn, people.Low, people.High, one.Low, one.High)
	}
	if few := judged(func(i int) string { return fmt.Sprint("/srv/", i%5) }); few.Drawn != one.Drawn {
		t.Errorf("five projects are drawn by %s", few.Drawn)
	}
}

// A version is offered the settings that it knows; an unknown version is offered all settings.
func TestOfferedByVersion(t *testing.T) {
	settings := agents.Of(facts.ClaudeCode).Settings
	groups := func(v string) (names []string) {
		for _, g := range offered(settings, v, nil) {
			names = append(names, g[0].setting.Group)
		}
		return names
	}
	for v, want := range map[string]string{
		"2.1.20":  "threshold window output of commands",
		"2.1.200": "threshold window lifetime output of commands",
		"2.1.261": "threshold window lifetime lifetime of sub-agents lifetime of -p runs output of commands",
		"":        "threshold window lifetime lifetime of sub-agents lifetime of -p runs output of commands",
	} {
		if got := strings.Join(groups(v), " "); got != want {
			t.Errorf("version %q is offered %q, want %q", v, got, want)
		}
	}
}

// A setting about the output of commands is offered to every version (runs of Claude Code 2.0.76 to 2.1.332 heed it), and one about
// MCP tools to sessions that call such tools.
func TestOfferedByVersionAndTool(t *testing.T) {
	settings := agents.Of(facts.ClaudeCode).Settings
	name := func(version, group string, tools ...string) string {
		for _, g := range offered(settings, version, tools) {
			if g[0].setting.Group == group {
				return g[0].setting.Name
			}
		}
		return ""
	}
	for version, want := range map[string]string{"2.0.76": "BASH_MAX_OUTPUT_LENGTH", "2.1.332": "BASH_MAX_OUTPUT_LENGTH", "": "BASH_MAX_OUTPUT_LENGTH"} {
		if got := name(version, "output of commands"); got != want {
			t.Errorf("version %q is offered %q, want %q", version, got, want)
		}
	}
	if name("", "results of MCP tools") != "" || name("", "results of MCP tools", "Bash", "mcp__github__search") != "MAX_MCP_OUTPUT_TOKENS" {
		t.Error("a limit of MCP tools is offered by other things than their calls")
	}
}

// A setting for runs with -p changes the sessions that were started so, and no other: with the entries of the first alone living an
// hour, the rows of the rest are the rows of the client without a change.
func TestSettingsOfSomeSessions(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	corpus := scenariostest.Samples(t)
	p := adviserOf(t, 1)
	sessions := corpus.WithCalls()
	first := *sessions[0]
	first.Entry = "sdk-cli"
	sessions = append([]*traces.Session{&first}, sessions[1:]...)
	var runs candidate
	for _, g := range offered(agents.Of(facts.ClaudeCode).Settings, "", nil) {
		if g[0].setting.Entries != nil {
			runs = candidate{g[0].setting, "1h"}
		}
	}
	was, _, err := p.measure(t.Context(), sessions, nil)
	if err != nil {
		t.Fatal(err)
	}
	is, _, err := p.measure(t.Context(), sessions, []candidate{runs})
	if err != nil {
		t.Fatal(err)
	}
	costs, err := p.costs(t.Context(), sessions, []candidate{runs})
	if err != nil {
		t.Fatal(err)
	}
	for i := range was {
		if changed := is[i].CostUSD() != was[i].CostUSD(); changed != (i == 0) || costs[1][i] != is[i].CostUSD() {
			t.Errorf("session %d costs %v, %v in a search, and %v without the setting", i, is[i].CostUSD(), costs[1][i], was[i].CostUSD())
		}
	}
}

// costsOf returns what sessions cost without a change and with each of some assignments, USD.
func costsOf(t *testing.T, p *adviser, sessions []*traces.Session, with ...string) [][]float64 {
	costs, err := p.costsWith(t.Context(), sessions, func(*traces.Session) []string { return with })
	if err != nil {
		t.Fatal(err)
	}
	return costs
}

// Every value of every setting is one that the simulation takes.
func TestSettingsCanBeSimulated(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	p := adviserOf(t, 1)
	for _, name := range []string{facts.ClaudeCode, facts.Codex, facts.Pi, facts.Gemini} {
		a := agents.Of(name)
		for _, group := range offered(a.Settings, "", []string{"mcp__x__y"}) {
			for _, c := range group {
				if _, err := p.Config(measures.StrategyOwn, c.assigns()); err != nil {
					t.Errorf("%s: %s: %v", a.Name, c.assigns(), err)
				}
			}
		}
	}
}

// What is told of a change on all sessions is what a run with that setting costs less.
func TestAdviceIsWhatARunShows(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	corpus := scenariostest.Samples(t)
	for _, s := range scenariostest.Samples(t).Sessions { // enough for folds
		c := *s
		c.ID += "-again"
		corpus.Sessions = append(corpus.Sessions, &c)
	}
	p := adviserOf(t, 1)
	a, err := p.run(t.Context(), corpus)
	if err != nil {
		t.Fatal(err)
	}
	one := &a.Agents[0]
	row, _, err := p.total(t.Context(), corpus.WithCalls(), nil)
	if err != nil {
		t.Fatal(err)
	}
	own := 0.0 // of the conversations; no log of the samples has a summary call
	for s := measures.SourceMain; s < measures.SourceCompact; s++ {
		own += row.CostBy(s).Total()
	}
	if math.Abs(one.AsIsUSD-one.UnloggedUSD-own) > 1e-9 || one.UnloggedUSD < 0.01 {
		t.Errorf("of $%.4f no log shows $%.4f; the conversations cost $%.4f", one.AsIsUSD, one.UnloggedUSD, own)
	}
	tried := append(one.Changes, one.Open...)
	if len(tried) == 0 {
		t.Fatal("no setting was tried")
	}
	for _, c := range tried {
		costs := costsOf(t, p, corpus.WithCalls(), c.Assign)
		usd := 0.0
		for i := range costs[0] {
			usd += costs[1][i] - costs[0][i]
		}
		if math.Abs(usd+c.SavesUSD) > 1e-9 {
			t.Errorf("%s=%s saves $%.4f, a run shows $%.4f", c.Setting, c.Value, c.SavesUSD, -usd)
		}
	}
	var page bytes.Buffer
	if err := a.Document(nil, AsDollars).Write(&page, "table"); err != nil || !strings.Contains(page.String(), "paid at API prices") {
		t.Errorf("report: %v\n%s", err, page.String())
	}
}

// The advice, its brief form and the line behind an audit say beside a saving what it loses: a
// sixth of what is used later, and more than an hour of waiting. A change that keeps both is shown
// without a word on losses.
func TestSavingAtALoss(t *testing.T) {
	for _, c := range []struct {
		recall, wait float64
		loss         string
	}{
		{0.83, 1000, " The saving has a price: 17 % of what the agent uses later is lost and cannot be fetched, instead of 2 %."},
		{0.98, 5220, " Waiting grows from 17 m 00 s to 1 h 27 m."},
		{0.94, 1079, ""},
	} {
		one := AgentAdvice{Agent: facts.Codex, Sessions: 20, AsIsUSD: 10, Changes: []Change{{
			SavesUSD: 3, Effect: Effect{Recall: &[2]float64{0.98, c.recall}, WaitSeconds: [2]float64{1020, c.wait}}}}}
		var page bytes.Buffer
		a := Advice{Agents: []AgentAdvice{one}}
		if err := a.Document(nil, AsDollars).Write(&page, "markdown"); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(page.String(), "(95 %: +0.0 % … +0.0 %)."+c.loss+" \\`sim run") {
			t.Errorf("%+v in\n%s", c, page.String())
		}
		if got := a.Verdict()[0].Text; !strings.HasSuffix(got, "on sessions not used to choose it."+c.loss) {
			t.Errorf("%+v in brief: %s", c, got)
		}
		if got := a.Line() + "."; !strings.HasSuffix(got, "of those not used to choose it."+c.loss) {
			t.Errorf("%+v behind an audit: %s", c, got)
		}
	}
}

// Of what is not advised, a setting without an effect on other sessions is not listed, and a number of sessions that nobody
// waits for is not named.
func TestWhatIsNotAdvised(t *testing.T) {
	open := func(does string, verdict stats.Verdict, more int) Change {
		return Change{Does: does, verdict: verdict, Detectable: 0.2, More: more}
	}
	a := Advice{Agents: []AgentAdvice{{Agent: facts.ClaudeCode, Version: "2.1.200", Sessions: 20, Open: []Change{
		open("nothing", stats.Same, 0), open("who knows", stats.TooFew, 0), open("soon", stats.Chance, 1000), open("never", stats.Chance, 1001)}}}}
	var page bytes.Buffer
	if err := a.Document(nil, AsDollars).Write(&page, "markdown"); err != nil {
		t.Fatal(err)
	}
	text := page.String()
	if !strings.Contains(text, "who knows, +0.0 % (95 %: +0.0 % … +0.0 %) on unseen sessions; too few sessions differ to show anything.") {
		t.Errorf("too few:\n%s", text)
	}
	if strings.Contains(text, "nothing,") || !strings.Contains(text, "soon, +0.0 % (95 %: +0.0 % … +0.0 %) on unseen sessions; that may be chance: only a saving of 20.0 % would have shown; about 1,000 more sessions would decide it.") ||
		!strings.Contains(text, "never, +0.0 % (95 %: +0.0 % … +0.0 %) on unseen sessions; that may be chance: only a saving of 20.0 % would have shown.") {
		t.Errorf("not advised:\n%s", text)
	}
}

// An agent without a change is told the reason of its own, on the page and at the end of an audit as in the advice.
func TestEveryAgentHasItsOwnReason(t *testing.T) {
	const chance, few, none = "no setting of this client saves reliably",
		"too few sessions to advise: 1 session, and choosing on some and judging on others takes at least 5",
		"its client offers no setting that a simulation follows"
	a := Advice{Agents: []AgentAdvice{
		{Agent: facts.ClaudeCode, Title: "Claude Code", Sessions: 45},
		{Agent: facts.Pi, Title: "pi", Sessions: 1},
		{Agent: facts.OpenCode, Title: "OpenCode", Sessions: 7},
	}}
	want := document.List{{Label: "Claude Code", Text: chance + "."}, {Label: "pi", Text: few + "."}, {Label: "OpenCode", Text: none + "."}}
	if got := a.Verdict(); !slices.Equal(got, want) {
		t.Errorf("the verdict is %+v", got)
	}
	if got, want := a.Line(), "Claude Code: "+chance+"; pi: "+few+"; OpenCode: "+none; got != want {
		t.Errorf("the line is %q", got)
	}
	var page bytes.Buffer
	if err := a.Document(nil, AsDollars).Write(&page, "markdown"); err != nil {
		t.Fatal(err)
	}
	if strings.Count(page.String(), "sim rank --agent opencode PATH compares") != 1 {
		t.Errorf("what else to do is not told once of OpenCode:\n%s", page.String())
	}
	for _, reason := range []string{chance, few, none} {
		if !strings.Contains(page.String(), document.Sentence(reason)) {
			t.Errorf("%q is not in\n%s", reason, page.String())
		}
	}
}

// Calls whose input is in no log are simulated but not billed: advice counts them in place of a model error. A bill below a cent is
// not shown as $0.00.
func TestCallsWithoutInput(t *testing.T) {
	for _, bare := range []int{0, 2} {
		a := Advice{PaidUSD: 0.004, Agents: []AgentAdvice{{
			Agent: facts.Copilot, Title: "GitHub Copilot CLI", Sessions: 1, Calls: 3, Gaps: Gaps{Bare: bare}, PaidUSD: 0.004, AsIsUSD: 0.008,
			Model: results.ModelError{BilledUSD: 1, RecordedUSD: 2, Sessions: 1},
		}}}
		var page bytes.Buffer
		if err := a.Document(nil, AsDollars).Write(&page, "markdown"); err != nil {
			t.Fatal(err)
		}
		text := page.String()
		if strings.Contains(text, "Model error") == (bare > 0) || strings.Contains(text, "2 of 3 calls without counts of their input") != (bare > 0) {
			t.Errorf("%d calls without input:\n%s", bare, text)
		}
		if !strings.Contains(text, "&lt; $0.01 |     $0.01 |    $0.00") || !strings.Contains(text, "&lt; $0.01 paid") {
			t.Errorf("less than a cent:\n%s", text)
		}
	}
}

// Between advised and nothing: 10 % with an interval of −2 … +22 % is 1.63 standard deviations above 0, which 94 of 100 draws are.
// Half of that saving, or fewer draws, is told as before.
func TestLikelyChanges(t *testing.T) {
	change := func(unseen, half, usd float64) Change {
		c := Change{Setting: "x", Does: "set x", Where: "file", Snippet: "x = 1", verdict: stats.Chance, SavesUSD: usd, Unseen: unseen, Low: unseen - half, High: unseen + half}
		c.Agree = distuv.UnitNormal.CDF(unseen * 1.959964 / half)
		return c
	}
	yes := change(0.10, 0.12, 3)
	if got := yes.open(); !yes.likely() || !strings.HasPrefix(got, "Likely: set x (x), ") || !strings.Contains(got, "94 of 100 draws") {
		t.Errorf("%v: %s", yes.likely(), got)
	}
	yes.Effect.Recall = &[2]float64{0.97, 0.91}
	price := "The saving has a price: 9 % of what the agent uses later is lost and cannot be fetched, instead of 3 %."
	if got, line := yes.open(), (&AgentAdvice{Agent: facts.ClaudeCode, Sessions: 45, Open: []Change{yes}}).none(); !strings.Contains(got, "x = 1. "+price+" What settles it") || !strings.HasSuffix(line+".", " on unseen sessions. "+price) {
		t.Errorf("%s\n%s", got, line)
	}
	for name, c := range map[string]Change{"too little": change(0.04, 0.04, 3), "too uncertain": change(0.10, 0.30, 3), "dearer on all": change(0.10, 0.12, -3)} {
		if c.likely() || !strings.HasPrefix(c.open(), "Not advised: ") {
			t.Errorf("%s: %s", name, c.open())
		}
	}
	a := Advice{Agents: []AgentAdvice{{Agent: facts.ClaudeCode, Title: "Claude Code", Sessions: 45, Open: []Change{yes}}}}
	if got := a.Line(); !strings.Contains(got, "nothing saves for sure; set x (x) likely does") {
		t.Errorf("the line is %q", got)
	}
	var out strings.Builder
	if err := a.Document(nil, AsDollars).Write(&out, "table"); err != nil || strings.Count(out.String(), "set x") != 1 ||
		!strings.Contains(out.String(), "Nothing saves for sure.\n") {
		t.Errorf("%v: the likely change is told once in\n%s", err, &out)
	}
}

// What a change makes the agent fetch again, by hand: 30 calls more in 10 hours are 3 an hour, 10 are one, 2 are one in 5 hours; one
// in 30 hours, or none, is not told. An hour holds a wait of an hour as 5 minutes, and no work of sub-agents.
func TestFetchesAnHour(t *testing.T) {
	for _, c := range []struct {
		was, is int
		hours   float64
		want    string
	}{
		{5, 35, 10, " About 3 more reads of files and repeated commands an hour of work."},
		{0, 10, 10, " About one more read of a file or repeated command an hour of work."},
		{0, 2, 10, " About one more read of a file or repeated command in 5 hours of work."},
		{34, 43, 0.05, " About 9 more reads of files and repeated commands in 3 m 00 s of work."}, // of an hour they would be 180, which nobody saw
		{0, 1, 0.5, " About one more read of a file or repeated command in all."},
		{0, 1, 30, ""}, {7, 7, 10, ""}, {7, 3, 10, ""}, {0, 9, 0, ""},
	} {
		e := Effect{FetchedAgain: [2]int{c.was, c.is}, Hours: c.hours}
		if got := e.loss(); got != c.want {
			t.Errorf("%+v: %q, want %q", c, got, c.want)
		}
	}
	long := traces.Round{Wait: int64(time.Hour), Stream: int64(25 * time.Minute)}
	s := &traces.Session{Threads: []traces.Thread{{Rounds: []traces.Round{long, {Wait: -1}}}, {Kind: traces.ThreadAgent, Rounds: []traces.Round{long}}}}
	if got := worked(s); math.Abs(got-0.5) > 1e-9 {
		t.Errorf("%g hours, want 0.5", got)
	}
}

// Blocks of time follow the starts of sessions, whatever their order: of twenty, the first two by start are the first block.
func TestBlocksOfTime(t *testing.T) {
	sessions := make([]*traces.Session, 20)
	for i := range sessions {
		sessions[i] = &traces.Session{Start: int64(7*i%20 + 1)}
	}
	for i, at := range choose.UnitsOf(sessions)[0].Of {
		for j, other := range choose.UnitsOf(sessions)[0].Of {
			if (at == other) != ((sessions[i].Start-1)/2 == (sessions[j].Start-1)/2) {
				t.Fatalf("sessions that start at %d and %d are in blocks %d and %d", sessions[i].Start, sessions[j].Start, at, other)
			}
		}
	}
}

// Changes that are told together are told with what they lose together, beside changes that are advised, too: two changes that lose 4 points
// of recall each are told without, and both with the 8 points and the five minutes that they cost. Commands read what was typed.
func TestTogetherTellsTheLoss(t *testing.T) {
	effect := func(recall, wait float64) Effect {
		return Effect{Recall: &[2]float64{0.98, recall}, WaitSeconds: [2]float64{60, wait}}
	}
	x := AgentAdvice{Agent: facts.Codex, Title: "Codex", Sessions: 45, PaidUSD: 100, AsIsUSD: 100, Changes: []Change{
		{Setting: "a", Does: "set a", SavesUSD: 10, Unseen: 0.1, Assign: "a=1", Effect: effect(0.94, 60)},
		{Setting: "b", Does: "set b", SavesUSD: 8, Unseen: 0.1, Assign: "b=1 c=2", Effect: effect(0.94, 60)},
	}, Together: &Together{Settings: []string{"a", "b"}, SavesUSD: 15, Effect: effect(0.90, 360)}}
	a := Advice{Agents: []AgentAdvice{x}, Again: " --since 7d 'my logs'"}
	var out strings.Builder
	if err := a.Document(nil, AsDollars).Write(&out, "table"); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"2 changes together save $15.00, 15.0 % of what is simulated. The saving has a price: 10 % of what the agent uses later is lost " +
			"and cannot be fetched, instead of 2 %. Waiting grows from 1 m 00 s to 6 m 00 s.",
		"`sim run --agent codex --strategy own --set b=1 --set c=2 --since 7d 'my logs'` shows $92.00.",
	} {
		if strings.Count(text, want) != 1 {
			t.Errorf("no %q once in\n%s", want, &out)
		}
	}
}
