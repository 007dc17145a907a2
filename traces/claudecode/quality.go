package claudecode

import (
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// measure sums up what is known of the tokens: prefixes and growth, and of
// these what no line shows.
func (e *emitter) measure() {
	for i := range e.s.Threads {
		t := &e.s.Threads[i]
		e.count(t.Prefix)
		for r := range t.Rounds {
			e.count(t.Rounds[r].Input)
			if r+1 < len(t.Rounds) {
				e.count(t.Rounds[r].Reply)
			}
		}
		e.s.Quality.Calls += len(t.Rounds)
	}
}

func (e *emitter) count(s traces.Span) {
	q := &e.s.Quality
	for i := s.From; i < s.To; i++ {
		b := &e.s.Blocks[i]
		q.InputTokens += int64(b.Tokens)
		switch b.Kind {
		case prompt.KindTools, prompt.KindSystem, prompt.KindReminder:
			q.PrefixTokens += int64(b.Tokens)
		case prompt.KindUnseen:
			q.UnseenTokens += int64(b.Tokens)
		}
	}
}
