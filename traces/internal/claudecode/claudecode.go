// Package claudecode reads the transcripts of Claude Code: JSON lines, one per
// content block, in files of their own for sub-agents in some versions and
// inside the parent's file in others.
//
// Reading has three stages. A source (file) is scanned into records, which
// drops all text but keeps its digest and length. The records of a session,
// from whatever files, are split into streams (main conversation, sub-agents),
// ordered into a tree and its threads, and grouped into rounds. The assembly
// does the rest.
package claudecode

import (
	"context"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/parallel"
	"github.com/compactsim/compactsim/internal/kit/version"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/internal/assembly"
)

// Agent is the name of the recorded agent in Session.Agent.
const Agent = facts.ClaudeCode

// Describe returns what the rest of the program needs to know about Claude Code.
func Describe() *facts.Agent {
	return &facts.Agent{
		Name: Agent, Title: "Claude Code", ClaudeCode: true, Member: member, Places: places, Read: ReadInputs, Texts: texts,
		Cache:      func(string) facts.Cache { return facts.CacheMarked },
		Settings:   settings(),
		CompactsAt: compactsAt, SummaryShares: summaryShares,
		SummaryModel: summaryModel, SummaryTokens: 3070, // 14 compactions; the mean of 24 recorded sessions is 2,780 to 3,620 at 95 %
		SummaryOmits: func(release string) bool { return version.AtLeast(release, 2, 1, 153) }, // 2.1.152 does not (2026-11-27)
	}
}

// member reports whether a line has a member that only transcripts have.
func member(_, name string) bool {
	switch name {
	case "sessionId", "uuid", "parentUuid", "leafUuid":
		return true
	}
	return false
}

// places adds the folders of sessions: folders of CLAUDE_CONFIG_DIR if it is set, else the usual
// ones.
func places(h *facts.Home) {
	p := facts.Place{Agent: Agent}
	if dir := h.Getenv("CLAUDE_CONFIG_DIR"); dir != "" {
		h.Add(p, dir, "projects")
		return
	}
	h.Add(p, h.Under(".claude"), "projects")
	h.Add(p, h.XDG("XDG_CONFIG_HOME", ".config"), "claude", "projects")
}

// compactsAt returns the client's threshold: the window less 13,000 for 1.x
// (001:230), and since 2.0 also less the output limit, of which after 2.1.20 at
// most 20,000 count, as recordings of 2.1.25 and later show.
func compactsAt(release string, l facts.Limits) int64 {
	const reserve, outputCap = 13_000, 20_000
	switch {
	case release != "" && !version.AtLeast(release, 2):
		return l.Window - reserve
	case release != "" && !version.AtLeast(release, 2, 1, 21):
		return l.Window - l.MaxOutput - reserve
	}
	return l.Window - min(l.MaxOutput, outputCap) - reserve
}

// summaryShares reports whether a version forks the conversation to summarise it: from 2.1.86 on, as runs of 2.1.85 and 2.1.86 show
// (2026-11-27).
func summaryShares(release, _ string) bool { return version.AtLeast(release, 2, 1, 86) }

// summaryModel returns Sonnet 4 for the last versions of Claude Code 1: 1.0.128 asks it for summaries whatever the model of the
// conversation, 2.0.77 the model itself (runs on loopback, 2026-11-27).
func summaryModel(release string) string {
	if version.AtLeast(release, 1, 0, 128) && release != "" && !version.AtLeast(release, 2) {
		return "claude-sonnet-4-20250514"
	}
	return ""
}

// ReadInputs reads transcripts that were found already; see assembly.Reader.
func ReadInputs(ctx context.Context, opts traces.Options, inputs *traces.Inputs, what string) (*traces.Corpus, error) {
	r := assembly.Reader[*source]{Name: "claudecode", Scan: scan, Sessions: sessions}
	return r.Read(ctx, opts, inputs, what)
}

// sessions makes one session of all its lines in files.
func sessions(opts *traces.Options, files []*source) []*assembly.Session {
	recordings := group(files)
	list, ledgers := make([]*assembly.Session, len(recordings)), make([]*ledger, len(recordings))
	parallel.Each(opts.Workers, len(recordings), func(i int) {
		list[i] = build(opts, recordings[i])
		ledgers[i] = openLedger(recordings[i], list[i])
	})
	reconcile(slices.DeleteFunc(ledgers, func(l *ledger) bool { return l == nil }))
	return list
}

// format describes transcripts to the assembly.
var format = assembly.Format{Agent: Agent, Static: DefaultStatic, Tail: true}

// staticByVersion is the static prefix (tools and system) of main threads whose
// first call read nothing that would show it: what recordings read right after
// compactions and expiry, and on first calls of other sessions. A row applies
// from its version on.
var staticByVersion = [...]struct {
	from   [3]int // version
	tokens int64
}{
	{[3]int{2, 1, 50}, 22_248}, // 2.1.62
	{[3]int{2, 1, 37}, 28_204}, // 2.1.39; 25.0–28.6k in 2.1.37–2.1.49
	{[3]int{2, 1, 29}, 16_496}, // 2.1.29, 16,606 in 2.1.33
	{[3]int{2, 1, 19}, 28_000}, // 2.1.19
	{[3]int{2, 1, 13}, 18_277}, // 2.1.15, 18.6k in 2.1.17
	{[3]int{2, 1, 6}, 23_215},  // 2.1.6, 23.5k in 2.1.12
	{[3]int{2, 1, 0}, 33_155},  // 2.1.1, 33.5k in 2.1.5
	{[3]int{2, 0, 0}, 22_033},  // 2.0.76
	{[3]int{}, 10_215},         // 1.0.17
}

// DefaultStatic returns the tokens of tools and system assumed for a main
// thread of a client version when its first call reads nothing.
func DefaultStatic(release string) int64 {
	for _, row := range staticByVersion {
		if version.AtLeast(release, row.from[:]...) {
			return row.tokens
		}
	}
	return 0
}

// settings are the settings of Claude Code that a simulation follows, each with
// the first version that has it where the provider's documentation or change
// log states one. CLAUDE_CODE_AUTO_COMPACT_WINDOW below 200,000 switches
// automatic compaction off in some versions, so such values are not tried.
func settings() []facts.Setting {
	const file = "~/.claude/settings.json"
	return []facts.Setting{
		{
			Name: "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", Group: facts.GroupThreshold, Where: file,
			Snippet: `{"env": {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "%s"}}`, Does: "compact at %s % of the window",
			Values: []string{"30", "35", "40", "45", "50", "55", "60", "65", "70", "75", "80", "85"},
			Below:  facts.NoRoom, Above: "at a larger share the client's own threshold comes first",
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
