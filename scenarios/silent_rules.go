package scenarios

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/summarizer"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

const envPath = "client.env."

// withoutUse is of variables that are taken and do nothing.
func (s *silence) withoutUse(g *given) string {
	switch strings.TrimPrefix(g.path, envPath) {
	case "CONTEXT_COLLAPSE", "HISTORY_SNIP":
		return "no document says what it does"
	case "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE":
		if !s.any(func(c *Scenario) bool { _, ok := client.Percent(c.Client.Env.AutocompactPct); return ok }) {
			return "the client ignores what does not lie in (0, 100]"
		}
	}
	return ""
}

// anthropicOnly are settings of requests with markers, and of the server that
// serves these.
var anthropicOnly = []string{
	"client.ttl", "client.system.tool_marker", "client.system.dynamic_scope",
	envPath + "ENABLE_PROMPT_CACHING_1H", envPath + "ENABLE_PROMPT_CACHING_1H_BEDROCK", envPath + "FORCE_PROMPT_CACHING_5M",
	envPath + "CLAUDE_CODE_PROMPT_CACHE_TTL", envPath + "CLAUDE_CODE_SUBAGENT_PROMPT_CACHE_TTL", envPath + "DISABLE_PROMPT_CACHING",
	envPath + "DISABLE_PROMPT_CACHING_HAIKU", envPath + "DISABLE_PROMPT_CACHING_SONNET", envPath + "DISABLE_PROMPT_CACHING_OPUS",
	envPath + "DISABLE_PROMPT_CACHING_FABLE", envPath + "USER_TYPE",
	"server.lookback", "server.every_block_counts", "server.max_markers", "server.lifetime_5m", "server.lifetime_1h",
	"server.prefix_refresh", "server.ttl_in_key", "server.delete_uncached",
}

// ofCodex is of what only Claude Code's requests have, where all sessions are
// Codex's. Layers that act by what the client takes for the lifetime of its
// entries do so for Codex as well.
func (s *silence) ofCodex(g *given) string {
	other := func(v *traces.Session) bool { return !isPlain(v) }
	if !below(g.path, anthropicOnly...) || slices.ContainsFunc(s.sessions, other) {
		return ""
	}
	if !strings.HasPrefix(g.path, "server.") &&
		(s.runs([]string{strategies.KeepaliveName, strategies.TimeClearName, strategies.CachedClearName}) || s.runs([]string{strategies.CompactName}, "idle.enabled")) {
		return ""
	}
	return "all sessions are Codex's, whose requests carry no markers; their provider caches by itself"
}

// policy reports whether the policy decides about some lifetime in a cell: the
// variables come first.
func policy(c *Scenario) bool {
	e := &c.Client.Env
	forced := client.On(e.Force5m) || client.On(e.Enable1h) || e.CacheTTL != "" && e.AgentCacheTTL != ""
	return c.Client.TTL.Choice == client.ChoicePolicy && !forced
}

// ofPolicy is of what only the policy of lifetimes asks for.
func (s *silence) ofPolicy(g *given) string {
	const bedrock = envPath + "ENABLE_PROMPT_CACHING_1H_BEDROCK"
	switch g.path {
	case "client.ttl.choice":
		if !s.any(func(c *Scenario) bool {
			e := &c.Client.Env
			return !client.On(e.Force5m) && !client.On(e.Enable1h) && (e.CacheTTL == "" || e.AgentCacheTTL == "")
		}) {
			return "variables of client.env decide about every lifetime"
		}
		return ""
	case "client.ttl.source", "client.ttl.employee", "client.ttl.subscriber", "client.ttl.overage", "client.ttl.allow",
		"client.ttl.latch", envPath + "USER_TYPE", bedrock:
	default:
		return ""
	}
	own := func(c *Scenario) bool { return policy(c) && c.Client.Provider == client.ProviderFirstParty }
	employee := func(c *Scenario) bool { return c.Client.TTL.Employee || c.Client.Env.UserType == "ant" }
	switch {
	case !s.any(policy):
		return "only client.ttl.choice policy asks, and it decides about no lifetime here"
	case g.path == bedrock:
		if s.any(func(c *Scenario) bool { return policy(c) && c.Client.Provider == client.ProviderBedrock }) {
			return ""
		}
		return "the provider is not bedrock"
	case !s.any(own):
		return "the policy asks it of users of first_party alone, and that is not the provider"
	case g.path == "client.ttl.latch" && !s.does(client.ActionOverage.String()):
		return "no event overage changes what was found out first"
	case g.path == "client.ttl.subscriber" && !s.any(func(c *Scenario) bool { return own(c) && !employee(c) }):
		return "the user is an employee"
	case g.path == "client.ttl.overage" && !s.any(func(c *Scenario) bool { return own(c) && !employee(c) && c.Client.TTL.Subscriber }):
		return "the user is an employee, or no subscriber"
	}
	return ""
}

// ofVariables is of variables that change layers, none of which is there.
func (s *silence) ofVariables(g *given) string {
	name, ok := strings.CutPrefix(g.path, envPath)
	if !ok {
		return ""
	}
	var layers []string
	for i := range s.design.Cells {
		all := &s.design.Cells[i].Scenario.Client.Assembly
		a := client.Assembly{Windows: all.Windows}
		from, to := reflect.ValueOf(&all.Env).Elem(), reflect.ValueOf(&a.Env).Elem()
		for j := range from.NumField() {
			if from.Type().Field(j).Tag.Get("yaml") == name {
				to.Field(j).Set(from.Field(j))
			}
		}
		if v := a.Env.Variables(); !reflect.DeepEqual(v, client.Variables{}) {
			return "" // it concerns requests too
		}
		for _, set := range settings(&a) {
			if !slices.Contains(layers, set.layer) {
				layers = append(layers, set.layer)
			}
		}
	}
	if len(layers) == 0 || slices.ContainsFunc(s.layers, func(l layer) bool { return slices.Contains(layers, l.key.Value) }) {
		return ""
	}
	return "no strategy has " + strings.Join(layers, " or ")
}

// ofSections is of what belongs to a system prompt in sections, or to servers of
// tools.
func (s *silence) ofSections(g *given) string {
	system := func(has func(*client.System) bool) bool {
		return s.any(func(c *Scenario) bool { return has(&c.Client.System) })
	}
	divided := func(y *client.System) bool { return y.Divided() }
	switch {
	case below(g.path, "client.system.sizes") && !system(divided):
		return "client.system.split is none, so the prompt has no sections"
	case g.path == "client.system.claude_md_tokens" && !system(func(y *client.System) bool { return y.ClaudeMD == client.ClaudeMDSystem }):
		return "client.system.claude_md is reminder, so nothing moves"
	case g.path == "client.system.mcp_tools" && !system(func(y *client.System) bool { return y.MCP == client.MCPPrefix }):
		return "client.system.mcp is deferred, so no tools of servers are among the others"
	case g.path == "client.system.mcp_notice" && !s.does(client.ActionMCPConnect.String(), client.ActionMCPLeave.String()):
		return "no event connects a server"
	case g.path == "client.system.rendered_prompt_reuse" && !s.does(client.ActionFlag.String()):
		return "no event flag_change lets a prompt be rendered otherwise"
	}
	return ""
}

// ofServer is of settings of the server that go with others.
func (s *silence) ofServer(g *given) string {
	switch {
	case g.path == "server.hint_at" && !s.runs([]string{strategies.ServerHintName}):
		return "no strategy has the layer " + strategies.ServerHintName + " in use, which takes hints"
	case g.path == "server.bytes_per_token" && !s.any(func(c *Scenario) bool { return c.Server.CapacityBytes > 0 }):
		return "there is no server.capacity_bytes"
	case g.path == "server.delete_uncached" && !s.runs([]string{strategies.CachedClearName}):
		return "no strategy has the layer " + strategies.CachedClearName + " in use, which deletes in the cache"
	}
	return ""
}

// ofLevels is of what a person does at the blocking level.
func (s *silence) ofLevels(g *given) string {
	compacts := func(c *Scenario) bool { return c.Levels.Levels().Block == sim.BlockCompact }
	if g.path != "levels.block" || !s.any(compacts) || s.any(func(c *Scenario) bool { return c.Levels.Levels().Block == sim.BlockEnd }) {
		return ""
	}
	if s.runs([]string{strategies.CompactName}, "manual") {
		return ""
	}
	return fmt.Sprintf("no strategy has the layer %s in use that takes compactions by hand", strategies.CompactName)
}

// ofAbsent is of settings of what the scenario does not have.
func (s *silence) ofAbsent(g *given) string {
	switch {
	case below(g.path, "summarizer") && !slices.ContainsFunc(s.design.Cells, func(c Cell) bool { return asksSummarizer(c.Strategy) }):
		return "no strategy asks the summarizer"
	case g.path == "summarizer.share" && !s.sized(summarizer.Fraction):
		return "only summarizer.sizing fraction asks for it"
	case g.path == "summarizer.sigma" && !s.sized(summarizer.LogNormal):
		return "only summarizer.sizing lognormal asks for it"
	case g.path == "summarizer.median" && !s.sized(summarizer.LogNormal, summarizer.Fixed):
		return "summarizer.sizing fraction asks for summarizer.share instead"
	case below(g.path, "detector") && !s.any(func(c *Scenario) bool { return c.Breaks }):
		return "breaks is false, so the detector watches nothing"
	case g.path == "sessions.organisations" && s.design.Scenario.Sessions.Cohort == CohortSession:
		return "with sessions.cohort session each is alone anyway"
	case (g.path == "sessions.generate.sessions" || g.path == "sessions.generate.seed") && s.design.Scenario.Sessions.Generate.Profile == "":
		return "sessions.generate.profile names none to generate"
	}
	return ""
}

// sized reports whether some cell's summaries are sized in one of some ways.
func (s *silence) sized(ways ...summarizer.Sizing) bool {
	return s.any(func(c *Scenario) bool { return slices.Contains(ways, summarizer.Sizing(c.Summarizer.Sizing)) })
}
