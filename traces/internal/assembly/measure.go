package assembly

import (
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// Measure sets in s.Quality how many tokens are known: prefixes and growth, and
// the part of these that no line shows. The last reply of a thread has not been
// sent back and is not counted.
func Measure(s *traces.Session) {
	s.Quality.Calls = s.NumCalls()
	for i := range s.Threads {
		t := &s.Threads[i]
		count(s, t.Prefix)
		for r := range t.Rounds {
			count(s, t.Rounds[r].Input)
			if r+1 < len(t.Rounds) {
				count(s, t.Rounds[r].Reply)
			}
		}
	}
}

func count(s *traces.Session, span traces.Span) {
	q := &s.Quality
	for i := span.From; i < span.To; i++ {
		b := &s.Blocks[i]
		q.InputTokens += int64(b.Tokens)
		switch b.Kind {
		case prompt.KindTools, prompt.KindSystem, prompt.KindReminder:
			q.PrefixTokens += int64(b.Tokens)
		case prompt.KindUnseen:
			q.UnseenTokens += int64(b.Tokens)
		}
	}
}
