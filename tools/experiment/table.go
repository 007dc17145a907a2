package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/compactsim/compactsim/scenarios/tried"
	"github.com/compactsim/compactsim/traces/facts"
)

// eachPair returns a Markdown table with a line for each pair.
func eachPair(list []*outcome) string {
	var b strings.Builder
	b.WriteString("| pair | kind | real $ | open $ | closed $ | error open | closed | by rule | saving real | open | closed | compactions real / open | first call real / open | size behind real / open | fetch rounds real − recorded / closed / by rule |\n|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|---|---|---|\n")
	for _, o := range list {
		rule, rounds := "", ""
		if o.rule != nil {
			rule = fmt.Sprintf("%+.1f %%", 100*o.misses(o.rule))
			rounds = fmt.Sprintf("%+d / %.0f / %.0f", len(o.real.Rounds)-len(o.looks), o.closed.looks, o.rule.looks)
		}
		savings := "| | |"
		if o.base != nil {
			real, open := o.saving(o.open, o.base)
			_, closed := o.saving(o.closed, o.baseClosed)
			savings = fmt.Sprintf("%+.1f %% | %+.1f %% | %+.1f %%|", 100*real, 100*open, 100*closed)
		}
		fmt.Fprintf(&b, "| %s | %s | %.3f | %.3f | %.3f | %+.1f %% | %+.1f %% | %s | %s %d / %d | %s / %s | %s / %s | %s |\n", o.name(), o.kind(), o.usd, o.open.usd, o.closed.usd,
			100*o.misses(o.open), 100*o.misses(o.closed), rule, savings, len(o.real.Compactions), len(o.open.places),
			first(o.real.Compactions), first(o.open.places), size(o.real.Compactions), size(o.open.places), rounds)
	}
	return b.String()
}

// groups returns the Markdown of groups.
func groups(lines []*line) string {
	var b strings.Builder
	b.WriteString("| predicted against measured | pairs | cost, open loop (worst) | closed loop (worst) | saving, open / closed, points | signs, open / closed | first compaction | size behind compactions (without sign) |\n")
	b.WriteString("|---|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, l := range lines {
		saving, signs, behind := "–", "–", "–"
		if l.saved > 0 {
			saving = fmt.Sprintf("%.1f / %.1f", 100*l.saving[0], 100*l.saving[1])
		}
		if l.changes > 0 {
			signs = fmt.Sprintf("%d / %d of %d", l.signs[0], l.signs[1], l.changes)
		}
		if l.sized > 0 {
			behind = fmt.Sprintf("%+.0f %% (%.0f)", 100*l.behind, 100*l.sizes)
		}
		fmt.Fprintf(&b, "| %s | %d | %.1f %% (%.1f) | %.1f %% (%.1f) | %s | %s | %d of %d | %s |\n", l.group, l.pairs, 100*l.cost[0], 100*l.worst[0],
			100*l.cost[1], 100*l.worst[1], saving, signs, l.first, l.pairs, behind)
	}
	b.WriteString("\n| the agent that reads again | pairs | cost by the built-in profile, closed | by its rule (worst) | rounds of fetches more than recorded, real / built-in / by rule | by rule at a step that was real |\n|---|---:|---:|---:|---:|---:|\n")
	for _, l := range lines {
		if l.ruled > 0 {
			placed := "–"
			if l.placed > 0 {
				placed = fmt.Sprintf("%d of %d", l.atStep, l.placed)
			}
			fmt.Fprintf(&b, "| %s | %d | %.1f %% | %.1f %% (%.1f) | %.0f / %.0f / %.0f | %s |\n", strings.TrimPrefix(l.group, "reads again, "), l.ruled, 100*l.cost[1], 100*l.rule, 100*l.ruleWorst, l.rounds, l.built, l.foretold, placed)
		}
	}
	b.WriteString("\n| no summary is recorded | pairs | cost, open loop (worst), drawn | told | closed loop (worst), drawn | told | size behind compactions, drawn / told |\n|---|---:|---:|---:|---:|---:|---:|\n")
	for _, l := range lines {
		if l.drawn[0].pairs == 0 {
			continue
		}
		var cells [2][3]string
		for i := range l.drawn {
			open, closed, size := l.drawn[i].means()
			cells[i] = [...]string{fmt.Sprintf("%.1f %% (%.1f)", 100*open, 100*l.drawn[i].worst[0]), fmt.Sprintf("%.1f %% (%.1f)", 100*closed, 100*l.drawn[i].worst[1]),
				fmt.Sprintf("%.0f %%", 100*size)}
		}
		fmt.Fprintf(&b, "| %s | %d | %s | %s | %s | %s | %s / %s |\n", l.group, l.drawn[0].pairs, cells[0][0], cells[1][0], cells[0][1], cells[1][1], cells[0][2], cells[1][2])
	}
	return b.String()
}

// The lines of a document between which the tables stand.
const (
	begin = "<!-- experiment -->\n"
	end   = "<!-- end of experiment -->\n"
)

// document puts the tables into a document.
func document(name string, lines []*line) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no place for the experiment: %s…%s", name, strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	if err := os.WriteFile(name, []byte(before+begin+"\n"+groups(lines)+"\n"+end+after), 0o644); err != nil {
		return err
	}
	return writeTried(filepath.Join(filepath.Dir(name), "..", "scenarios", "tried", "tried.json"), lines)
}

// writeTried writes what sim run says of predictions under another setting: the lines of B from A by agent.
func writeTried(name string, lines []*line) error {
	var list []tried.Setting
	for _, l := range lines {
		client, kind, _ := strings.Cut(l.group, ", ")
		agent := map[string]string{"Claude Code": facts.ClaudeCode, "Codex": facts.Codex, "OpenCode": facts.OpenCode, "pi": facts.Pi, "Qwen Code": facts.Qwen,
			"Kimi Code": facts.Kimi, "GitHub Copilot CLI": facts.Copilot}[client]
		if kind != "B from A" || agent == "" {
			continue
		}
		share := func(v float64) float64 { // as exact as the page has it
			return math.Round(1e3*v) / 1e3
		}
		list = append(list, tried.Setting{Agent: agent, Version: l.version, Pairs: l.pairs, Open: [2]float64{share(l.cost[0]), share(l.worst[0])},
			Closed: [2]float64{share(l.cost[1]), share(l.worst[1])}})
	}
	text, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(text, '\n'), 0o644)
}

// first returns the call of the first compaction.
func first(l []compaction) string {
	if len(l) == 0 {
		return "–"
	}
	return fmt.Sprint(l[0].Call)
}

// size returns the mean size behind compactions.
func size(l []compaction) string {
	if len(l) == 0 {
		return "–"
	}
	n := 0
	for _, c := range l {
		n += c.After
	}
	return fmt.Sprint(n / len(l))
}
