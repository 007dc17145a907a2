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
		presets: []string{"langchain/summarization", "langchain/clear-tools"}},
	{name: "deepagents", packages: []string{"deepagents==0.7.32"}, presets: []string{"deepagents", "deepagents/no-profile"}},
	{name: "langmem", packages: []string{"langmem==0.0.30", "langchain==1.5.2", "langchain-core==1.8.3", "langgraph==1.2.24"}, presets: []string{"langmem"}},
	{name: "openai-agents", packages: []string{"openai-agents==0.24.0"}, presets: []string{"openai-agents/session", "openai-agents/trimmer"}},
	{name: "agent-framework", packages: []string{"agent-framework-core==1.23.0"},
		presets: []string{"microsoft/context-window", "microsoft/summarization"}, unlogged: true},
	{name: "adk", packages: []string{"google-adk==2.13.0"}, presets: []string{"adk"}},
	{name: "strands", packages: []string{"strands-agents==1.62.0"}, presets: []string{"strands/window", "strands/summary"},
		note: "A prompt that takes some 240 requests ends with Python's RecursionError, as the library's loop calls itself; the presets go on."},
	{name: "autogen", packages: []string{"autogen-agentchat==0.7.5"}, presets: []string{"autogen/buffered", "autogen/token-limit"}},
	{name: "agno", packages: []string{"agno==3.1.10", "sqlalchemy==2.1.9", "greenlet==3.5.6", "openai==3.57.0"}, presets: []string{"agno", "agno/default"}},
	{name: "llama-index", packages: []string{"llama-index-core==0.14.25"}, presets: []string{"llama-index"}},
	{name: "haystack", packages: []string{"haystack-ai==3.4.1"}, presets: []string{"haystack/prune", "haystack/window", "haystack/summary"}},
	{name: "smolagents", packages: []string{"smolagents==1.26.0"}, presets: []string{"smolagents"},
		note: "An answer stands in its history twice, as the code that gives it and as what the code gives; a conversation of answers alone costs 6.6 % more than the preset says."},
	{name: "openhands", packages: []string{"openhands-sdk==1.58.2"}, presets: []string{"openhands", "openhands/planning", "openhands/class"}},
	{name: "openhands-0", packages: []string{"openhands-ai==0.62.0"},
		presets: []string{"openhands/0-recent", "openhands/0-amortised", "openhands/0-masking", "openhands/0-window"},
		known: []known{{"openhands/0-recent", "small", "largest prompt +4.4 %",
			"until there are 100 events the library sends system prompt (3,211 tokens) and prompt twice, and the preset is given that system prompt in all requests"}}},
	{name: "crewai", packages: []string{"crewai==1.15.30"}, presets: []string{"crewai"}, tasks: true},
	{name: "mastra", packages: []string{"@mastra/memory@1.31.0", "@mastra/core@1.71.0", "zod@4.6.7"}, node: true, presets: []string{"mastra"},
		note: "Of a server that caches up to any token, and not to the end of a block, recorded bills 9 to 24 % too much for such a log: the observer's " +
			"calls read the older observations of a message that goes on, and the log's messages are read whole."},
	{name: "ai-sdk", packages: []string{"ai@6.0.326"}, node: true, presets: []string{"ai-sdk/prune"}},
	{name: "mini-swe-agent", alone: true, packages: []string{"mini-swe-agent==2.4.6", "pydantic==2.14.4", "jinja2==3.1.6", "pyyaml==6.0.4",
		"requests==2.34.2", "rich==15.0.0", "platformdirs==4.14.8", "python-dotenv==1.2.4", "typer==0.29.2"}, presets: []string{"mini-swe-agent"}, tasks: true},
	{name: "letta", packages: []string{"letta==0.16.8", "asyncpg==0.32.0", "psycopg2-binary==2.9.13", "pgvector==0.5.1"}, presets: []string{"letta"}},
	{name: "pydantic-ai", packages: []string{"pydantic-ai-slim==2.68.0", "anthropic==2.14.0"}, presets: []string{"pydantic-ai"}},
	{name: "semantic-kernel", packages: []string{"semantic-kernel==1.45.0"}, presets: []string{"semantic-kernel"}},
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

// driver returns the file of a library's driver.
func (l *library) driver(folder string) string {
	kind := ".py"
	if l.node {
		kind = ".mjs"
	}
	return filepath.Join(folder, "run_"+strings.ReplaceAll(l.name, "-", "_")+kind)
}
