package strategies

import "github.com/compactsim/compactsim/sim/prompt"

// Body returns the position of the first entry after what every request of
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

// nextRound returns the position of the first entry after the API round that
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

// nextGroup returns the position of the first entry after the group that begins at position i: a message, or a response with all
// results of its tools.
func nextGroup(c *prompt.Context, i int) int {
	response := c.At(i).Kind.Assistant()
	for i++; i < c.Len() && (sameMessage(c, i) || response && c.At(i).Kind == prompt.KindToolResult); i++ {
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

// bytesAt returns the bytes of text that the entry at position i shows. What the transcript
// does not have is no text.
func bytesAt(c *prompt.Context, i int) int64 {
	e, b := c.At(i), c.BlockAt(i)
	switch {
	case e.Kind == prompt.KindUnseen:
		return 0
	case e.Form == prompt.FormVerbatim || b.Tokens <= 0:
		return int64(b.Bytes)
	}
	return int64(b.Bytes) * int64(e.Tokens) / int64(b.Tokens)
}

// holdsSummary reports whether any of the entries [from, to) replaces
// compacted messages.
func holdsSummary(c *prompt.Context, from, to int) bool {
	for i := from; i < to; i++ {
		if c.At(i).Kind == prompt.KindSummary {
			return true
		}
	}
	return false
}

// sameMessage reports whether the entries at positions i−1 and i belong to one message: entries of
// a response do, and so do blocks logged as one message. The first entry, which is a message where
// nothing precedes the messages, begins one.
func sameMessage(c *prompt.Context, i int) bool {
	if i == 0 {
		return false
	}
	a, b := c.At(i-1), c.At(i)
	if a.Kind.Assistant() || b.Kind.Assistant() {
		return a.Kind.Assistant() && b.Kind.Assistant()
	}
	m := c.Block(a.Block).Message
	return m > 0 && m == c.Block(b.Block).Message
}

// startOfMessage returns the position of the first entry of the message that
// holds position i, at least floor.
func startOfMessage(c *prompt.Context, i, floor int) int {
	for i > floor && i < c.Len() && sameMessage(c, i) {
		i--
	}
	return i
}

// skipMessages returns the position behind the first n messages among the entries [from, to).
func skipMessages(c *prompt.Context, from, to, n int) int { return countLogged.skip(c, from, to, n) }

// skip returns the position behind the first n messages among the entries [from, to).
func (m counting) skip(c *prompt.Context, from, to, n int) int {
	i := from
	for ; i < to; i++ {
		if i == from || !m.continues(c, i) {
			if n--; n < 0 {
				break
			}
		}
	}
	return i
}

// holdsCalls reports whether the message that begins at position i is a response with calls, or a result.
func holdsCalls(c *prompt.Context, i int) bool {
	for j := i; j < c.Len() && (j == i || sameMessage(c, j)); j++ {
		if k := c.At(j).Kind; k == prompt.KindToolUse || k == prompt.KindToolResult {
			return true
		}
	}
	return false
}

// counting says what a client counts as one message where a response has several calls.
type counting uint8

// What one message is.
const (
	countLogged  counting = iota // as the recording has it: a response, and what was logged as one
	countResults                 // a response, and each result
	countParts                   // each call, the first with what the response says, and each result
	countRound                   // a response, and all its results together
	countItems                   // each thinking, text, call and result: prompts and summaries are none; triggers alone can say so
)

// Names returns the names used in YAML, by value.
func (counting) Names() []string { return []string{"logged", "results", "parts", "rounds"} }

// triggerCounting says the same of a trigger, which can count what is no message.
type triggerCounting uint8

// Names returns the names used in YAML, by value.
func (triggerCounting) Names() []string { return append(counting(0).Names(), "items") }

// continues reports whether the entry at a position belongs to the message of the entry before.
func (m counting) continues(c *prompt.Context, i int) bool {
	if i == 0 || m == countLogged {
		return sameMessage(c, i)
	}
	result := c.At(i).Kind == prompt.KindToolResult
	switch {
	case m == countRound && result && c.At(i-1).Kind == prompt.KindToolResult:
		return true
	case result && m != countRound:
		return false
	case m == countParts && c.At(i).Kind == prompt.KindToolUse:
		for j := i - 1; j >= 0 && c.At(j).Kind.Assistant(); j-- {
			if c.At(j).Kind == prompt.KindToolUse {
				return false
			}
		}
	}
	return sameMessage(c, i)
}

// count returns the messages among the entries [from, to).
func (m counting) count(c *prompt.Context, from, to int) int {
	switch m {
	case countLogged:
		return countMessages(c, from, to)
	case countItems:
		return items(c, from, to)
	}
	n := 0
	for i := from; i < to; i++ {
		if e := c.At(i); e.Form == prompt.FormCleared && e.Tokens == 0 {
			continue // it is not sent
		}
		if n == 0 || !m.continues(c, i) {
			n++
		}
	}
	return n
}

// items returns what the model said, thought and called, and the results, among the entries [from, to).
func items(c *prompt.Context, from, to int) (n int) {
	for i := from; i < to; i++ {
		e := c.At(i)
		if sent := e.Form != prompt.FormCleared || e.Tokens > 0; sent && (e.Kind.Assistant() || e.Kind == prompt.KindToolResult) {
			n++
		}
	}
	return n
}

// countMessages returns the messages among the entries [from, to), see sameMessage.
func countMessages(c *prompt.Context, from, to int) int {
	const answer = -1
	n, last := 0, int32(0)
	for i := from; i < to; i++ {
		of, e := int32(answer), c.At(i)
		if e.Form == prompt.FormCleared && e.Tokens == 0 {
			continue // it is not sent
		}
		if !e.Kind.Assistant() {
			of = max(0, c.Block(e.Block).Message)
		}
		if n == 0 || of != last || of == 0 {
			n++
		}
		last = of
	}
	return n
}

// legalCut returns the last position at or before i, at least floor, at which the
// messages can be cut: before a whole message, and so that no tool result after it has
// its call before it. A response is one message, so its thinking stays with what it led
// to (002, session memory: "walks backward to include any orphaned pairs").
func legalCut(c *prompt.Context, i, floor int) int { return legalCutAhead(c, i, floor, c.Len()) }

// legalCutAhead is legalCut before a position at which the messages can be cut, or before the end: no result from there on has an earlier call.
func legalCutAhead(c *prompt.Context, i, floor, legal int) int {
	for {
		i = startOfMessage(c, i, floor)
		call := strandedCall(c, i, floor, legal)
		if call == i {
			return i
		}
		i = call
	}
}

// strandedCall returns the position, at least floor, of a tool call before
// position i whose result is among the entries [i, to); i when there is none.
func strandedCall(c *prompt.Context, i, floor, to int) int {
	for p := i; p < to && i > floor; p++ {
		if c.At(p).Kind != prompt.KindToolResult || c.BlockAt(p).Call == 0 {
			continue
		}
		if at := callBefore(c, p, floor); at >= floor && at < i {
			return at
		}
	}
	return i
}

// callBefore returns the position, at least floor, of the tool call of the result at p, -1
// when it is not there.
func callBefore(c *prompt.Context, p, floor int) int {
	call := c.BlockAt(p).Call
	for at := p - 1; at >= floor; at-- {
		if c.At(at).Kind == prompt.KindToolUse && c.BlockAt(at).Call == call {
			return at
		}
	}
	return -1
}

// lastSummary returns the position of the last entry that replaces compacted
// messages, -1 for none.
func lastSummary(c *prompt.Context) int {
	for i := c.Len() - 1; i >= 0; i-- {
		if c.At(i).Kind == prompt.KindSummary {
			return i
		}
	}
	return -1
}

// startOfResponse returns the position of the first entry of the response that the
// context ends with, its length without one: the end of the last request.
func startOfResponse(c *prompt.Context) int {
	i := c.Len()
	for i > 0 && c.At(i-1).Kind.Assistant() {
		i--
	}
	return i
}

// callsOfResponse returns the tool calls of the response the context ends with.
func callsOfResponse(c *prompt.Context) int {
	n := 0
	for i := startOfResponse(c); i < c.Len(); i++ {
		if c.At(i).Kind == prompt.KindToolUse {
			n++
		}
	}
	return n
}

// endOfAnswered returns the position after the messages that can be sent: the provider
// refuses a response with tool calls unless their results follow.
func endOfAnswered(c *prompt.Context) int {
	if callsOfResponse(c) > 0 {
		return startOfResponse(c)
	}
	return c.Len()
}
