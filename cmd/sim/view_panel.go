package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/reports/charts"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/scenarios/advise"
	"github.com/compactsim/compactsim/sim/explain"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// viewAsk is a request of the page.
type viewAsk struct {
	Strategy string   `json:"strategy"`
	Dials    []string `json:"dials"` // PATH=VALUE of sliders
	Agent    string   `json:"agent"`
	Sessions []string `json:"sessions"` // ids, none for all
	// The call to explain: its cell, and its number in the only session.
	Cell string `json:"cell"`
	Call int    `json:"call"`
}

// turn leaves to a request the dials that its strategy has. What is no dial of the page is an error.
func (v *viewer) turn(ask *viewAsk) error {
	known, fits := v.allDials(), v.fits(ask.Strategy)
	if len(ask.Dials) > len(known) {
		return fmt.Errorf("%d settings: the page has %d", len(ask.Dials), len(known))
	}
	var set []string
	for _, assignment := range ask.Dials {
		path, _, _ := strings.Cut(assignment, "=")
		if !slices.ContainsFunc(known, func(d dial) bool { return d.Path == path }) {
			return fmt.Errorf("%s: the page cannot change %s; sim run --set does", document.Quoted(assignment), document.Quoted(path))
		}
		if slices.Contains(fits, path) {
			set = append(set, assignment)
		}
	}
	ask.Dials = set
	return nil
}

// choose returns the requested sessions.
func (v *viewer) choose(ask *viewAsk) *traces.Corpus {
	wanted := map[string]bool{}
	for _, id := range ask.Sessions {
		wanted[id] = true
	}
	chosen := *v.corpus
	chosen.Sessions = nil
	for _, s := range v.corpus.Sessions {
		if (ask.Agent == "" || s.Agent == ask.Agent) && (len(wanted) == 0 || wanted[s.ID]) {
			chosen.Sessions = append(chosen.Sessions, s)
		}
	}
	return &chosen
}

// explain says what led to a call, what it was expected to read and why it missed.
func (v *viewer) explain(ask *viewAsk) (*document.Document, error) {
	strategy, set := ask.Strategy, ask.Dials
	if ask.Cell == measures.StrategyRecorded {
		strategy, set = ask.Cell, nil
	}
	chosen := v.choose(ask).Sessions
	if len(chosen) != 1 {
		return nil, fmt.Errorf("a call is of one session, and %d are asked for", len(chosen))
	}
	plan, err := v.planOf(strategy, set)
	if err != nil {
		return nil, err
	}
	config, err := plan.Config(strategy, append(slices.Clone(set), "profile="+learned))
	if err != nil {
		return nil, err
	}
	e, err := explain.Session(config, chosen[0], ask.Call)
	if err != nil {
		return nil, err
	}
	recorded, err := plan.Config(measures.StrategyRecorded, []string{"profile=" + learned})
	if err != nil {
		return nil, err
	}
	if err := explain.Bill(e, chosen[0], recorded); err != nil {
		return nil, err
	}
	return explain.Document(e, explain.Options{Call: ask.Call, Asked: ask.Cell != measures.StrategyRecorded})
}

// advise says what to set in the clients of the chosen sessions, as sim advise does for them: in brief, and whole.
func (v *viewer) advise(ctx context.Context, ask *viewAsk) (*document.Document, error) {
	plan := v.plan
	a, err := advise.Run(ctx, &plan, v.choose(ask))
	if err != nil {
		return nil, err
	}
	d := a.Document(nil, advise.AsDollars)
	d.Head = nil
	for i := range d.Sections {
		s := &d.Sections[i]
		s.Title, s.Folded = cmp.Or(s.Title, "What was paid"), true
	}
	d.Sections = append([]document.Section{{Title: "What to set", Blocks: []document.Block{a.Verdict()}}}, d.Sections...)
	return d, nil
}

// document simulates what was requested.
func (v *viewer) document(ctx context.Context, ask *viewAsk) (*document.Document, error) {
	chosen := v.choose(ask)
	plan, err := v.planOf(ask.Strategy, ask.Dials)
	if err != nil {
		return nil, err
	}
	run, err := plan.Run(ctx, chosen)
	if err != nil {
		return nil, err
	}
	longest := *chosen
	longest.Sessions = []*traces.Session{slices.MaxFunc(chosen.Sessions, func(a, b *traces.Session) int {
		return cmp.Compare(a.NumCalls(), b.NumCalls())
	})}
	calls, _, err := plan.Follow(ctx, &longest, run)
	if err != nil {
		return nil, err
	}
	run.Workload.Remarks = append(run.Workload.Remarks, v.remarks...)
	scenario, err := plan.Design.Resolved()
	if err != nil {
		return nil, err
	}
	parts := charts.PageParts{Chosen: map[string]string{}, Calls: calls, Labels: labelsOf(chosen.Sessions), Scenario: string(scenario),
		Verdict: document.List{}} // what to set has a card of its own
	for _, c := range run.Cells {
		switch c.Strategy {
		case measures.StrategyRecorded:
			parts.Chosen[c.Cell] = "--strategy " + measures.StrategyRecorded + v.reads(v.paths)
		case ask.Strategy:
			parts.Chosen[c.Cell] = "--strategy " + document.Quoted(ask.Strategy) + settingsText(ask.Dials) + v.reads(v.paths)
		}
	}
	for _, agent := range agentsOf(chosen.Sessions) {
		parts.Agents = append(parts.Agents, agents.Of(agent).Title)
	}
	d := charts.Page(run, parts)
	how := []document.Block{document.Raw(v.command(ask, chosen.Sessions))}
	if text := inClient(chosen.Sessions, ask.Dials); text != "" && ask.Strategy == "own" {
		how = append(how, document.Text{Text: "In the client:"}, document.Raw(text))
	}
	d.Sections = append([]document.Section{{Blocks: how}}, d.Sections...)
	return d, nil
}

// command returns the command line with the same result as a request.
func (v *viewer) command(ask *viewAsk, sessions []*traces.Session) string {
	strategies := slices.Compact([]string{measures.StrategyRecorded, ask.Strategy})
	line := "sim run --strategy " + document.Quoted(strings.Join(strategies, ",")) + settingsText(ask.Dials)
	paths := v.paths
	if len(ask.Sessions) > 0 && !v.sample {
		paths = nil
		for _, s := range sessions {
			paths = append(paths, s.Files...)
		}
		slices.Sort(paths)
		paths = slices.Compact(paths)
	} else if ask.Agent != "" {
		line += " --agent " + document.Quoted(ask.Agent)
	}
	return line + v.reads(paths)
}

// reads returns the arguments, each after a space, that read paths as the page did.
func (v *viewer) reads(paths []string) string {
	return v.chosen + strings.TrimSuffix(" "+document.Quoted(paths...), " ")
}

// settingsText returns settings as arguments, each after a space.
func settingsText(set []string) (text string) {
	for _, assignment := range set {
		text += " --set " + document.Quoted(assignment)
	}
	return text
}

// planOf returns the plan of a strategy with settings, and of the recorded one.
func (v *viewer) planOf(strategy string, set []string) (*scenarios.Plan, error) {
	file, err := scenarios.Parse(v.plan.Registry, []byte("schema: 1\n"), "view")
	if err != nil {
		return nil, err
	}
	plan := v.plan
	errs := []error{
		file.Choose("strategy", slices.Compact([]string{measures.StrategyRecorded, strategy})),
		file.Set("profile", learned, "profile"),
	}
	for _, assignment := range set {
		errs = append(errs, file.Assign(assignment))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	plan.Design, err = file.Expand()
	return &plan, err
}

// labelsOf returns the labels of sessions on a page, by id.
func labelsOf(sessions []*traces.Session) map[string]string {
	labels := map[string]string{}
	for _, s := range sessions {
		var parts []string
		if at := s.StartTime(); !at.IsZero() {
			parts = append(parts, at.UTC().Format(time.DateOnly))
		}
		if s.Project != "" {
			parts = append(parts, path.Base(strings.ReplaceAll(s.Project, `\`, "/")))
		}
		labels[s.ID] = strings.Join(append(parts, agents.Of(s.Agent).Title, document.Count(s.NumCalls(), "call")), " · ")
	}
	return labels
}

// dial is a setting with the values of its slider, and a sentence that says what it decides.
type dial struct {
	Label, Path string
	Values      []string
	Says        string
}

// dials are the sliders of what a simulation can turn. The page shows the sliders of the strategy; other parameters are
// entered as text.
func dials() []dial {
	var thresholds []string
	for n := 20_000; n <= 950_000; n += 10_000 {
		if n > 200_000 {
			n += 40_000
		}
		thresholds = append(thresholds, fmt.Sprint(n))
	}
	few := []string{"1", "2", "3", "5", "8", "12", "20"}
	return []dial{
		{"Compact at (tokens)", "full-compact.trigger.fixed", thresholds, "The conversation is summarised when its context has this size."},
		{"Clear at (tokens)", "microcompact.trigger.fixed", thresholds, "Old tool results are cleared when the context has this size."},
		{"Truncate at (tokens)", "truncate-oldest.trigger.fixed", thresholds, "The oldest messages are dropped when the context has this size."},
		{"Keep messages (tokens)", "full-compact.keep.tokens", []string{"5000", "10000", "20000", "40000", "80000"},
			"A compaction leaves the newest messages of this size as they are."},
		{"Keep rounds", "full-compact.keep.rounds", few, "A compaction leaves this many of the newest calls as they are."},
		{"Keep results", "microcompact.keep_last", few, "Clearing leaves the results of this many of the newest tool calls."},
		{"Keep results after a gap", "time-microcompact.keep_recent", few, "Clearing after a pause leaves this many of the newest results."},
		{"Keep results in the cache", "cached-microcompact.keep_recent", few, "Deleting in the server's cache leaves this many of the newest results."},
		{"Summary (tokens)", "summarizer.median", []string{"500", "1000", "2000", "3000", "4000", "6000", "8000", "12000", "20000"},
			"Half of all summaries are shorter than this."},
		{"Cache lifetime", "client.ttl.choice", []string{"5m", "1h"}, "How long the client asks the server to keep what it writes into the cache."},
		{"Window (tokens)", "client.window", []string{"100000", "200000", "272000", "400000", "1000000"},
			"The largest request; thresholds that are a share of the window follow it."},
		{"Fetches again", "agent.refetch", []string{"never", "always"}, "Whether the agent fetches again what it needs but its context has lost."},
	}
}

// settings are sliders for the settings that a client really has.
func settings(agent string) (list []dial) {
	settings := agents.Of(agent).Settings
	for i := range settings {
		x := &settings[i]
		if !x.Single() {
			continue // one slider is not enough
		}
		path, _, _ := strings.Cut(x.Assign, "=")
		says := document.Sentence(x.With(x.Does, "…") + ", in " + x.Where)
		if x.Caveat != "" {
			says += " " + document.Sentence(x.Caveat)
		}
		list = append(list, dial{x.Name, path, x.Values, says})
	}
	return list
}

// agentsOf returns the agents that made sessions.
func agentsOf(sessions []*traces.Session) (names []string) {
	for _, s := range sessions {
		if !slices.Contains(names, s.Agent) {
			names = append(names, s.Agent)
		}
	}
	return names
}

// allDials returns the sliders of the simulation and of all clients whose sessions are shown.
func (v *viewer) allDials() []dial {
	list := dials()
	for _, agent := range agentsOf(v.corpus.Sessions) {
		list = append(list, settings(agent)...)
	}
	return list
}

// fits returns the paths of the dials that a strategy has.
func (v *viewer) fits(strategy string) (paths []string) {
	if known, ok := v.fit.Load(strategy); ok {
		return known.([]string)
	}
	for _, d := range v.allDials() {
		if _, err := v.planOf(strategy, []string{d.Path + "=" + d.Values[0]}); err == nil {
			paths = append(paths, d.Path)
		}
	}
	v.fit.Store(strategy, paths)
	return paths
}

// inClient returns the settings, one per line, that have the effect of assignments in the clients of sessions.
func inClient(sessions []*traces.Session, set []string) string {
	var lines []string
	for _, s := range sessions {
		for i := range agents.Of(s.Agent).Settings {
			x := &agents.Of(s.Agent).Settings[i]
			path, _, _ := strings.Cut(x.Assign, "=")
			for _, assignment := range set {
				to, value, _ := strings.Cut(assignment, "=")
				line := x.Where + ": " + x.With(x.Snippet, value)
				if to == path && !slices.Contains(lines, line) {
					lines = append(lines, line)
				}
			}
		}
	}
	return strings.Join(lines, "\n")
}

// maxChoices is the largest number of sessions that can be selected by name.
const maxChoices = 2000

// panel returns the card of the advice and the form with the dials.
func (v *viewer) panel() string {
	var b strings.Builder
	option := func(value, text string) {
		fmt.Fprintf(&b, "<option value=\"%s\">%s</option>", html.EscapeString(value), html.EscapeString(text))
	}
	choice := func(label, name, all string, options []string) {
		fmt.Fprintf(&b, "<label>%s <select name=\"%s\">", label, name)
		if all != "" {
			option("", all)
		}
		for _, x := range options {
			option(x, x)
		}
		b.WriteString("</select></label>\n")
	}
	names := slices.DeleteFunc(v.plan.Registry.Presets(), func(name string) bool { return name == "own" })
	made := agentsOf(v.corpus.Sessions)
	b.WriteString("<section id=\"advice\" aria-live=\"polite\"><h2>What to set</h2><p>Trying what the clients offer …</p></section>\n")
	fmt.Fprintf(&b, "<form id=\"dials\" class=\"choice\" data-fits=\"%s\" data-agent=\"%s\">\n", strings.Join(v.fits("own"), " "),
		html.EscapeString(onlyAgent(v.corpus.Sessions)))
	choice("Strategy", "strategy", "", append([]string{"own"}, names...))
	choice("Agent", "agent", "all", made)
	for _, agent := range made {
		b.WriteString(clientPanel(agent))
	}
	b.WriteString("<p id=\"whose\">Choose one agent to see the settings of its client.</p>\n<fieldset><legend>Settings of the simulation</legend>" +
		sliders("any", dials()) + "</fieldset>\n")
	fmt.Fprintf(&b, "<details><summary>Sessions: <output id=\"chosen\">all %d</output></summary>"+
		"<label>Choose some (none means all)<br><select name=\"session\" multiple size=\"8\">", len(v.corpus.Sessions))
	labels := labelsOf(v.corpus.Sessions)
	for _, s := range v.corpus.Sessions[:min(len(v.corpus.Sessions), maxChoices)] {
		option(s.ID, labels[s.ID]+" · "+s.ID)
	}
	b.WriteString(`</select></label></details>
<div><button type="reset">Reset</button> <span id="state" role="status"></span></div>
</form>`)
	return b.String()
}

// clientPanel returns the sliders of the settings of an agent's client, which are shown with its sessions alone.
func clientPanel(agent string) string {
	text := fmt.Sprintf("<fieldset class=\"client\" data-agent=\"%s\"><legend>Settings of %s, under strategy own</legend>",
		html.EscapeString(agent), html.EscapeString(agents.Of(agent).Title))
	if list := settings(agent); len(list) > 0 {
		text += sliders(agent, list)
	} else {
		text += "<p>Its client offers no setting that a simulation follows.</p>"
	}
	return text + "</fieldset>\n"
}

// sliders returns dials as markup; whose tells their ids apart.
func sliders(whose string, list []dial) string {
	var b strings.Builder
	b.WriteString("<div class=\"dials\">")
	for i, d := range list {
		id := html.EscapeString(fmt.Sprintf("says-%s-%d", whose, i))
		fmt.Fprintf(&b, "<div class=\"dial\" title=\"%[1]s\"><label>%[2]s<br><input type=\"range\" data-path=\"%[1]s\" data-values=\"%[3]s\" "+
			"min=\"0\" max=\"%[4]d\" value=\"0\" aria-describedby=\"%[5]s\"></label> <output>unchanged</output><small id=\"%[5]s\">%[6]s</small></div>\n",
			html.EscapeString(d.Path), html.EscapeString(d.Label), html.EscapeString(strings.Join(d.Values, " ")), len(d.Values), id,
			html.EscapeString(d.Says))
	}
	b.WriteString("</div>")
	return b.String()
}

// onlyAgent returns the agent that made all of some sessions, "" if there are several.
func onlyAgent(sessions []*traces.Session) string {
	if made := agentsOf(sessions); len(made) == 1 {
		return made[0]
	}
	return ""
}
