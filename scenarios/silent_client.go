package scenarios

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/strategies"
)

// ofFlags is of flags that are off, as they are when they are not set.
func (s *silence) ofFlags(g *given) string {
	flags := []string{"0", "false", "no", "off"}
	if strings.HasPrefix(g.path, envPath) && slices.Contains(flags, strings.ToLower(strings.Trim(g.value, `"'`))) {
		return "off is what it is when it is not set"
	}
	return ""
}

// ofWindows is of the windows of models.
func (s *silence) ofWindows(g *given) string {
	const auto = envPath + "CLAUDE_CODE_AUTO_COMPACT_WINDOW"
	why := map[string]string{
		"client.windows.capability":                "no session is with a model that has the large window by itself and has not got it already",
		"client.windows.beta_1m":                   "no session is with a model that takes the header, Sonnet 4 up to 4.6, and has not got the large window already",
		envPath + "CLAUDE_CODE_MAX_CONTEXT_TOKENS": "it is for windows of 200,000 tokens at most, and no session has another of these",
		envPath + "CLAUDE_CODE_DISABLE_1M_CONTEXT": "no session has a window above 200,000 tokens",
		auto: "no session has a larger window",
	}[g.path]
	switch {
	case why == "" || s.differs(g.path, s.windows):
		return ""
	case !s.any(func(c *Scenario) bool { return c.Client.Window == 0 }):
		return "client.window sets the window"
	}
	return why
}

// ofSmallWindow is of what a small window for thresholds switches off.
func (s *silence) ofSmallWindow(g *given) string {
	layers := []string{strategies.CompactName, strategies.SessionMemoryName}
	switch {
	case g.path != "client.windows.small_auto_window_off":
		return ""
	case !s.differs(g.path, func(c *Scenario) any { return settings(&c.Client.Assembly) }):
		return "CLAUDE_CODE_AUTO_COMPACT_WINDOW is not set below 200,000"
	case !slices.ContainsFunc(s.layers, func(l layer) bool { return slices.Contains(layers, l.key.Value) }):
		return "no strategy has " + strings.Join(layers, " or ")
	}
	return ""
}

// windows returns the windows of all models, those that thresholds are counted
// from, and what the variables about them make of layers.
func (s *silence) windows(c *Scenario) any {
	a := &c.Client.Assembly
	v := a.Env.Variables()
	var list []int64
	for _, m := range s.traits.models {
		w := c.Client.Window
		if w == 0 {
			w = a.Window(&v, m.name, m.window)
		}
		list = append(list, w, v.AutoWindow(w))
	}
	return []any{list, settings(a)}
}

// clients are how clients place markers and count.
type clients struct {
	markers int
	count   client.Counting
}

// ofVersions is of what differs between versions of clients.
func (s *silence) ofVersions(g *given) string {
	if g.path != "client.version" && !below(g.path, "client.count") || s.differs(g.path, s.behaviours) {
		return s.ofCounted(g)
	}
	if g.path != "client.version" {
		return "the clients of all sessions count so by themselves"
	}
	if !slices.ContainsFunc(s.traits.clients, func(c recordedClient) bool { return !c.plain }) {
		return "all sessions are Codex's, whose client has versions of its own"
	}
	return "the versions of the sessions place markers and count as this one does; one of another range would not"
}

// behaviours returns how the clients of the sessions place markers and count.
func (s *silence) behaviours(c *Scenario) any {
	var list []clients
	for _, r := range s.traits.clients {
		list = append(list, behaviour(c, r))
	}
	return list
}

// behaviour returns how a client places markers and counts in a cell.
func behaviour(c *Scenario, r recordedClient) clients {
	if r.plain {
		return clients{0, c.Client.Count.Over(new(client.Codex).Counting())}
	}
	own := client.ForVersion(cmp.Or(c.Client.Version, r.version))
	return clients{own.MessageMarkers, c.Client.Count.Over(own.Counting())}
}

// ofCounted is of ways to count what no session has.
func (s *silence) ofCounted(g *given) string {
	switch {
	case g.path == "client.count.documents" && !s.traits.kinds[prompt.KindDocument]:
		return "no session has a document"
	case g.path == "client.count.tool_input_bytes" && !s.traits.kinds[prompt.KindToolUse]:
		return "no session has a tool call"
	case g.path == "client.count.string_is_free" && !s.traits.strings:
		return "no message of a session is a bare string"
	}
	return ""
}

// ofCaching is of variables that take the markers off requests to some models.
func (s *silence) ofCaching(g *given) string {
	word, ok := strings.CutPrefix(g.path, envPath+"DISABLE_PROMPT_CACHING")
	if !ok || word == "" || s.powers.foreign {
		return ""
	}
	uncached := func(c *Scenario) any {
		v := c.Client.Env.Variables()
		var list []bool
		for _, m := range s.traits.models {
			list = append(list, v.Uncached(m.name))
		}
		return list
	}
	switch {
	case s.differs(g.path, uncached):
		return ""
	case s.any(func(c *Scenario) bool { return client.On(c.Client.Env.DisableCaching) }):
		return "DISABLE_PROMPT_CACHING is for requests to all models"
	}
	return fmt.Sprintf("no call goes to a model with %s in its name", strings.ToLower(strings.TrimPrefix(word, "_")))
}

// ofResults is of variables about gaps and results that nothing goes by.
func (s *silence) ofResults(g *given) string {
	switch g.path {
	case envPath + "CLAUDE_CODE_IDLE_COMPACT_MIN_TOKENS":
		if !s.runs([]string{strategies.CompactName}, "idle.enabled") && !s.powers.foreign {
			return "no strategy has the layer " + strategies.CompactName + " with idle.enabled"
		}
	case envPath + "MAX_MCP_OUTPUT_TOKENS":
		previews := s.any(func(c *Scenario) bool {
			n, ok := client.Number(c.Client.Env.MCPMaxOutput)
			return ok && n*bytesPerToken < previewBytes
		})
		if !s.traits.mcp && !previews {
			return "no session has a result of an MCP tool"
		}
	}
	return ""
}
