package audit

// Settings of Claude Code, with the first version that knows each (facts of the
// provider's documentation and change log: E2, E3, E4, E9). No version is given
// where no source states one.
var (
	adviseHour = []Advice{
		{Setting: "ENABLE_PROMPT_CACHING_1H=1", From: "2.1.108", Text: "environment: an hour for all calls", lives: scope{"1h", true, true}},
		{Setting: `"promptCacheTtl": "1h"`, From: "2.1.243", Text: "settings.json: an hour for the conversation alone", lives: scope{"1h", true, false}},
	}
	adviseFive = []Advice{
		{Setting: `"promptCacheTtl": "5m"`, From: "2.1.243", Text: "settings.json: entries of the conversation live 5 minutes", lives: scope{"5m", true, false}},
		{Setting: "FORCE_PROMPT_CACHING_5M=1", From: "2.1.108", Text: "environment: 5 minutes for all calls, those of sub-agents too; it wins over other settings", lives: scope{"5m", true, true}},
	}
	adviseAgentsHour = []Advice{
		{Setting: "CLAUDE_CODE_SUBAGENT_PROMPT_CACHE_TTL=1h", From: "2.1.243", Text: "environment: entries of sub-agents live an hour", lives: scope{"1h", false, true}},
	}
	adviseAgentsFive = []Advice{
		{Setting: "CLAUDE_CODE_SUBAGENT_PROMPT_CACHE_TTL=5m", From: "2.1.243", Text: "environment: entries of sub-agents live 5 minutes", lives: scope{"5m", false, true}},
		{Setting: "FORCE_PROMPT_CACHING_5M=1", From: "2.1.108", Text: "environment: 5 minutes for all calls, those of the conversation too; it wins over other settings", lives: scope{"5m", true, true}},
	}
	adviseLongPause = []Advice{
		{Setting: "/clear", Text: "when the task is done: the next one starts small; no entry outlives an hour"},
		{Setting: "/compact", Text: "before a long pause, while the cache is warm: what is written again afterwards is small"},
		{From: "2.1.286", Text: "the client compacts by itself after some 55 idle minutes of a context above 200,000 tokens (CLAUDE_CODE_IDLE_COMPACT_MIN_TOKENS), if the server allows it"},
	}
	adviseInside = []Advice{
		{From: "2.1.260", Text: "no setting; the status line's prompt_cache.last_miss_cause tells the cause of each miss"},
		{Text: "known causes: diagnostics of language servers changed the prompt before 2.1.235; resuming missed the cache from 2.1.69 to 2.1.90"},
	}
	adviseModel = []Advice{
		{Setting: "/clear", Text: "before another model: models share nothing, the whole context is written again"},
		{From: "2.1.238", Text: "the client asks before it changes the model of a warm conversation"},
	}
	adviseEdit = []Advice{
		{Text: "no setting in the recorded versions: clearing old results breaks the cache behind the first of them"},
	}
	adviseLost = []Advice{
		{Setting: "/clear", Text: "when the task is nearly done, instead of a compaction that few calls follow"},
		{Setting: "DISABLE_AUTO_COMPACT=1", Text: "environment: no automatic compaction; the session then ends at the window"},
	}
	adviseThresholds  = Advice{Setting: "sim run thresholds PATH", Text: "replays these sessions at other thresholds"}
	adviseCompactions = []Advice{
		adviseThresholds,
		{Setting: "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE=60", Text: "environment: percent of the window used at which it compacts; it can only lower it, and many builds ignore it"},
	}
	adviseContext   = adviseCompactions
	adviseDuplicate = []Advice{
		{Text: "no setting: have CLAUDE.md ask for the part of a file that is needed, and not to read again what is in the conversation"},
	}
	adviseUnread = []Advice{
		{Setting: "DISABLE_PROMPT_CACHING=1", Text: "environment: pays only where each session is a single call; the last call of a conversation is always written in vain"},
	}
)

// limit is a setting that bounds the size of tool results.
type limit struct {
	name, title string
	setting     string
	text        string
	bytes       int64 // results above it are cut to it under the setting; 0: there is no setting
	matches     func(*Carried) bool
}

// limits bound large results, the first that matches. The client's own limits
// are 30,000 characters for Bash, 25,000 tokens for MCP tools and 32,000 for
// sub-agents (facts E4); those proposed are a third of that, an assumption.
func limits() []limit {
	return []limit{
		{"large_mcp_results", "Large results of MCP tools", "MAX_MCP_OUTPUT_TOKENS=8000", "environment: the most tokens an MCP tool may return; 25,000 otherwise",
			24000, func(c *Carried) bool { return c.mcp }},
		{"large_command_results", "Large outputs of commands", "BASH_MAX_OUTPUT_LENGTH=10000", "environment: the most characters of a command's output; 30,000 otherwise",
			10000, func(c *Carried) bool { return c.Tool == "Bash" }},
		{"large_agent_results", "Large reports of sub-agents", "TASK_MAX_OUTPUT_LENGTH=10000", "environment: the most characters of a sub-agent's output; 32,000 otherwise",
			10000, func(c *Carried) bool { return c.Tool == "Task" || c.Tool == "TaskOutput" || c.Tool == "Agent" }},
		{"large_reads", "Large files read", "", "no setting: have CLAUDE.md ask for parts of large files (offset and limit) and for search before reading",
			0, func(c *Carried) bool { return c.Tool == "Read" }},
		{"large_results", "Other large tool results", "", "no setting of the client for these tools", 0, func(*Carried) bool { return true }},
	}
}

// largeResult is the size from which a result counts as large, tokens. An
// assumption: 6 % of the recorded results are as large (254 of 3,946 of Claude
// Code, 214 of 3,810 of Codex).
const largeResult = 4000
