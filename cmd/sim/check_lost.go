package main

import "github.com/compactsim/compactsim/traces"

// lost says what of the recordings is not in the figures: lines that could not be
// read, files that could not be read to their end, sessions without a call.
// Problems with single calls that were read are none. n counts all; at most the
// first that reading keeps are told.
func lost(c *traces.Corpus, hide hiding) (told []string, n int) {
	n = c.NumProblems
	for _, p := range c.Problems {
		told = append(told, hide.problem(p))
	}
	for _, s := range c.Sessions {
		n += s.Quality.BadLines - s.Quality.Problems
		bad := s.Quality.BadLines // told ahead of problems with calls
		for _, p := range s.Problems {
			switch {
			case p.Line == 0: // the file, as opposed to a line of it
				n++
			case bad > 0:
				bad--
			default:
				continue
			}
			told = append(told, hide.problem(p))
		}
	}
	return told, n
}
