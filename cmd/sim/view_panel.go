package main

import (
	"fmt"
	"html"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// dial is a setting with the values of its slider.
type dial struct {
	Label, Path string
	Values      []string
}

// dials are the sliders of the page. It shows those that the strategy has; other parameters are entered as text.
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
		{"Compact at (tokens)", "full-compact.trigger.fixed", thresholds},
		{"Clear at (tokens)", "microcompact.trigger.fixed", thresholds},
		{"Truncate at (tokens)", "truncate-oldest.trigger.fixed", thresholds},
		{"Keep messages (tokens)", "full-compact.keep.tokens", []string{"5000", "10000", "20000", "40000", "80000"}},
		{"Keep rounds", "full-compact.keep.rounds", few},
		{"Keep results", "microcompact.keep_last", few},
		{"Keep results behind a gap", "time-microcompact.keep_recent", few},
		{"Keep results in the cache", "cached-microcompact.keep_recent", few},
		{"Summary (tokens)", "summarizer.median", []string{"500", "1000", "2000", "3000", "4000", "6000", "8000", "12000", "20000"}},
		{"Entries live", "client.ttl.choice", []string{"5m", "1h"}},
		{"Window (tokens)", "client.window", []string{"100000", "200000", "272000", "400000", "1000000"}},
		{"Fetches again", "agent.refetch", []string{"fitted"}},
	}
}

// settings are sliders for the settings that a client really has, without those in dials.
func settings(agent string) (list []dial) {
	for _, s := range agents.Of(agent).Settings {
		path, _, _ := strings.Cut(s.Assign, "=")
		if !slices.ContainsFunc(dials(), func(d dial) bool { return d.Path == path }) {
			list = append(list, dial{s.Name, path, s.Values})
		}
	}
	return list
}

// agents returns the agents that made the sessions.
func (v *viewer) agents() (names []string) {
	for _, s := range v.corpus.Sessions {
		if !slices.Contains(names, s.Agent) {
			names = append(names, s.Agent)
		}
	}
	return names
}

// fits returns the paths of the dials that a strategy has, separated by spaces.
func (v *viewer) fits(strategy string) string {
	if known, ok := v.fit.Load(strategy); ok {
		return known.(string)
	}
	var paths []string
	list := dials()
	for _, agent := range v.agents() {
		list = append(list, settings(agent)...)
	}
	for _, d := range list {
		if _, err := v.planOf(&Variant{Strategy: strategy, Set: []string{d.Path + "=" + d.Values[0]}}); err == nil {
			paths = append(paths, d.Path)
		}
	}
	v.fit.Store(strategy, strings.Join(paths, " "))
	return strings.Join(paths, " ")
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

// panel returns the form with the dials.
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
	fmt.Fprintf(&b, "<form id=\"dials\" class=\"choice\" data-fits=\"%s\">\n", v.fits("own"))
	choice("Strategy", "strategy", "", append([]string{"own"}, names...))
	choice("Agent", "agent", "all", v.agents())
	choice("Billed as", "as", "the model recorded", v.plan.Prices.Names())
	b.WriteString("<label>Prices of <input type=\"date\" name=\"at\"></label>\n<div class=\"dials\">\n")
	sliders := func(list []dial) {
		for _, d := range list {
			fmt.Fprintf(&b, "<label title=\"%[1]s\">%[2]s<br><input type=\"range\" data-path=\"%[1]s\" data-values=\"%[3]s\" min=\"0\" max=\"%[4]d\" value=\"0\"> "+
				"<output>as it is</output></label>\n", d.Path, d.Label, strings.Join(d.Values, " "), len(d.Values))
		}
		b.WriteString("</div>")
	}
	sliders(dials())
	for _, agent := range v.agents() {
		if list := settings(agent); len(list) > 0 {
			fmt.Fprintf(&b, "<details><summary>Settings of %s</summary><div class=\"dials\">", html.EscapeString(agents.Of(agent).Title))
			sliders(list)
			b.WriteString("</details>")
		}
	}
	b.WriteString(`
<label>More settings <input name="more" size="40" placeholder="server.lookback=21 full-compact.breaker=0" autocomplete="off" spellcheck="false"></label>
`)
	fmt.Fprintf(&b, "<details><summary>Sessions: <output id=\"chosen\">all %d</output></summary>"+
		"<label>Choose some, or none for all<br><select name=\"session\" multiple size=\"8\">", len(v.corpus.Sessions))
	labels := labelsOf(v.corpus.Sessions)
	for _, s := range v.corpus.Sessions[:min(len(v.corpus.Sessions), maxChoices)] {
		option(s.ID, labels[s.ID]+" · "+s.ID)
	}
	b.WriteString(`</select></label></details>
<div><button type="button" id="pin">Pin this</button> <button type="button" id="unpin" hidden>Take the pin out</button> ` +
		`<button type="reset">As it is</button> <span id="state" role="status"></span></div>
</form>`)
	return b.String()
}
