package live

import (
	"slices"
	"strings"
	"sync"

	"github.com/compactsim/compactsim/sim/prompt"
)

// memory holds the summaries of a run by digest, for calls that send them again. The zero value is empty.
type memory struct{ texts sync.Map }

// written is a summary as a model wrote it.
type written struct {
	text     string
	analysis string // what preceded the summary; most clients discard it
	// words and thoughts are text and analysis as the model wrote them, where
	// filler replaces these and the call was made in this run.
	words, thoughts string
	tokens          int32 // of text, in the server's count
	output          int32 // of both
	lost            bool  // filler replaces the text, as in a replay
}

// usualHeader is the size of the client's own words around a summary, tokens: 30 to say that the session continues,
// 60 for a pointer to the transcript, 45 to ask no questions (strategies.SummaryText).
const usualHeader = 135

// message returns the text of a summary message of so many tokens, with the analysis if that size is nearer.
func (w *written) message(tokens int32) string {
	text, analysis := w.text, w.analysis
	without, with := tokens-w.tokens-usualHeader, tokens-w.output-usualHeader
	if analysis == "" || max(without, -without) <= max(with, -with) {
		return text
	}
	return "Analysis:\n" + analysis + "\n\nSummary:\n" + text
}

// keep stores the summary of a call and returns its digest: equal texts of two calls are two summaries.
func (m *memory) keep(k Key, w written) prompt.Digest {
	d := prompt.DigestString(w.text).Extend(prompt.DigestBytes(k[:]))
	m.texts.Store(d, w)
	return d
}

// find returns the summary with a digest.
func (m *memory) find(d prompt.Digest) (written, bool) {
	v, ok := m.texts.Load(d)
	if !ok {
		return written{}, false
	}
	w, ok := v.(written)
	return w, ok
}

// Words returns the text of a summary from a call of the run, "" if it is unknown or withheld: what agents do behind a
// compaction depends on it, and a replay must do the same.
func (s *Summarizer) Words(summary *prompt.Block) string {
	w, ok := s.memory.find(summary.Digest)
	if !ok || w.lost {
		return ""
	}
	return w.message(summary.Tokens)
}

// The limits of a session memory, tokens (002:218).
const (
	sectionTokens = 2_000
	memoryTokens  = 12_000
)

// memoryHeader begins the line of a section's title.
const memoryHeader = "# "

// overflow marks where a section was cut.
const overflow = "\n[... the section was longer and has been cut]\n"

// keepLimits cuts each section of a memory to its limit, and all to a common size if
// together they exceed theirs. Headers and descriptions stay. It returns the number of
// sections cut. A token is four bytes here, as in the client.
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

// memoryPart is a section of a memory: its header with the line in italics, and its body.
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

// waterLevel returns the largest size to which sizes can be cut so that they add up to at most total.
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
