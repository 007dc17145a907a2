package live

import (
	"sync"

	"github.com/compactsim/compactsim/internal/live/cassette"
)

// Shared is what the summarisers of a run have in common, beside the calls that
// are stored. The zero value is empty and ready to use; it must not be copied.
type Shared struct {
	words     sync.Map // spoken by key of call
	estimated sync.Map // keys of calls that a dry run has counted
}

// spoken are the words of an answer, for later calls: what is stored of it may
// be filler.
type spoken struct{ text, analysis string }

func (s *Shared) say(k cassette.Key, r *reading) { s.words.Store(k, spoken{r.text, r.analysis}) }

func (s *Shared) said(k cassette.Key) spoken {
	v, _ := s.words.Load(k)
	w, _ := v.(spoken)
	return w
}

// first reports whether a call is estimated for the first time.
func (s *Shared) first(k cassette.Key) bool {
	_, again := s.estimated.LoadOrStore(k, true)
	return !again
}
