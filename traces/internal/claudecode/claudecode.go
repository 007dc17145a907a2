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
	"github.com/compactsim/compactsim/traces/internal/assembly"
)

// Agent is the name of the recorded agent in Session.Agent.
const Agent = traces.AgentClaudeCode

// Describe returns what the rest of the program needs to know about Claude Code.
func Describe() *traces.Agent {
	return &traces.Agent{
		Name: Agent, Title: "Claude Code", ClaudeCode: true, Member: member, Places: places, Read: ReadInputs, Texts: texts,
		Cache:      func(string) traces.Cache { return traces.CacheMarked },
		Settings:   settings(),
		CompactsAt: compactsAt, SummaryShares: summaryShares,
		SummaryModel: summaryModel,
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
func places(h *traces.Home) {
	p := traces.Place{Agent: Agent}
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
func compactsAt(release string, l traces.Limits) int64 {
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
