package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// A library is a package that compacts, and the presets that say how.
type library struct {
	name     string   // its driver's
	packages []string // pinned, the one that compacts first
	node     bool     // they are npm's
	alone    bool     // the first is installed without what it depends on: that is large and not used here
	presets  []string // what the driver is asked for
	unlogged bool     // its log is not billed: to read one of 400 calls whose messages change in each takes more than 10 GB
	tasks    bool     // it knows tasks and no conversations: every conversation is one prompt
	known    []known  // what its presets leave out
	note     string   // what none of the conversations shows
	// settings are what the driver chose and the library does not have by default, of each preset, or once for all of them.
	settings []string
}

// Known is what a preset does otherwise than its library, on purpose. As long as the bench finds exactly this, nothing has moved.
type known struct {
	preset, talk string
	differs      string // as the bench says it
	why          string
}

// libraries are in order of use.
var libraries = []*library{
	{name: "langchain", packages: []string{"langchain==1.5.2", "langchain-core==1.8.3", "langgraph==1.2.24"},
		presets: []string{"langchain/summarization", "langchain/clear-tools"},
		settings: []string{
			"the middleware is given, as an agent has none; `trigger=(\"fraction\", 0.8)`, as without one it never acts; `recursion_limit=2000`, so that long prompts end",
			"the middleware is given, as an agent has none, with its defaults: above 100,000 tokens all results but three; `recursion_limit=2000`, so that long prompts end",
		}},
	{name: "deepagents", packages: []string{"deepagents==0.7.32"}, presets: []string{"deepagents", "deepagents/no-profile"},
		settings: []string{
			"the model's profile names 200,000 tokens; `recursion_limit=2000`, so that long prompts end",
			"the model has no profile, as one that LangChain does not know; `recursion_limit=2000`, so that long prompts end",
		}},
	{name: "langmem", packages: []string{"langmem==0.0.30", "langchain==1.5.2", "langchain-core==1.8.3", "langgraph==1.2.24"}, presets: []string{"langmem"},
		settings: []string{
			"`max_tokens=100_000`, which has no default, and `output_messages_key=\"llm_input_messages\"`, in an agent of LangGraph; `recursion_limit=2000`, so that long prompts end",
		}},
	{name: "openai-agents", packages: []string{"openai-agents==0.24.0"}, presets: []string{"openai-agents/session", "openai-agents/trimmer"},
		settings: []string{
			"a session that compacts, where an agent has none, with `compaction_mode=\"input\"`, where \"auto\" is the default; `max_turns=500`; the driver plays `responses.compact`, and a failed tool answers with its own text",
			"`call_model_input_filter=ToolOutputTrimmer()`, where there is none, with the defaults of the trimmer; `max_turns=500`; a failed tool answers with its own text",
		}},
	{name: "agent-framework", packages: []string{"agent-framework-core==1.23.0"},
		presets: []string{"microsoft/context-window", "microsoft/summarization"}, unlogged: true,
		settings: []string{
			"`create_harness_agent` with `max_context_window_tokens=200_000` and `max_output_tokens=32_000`, which have no defaults, without its todo list, modes and memory of files; `max_iterations=500`, `include_detailed_errors=True`",
			"`compaction_strategy=SummarizationStrategy(client)`, where there is none, with its own defaults; `max_iterations=500`, `include_detailed_errors=True`",
		}},
	{name: "adk", packages: []string{"google-adk==2.13.0"}, presets: []string{"adk"},
		settings: []string{
			"`compaction_interval=5`, `overlap_size=1`, which have no defaults; `max_llm_calls=1000`",
		}},
	{name: "strands", packages: []string{"strands-agents==1.62.0"}, presets: []string{"strands/window", "strands/summary"},
		note: "A prompt that takes some 240 requests ends with Python's RecursionError, as the library's loop calls itself; the presets go on.",
		settings: []string{
			"defaults",
			"`SummarizingConversationManager(proactive_compression=True)`, where the sliding window is the default and the manager waits for a refusal; its other settings are defaults",
		}},
	{name: "autogen", packages: []string{"autogen-agentchat==0.7.5"}, presets: []string{"autogen/buffered", "autogen/token-limit"},
		settings: []string{
			"`BufferedChatCompletionContext(40)`, which has no default size, where an agent keeps all; `max_tool_iterations=500`",
			"`TokenLimitedChatCompletionContext(token_limit=180_000)`, 0.9 of the window, where an agent keeps all; `max_tool_iterations=500`",
		}},
	{name: "agno", packages: []string{"agno==3.1.10", "sqlalchemy==2.1.9", "greenlet==3.5.6", "openai==3.57.0"}, presets: []string{"agno", "agno/default"},
		settings: []string{
			"`add_history_to_context=True`, `num_history_runs=1000`, `compress_tool_results=True`, where the defaults are False, 3 runs and False",
			"defaults",
		}},
	{name: "llama-index", packages: []string{"llama-index-core==0.14.25"}, presets: []string{"llama-index"},
		settings: []string{
			"`Memory.from_defaults` with its defaults is given to each run, where an agent has a ChatMemoryBuffer; `tokenizer_fn` counts four characters a token; `streaming=False`, `max_iterations=500`",
		}},
	{name: "haystack", packages: []string{"haystack-ai==3.4.1"}, presets: []string{"haystack/prune", "haystack/window", "haystack/summary"},
		settings: []string{
			"`CompactionHook` is given with `context_window=200_000`, as an agent has none; the compactor has its defaults; `max_agent_steps=500`",
		}},
	{name: "smolagents", packages: []string{"smolagents==1.26.0"}, presets: []string{"smolagents"},
		note: "Each step's code stands in its history twice, as the model writes it and in a message of its own (Calling tools: …). An answer stands there three times, the third time as what its code gives; the preset leaves the second and the third out: 40 prompts and answers of 100 tokens cost 56 % more than it says.",
		settings: []string{
			"`reset=False`, where each prompt is a new run by default; `max_steps=500`",
		}},
	{name: "openhands", packages: []string{"openhands-sdk==1.58.2"}, presets: []string{"openhands", "openhands/planning", "openhands/class"},
		settings: []string{
			"`default_condenser` with its defaults; `stuck_detection=False`, `max_iteration_per_run=1000`",
			"`max_size=100`, `keep_first=6`, as get_planning_condenser of openhands-tools has them; `stuck_detection=False`, `max_iteration_per_run=1000`",
			"`LLMSummarizingCondenser` with the defaults of the class; `stuck_detection=False`, `max_iteration_per_run=1000`",
		}},
	{name: "openhands-0", packages: []string{"openhands-ai==0.62.0"},
		presets: []string{"openhands/0-recent", "openhands/0-amortised", "openhands/0-masking", "openhands/0-window"},
		known: []known{{"openhands/0-recent", "small", "largest prompt +4.4 %",
			"until there are 100 events the library sends system prompt (3,211 tokens) and prompt twice, and the preset is given that system prompt in all requests"}},
		settings: []string{
			"`RecentEventsCondenserConfig` with its defaults, where ConversationWindowCondenserConfig is the default; `native_tool_calling=True`, `iteration_delta=10_000`",
			"`AmortizedForgettingCondenserConfig` with its defaults, where ConversationWindowCondenserConfig is the default; `native_tool_calling=True`, `iteration_delta=10_000`",
			"`ObservationMaskingCondenserConfig` with its defaults, where ConversationWindowCondenserConfig is the default; `native_tool_calling=True`, `iteration_delta=10_000`",
			"the default condenser; `native_tool_calling=True`, `iteration_delta=10_000`",
		}},
	{name: "crewai", packages: []string{"crewai==1.15.30"}, presets: []string{"crewai"}, tasks: true,
		settings: []string{
			"`max_iter=500`, `cache=False`; the model gives 0.85 of its window, as the classes of the library do",
		}},
	{name: "mastra", packages: []string{"@mastra/memory@1.31.0", "@mastra/core@1.71.0", "zod@4.6.7"}, node: true, presets: []string{"mastra"},
		note: "Of a server that caches up to any token, and not to the end of a block, recorded bills 9 to 24 % too much for such a log: the observer's " +
			"calls read the older observations of a message that goes on, and the log's messages are read whole.",
		settings: []string{
			"`observationalMemory` is given, as it is off by default, with its default levels and scripted models in the place of Gemini 2.5 Flash; its counter of tokens is replaced by four characters a token; `maxSteps=500`",
		}},
	{name: "ai-sdk", packages: []string{"ai@6.0.326"}, node: true, presets: []string{"ai-sdk/prune"},
		settings: []string{
			"`reasoning: \"before-last-message\"`, `toolCalls: \"before-last-2-messages\"`, as in the documentation of pruneMessages, where the defaults take out neither; `stopWhen: stepCountIs(500)`, `maxRetries: 0`",
		},
		note: "Not the newest: that was 7.0.173 on 2026-11-30, whose function was read."},
	{name: "mini-swe-agent", alone: true, packages: []string{"mini-swe-agent==2.4.6", "pydantic==2.14.4", "jinja2==3.1.6", "pyyaml==6.0.4",
		"requests==2.34.2", "rich==15.0.0", "platformdirs==4.14.8", "python-dotenv==1.2.4", "typer==0.29.2"}, presets: []string{"mini-swe-agent"}, tasks: true,
		settings: []string{
			"`cost_limit=0`, where $3 is the default; prompts of the bench in the place of its templates",
		}},
	{name: "letta", packages: []string{"letta==0.16.8", "asyncpg==0.32.0", "psycopg2-binary==2.9.13", "pgvector==0.5.1"}, presets: []string{"letta"},
		settings: []string{
			"the agent of the server without its database, without blocks of memory, and with its system prompt never made anew; `context_window=200_000`, `parallel_tool_calls=True`; summaries are not streamed; `max_steps=1000`",
		},
		note: "Not the newest: that was 0.34.12 on 2026-11-30, which was not run."},
	{name: "pydantic-ai", packages: []string{"pydantic-ai-slim==2.68.0", "anthropic==2.14.0"}, presets: []string{"pydantic-ai"},
		settings: []string{
			"`capabilities=[AnthropicCompaction()]`, where an agent has none, at its default of 150,000 tokens; `request_limit=None`; the driver plays Anthropic's server as it is documented",
		}},
	{name: "semantic-kernel", packages: []string{"semantic-kernel==1.45.0"}, presets: []string{"semantic-kernel", "semantic-kernel/per-prompt"},
		note: "No agent or thread of the library reduces its history by itself: the program that was run calls reduce(), before every request for semantic-kernel, at each prompt alone for semantic-kernel/per-prompt.",
		settings: []string{
			"`target_count=10`, which has no default, and `threshold_count=5`, where 0 is the default; the driver calls `reduce()`, as `auto_reduce` is off",
		}},
}

// choose returns the libraries of these names, all for none.
func choose(names []string) ([]*library, error) {
	if len(names) == 0 {
		return libraries, nil
	}
	var list []*library
	for _, n := range names {
		i := slices.IndexFunc(libraries, func(l *library) bool { return l.name == n })
		if i < 0 {
			var all []string
			for _, l := range libraries {
				all = append(all, l.name)
			}
			return nil, fmt.Errorf("no library is named %s; there are %s", n, strings.Join(all, ", "))
		}
		list = append(list, libraries[i])
	}
	return list, nil
}

// lead returns the name of the package that compacts.
func (l *library) lead() string { return l.unpinned(l.packages[0]) }

// pin returns the version that package i is pinned to; the package that compacts is the first.
func (l *library) pin(i int) string {
	return strings.TrimLeft(l.packages[i][len(l.unpinned(l.packages[i])):], "=@")
}

// others returns the packages beside the first whose version is not the pinned one, each with the version that it has.
func (l *library) others(versions []string) (list []string) {
	for i := 1; i < len(versions); i++ {
		if versions[i] != l.pin(i) {
			list = append(list, l.unpinned(l.packages[i])+" "+versions[i])
		}
	}
	return list
}

// unpinned returns the name of a package without its version.
func (l *library) unpinned(pack string) string {
	if l.node {
		return pack[:strings.LastIndex(pack, "@")]
	}
	name, _, _ := strings.Cut(pack, "==")
	return name
}

// talks returns the conversations as the library has them.
func (l *library) talks() (list []*talk) {
	for _, s := range usual {
		t := s.talk()
		if l.tasks {
			t = t.merged()
		}
		list = append(list, t)
	}
	return list
}

// setting returns what the driver chose for a preset.
func (l *library) setting(preset string) string {
	if len(l.settings) == 0 {
		return "defaults"
	}
	return l.settings[min(slices.Index(l.presets, preset), len(l.settings)-1)]
}

// driver returns the file of a library's driver.
func (l *library) driver(folder string) string {
	kind := ".py"
	if l.node {
		kind = ".mjs"
	}
	return filepath.Join(folder, "run_"+strings.ReplaceAll(l.name, "-", "_")+kind)
}
