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
	}
}
