package claudecode

import "github.com/compactsim/compactsim/traces"

// settings are the settings of Claude Code that a simulation follows, each with
// the first version that has it where the provider's documentation or change
// log states one. CLAUDE_CODE_AUTO_COMPACT_WINDOW below 200,000 switches
// automatic compaction off in some versions, so such values are not tried.
func settings() []traces.Setting {
	const file = "~/.claude/settings.json"
	return []traces.Setting{
		{
			Name: "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", Group: traces.GroupThreshold, Where: file,
			Snippet: `{"env": {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "%s"}}`, Does: "compact at %s % of the window",
			Values: []string{"30", "35", "40", "45", "50", "55", "60", "65", "70", "75", "80", "85"},
			Below:  traces.NoRoom, Above: "at a larger share the client's own threshold comes first",
			Assign: "client.env.CLAUDE_AUTOCOMPACT_PCT_OVERRIDE=%s",
			Caveat: "some builds ignore it: see that the client compacts earlier",
		},
		{
			Name: "CLAUDE_CODE_AUTO_COMPACT_WINDOW", Group: "window", Where: file,
			Snippet: `{"env": {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "%s"}}`, Does: "a window of %s tokens",
			Values: []string{"200000", "300000", "400000", "500000"},
			Below:  "below 200,000 some versions compact no longer by themselves", Above: "few contexts grow beyond it",
			Assign: "client.env.CLAUDE_CODE_AUTO_COMPACT_WINDOW=%s",
			Caveat: "in the same file autoCompactWindow is the same setting (read in 2.1.113 and 2.1.332)",
		},
		{
			Name: "ENABLE_PROMPT_CACHING_1H", Group: "lifetime", From: "2.1.108", Where: file,
			Snippet: `{"env": {"ENABLE_PROMPT_CACHING_1H": "%s"}}`, Does: "cache entries live an hour",
			Values: []string{"1"}, Assign: "client.env.ENABLE_PROMPT_CACHING_1H=%s",
		},
		{
			Name: "FORCE_PROMPT_CACHING_5M", Group: "lifetime", From: "2.1.108", Where: file,
			Snippet: `{"env": {"FORCE_PROMPT_CACHING_5M": "%s"}}`, Does: "cache entries live 5 minutes",
			Values: []string{"1"}, Assign: "client.env.FORCE_PROMPT_CACHING_5M=%s",
		},
		{
			Name: "CLAUDE_CODE_PROMPT_CACHE_TTL", Group: "lifetime", From: "2.1.243", Where: file,
			Snippet: `{"env": {"CLAUDE_CODE_PROMPT_CACHE_TTL": "%s"}}`, Does: "entries of the main thread: %s",
			Values: []string{"5m", "1h"}, Assign: "client.env.CLAUDE_CODE_PROMPT_CACHE_TTL=%s",
		},
		{
			Name: "CLAUDE_CODE_SUBAGENT_PROMPT_CACHE_TTL", Group: "lifetime of sub-agents", From: "2.1.243", Where: file,
			Snippet: `{"env": {"CLAUDE_CODE_SUBAGENT_PROMPT_CACHE_TTL": "%s"}}`, Does: "entries of sub-agents: %s",
			Values: []string{"5m", "1h"}, Assign: "client.env.CLAUDE_CODE_SUBAGENT_PROMPT_CACHE_TTL=%s",
		},
		{
			Name: "CLAUDE_CODE_PROMPT_CACHE_TTL", Group: "lifetime of -p runs", From: "2.1.243", Where: "the command of each run",
			Snippet: "CLAUDE_CODE_PROMPT_CACHE_TTL=%s claude -p …", Does: "entries of runs with -p: %s", Values: []string{"5m", "1h"},
			Assign: "client.env.CLAUDE_CODE_PROMPT_CACHE_TTL=%s", Entries: []string{"sdk-cli"},
		},
		{
			Name: "BASH_MAX_OUTPUT_LENGTH", Group: "output of commands", Where: file,
			Snippet: `{"env": {"BASH_MAX_OUTPUT_LENGTH": "%s"}}`, Does: "%s characters of a command's output", Values: []string{"4000", "8000", "15000"},
			Below: tooShort, Above: "beyond it few outputs are cut",
			Assign: "client.env.BASH_MAX_OUTPUT_LENGTH=%s", Also: storing("mcp"), Caveat: cut,
		},
		{
			Name: "MAX_MCP_OUTPUT_TOKENS", Group: "results of MCP tools", Where: file,
			Snippet: `{"env": {"MAX_MCP_OUTPUT_TOKENS": "%s"}}`, Does: "%s tokens of a result of an MCP tool", Values: []string{"2500", "5000", "10000"},
			Below: tooShort, Above: "beyond it few results are cut",
			Assign: "client.env.MAX_MCP_OUTPUT_TOKENS=%s", Also: storing("bash"), Tool: "mcp__", Caveat: cut,
		},
	}
}

// What settings of the sizes of results share: why no smaller size is tried, and what is assumed.
const (
	tooShort = "less is hardly more than the preview of a result that is stored"
	cut      = "how often the agent reads a cut result again is assumed to be how often it reads again what compactions removed"
)

// storing returns the assignments that cut recorded results by the limit of one setting alone. Results of all other tools
// had been cut by their limits when they were recorded. other is the kind of tool that the setting is not about.
func storing(other string) []string {
	list := []string{"tool-storage.enabled=true", "tool-storage.per_message=0"}
	for _, kind := range []string{"default", "grep", other} {
		list = append(list, "tool-storage.limits."+kind+"=400000")
	}
	return list
}
