package live

import (
	"slices"
	"strings"
)

// The limits of a session memory, tokens (002:218).
const (
	sectionTokens = 2_000
	memoryTokens  = 12_000
)

// memoryHeader begins the line of a section's title.
const memoryHeader = "# "

// overflow stands where a section was cut.
const overflow = "\n[... the section was longer and has been cut]\n"

// keepLimits cuts each section of a memory to its limit, and all of them to one
// size where they are together beyond theirs: headers and descriptions stay. It
// returns the number of sections cut. A token is four bytes here, as for the
// client.
func keepLimits(text string) (string, int32) {
	parts := splitSections(text)
	most := sectionTokens * bytesPerToken
	sizes := make([]int, len(parts))
	heads := 0
	for i, p := range parts {
		heads += len(p.head)
		sizes[i] = len(p.body)
	}
	if level := waterLevel(sizes, memoryTokens*bytesPerToken-heads); level < most {
		most = level
	}
	var b strings.Builder
	var n int32
	for _, p := range parts {
		b.WriteString(p.head)
		if len(p.body) <= most {
			b.WriteString(p.body)
			continue
		}
		b.WriteString(cut(p.body, max(0, most-len(overflow))) + overflow)
		n++
	}
	return strings.TrimSpace(b.String()), n
}

// memoryPart is a section of a memory: its header with the line in italics, and
// what is written below.
type memoryPart struct{ head, body string }

// splitSections divides a memory at the lines that begin with "# ".
func splitSections(text string) []memoryPart {
	var parts []memoryPart
	for line := range strings.Lines(text) {
		header := strings.HasPrefix(line, memoryHeader)
		if header || len(parts) == 0 {
			parts = append(parts, memoryPart{})
		}
		p := &parts[len(parts)-1]
		trimmed := strings.TrimSpace(line)
		italics := p.body == "" && p.head != "" && len(trimmed) > 1 && trimmed[0] == '_' && trimmed[len(trimmed)-1] == '_'
		if header || italics {
			p.head += line
		} else {
			p.body += line
		}
	}
	return parts
}

// waterLevel returns the largest size such that sizes cut to it add up to no
// more than total.
func waterLevel(sizes []int, total int) int {
	sorted := slices.Sorted(slices.Values(sizes))
	for i, size := range sorted {
		rest := len(sorted) - i
		if size*rest > total {
			return max(0, total/rest)
		}
		total -= size
	}
	if len(sorted) == 0 {
		return 0
	}
	return sorted[len(sorted)-1]
}
