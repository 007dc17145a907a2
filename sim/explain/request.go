package explain

import (
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/results/studies"
)

// barWidth is the number of characters for the whole request.
const barWidth = 40

// shades distinguish cache classes without colour.
var shades = map[string]string{"read": "░", "write_5m": "▓", "write_1h": "█", "uncached": "·"}

// request draws the request, one segment per line, in proportion to its size.
func request(c *studies.ExplainedCall) *document.Table {
	t := &document.Table{Columns: slices.Concat(document.Left("SEGMENT"), document.Right("", "BLOCKS", "TOKENS"),
		document.Left("WHERE"))}
	from := int64(0)
	for _, s := range folded(c) {
		name := s.Kind
		if s.Form != "" {
			name += " (" + s.Form + ")"
		}
		if s.Blocks == 0 {
			name += " (rest)"
		}
		left, right := characters(from, c.Context), characters(from+s.Tokens, c.Context)
		from += s.Tokens
		bar := strings.Repeat(" ", left) + strings.Repeat(shades[s.Class], max(1, right-left))
		if s.Marker {
			bar += " ◆"
		}
		t.Rows = append(t.Rows, []any{name, s.Blocks, s.Tokens, bar})
	}
	return t
}

// folded joins the small segments of a conversation with the same cache class;
// notable ones stay separate.
func folded(c *studies.ExplainedCall) []studies.Segment {
	var list []studies.Segment
	open := false // the last of list is a run of small segments
	for _, s := range c.Segments {
		small := standsBack(&s, c.Context)
		if n := len(list); open && small && list[n-1].Class == s.Class {
			list[n-1].Blocks += s.Blocks
			list[n-1].Tokens += s.Tokens
			list[n-1].Marker = s.Marker
			if list[n-1].Form != s.Form {
				list[n-1].Form = "partly cleared"
			}
			list[n-1].Kind = "conversation"
		} else {
			list = append(list, s)
		}
		open = small && !s.Marker
	}
	return list
}

// standsBack reports whether a segment is an ordinary part of the conversation
// and less than a twentieth of the request.
func standsBack(s *studies.Segment, total int64) bool {
	switch s.Kind {
	case "prompt", "text", "thinking", "tool_use", "tool_result", "unseen", "image", "document":
		return (s.Form == "" || s.Form == "cleared") && s.Tokens*20 < total
	}
	return false
}

// characters returns the number of characters for n of total tokens.
func characters(n, total int64) int {
	if total <= 0 {
		return 0
	}
	return int(n * barWidth / total)
}
