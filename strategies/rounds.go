package strategies

import "github.com/compactsim/compactsim/sim/prompt"

// Body returns the position of the first entry behind what every request of
// the thread starts with: tools, system prompt and the client's reminders.
func Body(c *prompt.Context) int {
	for i := range c.Len() {
		switch c.At(i).Kind {
		case prompt.KindTools, prompt.KindSystem, prompt.KindReminder:
		default:
			return i
		}
	}
	return c.Len()
}

// nextRound returns the position of the first entry behind the API round that
// contains position i: the response and all results of its tools. The entries
// from there on begin with a response, so cutting there parts no pair.
func nextRound(c *prompt.Context, i int) int {
	n := c.Len()
	for i < n && !c.At(i).Kind.Assistant() {
		i++
	}
	for i < n && c.At(i).Kind.Assistant() {
		i++
	}
	for i < n && !c.At(i).Kind.Assistant() {
		i++
	}
	return i
}

// countRounds returns the API rounds among the entries [i, to).
func countRounds(c *prompt.Context, i, to int) int {
	n := 0
	for i < to {
		i = nextRound(c, i)
		n++
	}
	return n
}

// tokensBetween returns the tokens of the entries [from, to).
func tokensBetween(c *prompt.Context, from, to int) int64 {
	var t int64
	for i := from; i < to; i++ {
		t += int64(c.At(i).Tokens)
	}
	return t
}

// holdsSummary reports whether any of the entries [from, to) stands for
// compacted messages.
func holdsSummary(c *prompt.Context, from, to int) bool {
	for i := from; i < to; i++ {
		if c.At(i).Kind == prompt.KindSummary {
			return true
		}
	}
	return false
}
