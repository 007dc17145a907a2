package live

import (
	"sync"

	"github.com/compactsim/compactsim/sim/prompt"
)

// memory holds the summaries of a run by digest, for calls that send them again. The zero value is empty.
type memory struct{ texts sync.Map }

// written is a summary as a model wrote it.
type written struct {
	text     string
	analysis string // what preceded the summary; most clients discard it
	tokens   int32  // of text, in the server's count
	output   int32  // of both
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
	d := prompt.DigestString(w.text).Extend(prompt.DigestString(string(k)))
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

// Words returns the text of a summary from a call of the run, "" if it is unknown: what agents do behind a
// compaction depends on it.
func (s *Summarizer) Words(summary *prompt.Block) string {
	w, ok := s.memory.find(summary.Digest)
	if !ok {
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
