package reports

import (
	"bytes"
	"fmt"

	"github.com/compactsim/compactsim/sim/results"
)

// Logged is what the recording says of a session that is replayed.
type Logged struct {
	USD float64 // of all calls, logged usage × price
	// Reads are the tokens that each call of the explanation read as logged, in its
	// order; −1 for one that no log shows. Empty unless the strategy is the
	// recording's: another sends other requests.
	Reads []int64
}

// read returns what a call read as logged, −1 where that is not known.
func (l *Logged) read(c *results.ExplainedCall) int64 {
	if i := c.Number - 1; i >= 0 && i < len(l.Reads) {
		return l.Reads[i]
	}
	return -1
}

// differs reports whether a call's logged read is so far from the simulated one
// that the call's story is another: a tenth of its context, an assumption.
func (l *Logged) differs(c *results.ExplainedCall) bool {
	n := l.read(c)
	return n >= 0 && max(n-c.Read, c.Read-n)*10 > c.Context
}

// explainTrust says what of an explanation is simulated, and how far its total
// is from the bill.
func explainTrust(b *bytes.Buffer, e *results.Explanation, l *Logged) {
	total, hidden, apart := 0.0, 0.0, 0
	for i := range e.Calls {
		c := &e.Calls[i]
		total += c.CostUSD
		if len(l.Reads) > 0 && l.read(c) < 0 {
			hidden += c.CostUSD
		}
		if l.differs(c) {
			apart++
		}
	}
	text := fmt.Sprintf("reads, misses and costs are simulated: %s in all, billed %s", usd(total, 2), usd(l.USD, 2))
	if hidden > 0 {
		text += fmt.Sprintf("; %s of it for calls no log shows", usd(hidden, 2))
	}
	if len(l.Reads) > 0 && l.USD > 0 {
		text += "; model error " + signedPercent((total-hidden)/l.USD-1)
	}
	if apart > 0 {
		text += fmt.Sprintf("; %s read another amount as logged, by more than a tenth of the context", CountOf(apart, "call"))
	}
	for _, line := range Wrap(text, TextWidth) {
		fmt.Fprintln(b, line)
	}
	b.WriteByte('\n')
}

// loggedText says what a call read as logged where that is another story.
func (l *Logged) loggedText(c *results.ExplainedCall) string {
	if !l.differs(c) {
		return ""
	}
	return "logged: read " + Grouped(float64(l.read(c)), 0)
}
