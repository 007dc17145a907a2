package client

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
)

// Counter counts the blocks of a session as its client does.
type Counter struct {
	Counting
	Tools []string // names of tools by Block.Tool; nil for a client that is not known to count them
}

// Estimate returns the client's estimate for one block, tokens and without a pad.
func (c *Counter) Estimate(b *prompt.Block) int64 { return c.Block(b, c.Tools) }

// Tally is a client's count of a conversation, tokens: the usage of the last response, and the estimate of what came
// behind it. Bind must have been called before any other method.
type Tally struct {
	by      *Counter
	counted int64
	behind  int64
	thought int64 // reasoning since the last compaction
	old     int64 // of thought, what comes before the last prompt
}

// Bind says how the client counts.
func (t *Tally) Bind(by *Counter) { t.by = by }

// Tokens returns the count with a model.
func (t *Tally) Tokens(model string) int64 {
	if t.by.Trailing {
		return t.counted + t.by.Pad(t.behind, model)
	}
	return t.counted
}

// Add counts a block behind the last response.
func (t *Tally) Add(b *prompt.Block) { t.behind += t.by.Estimate(b) }

// AddEstimate counts blocks behind the last response by their estimate.
func (t *Tally) AddEstimate(tokens int64) { t.behind += tokens }

// Respond takes the count from the usage of a response: effective is the request less what was deleted from it, logged
// the output as logged.
func (t *Tally) Respond(u prompt.Usage, effective, logged int64) {
	t.counted = t.by.Response(u, effective, logged) + int64(t.by.Reasoning*float64(t.old))
	t.behind = 0
}

// Think notes the reasoning of a reply. Reasoning of earlier calls is old if a person has written since.
func (t *Tally) Think(input, reply []prompt.Block) {
	if t.by.Reasoning <= 0 {
		return
	}
	if slices.ContainsFunc(input, func(b prompt.Block) bool { return b.Kind == prompt.KindPrompt }) {
		t.old = t.thought
	}
	for i := range reply {
		if reply[i].Kind == prompt.KindThinking {
			t.thought += int64(reply[i].Tokens)
		}
	}
}

// Cleared takes tokens off that were cleared from what the last response had counted.
func (t *Tally) Cleared(tokens int64) { t.counted = max(0, t.counted-tokens) }

// Stored takes tokens off that were put elsewhere before a response counted them.
func (t *Tally) Stored(tokens int64) { t.behind = max(0, t.behind-tokens) }

// Recount sets the count after a compaction to the estimate of every message, as
// there is no response to take the usage from.
func (t *Tally) Recount(c *prompt.Context) {
	*t = Tally{by: t.by}
	for i := c.Messages(); i < c.Len(); i++ {
		e, b := c.At(i), c.BlockAt(i)
		n := t.by.Estimate(b)
		if e.Form != prompt.FormVerbatim && b.Tokens > 0 {
			n = n * int64(e.Tokens) / int64(b.Tokens) // it is no longer whole
		}
		t.behind += n
	}
}
