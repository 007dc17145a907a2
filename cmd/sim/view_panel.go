package main

import (
	"fmt"
	"html"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// dial is a setting with the values of its slider, and a sentence that says what it decides.
type dial struct {
	Label, Path string
	Values      []string
	Says        string
}

// dials are the sliders of what a simulation can turn. The page shows those that the strategy has; other parameters are
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
