package main

import (
	"fmt"
	"html"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/tools/tests/agenttest"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/facts"
)

// everyAgent writes two sessions of each agent into a folder.
func everyAgent(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for i, agent := range agenttest.Agents() {
		for n := range 2 {
			id := fmt.Sprintf("%08d-0000-4000-8000-%012d", i, n)
			path := filepath.Join(dir, agent, id+".jsonl")
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(agenttest.Sample(agent, id, uint64(10*i+n))), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// The page has the settings that each client offers, with a sentence at each slider, in a group of its own: none of
// another's. An agent whose client offers none is told so.
func TestViewHasSettingsOfEachAgent(t *testing.T) {
	t.Parallel()
	server, token := served(t, everyAgent(t))
	_, page := request(t, "GET", server.URL+"/?t="+token, "")
	groups := map[string]string{}
	for _, m := range regexp.MustCompile(`(?s)<fieldset class="client" data-agent="([^"]*)">(.*?)</fieldset>`).FindAllStringSubmatch(page, -1) {
		groups[m[1]] = m[2]
	}
	if len(groups) != len(agenttest.Agents()) {
		t.Fatalf("%d groups of settings, want one for each of %d agents", len(groups), len(agenttest.Agents()))
	}
	for _, name := range agenttest.Agents() {
		list := slices.DeleteFunc(slices.Clone(agents.Of(name).Settings), func(s facts.Setting) bool { return !s.Single() })
		if n := strings.Count(groups[name], `type="range"`); n != len(list) {
			t.Errorf("%s: %d sliders, its client has %d settings", name, n, len(list))
		}
		for i := range list {
			if !strings.Contains(groups[name], "<label>"+list[i].Name+"<br>") || !strings.Contains(groups[name], html.EscapeString(list[i].Where)) {
				t.Errorf("%s: %s is missing, or where it is set:\n%s", name, list[i].Name, groups[name])
			}
		}
		if none := strings.Contains(groups[name], "offers no setting"); none != (len(list) == 0) {
			t.Errorf("%s with %d settings: %s", name, len(list), groups[name])
		}
	}
	if bare := regexp.MustCompile(`<small id="[^"]*">[^<]*[^<.]</small>|<small[^>]*></small>`).FindString(page); bare != "" {
		t.Errorf("a slider without a sentence: %s", bare)
	}
	if sliders, says := strings.Count(page, `type="range"`), strings.Count(page, "<small id="); sliders == 0 || sliders != says {
		t.Errorf("%d sliders and %d sentences", sliders, says)
	}
}

// The heading names the agent and the number of the sessions that the filters leave, and the header whose settings they have.
func TestViewHeadingFollowsFilters(t *testing.T) {
	t.Parallel()
	server, token := served(t, everyAgent(t))
	for ask, want := range map[string][2]string{
		`{"strategy":"own"}`:                                                     {"", fmt.Sprintf("What %d sessions of ", 2*len(agenttest.Agents()))},
		`{"strategy":"own","agent":"codex"}`:                                     {"codex", "What 2 sessions of Codex cost"},
		`{"strategy":"none","agent":"pi"}`:                                       {"pi", "What 2 sessions of pi cost"},
		`{"strategy":"own","sessions":["00000001-0000-4000-8000-000000000001"]}`: {"codex", "What 1 session of Codex cost"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/simulate", strings.NewReader(ask))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Sim-Token", token)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text := make([]byte, 200)
		n, _ := answer.Body.Read(text)
		_ = answer.Body.Close()
		if agent := answer.Header.Get("X-Sim-Agent"); agent != want[0] || !strings.Contains(string(text[:n]), "<h1>"+want[1]) {
			t.Errorf("%s: agent %q, %s; want %q", ask, agent, text[:n], want)
		}
	}
}

// The card of the advice has the words of sim advise for the same sessions, and the page no other word on what is cheapest.
func TestViewAdvisesLikeAdvise(t *testing.T) {
	t.Parallel()
	dir := everyAgent(t)
	server, token := served(t, dir)
	code, card := request(t, "POST", server.URL+"/advise", `{"strategy":"own","agent":"codex"}`, "X-Sim-Token", token)
	_, out, _ := exec(t, "advise", "-q", "--agent", "codex", dir)
	const want = "Too few sessions to advise: 2 sessions"
	if code != http.StatusOK || !strings.Contains(out, want) || !strings.Contains(strings.ToLower(card), strings.ToLower(want)) || strings.Contains(card, "Claude Code") {
		t.Errorf("%d %s\nsim advise: %s", code, card, out)
	}
	if paid := regexp.MustCompile(`\$[\d.]+ +\$[\d.]+ +\$[\d.]+`).FindString(out); paid == "" || !strings.Contains(card, strings.Fields(paid)[1]) {
		t.Errorf("the card lacks the figures %s:\n%s", paid, card)
	}
	if _, shown := request(t, "POST", server.URL+"/simulate", `{"strategy":"own"}`, "X-Sim-Token", token); strings.Contains(shown, "heapest strategy") || strings.Contains(shown, "In short") {
		t.Error("the page has a word of its own on what is cheapest")
	}
}
