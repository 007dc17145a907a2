package strategies

import (
	"cmp"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/traces"
)

// clearParams are the parameters of clear. Sizes are tokens where they do not say bytes.
type clearParams struct {
	Switch      `yaml:",inline"`
	Trigger     Trigger     `yaml:"trigger" doc:"level from which on it clears"`
	When        when        `yaml:"when" doc:"further conditions"`
	Subagents   bool        `yaml:"subagents" doc:"sub-agents clear too"`
	What        []clearKind `yaml:"what" doc:"what is cleared: results, inputs (of calls), texts (beside calls), thinking, media"`
	Tools       toolNames   `yaml:"tools" doc:"tools whose results and inputs are cleared, by name or operation, or all; tools of MCP too"`
	Exclude     toolNames   `yaml:"exclude_tools" doc:"tools whose results and inputs stay"`
	Superseded  bool        `yaml:"superseded" doc:"of results only reads of a file that was read, edited or written again since"`
	MinBytes    int32       `yaml:"min_bytes" doc:"smaller pieces stay" unit:"bytes" min:"0"`
	Keep        KeepSet     `yaml:"keep" doc:"messages that stay as they are"`
	KeepResults int         `yaml:"keep_results" doc:"newest results of these tools that stay, and with rounds the rounds that have any" unit:"results" min:"0" off:"0"`
	KeepTokens  int64       `yaml:"keep_tokens" doc:"newest results of these tools that stay, ahead of what keep says, as many as have so many tokens before any is cleared; what was cleared does not count" unit:"tokens" min:"0" off:"0"`
	PerToken    float64     `yaml:"bytes_per_token" doc:"bytes that the client takes for a token of these results, by which it counts the gain too: all of each result behind these; 0 for true tokens" unit:"bytes" min:"0" max:"100" off:"0" needs:"keep_tokens"`
	Oldest      int         `yaml:"oldest" doc:"oldest rounds with results of which results are cleared, whether or not they are already; 0 for all" unit:"rounds" min:"0" off:"0"`
	Order       clearOrder  `yaml:"order" doc:"which go first where a target stops it: oldest, newest or largest"`
	Target      float64     `yaml:"target" doc:"share of the trigger's value to come down to, 0…1; 0 to clear all that may be" unit:"share" min:"0" max:"1" off:"0"`
	Batch       int         `yaml:"batch" doc:"pieces that must have gathered before any is cleared" unit:"pieces" min:"0" off:"0"`
	MinGain     int64       `yaml:"min_gain" doc:"tokens below which a clearing is not worth it" unit:"tokens" min:"0" off:"0"`
	MinShare    float64     `yaml:"min_share" doc:"the same, as a share of the tokens that remain, 0…1" unit:"share" min:"0" max:"1" off:"0"`
	Persist     persistence `yaml:"persist" doc:"always: what was cleared stays cleared; never: each request has a copy of its own, and the trigger measures the history without any clearing; run: the same within a loop, whose last copy stays" off:"always"`
	Rounds      bool        `yaml:"rounds" doc:"of a round whose results are cleared the response goes too: one message has what stays of the results, which share head" needs:"leave"`
	Leave       leaveParams `yaml:"leave" doc:"what stays of each piece"`
	Worth       worthParams `yaml:"worth" doc:"refuses a clearing that does not pay back"`
}

// leaveParams say what stays of what is cleared.
type leaveParams struct {
	Tokens  int32   `yaml:"tokens" doc:"tokens of the text in its place" unit:"tokens" min:"0"`
	Head    int32   `yaml:"head" doc:"first bytes that stay" unit:"bytes" min:"0" off:"0"`
	Tail    int32   `yaml:"tail" doc:"last bytes that stay" unit:"bytes" min:"0" off:"0"`
	Share   float64 `yaml:"share" doc:"share of a result that stays, in place of head and tail" unit:"share" min:"0" below:"1" off:"0"`
	Again   int32   `yaml:"again" doc:"what a call says stands once more ahead of its result, with these tokens around it, however small the result is" unit:"tokens" min:"0" off:"0"`
	Pointer bool    `yaml:"pointer" doc:"the text says where the original is stored, so that it can be read again"`
}

// clearKind is a kind of content that is cleared.
type clearKind uint8

// The kinds.
const (
	clearOfResults clearKind = iota
	clearOfInputs
	clearOfThinking
	clearOfMedia
	clearOfTexts
)

// Names returns the names used in YAML, by value.
func (clearKind) Names() []string { return []string{"results", "inputs", "thinking", "media", "texts"} }

// clearOrder is the order in which pieces are cleared.
type clearOrder uint8

// The orders.
const (
	clearOldest clearOrder = iota
	clearNewest
	clearLargest
)

// Names returns the names used in YAML, by value.
func (clearOrder) Names() []string { return []string{"oldest", "newest", "largest"} }

// Fires returns the trigger, nil where a refusal takes its place.
func (p *clearParams) Fires() *Trigger { return p.When.trigger(&p.Trigger) }

// Rules returns contradictions between the parameters.
func (p *clearParams) Rules() []error {
	var errs []error
	if len(p.What) == 0 {
		errs = append(errs, spec.Wrong("what", "names nothing to clear"))
	}
	ofResponses := func(k clearKind) bool { return k == clearOfInputs || k == clearOfThinking || k == clearOfTexts }
	if p.Rounds && slices.ContainsFunc(p.What, ofResponses) {
		errs = append(errs, spec.Wrong("rounds", "clears whole responses already: what names no part of a response"))
	}
	if p.Leave.Share > 0 && p.Leave.Head+p.Leave.Tail > 0 {
		errs = append(errs, spec.Wrong("leave", "takes share or head and tail"))
	}
	return append(errs, p.Tools.required("tools")...)
}

const clearName = "clear"

var clearDefinition = Define(clearName,
	"clears old results, inputs of calls, thinking or media in place, without a model call",
	clearParams{
		Switch: on, When: unconditional, Subagents: true, What: []clearKind{clearOfResults}, Tools: toolNames{allTools}, Exclude: toolNames{},
		Leave: leaveParams{Tokens: 12}, Worth: defaultWorth(),
	},
	func(p clearParams) Layer {
		return &clearing{params: p, tools: toolset{named: p.Tools, excluded: p.Exclude, mcp: true}}
	}).with(Traits{Clears: true})

// clearing is the state of the layer on one thread: only storage, as what was cleared shows
// in the context.
type clearing struct {
	params clearParams
	tools  toolset
	pieces []piece
	latest map[int32]int // last call by object, where only superseded reads go
	behind int64         // tokens, as the client counts, of the results that keep_tokens lets go
	hidden cleared       // what clearing took out and the client's history still has, where it clears a copy
	kept   cleared       // of what clearing took out, what the client's own history lacks too
}

// cleared is what clearing took out of a context.
type cleared struct{ tokens, messages int64 }

var (
	_ BeforeRequest = (*clearing)(nil)
	_ EndOfLoop     = (*clearing)(nil)
	_ PromptTooLong = (*clearing)(nil)
	_ Choosy        = (*clearing)(nil)
)

// piece is an entry that can be cleared.
type piece struct {
	at      int
	from    int   // first entry of the response that goes with it; at for none
	left    int32 // tokens that stay
	gain    int64 // tokens
	counted int64 // that the client's count falls by, tokens
}

func (l *clearing) Name() string { return clearName }

func (l *clearing) Clone() Layer {
	return &clearing{params: l.params, tools: toolset{named: l.params.Tools, excluded: l.params.Exclude, mcp: true}, kept: l.kept}
}

func (l *clearing) Copy() Layer { return l.Clone() }

func (l *clearing) Reset() {
	l.tools.reset()
	l.hidden, l.kept = cleared{}, cleared{}
}

func (l *clearing) Unfit(s *traces.Session) string {
	if slices.Contains(l.params.What, clearOfThinking) || slices.Contains(l.params.What, clearOfMedia) {
		return ""
	}
	return l.params.Tools.unfit(s)
}

func (l *clearing) BeforeRequest(t *Turn) Outcome { return l.act(t, false) }

// PromptTooLong clears where the conditions are looked at there.
func (l *clearing) PromptTooLong(t *Turn) Outcome {
	if l.params.When.At != atRefusal {
		return Outcome{Declined, "it clears before requests"}
	}
	return l.act(t, false)
}

// EndOfLoop clears where the conditions are looked at there, and keeps the copy of the loop's last request.
func (l *clearing) EndOfLoop(t *Turn) Outcome {
	out := l.act(t, true)
	if l.params.Persist == persistRun {
		l.kept = clearedOf(t.Context)
	}
	return out
}

// clearedOf returns what clearing has taken out of a context.
func clearedOf(c *prompt.Context) (n cleared) {
	body := Body(c)
	for i := body; i < c.Len(); i++ {
		if e := c.At(i); e.Form != prompt.FormVerbatim {
			n.tokens += int64(c.Block(e.Block).Tokens - e.Tokens)
		}
		if i == body || !sameMessage(c, i) {
			n.messages++
		}
	}
	n.messages -= int64(countMessages(c, body, c.Len()))
	return n
}

// act clears if it is due and worth it.
func (l *clearing) act(t *Turn, end bool) Outcome {
	p := &l.params
	if p.Persist != persistAlways {
		all := clearedOf(t.Context)
		l.kept = cleared{min(l.kept.tokens, all.tokens), min(l.kept.messages, all.messages)} // a compaction took what was cleared, too
		l.hidden = cleared{all.tokens - l.kept.tokens, all.messages - l.kept.messages}
		t.Reading.hide(l.hidden.tokens, l.hidden.messages)
		defer t.Reading.hide(-l.hidden.tokens, -l.hidden.messages)
	}
	measured := p.Trigger.Measure >= measureGain
	switch {
	case isAgent(t.Kind) && !p.Subagents:
		return Outcome{Declined, "sub-agents do not clear"}
	case !measured && !p.When.fires(t, clearName, &p.Trigger, end):
		return Outcome{Declined, "below the trigger"}
	}
	l.gather(t)
	if len(l.pieces) == 0 {
		return Outcome{Declined, "nothing to clear"}
	}
	l.choose(t)
	gain, first := l.sum(t)
	resent := tokensBetween(t.Context, first, t.Context.Len()) - gain
	remains := int64(t.Context.Tokens()) - gain
	if measured {
		t.Reading.Values[measureGain], t.Reading.Values[measureResent] = gain, resent
		if p.PerToken > 0 {
			t.Reading.Values[measureGain] = l.behind
		}
	}
	switch {
	case measured && !p.When.fires(t, clearName, &p.Trigger, end):
		return Outcome{Declined, "below the trigger"}
	case p.Leave.Again > 0: // the history grows by what stands there once more
	case len(l.pieces) < p.Batch, gain < p.MinGain, float64(gain) < p.MinShare*float64(remains), gain <= 0:
		return Outcome{Declined, "too little to clear"}
	case !p.Worth.pays(t, gain, resent, 0):
		return t.Refuse(clearName, "it does not pay back in time")
	}
	l.clear(t)
	return Outcome{Verdict: Done}
}

// gather lists what can be cleared, oldest first.
func (l *clearing) gather(t *Turn) {
	c, p := t.Context, &l.params
	from, to := Body(c), c.Len()
	from = p.Keep.start(c, from, to)
	to = min(p.Keep.cut(c, from, to, t.window()), oldestResults(c, from, to, p.Oldest))
	if p.Superseded {
		l.noteCalls(t)
	}
	l.pieces = l.pieces[:0]
	results, newest := p.KeepResults, int64(0)
	l.behind = 0
	kinds := entryKinds(p.What)
	for i := c.Len() - 1; i >= from; i-- {
		e := c.At(i)
		result := e.Kind == prompt.KindToolResult
		switch { // most entries are told by themselves, without a look at their blocks
		case result && results > 0:
		case i >= to, e.Form == prompt.FormCleared, e.Form == prompt.FormPointer, !kinds[e.Kind] && (!result || p.KeepTokens == 0):
			continue
		}
		b := c.BlockAt(i)
		if result && results > 0 && l.tools.has(t, b) {
			if !p.Rounds || c.At(i-1).Kind != prompt.KindToolResult {
				results--
			}
			continue
		}
		if p.KeepTokens > 0 && i < to && result && l.tools.has(t, b) {
			if e.Form != prompt.FormVerbatim {
				continue
			}
			size := l.size(e, b)
			if newest += size; newest <= p.KeepTokens {
				continue
			}
			l.behind += size
		}
		if i < to && l.eligible(t, i, e, b) {
			l.add(c, i)
		}
	}
	slices.Reverse(l.pieces)
}

// size returns the tokens that the client takes a result for.
func (l *clearing) size(e *prompt.Entry, b *prompt.Block) int64 {
	if l.params.PerToken > 0 {
		return int64(float64(b.Bytes) / l.params.PerToken)
	}
	return int64(e.Tokens)
}

// noteCalls notes the last call for each object.
func (l *clearing) noteCalls(t *Turn) {
	if l.latest == nil {
		l.latest = map[int32]int{}
	}
	clear(l.latest)
	for i := Body(t.Context); i < t.Context.Len(); i++ {
		b := t.Context.BlockAt(i)
		if file := b.Op == op.Read || b.Op == op.Edit || b.Op == op.Write; b.Kind == prompt.KindToolUse && b.Object >= 0 && file {
			l.latest[b.Object] = i
		}
	}
}

// eligible reports whether an entry is of what is cleared.
func (l *clearing) eligible(t *Turn, i int, e *prompt.Entry, b *prompt.Block) bool {
	var kind clearKind
	switch e.Kind {
	case prompt.KindToolResult:
		if kind = clearOfResults; b.Flags&prompt.FlagImage != 0 && slices.Contains(l.params.What, clearOfMedia) {
			kind = clearOfMedia
		}
		if l.params.Superseded && !(b.Op == op.Read && b.Object >= 0 && l.latest[b.Object] > i) {
			return false
		}
	case prompt.KindToolUse:
		kind = clearOfInputs
	case prompt.KindThinking:
		kind = clearOfThinking
	case prompt.KindText:
		if kind = clearOfTexts; !hasCallsBehind(t.Context, i) {
			return false
		}
	case prompt.KindImage, prompt.KindDocument:
		kind = clearOfMedia
	default:
		return false
	}
	if !slices.Contains(l.params.What, kind) || e.Form == prompt.FormCleared || e.Form == prompt.FormPointer {
		return false
	}
	return e.Kind != prompt.KindToolResult && e.Kind != prompt.KindToolUse || kind == clearOfMedia || l.tools.has(t, b)
}

// add lists an entry if clearing makes it smaller.
func (l *clearing) add(c *prompt.Context, i int) {
	p, e, b := &l.params.Leave, c.At(i), c.BlockAt(i)
	bytes := shownBytes(e, b)
	more := l.again(c, i)
	if more < 0 || bytes < l.params.MinBytes {
		if more > 0 {
			l.pieces = append(l.pieces, piece{at: i, from: i, left: e.Tokens + more, gain: int64(-more)})
		}
		return
	}
	room, from := int64(p.Head), i
	if l.params.Rounds {
		if from, room = l.response(c, i); from < 0 {
			return
		}
	}
	kept := min(bytes, int32(room)+p.Tail)
	if p.Share > 0 {
		kept = int32(p.Share * float64(b.Bytes))
	}
	left := int64(p.Tokens + more)
	if bytes > 0 {
		left += int64(e.Tokens) * int64(kept) / int64(bytes)
	}
	gain := tokensBetween(c, from, i+1) - left
	if gain > 0 || more > 0 {
		l.pieces = append(l.pieces, piece{i, from, int32(left), gain, max(0, int64(bytes-kept)/bytesPerToken-int64(p.Tokens))})
	}
}

// response returns the first entry of the response that goes with the result at a position, which is the position itself unless the
// result is the first of its round, and the bytes that the results before it leave of the head.
func (l *clearing) response(c *prompt.Context, at int) (from int, room int64) {
	from, room = at, int64(l.params.Leave.Head)
	for from > 0 && c.At(from-1).Kind == prompt.KindToolResult {
		from--
		room = max(0, room-bytesAt(c, from))
	}
	switch {
	case from > 0 && c.At(from-1).Form == prompt.FormCleared:
		return -1, 0
	case from < at:
		return at, room
	}
	for from > 0 && c.At(from-1).Kind.Assistant() {
		from--
	}
	return from, room
}

// choose leaves in the list what the target asks for, in the order of the parameters.
func (l *clearing) choose(t *Turn) {
	p := &l.params
	switch p.Order {
	case clearNewest:
		slices.Reverse(l.pieces)
	case clearLargest:
		slices.SortStableFunc(l.pieces, func(a, b piece) int { return cmp.Compare(b.gain, a.gain) })
	}
	limit, ok := t.value(&p.Trigger)
	if p.Target == 0 || !ok {
		return
	}
	left := t.measure(p.Trigger.Measure) - l.hidden.tokens - int64(p.Target*float64(limit))
	for i := range l.pieces {
		if left <= 0 {
			l.pieces = l.pieces[:i]
			return
		}
		left -= l.pieces[i].gain
	}
}

// sum returns the tokens that clearing the list takes out, and the position of the first piece.
func (l *clearing) sum(t *Turn) (gain int64, first int) {
	first = t.Context.Len()
	for _, p := range l.pieces {
		gain += p.gain
		first = min(first, p.from)
	}
	return gain, first
}

// clear clears the list.
func (l *clearing) clear(t *Turn) {
	c, p := t.Context, &l.params.Leave
	b := Boundary{Kind: BoundaryMicro, Before: int64(c.Tokens())}
	form := prompt.FormCleared
	switch {
	case p.Head+p.Tail > 0 || p.Share > 0 || p.Again > 0:
		form = prompt.FormRange
	case p.Pointer:
		form = prompt.FormPointer
	}
	for _, r := range l.pieces {
		for i := r.from; i < r.at; i++ {
			b.Uncounted += bytesAt(c, i) / bytesPerToken
			c.SetForm(i, prompt.FormCleared, 0, prompt.CauseEdit)
		}
		c.SetForm(r.at, form, r.left, prompt.CauseEdit)
		if b.Uncounted += r.counted; r.gain > 0 {
			b.Cleared++
		}
	}
	if b.After = int64(c.Tokens()); b.Cleared > 0 {
		t.Compacted(b)
	}
}
