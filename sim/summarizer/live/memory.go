package live

import (
	"sync"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/summarizer/cassette"
)

// memory holds the summaries of a run by their digests, for the calls that send
// them again. The zero value is empty.
type memory struct{ texts sync.Map }

// written is a summary as a model wrote it.
type written struct {
	text     string
	analysis string // what stood ahead of it, which most clients throw away
	output   int32  // tokens of both, in the server's count
	lost     bool   // the words are not kept: filler stands for them
	entities []cassette.Entity
	from     prompt.Digest // of the summary it was made from, zero for none
}

// message returns what a summary message of so many tokens says. A client that
// keeps the analysis makes a message that weighs as much as the whole answer.
func (w *written) message(tokens int32) string {
	if w.analysis == "" || tokens < w.output {
		return w.text
	}
	return "Analysis:\n" + w.analysis + "\n\nSummary:\n" + w.text
}

// keep stores a summary and returns its digest.
func (m *memory) keep(w written) prompt.Digest {
	d := prompt.DigestString(w.text)
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
