package reading

import (
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// Measure sums up in s.Quality what is known of the tokens: prefixes and
// growth, and of these what no line shows. The last reply of a thread has not
// been sent back and counts for nothing.
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
