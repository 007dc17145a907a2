package strategies

import (
	"math"

	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/strategies/standard"
)

// KeepSet says which messages stay as they are: the first ones, and the newest ones. Of
// several limits of the newest, the one that keeps least counts.
type KeepSet struct {
	First     int       `yaml:"first" doc:"first messages after the head that stay" min:"0" off:"0"`
	Rounds    int       `yaml:"rounds" doc:"newest API rounds that stay" min:"0" off:"0"`
	Messages  int       `yaml:"messages" doc:"newest messages that stay; a response, a prompt and a result are one each" min:"0" off:"0"`
	Prompts   int       `yaml:"prompts" doc:"newest prompts that stay, with all that follows" min:"0" off:"0"`
	Tokens    int64     `yaml:"tokens" doc:"newest messages that stay, as many as have so many tokens" min:"0" off:"0"`
	PerToken  float64   `yaml:"bytes_per_token" doc:"bytes of text that the client takes for one of these tokens; 0 for true tokens" unit:"bytes" min:"0" max:"100" off:"0" needs:"tokens"`
	AtLeast   bool      `yaml:"at_least" doc:"so many tokens stay or more: the message stays, too, with which the newest messages reach them, unless that is a result; and the newest round, if its results reach them alone" needs:"tokens"`
	Share     float64   `yaml:"share" doc:"newest messages that stay, as a share of the tokens of all, 0…1" min:"0" below:"1" off:"0"`
	Count     counting  `yaml:"count" doc:"what is one message where a response has several calls: as logged; a response and each of its results (results); each call, the first with what the response says, and each result (parts); or two for each round: a response, and all its results together (rounds)" off:"logged" needs:"first|messages|by_count|reach|least"`
	PerPrompt int       `yaml:"per_prompt" doc:"messages that each prompt counts for beside its own" needs:"messages" unit:"messages" min:"0" off:"0"`
	ByCount   bool      `yaml:"by_count" doc:"the share is of the messages, and not of their tokens" needs:"share"`
	Least     int       `yaml:"least" doc:"newest messages that stay whatever the other limits say" unit:"messages" min:"0" off:"0" needs:"rounds|messages|prompts|tokens|share|window"`
	Window    float64   `yaml:"window" doc:"newest messages that stay, as a share of the window, 0…1" min:"0" below:"1" off:"0"`
	WithHead  bool      `yaml:"with_head" doc:"these tokens, and this share of the window, are for all that stays: the head and the first messages count too; of a share of the messages the head is one" needs:"tokens|window"`
	PairsGo   bool      `yaml:"pairs_go" doc:"a call goes with its result where a limit would part them, and does not stay with it" needs:"rounds|messages|prompts|tokens|share|window"`
	Step      float64   `yaml:"step" doc:"what goes to keep these tokens, or this share of the window, goes in steps of this share of the messages, below 1, or of so many tokens; each ends where at_prompt says" min:"0" off:"0" needs:"tokens|window"`
	AtPrompt  promptCut `yaml:"at_prompt" doc:"the newest that stay begin with a prompt: the next one, or all stay where none follows; or the next one, or where none follows the next response with calls (prefer); or the one before; behind for any message but one among calls that follow each other: all of these stay; any for any message" needs:"rounds|messages|prompts|tokens|share|window" off:"any"`
	Reach     int       `yaml:"reach" doc:"newest messages among which a prompt is looked for: the newest one ahead of the cut begins what stays" unit:"messages" min:"0" off:"0" needs:"rounds|messages|prompts|tokens|share|window"`
}

// promptCut is where a cut goes that would part a turn.
type promptCut uint8

// Where the newest messages that stay begin.
const (
	cutAnywhere promptCut = iota
	cutNext               // at the next prompt; where none follows, all stays
	cutBefore             // at the prompt before
	cutPrefer             // at the next prompt; where none follows, at the next response with calls; where neither follows, all stays
	cutBehind             // where the calls begin that follow each other, behind a prompt or a response without calls
)

// Names returns the names used in YAML, by value.
func (promptCut) Names() []string { return []string{"any", "next", "before", "prefer", "behind"} }

// of returns where a cut at position at goes among the entries [body, to).
func (p promptCut) of(c *prompt.Context, body, at, to int) int {
	switch p {
	case cutNext, cutPrefer:
		for i := at; i < to; i++ {
			if c.At(i).Kind == prompt.KindPrompt {
				return i
			}
		}
		for i := at; p == cutPrefer && i < to; i++ {
			if c.At(i).Kind.Assistant() && !sameMessage(c, i) && holdsCalls(c, i) {
				return i
			}
		}
		return body
	case cutBefore:
		for at = min(at, to-1); at > body && c.At(at).Kind != prompt.KindPrompt; at-- {
		}
	case cutBehind:
		for at < to && at > body && holdsCalls(c, at) {
			before := startOfMessage(c, at-1, body)
			if !holdsCalls(c, before) {
				break
			}
			at = before
		}
	}
	return at
}

// newest reports whether any of the newest messages stay.
func (k *KeepSet) newest() bool {
	return k.Rounds > 0 || k.Messages > 0 || k.Prompts > 0 || k.Tokens > 0 || k.Share > 0 || k.Window > 0
}

// start returns the position behind the first messages that stay.
func (k *KeepSet) start(c *prompt.Context, body, to int) int {
	at := k.Count.skip(c, body, to, k.First)
	for k.Count != countLogged && at < to && legalCut(c, at, body) < at {
		at++ // a limit within a round keeps the whole round
	}
	return legalCut(c, at, body)
}

// cut returns the position from which the newest messages among the entries [body, to)
// stay: to when none stays.
func (k *KeepSet) cut(c *prompt.Context, body, to int, window int64) int {
	return k.cutBehind(c, body, body, to, window)
}

// cutBehind is cut where the entries up to front count as what stays, and entries between front and body stay because pairs are not parted.
func (k *KeepSet) cutBehind(c *prompt.Context, front, body, to int, window int64) int {
	if !k.newest() {
		return to
	}
	at := k.limit(c, front, body, to, window)
	if k.Least > 0 {
		at = min(at, newestFrom(c, body, to, k.Least, 0, k.PairsGo, k.Count.continues))
	}
	return k.reach(c, body, k.AtPrompt.of(c, body, at, to), to)
}

// limit returns where the limits of the newest messages put the cut among the entries [body, to), wherever prompts are.
func (k *KeepSet) limit(c *prompt.Context, front, body, to int, window int64) int {
	at, head := body, int64(0)
	if k.WithHead {
		head = tokensBetween(c, 0, front)
	}
	if k.Rounds > 0 {
		at = max(at, lastTurns(c, body, to, k.Rounds))
	}
	if k.Messages > 0 {
		at = max(at, newestFrom(c, body, to, k.Messages, k.PerPrompt, k.PairsGo, k.Count.continues))
	}
	if k.Prompts > 0 {
		at = max(at, newestFrom(c, body, to, k.Prompts, 0, false, notPrompt))
	}
	if k.Tokens > 0 && k.Step == 0 {
		budget, size := k.Tokens-head, k.size
		next := newestWithin(c, body, to, budget, size)
		if k.AtLeast && next > body {
			next = k.fromAtLeast(c, body, next, size(c, next, to), budget)
		}
		at = max(at, next)
	}
	if k.ByCount {
		at = max(at, k.without(c, body, to, 1-k.Share))
	} else if k.Share > 0 {
		at = max(at, newestWithin(c, body, to, int64(k.Share*float64(tokensBetween(c, body, to))), tokensBetween))
	}
	inWindow := int64(k.Window * float64(window))
	switch {
	case k.Step > 0:
		return k.step(c, body, at, to, max(k.Tokens, inWindow)-head)
	case k.Window > 0:
		at = max(at, newestWithin(c, body, to, inWindow-head, tokensBetween))
	}
	return at
}

// notPrompt reports whether an entry goes on with what a prompt began.
func notPrompt(c *prompt.Context, i int) bool { return c.At(i).Kind != prompt.KindPrompt }

// without returns where the newest messages begin without this share of their number, which is rounded where it goes up in steps, as Letta does.
func (k *KeepSet) without(c *prompt.Context, body, to int, gone float64) int {
	n, head := k.Count.count(c, body, to), 0
	if k.WithHead {
		head = 1 // it is a message like others
	}
	out := gone * float64(n+head)
	if k.Step > 0 {
		out = min(math.RoundToEven(out), float64(n+head-1))
	}
	out -= float64(head)
	return newestFrom(c, body, to, n-int(out), 0, k.PairsGo, k.Count.continues)
}

// step returns where the newest messages begin that have at most so many tokens, after as few steps from position at on as that takes. A step
// that leaves nothing is not made.
func (k *KeepSet) step(c *prompt.Context, body, at, to int, budget int64) int {
	gone := 0.0
	if k.ByCount {
		gone = 1 - k.Share
	}
	for k.size(c, at, to) > budget {
		next := at
		if gone += k.Step; k.Step < 1 {
			next = k.without(c, body, to, gone)
		}
		for k.Step >= 1 && next < to && k.size(c, at, next) < int64(k.Step) {
			next = skipMessages(c, next, to, 1)
		}
		switch next = legalCut(c, k.AtPrompt.of(c, body, next, to), body); {
		case next > at && next < to:
			at = next
		case k.Step >= 1 || gone >= 1:
			return at
		}
	}
	return at
}

// reach returns the newest prompt ahead of a cut among the newest messages that it may reach, or the cut.
func (k *KeepSet) reach(c *prompt.Context, body, at, to int) int {
	if k.Reach == 0 {
		return at
	}
	for i := at; i >= body && i < to && k.Count.count(c, i, to) <= k.Reach; i-- {
		if c.At(i).Kind == prompt.KindPrompt {
			return i
		}
	}
	return at
}

// newestFrom returns the position of the n-th entry from the end that begins something,
// moved back, or forth, so that no pair is parted.
func newestFrom(c *prompt.Context, body, to, n, perPrompt int, forth bool, continues func(*prompt.Context, int) bool) int {
	i := to
	for ; i > body && n > 0; i-- {
		if c.At(i-1).Kind == prompt.KindPrompt && !sameMessage(c, i-1) {
			if n -= perPrompt; n <= 0 { // what counts beside a prompt stands behind it
				return min(to, legalCut(c, i, body))
			}
		}
		if !continues(c, i-1) {
			n--
		}
	}
	if n > 0 {
		return body
	}
	at := min(to, legalCut(c, i, body))
	for forth && at < i && i < to {
		i++
		at = min(i, legalCut(c, i, body))
	}
	return at
}

// size returns the tokens of the entries [from, to) as the client counts them.
func (k *KeepSet) size(c *prompt.Context, from, to int) int64 {
	if k.PerToken == 0 {
		return tokensBetween(c, from, to)
	}
	n := int64(0)
	for i := from; i < to; i++ {
		n += int64(float64(bytesAt(c, i)) / k.PerToken)
	}
	return n
}

// fromAtLeast returns where the newest messages begin that have at least so many tokens, of which those from next on have some: the message
// ahead of next stays if these tokens are reached with it, and not with its results alone, or if nothing stays behind its results.
func (k *KeepSet) fromAtLeast(c *prompt.Context, body, next int, some, tokens int64) int {
	if some >= tokens {
		return next
	}
	at, results := legalCut(c, next-1, body), int64(0)
	for i := at; i < next; i++ {
		if c.At(i).Kind == prompt.KindToolResult {
			results += k.size(c, i, i+1)
		}
	}
	if some > 0 && some+results >= tokens {
		return next
	}
	return at
}

// newestWithin returns the position from which the messages have at most so many tokens by
// the given count.
func newestWithin(c *prompt.Context, body, to int, budget int64, size func(c *prompt.Context, from, to int) int64) int {
	i, legal := to, c.Len()
	for i > body {
		at := legalCutAhead(c, i-1, body, legal)
		if budget -= size(c, at, i); budget < 0 {
			break
		}
		i, legal = at, at
	}
	return i
}

// keepParams say which messages a compaction of a whole context leaves as they are: the first and
// the newest, around the summary, and the person's own, before it.
type keepParams struct {
	KeepSet `yaml:",inline"`
	User    int64       `yaml:"user_tokens" doc:"the person's own messages that stay before the summary, newest first, tokens; the one that passes them is cut" min:"0" off:"0"`
	Task    bool        `yaml:"task" doc:"of these only the newest prompt of the conversation, where it does not stay with the newest messages" needs:"user_tokens"`
	Initial bool        `yaml:"initial" doc:"of the first request, what the client had put into it stays before them: messages of its own, and what no line shows" needs:"user_tokens"`
	Oldest  int64       `yaml:"all_but_oldest" doc:"only the oldest go: as many groups, messages or responses with their results, as have so many tokens with the instruction; larger ones ahead of them stay; the limits above hold besides" unit:"tokens" min:"0" off:"0"`
	BySize  KeepSet     `yaml:"by_size" doc:"the newest messages that stay where another condition than the trigger started it, or a refusal; none for what the other limits say"`
	Persist persistence `yaml:"persist" doc:"always: the summary stays; never: it stands in one request alone, and the next begins with the messages that it stood for" off:"always"`
	Earlier bool        `yaml:"summaries" doc:"earlier summaries stay as well, and the call does not read them"`
	Beyond  bool        `yaml:"beyond_summary" doc:"no summary is made of what has no more tokens than the newest summary that stays" needs:"summaries"`
	Again   int         `yaml:"again" doc:"prompts, the newest that an earlier summary stands for, that the call reads once more with what followed them" needs:"summaries" unit:"prompts" min:"0" off:"0"`
	Piles   bool        `yaml:"piles" doc:"within a loop the summaries of earlier requests stay, the newest first, ahead of the loop's messages; messages of earlier turns come back with the next prompt" needs:"persist=never"`
	Sent    bool        `yaml:"sent" doc:"the summary call is sent the newest messages all the same" needs:"rounds|messages|prompts|tokens|share|window"`
	Behind  int64       `yaml:"sent_behind_prompt" doc:"the summary call is sent the newest messages where a prompt is right before them and they have at most so many tokens" unit:"tokens" min:"0" off:"0" needs:"rounds|messages|prompts|tokens|share|window"`
	Prompt  bool        `yaml:"from_prompt" doc:"the newest that stay begin with a prompt: the first of them that is one, or none where the last message is a response without calls, or else the last prompt before them" needs:"rounds|messages|prompts|tokens|share|window"`
	NotAll  bool        `yaml:"not_all" doc:"none of the newest stays where these would be all messages" needs:"rounds|messages|prompts|tokens|share|window"`
}

// cut returns the position from which the newest messages among the entries [body, to) stay: to when none stays.
func (k *keepParams) cut(c *prompt.Context, body, to int, window int64) int {
	at := k.KeepSet.cut(c, body, to, window)
	if k.Prompt && at < to {
		at = promptAt(c, body, at, to)
	}
	if k.NotAll && at <= body {
		return to
	}
	return at
}

// piles reports whether summaries pile up, as they can where the messages that they stand for come back.
func (k *keepParams) piles() bool { return k.Piles && k.Persist == persistNever }

// sends reports whether the summary call is sent the newest messages, the entries [at, to), though they stay.
func (k *keepParams) sends(c *prompt.Context, body, at, to int) bool {
	if k.Sent || k.Behind == 0 || at == to || tokensBetween(c, at, to) > k.Behind {
		return k.Sent
	}
	for i := at - 1; i >= body; i-- {
		switch e := c.At(i); {
		case e.Kind == prompt.KindPrompt:
			return true
		case e.Kind.Assistant() || e.Kind == prompt.KindToolResult:
			return false
		}
	}
	return false
}

// oldestWithin returns where the oldest groups among the entries [body, to) begin and end that have at most so many tokens, behind those
// that are larger.
func oldestWithin(c *prompt.Context, body, to int, budget int64) (from, at int) {
	from, at = body, body
	for at < to {
		next := min(nextGroup(c, at), to)
		size := tokensBetween(c, at, next)
		switch {
		case size <= budget:
			budget -= size
		case from == at:
			from = next
		default:
			return from, at
		}
		at = next
	}
	return from, at
}

// promptAt returns where the entries [body, to) can be cut at a prompt, as the Gemini CLI does: at the first one from at on, or
// behind a response without calls that ends them, or else at the last prompt before at.
func promptAt(c *prompt.Context, body, at, to int) int {
	before := body
	for i := body; i < to; i++ {
		if c.At(i).Kind != prompt.KindPrompt {
			continue
		}
		start := legalCut(c, i, body)
		if start >= at {
			return start
		}
		before = start
	}
	if last := c.At(to - 1).Kind; last.Assistant() && last != prompt.KindToolUse {
		return to
	}
	return before
}

// rules returns contradictions between the parameters.
func (k *keepParams) rules(partial direction) []error {
	var errs []error
	if k.First > 0 && k.User > 0 {
		errs = append(errs, spec.Wrong("keep", "takes first or user_tokens, which are both put before the summary"))
	}
	if (k.First > 0 || k.newest() || k.User > 0) && partial != partialNone {
		errs = append(errs, spec.Wrong("keep", "has no effect: partial.direction says what is kept"))
	}
	return errs
}

// lastTurns returns the position at which the last n API rounds among the entries [body,
// to) begin; their input comes with the rounds before.
func lastTurns(c *prompt.Context, body, to, n int) int {
	i := to
	for ; n > 0 && i > body; n-- {
		for i > body && !c.At(i-1).Kind.Assistant() {
			i--
		}
		for i > body && c.At(i-1).Kind.Assistant() {
			i--
		}
	}
	return legalCut(c, i, body)
}

// keepUser drops from the entries [low, high) what the person did not write and what is
// over the budget, and returns the position after the rest.
func (k *keepParams) keepUser(c *prompt.Context, low, high int) int {
	opening := low
	for k.Initial && opening < high && !c.At(opening).Kind.Assistant() && c.At(opening).Kind != prompt.KindSummary {
		opening++
	}
	left, end, kept := k.User, high, 0
	if k.Task && holdsPrompt(c, high) {
		left = 0
	}
	for i := high - 1; i >= low; i-- {
		e := *c.At(i)
		switch {
		case e.Kind == prompt.KindPrompt && left > 0:
			if int64(e.Tokens) > left {
				c.SetForm(i, prompt.FormRange, int32(left), prompt.CauseCompaction)
			}
			if left -= int64(e.Tokens); k.Task {
				left = 0
			}
		case e.Kind != prompt.KindPrompt && i < opening:
		default:
			continue
		}
		c.Replace(i+1, end, nil, prompt.CauseCompaction)
		end = i
		kept++
	}
	c.Replace(low, end, nil, prompt.CauseCompaction)
	return low + kept
}

// holdsPrompt reports whether a prompt is among the entries from a position on.
func holdsPrompt(c *prompt.Context, from int) bool {
	for i := from; i < c.Len(); i++ {
		if c.At(i).Kind == prompt.KindPrompt {
			return true
		}
	}
	return false
}

// drawRemainder is the ordinal of the draw of what comes back beyond the parts.
const drawRemainder = 0

// remainder adds to what is attached a drawn remainder: what recordings of the client have
// beyond the parts. It returns its tokens, 0 where the profile has none. A compaction of a
// part, or of a sub-agent, has no remainder.
func (l *compact) remainder(t *Turn, attached []prompt.Ref) ([]prompt.Ref, int64) {
	s, c := &l.call, t.Context
	if !l.params.Remainder || t.Profile == nil || isAgent(t.Kind) || s.low != Body(c) || s.high != s.end {
		return attached, 0
	}
	tokens := t.Profile.BehindCompaction(t.Version, t.Draw(standard.Compact, drawRemainder))
	if tokens > 0 {
		attached = append(attached, c.Arena().Add(reminder("remainder", int32(tokens))))
	}
	return attached, tokens
}
