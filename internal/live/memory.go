package live

import (
	"sync"

	"github.com/compactsim/compactsim/internal/live/cassette"
	"github.com/compactsim/compactsim/sim/prompt"
)

// memory holds the summaries of a run by their digests, for the calls that send
// them again. The zero value is empty.
type memory struct{ texts sync.Map }

// written is a summary as a model wrote it.
type written struct {
	text     string
	analysis string // what stood ahead of it, which most clients throw away
	// words and thoughts are text and analysis as the model wrote them, where
	// filler stands for these and the call was made in this run.
	words, thoughts string
	tokens          int32 // of text, in the server's count
	output          int32 // of both
	lost            bool  // filler stands for the text, as a replay has it
	entities        []cassette.Entity
	from            prompt.Digest // of the summary it was made from, zero for none
}

// sent returns summary and analysis as later calls send them.
func (w *written) sent() (text, analysis string) {
	if w.words != "" {
		return w.words, w.thoughts
	}
	return w.text, w.analysis
}

// usualHeader is what the client's own words around a summary weigh, tokens: 30
// to say that the session goes on, 60 for a pointer to the transcript, 45 to ask
// no questions (the defaults of strategies.SummaryText).
const usualHeader = 135

// message returns what a summary message of so many tokens says. A client that
// keeps the analysis makes a message that weighs as much as the whole answer
// and its own words around it: of the two the nearer is taken.
func (w *written) message(tokens int32) string {
	text, analysis := w.sent()
	without, with := tokens-w.tokens-usualHeader, tokens-w.output-usualHeader
	if analysis == "" || max(without, -without) <= max(with, -with) {
		return text
	}
	return "Analysis:\n" + analysis + "\n\nSummary:\n" + text
}

// keep stores the summary that a call gave and returns its digest: equal texts
// of two calls are two summaries, each with what it was made from.
func (m *memory) keep(k cassette.Key, w written) prompt.Digest {
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
