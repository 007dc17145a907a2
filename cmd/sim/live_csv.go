package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/internal/live"
)

// writeSummaries writes a line for each live call of a report.
func writeSummaries(w io.Writer, r *live.Report) error {
	out := csv.NewWriter(w)
	lines := [][]string{{
		"cell", "session", "thread", "round", "number", "source", "way", "model", "replayed", "failed", "attempts", "seconds",
		"uncached_tokens", "read_tokens", "write_tokens", "output_tokens",
		"uncached_tokens_predicted", "read_tokens_predicted", "write_tokens_predicted", "output_tokens_predicted",
		"summary_tokens", "summary_bytes", "sections", "entities", "entities_kept", "entities_kept_by_kind", "drift",
		"shared", "thinking", "thinking_tokens", "effort", "betas", "edits", "cleared_tool_uses", "cleared_tokens",
	}}
	for i := range r.Calls {
		lines = append(lines, summaryLine(&r.Calls[i]))
	}
	if err := out.WriteAll(lines); err != nil {
		return fmt.Errorf("write summaries: %w", err)
	}
	return nil
}

func summaryLine(c *live.Call) []string {
	n := func(v int64) string { return strconv.FormatInt(v, 10) }
	all, kept := 0, 0
	for _, s := range c.Kinds {
		all, kept = all+s.All, kept+s.Kept
	}
	line := []string{
		c.Cell, c.Session, n(int64(c.Thread)), n(int64(c.Round)), n(int64(c.Number)), c.Source, c.Way, c.Model,
		strconv.FormatBool(c.Replayed), c.Failed, n(int64(c.Attempts)), strconv.FormatFloat(c.Seconds, 'f', 3, 64),
	}
	for _, u := range []*struct{ uncached, read, write, output int64 }{
		{c.Usage.Uncached, c.Usage.Read, c.Usage.Writes(), c.Usage.Output},
		{c.Predicted.Uncached, c.Predicted.Read, c.Predicted.Writes(), c.Predicted.Output},
	} {
		line = append(line, n(u.uncached), n(u.read), n(u.write), n(u.output))
	}
	sections := ""
	for i, s := range c.Sections {
		sections += separated(i, fmt.Sprintf("%s=%d", s.Title, s.Bytes))
	}
	return append(line, n(int64(c.Tokens)), n(int64(c.Bytes)), sections, strconv.Itoa(all), strconv.Itoa(kept), shares(c.Kinds), shares(c.Drift),
		strconv.FormatBool(c.Shared), c.Thinking, n(c.Thought), c.Effort, strings.Join(c.Betas, ";"), strings.Join(c.Edits, ";"),
		n(c.Cleared.ToolUses), n(c.Cleared.Input))
}

// shares writes shares as KIND=KEPT/ALL, or KEPT/ALL, with semicolons between
// them.
func shares(list []live.Share) string {
	text := ""
	for i, s := range list {
		one := fmt.Sprintf("%d/%d", s.Kept, s.All)
		if s.Kind != "" {
			one = s.Kind + "=" + one
		}
		text += separated(i, one)
	}
	return text
}

func separated(i int, text string) string {
	if i == 0 {
		return text
	}
	return ";" + text
}
