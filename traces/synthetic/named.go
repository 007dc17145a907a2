package synthetic

import (
	"slices"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
)

// named are the profiles of the samples, in their order.
var named = [...]struct {
	name   string
	stress string
	make   func() Profile
}{
	{"short-fix", "a few prompts, far below any threshold, 5m lifetime", shortFix},
	{"long-refactor", "two automatic compactions and pauses longer than five minutes", longRefactor},
	{"exploration", "large searches and reads, an older client that compacts at 155k and logs no final outputs", exploration},
	{"fan-out", "sub-agents in files of their own beside a small main thread", fanOut},
	{"overnight", "long autonomous turns and pauses longer than an hour on the 1h lifetime", overnight},
}

// Names lists the named profiles.
func Names() []string {
	var names []string
	for _, n := range named {
		names = append(names, n.name)
	}
	return names
}

// Named returns a profile by name and what it stresses; ok is false for an
// unknown name.
func Named(name string) (p Profile, stress string, ok bool) {
	i := slices.Index(Names(), name)
	if i < 0 {
		return Profile{}, "", false
	}
	p = named[i].make()
	p.Name = name
	return p, named[i].stress, true
}

// common holds what the named profiles share: sizes, mix and times near the
// recorded ones (medians and spread of the tools, shares of thinking and text),
// with results somewhat larger, so that few calls make a long session.
func common() Profile {
	return Profile{
		Version:       "2.1.42",
		Model:         "claude-opus-4-6",
		Project:       "/home/dev/ledger",
		Branch:        "main",
		Start:         time.Date(2026, time.February, 16, 9, 0, 0, 0, time.UTC),
		Prompts:       4,
		Rounds:        LogNormal{Median: 7, Sigma: 0.6, Min: 2, Max: 30},
		Prompt:        LogNormal{Median: 60, Sigma: 1, Min: 8, Max: 1500},
		Text:          LogNormal{Median: 40, Sigma: 0.9, Min: 6, Max: 900},
		Thinking:      LogNormal{Median: 70, Sigma: 1.1, Min: 10, Max: 2500},
		TextShare:     0.45,
		ThinkingShare: 0.6,
		Tools:         mixOf(3, 3, 2, 1),
		Parallel:      0.15,
		Files:         30,
		FileSize:      LogNormal{Median: 2000, Sigma: 0.8, Min: 150, Max: 15000},
		Reread:        0.25,
		Think:         LogNormal{Median: 50, Sigma: 0.8, Min: 4, Max: 280},
		FirstToken:    LogNormal{Median: 2.2, Sigma: 0.4, Min: 0.6, Max: 15},
		Speed:         LogNormal{Median: 60, Sigma: 0.25, Min: 20, Max: 150},
		Static:        20_000,
		Reminders:     9_000,
		WarmStart:     0.64,
		WarmExpiry:    0.12,
		Summary:       LogNormal{Median: 3300, Sigma: 0.35, Min: 1200, Max: 8000},
		CompactTime:   LogNormal{Median: 82, Sigma: 0.3, Min: 30, Max: 240},
		RestoreFiles:  5,
		RestoreTokens: 5000,
	}
}

// mixOf returns the everyday tools with weights for reading, commands, edits
// and searches.
func mixOf(read, bash, edit, search float64) []Tool {
	short := LogNormal{Median: 10, Sigma: 0.3, Min: 8, Max: 40}
	return []Tool{
		{Name: toolRead, Weight: read, Time: LogNormal{Median: 0.05, Sigma: 0.5, Max: 2}, Errors: 0.01},
		{Name: toolBash, Weight: bash, Input: LogNormal{Median: 40, Sigma: 0.6, Min: 30, Max: 600},
			Result: LogNormal{Median: 180, Sigma: 1.6, Min: 2, Max: 9500}, Time: LogNormal{Median: 3, Sigma: 1.3, Min: 0.05, Max: 200}, Errors: 0.06},
		{Name: toolEdit, Weight: edit, Input: LogNormal{Median: 220, Sigma: 0.9, Min: 50, Max: 4000},
			Result: LogNormal{Median: 60, Sigma: 0.7, Min: 35, Max: 600}, Time: LogNormal{Median: 0.1, Sigma: 0.5, Max: 2}, Errors: 0.02},
		{Name: toolWrite, Weight: edit / 10, Input: LogNormal{Median: 900, Sigma: 0.7, Min: 80, Max: 6000},
			Result: LogNormal{Median: 28}, Time: LogNormal{Median: 0.1, Sigma: 0.5, Max: 2}},
		{Name: toolGrep, Weight: search, Input: LogNormal{Median: 26, Sigma: 0.2, Min: 20, Max: 60},
			Result: LogNormal{Median: 400, Sigma: 1.4, Min: 5, Max: 6600}, Time: LogNormal{Median: 0.2, Sigma: 0.6, Max: 10}},
		{Name: toolGlob, Weight: search / 5, Input: short,
			Result: LogNormal{Median: 90, Sigma: 1.2, Min: 6, Max: 3000}, Time: LogNormal{Median: 0.2, Sigma: 0.6, Max: 10}},
	}
}

func shortFix() Profile {
	p := common()
	p.Version = "2.1.62"
	p.Project = "/home/dev/parcel"
	p.Start = time.Date(2026, time.March, 12, 14, 5, 0, 0, time.UTC)
	p.Prompts = 4
	p.FileSize.Median = 1200
	p.Hooks = true
	return p
}

func longRefactor() Profile {
	p := common()
	p.Prompts = 17
	p.Rounds = LogNormal{Median: 9, Sigma: 0.5, Min: 3, Max: 26}
	p.Pauses = []Pause{{Share: 0.3, Length: LogNormal{Median: 800, Sigma: 0.5, Min: 330, Max: 3000}}}
	p.FileSize = LogNormal{Median: 2800, Sigma: 0.7, Min: 200, Max: 15000}
	p.Files = 45
	return p
}

func exploration() Profile {
	p := common()
	p.Version = "2.1.17"
	p.Model = "claude-opus-4-5-20251101"
	p.Project = "/home/dev/harbor"
	p.Start = time.Date(2026, time.January, 28, 10, 30, 0, 0, time.UTC)
	p.Prompts = 9
	p.Rounds = LogNormal{Median: 8, Sigma: 0.5, Min: 3, Max: 20}
	p.Tools = mixOf(3, 1, 0.2, 4)
	for i := range p.Tools {
		if p.Tools[i].Name == toolGrep {
			p.Tools[i].Result = LogNormal{Median: 3200, Sigma: 0.7, Min: 40, Max: 6600}
		}
	}
	p.Tools = append(p.Tools, Tool{Name: toolTask, Weight: 0.15, Input: LogNormal{Median: 220, Sigma: 0.4, Min: 80, Max: 600}})
	p.Agent = explorer("claude-haiku-4-5-20251001")
	p.Pauses = []Pause{{Share: 0.2, Length: LogNormal{Median: 700, Sigma: 0.4, Min: 330, Max: 2000}}}
	p.Files = 120
	p.Reread = 0.1
	return p
}

func fanOut() Profile {
	p := common()
	p.Version = "2.1.49"
	p.Project = "/home/dev/beacon"
	p.Start = time.Date(2026, time.February, 23, 16, 0, 0, 0, time.UTC)
	p.TTL = prompt.TTL1h
	p.Prompts = 3
	p.Rounds = LogNormal{Median: 7, Sigma: 0.3, Min: 4, Max: 14}
	p.Tools = append(mixOf(2, 1, 1, 1), Tool{Name: toolTask, Weight: 2.5, Input: LogNormal{Median: 300, Sigma: 0.4, Min: 100, Max: 900}})
	p.Parallel = 0.35
	p.Agent = explorer("claude-sonnet-4-6")
	p.Agent.OwnFiles = true
	return p
}

// explorer is a sub-agent that reads and searches; its first context is near
// the recorded median of 26k.
func explorer(model string) Agent {
	return Agent{
		Type:      "Explore",
		Model:     model,
		Static:    11_000,
		Reminders: 9_000,
		Rounds:    LogNormal{Median: 8, Sigma: 0.4, Min: 3, Max: 16},
		Report:    LogNormal{Median: 1300, Sigma: 0.5, Min: 300, Max: 4000},
		Tools:     mixOf(3, 1, 0, 2),
	}
}

func overnight() Profile {
	p := common()
	p.Version = "2.1.37"
	p.Project = "/home/dev/meadow"
	p.Start = time.Date(2026, time.February, 10, 18, 20, 0, 0, time.UTC)
	p.TTL = prompt.TTL1h
	p.Prompts = 9
	p.Rounds = LogNormal{Median: 15, Sigma: 0.4, Min: 6, Max: 40}
	p.Pauses = []Pause{
		{Share: 0.35, Length: LogNormal{Median: 9000, Sigma: 0.7, Min: 4300, Max: 40_000}},
		{Share: 0.25, Length: LogNormal{Median: 1200, Sigma: 0.4, Min: 400, Max: 3000}},
	}
	p.FileSize.Median = 2400
	p.Hooks = true
	return p
}
