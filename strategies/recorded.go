package strategies

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/strategies/standard"
	"github.com/compactsim/compactsim/traces"
	agentlist "github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/facts"
)

// recordedParams are the parameters of recorded.
type recordedParams struct {
	Switch `yaml:",inline"`
	// No log shows how the recorded client built its summary call.
	Prefix      prefixChoice `yaml:"prefix" doc:"what the summary call is built on: shared (the thread's own prefix), own, or by_version (shared for Claude Code from 2.1.25 on and for Codex)"`
	Head        int32        `yaml:"head" doc:"tokens of the system prompt and tools of a call with a prefix of its own" unit:"tokens" min:"0"`
	Instruction int32        `yaml:"instruction" doc:"tokens of the summarisation instruction" unit:"tokens" min:"0"`
	Placeholder int32        `yaml:"placeholder" doc:"tokens of the text in the place of a cleared tool result" unit:"tokens" min:"0"`
}

// prefixChoice is what a summary call is built on.
type prefixChoice uint8

// prefixByVersion takes the shared prefix for clients whose summary call
// continues the conversation (facts.Agent.SummaryShares), else one of its own.
const (
	prefixOwn       prefixChoice = 1
	prefixByVersion prefixChoice = 2
)

// Names returns the names used in YAML, by value.
func (prefixChoice) Names() []string { return []string{"shared", "own", "by_version"} }

// own reports whether the summary call of an agent's client has a prefix of its own.
func (p prefixChoice) own(agent, release, variant string) bool {
	return p == prefixOwn || p == prefixByVersion && !agentlist.Of(agent).SummaryShares(release, variant)
}

var recordedDefinition = Define(standard.Recorded,
	"repeats what the recording did to its context, where it did it",
	recordedParams{Switch: on, Prefix: prefixByVersion, Head: 3000, Instruction: 1500, Placeholder: 12},
	func(p recordedParams) Layer { return &recorded{params: p} }).with(Traits{Replays: true, Compacts: true, Clears: true})

// recorded is the state of the layer on one thread: how many of the round's
// events it has carried out.
type recorded struct {
	params   recordedParams
	done     int
	absorbed int32 // blocks of the round's input that went into events so far
	cut      int32 // tokens taken from the head, which the recorded totals after a compaction include again
	gone     int32 // last block that a compaction replaced
	answer   prompt.Answer
}

var (
	_ BeforeRequest = (*recorded)(nil)
	_ IntentResult  = (*recorded)(nil)
	_ AutoThreshold = (*recorded)(nil)
)

func (l *recorded) Name() string { return standard.Recorded }
func (l *recorded) Clone() Layer { c := *l; return &c }
func (l *recorded) Copy() Layer  { return l.Clone() }
func (l *recorded) Reset()       { *l = recorded{params: l.params} }

func (l *recorded) BeforeRequest(t *Turn) Outcome {
	if len(t.Events) == 0 {
		return Outcome{Declined, "the recording did nothing here"}
	}
	l.done, l.absorbed = 0, 0
	return l.next(t)
}

// next carries out the events of the round in order until one needs a call.
func (l *recorded) next(t *Turn) Outcome {
	for ; l.done < len(t.Events); l.done++ {
		e := &t.Events[l.done]
		switch e.Kind {
		case traces.EventCompact:
			return l.call(t, e)
		case traces.EventMicrocompact:
			l.clear(t, e)
		case traces.EventShrink:
			l.shrink(t, e)
		}
	}
	return Outcome{Verdict: Done}
}

// call makes the summary call of a recorded compaction: its summary and the
// time it took are known, its cost is not.
func (l *recorded) call(t *Turn, e *traces.Event) Outcome {
	l.answer = prompt.Answer{Total: e.Wait, First: e.Wait / 2}
	for _, b := range t.Blocks[e.Summary.From:e.Summary.To] {
		l.answer.Summary += b.Tokens
		l.answer.Bytes += b.Bytes
		l.answer.Digest = l.answer.Digest.Extend(b.Digest)
	}
	if e.Kept > 0 {
		l.answer.Summary = min(l.answer.Summary, e.Kept)
	}
	l.answer.Output = l.answer.Summary
	if l.answer.Digest.IsZero() {
		l.answer.Digest = prompt.DigestString(standard.Recorded).ExtendInt(uint64(e.At))
	}
	if e.Uncalled {
		return l.IntentResult(t, nil)
	}
	from := Body(t.Context)
	if e.Asked > 0 { // the log has it
		l.answer.Output, l.answer.Head = e.Told, [2]prompt.Ref{prompt.Ref(e.CallHead.From), prompt.Ref(e.CallHead.To)}
		asked := e.Asked
		for _, b := range t.Blocks[e.CallHead.From:e.CallHead.To] {
			asked -= b.Tokens
		}
		return t.Call(prompt.Intent{
			Source: "compact", Own: true, Unmarked: !e.Cached, From: int32(t.Context.Len()), Instruction: max(1, asked), Known: &l.answer,
			Ordinal: uint8(l.done), Summarised: int32(tokensBetween(t.Context, from, t.Context.Len())),
		})
	}
	own := l.params.Prefix.own(t.Agent, t.Version, t.Variant)
	clip := int32(0)
	if own {
		clip = agentlist.Of(t.Agent).SummaryClip
	}
	to := t.Context.Len()
	if omits := agentlist.Of(t.Agent).SummaryOmits; omits != nil && omits(t.Version) && !own && !e.Manual {
		if at := lastTurns(t.Context, from, to, 1); at > from {
			to = at
		}
	}
	model := ""
	if by := agentlist.Of(t.Agent).SummaryModel; by != nil {
		model = by(t.Version)
	}
	return t.Call(prompt.Intent{
		Source: "compact", Model: model, Own: own, SkipCacheWrite: !own, From: int32(from), To: int32(to), Clip: clip,
		Head: l.params.Head, Instruction: l.params.Instruction, Known: &l.answer, Ordinal: uint8(l.done),
		Summarised: int32(tokensBetween(t.Context, from, to)),
	})
}

func (l *recorded) IntentResult(t *Turn, _ *prompt.Result) Outcome {
	e := &t.Events[l.done]
	l.compact(t, e, &l.answer)
	l.done++
	return l.next(t)
}

// compact puts the recorded summary and whatever else came back in place of
// the messages, so that the context weighs what the recording says.
func (l *recorded) compact(t *Turn, e *traces.Event, a *prompt.Answer) {
	c := t.Context
	before := int64(c.Tokens())
	from, to := l.first(t, e), min(c.Len(), t.InputAt+int(e.Absorbed-l.absorbed))
	chained := holdsSummary(c, from, to)
	reminders := fitReminders(c, from, int64(e.Kept)-int64(a.Summary))
	restored := int64(e.Kept) + int64(l.cut) - reminders - int64(a.Summary)
	var refs []prompt.Ref
	if len(e.Cleared) == 0 || e.Summary.Len() > 0 || restored <= 0 { // else the summary before it stayed
		refs = append(refs, c.Arena().Add(summaryBlock(a)))
	}
	if restored > 0 {
		refs = append(refs, c.Arena().Add(prompt.Block{
			Digest: a.Digest.ExtendInt(uint64(restored)), Kind: prompt.KindAttachment,
			Tokens: int32(restored), Bytes: int32(restored * 3), Object: -1, Flags: prompt.FlagMeta | prompt.FlagDerived,
		}))
	}
	c.Replace(from, to, refs, prompt.CauseCompaction)
	if n := len(e.Cleared); n > 0 {
		l.gone = max(l.gone, e.Cleared[n-1])
	}
	t.InputAt, l.absorbed = from+len(refs), e.Absorbed
	t.Compacted(Boundary{Replayed: true, Manual: e.Manual, Before: before, After: int64(c.Tokens()), Chained: chained})
}

// first returns where a compaction begins: at the first message that it replaced, if that is known and there, else behind
// the prefix. What an earlier compaction left is a summary, which may have stayed, and one block behind it.
func (l *recorded) first(t *Turn, e *traces.Event) int {
	from := Body(t.Context)
	if len(e.Cleared) == 0 {
		return from
	}
	for i := from; i < t.InputAt; i++ {
		switch entry := t.Context.At(i); {
		case entry.Block == prompt.Ref(e.Cleared[0]):
			return i
		case entry.Kind != prompt.KindSummary:
		case e.Cleared[0] <= l.gone: // and what the summary stands for with it
			return i
		default:
			return i + 1
		}
	}
	return from
}

// remove takes the blocks that a recording dropped out of the context, and puts what they have too many into one entry.
// Of a call of a tool whose result stays, and of a result whose call does, a placeholder stays: they come in pairs.
func (l *recorded) remove(t *Turn, e *traces.Event) {
	c := t.Context
	before, at, gone := int64(c.Tokens()), -1, int32(0)
	dropped := func(i int) bool {
		b := c.At(i).Block
		return i < t.InputAt && b >= 0 && slices.Contains(e.Cleared, int32(b))
	}
	stays := map[int32]bool{} // calls of tools
	for i := Body(c); i < c.Len(); i++ {
		if call := c.BlockAt(i).Call; call != 0 && !dropped(i) {
			stays[call] = true
		}
	}
	for i := t.InputAt - 1; i >= Body(c); i-- {
		if !dropped(i) {
			continue
		}
		entry := c.At(i)
		at = i
		if left := min(entry.Tokens, l.params.Placeholder); stays[c.BlockAt(i).Call] {
			gone += entry.Tokens - left
			c.SetForm(i, prompt.FormCleared, left, prompt.CauseEdit)
		} else {
			gone += entry.Tokens
			c.Replace(i, i+1, nil, prompt.CauseEdit)
			t.InputAt--
		}
	}
	if over := gone - e.Saved; over > 0 && at >= 0 {
		c.Replace(at, at, []prompt.Ref{c.Arena().Add(prompt.Block{
			Digest: prompt.DigestString("dropped").ExtendInt(uint64(e.At)).ExtendInt(uint64(over)), Kind: prompt.KindUnseen,
			Tokens: over, Object: -1, Flags: prompt.FlagDerived,
		})}, prompt.CauseEdit)
		t.InputAt++
	} else {
		l.shed(t, -over)
	}
	t.Compacted(Boundary{Kind: BoundaryMicro, Manual: e.Manual, Before: before, After: int64(c.Tokens())})
}

// fitReminders returns the tokens of the reminders before position to, after cutting them
// to the room beside the summary. How a first call divides into static prefix and
// reminders is an estimate; what came back after a compaction corrects it.
func fitReminders(c *prompt.Context, to int, room int64) int64 {
	var total int64
	for i := c.Messages(); i < to; i++ {
		e := c.At(i)
		if total+int64(e.Tokens) > room {
			c.SetForm(i, prompt.FormRange, int32(max(0, room-total)), prompt.CauseCompaction)
		}
		total += int64(c.At(i).Tokens)
	}
	return total
}

// clear replaces the tool results that a recorded microcompaction cleared, and sheds the
// rest of the recorded saving.
func (l *recorded) clear(t *Turn, e *traces.Event) {
	if e.Gone {
		l.remove(t, e)
		return
	}
	c := t.Context
	before := int64(c.Tokens())
	left, first := e.Saved, c.Len()
	for i := range t.InputAt {
		entry := c.At(i)
		if left <= 0 || entry.Block < 0 || !slices.Contains(e.Cleared, int32(entry.Block)) {
			continue
		}
		first = min(first, i)
		take := min(left, max(0, entry.Tokens-l.params.Placeholder))
		c.SetForm(i, prompt.FormCleared, entry.Tokens-take, prompt.CauseEdit)
		left -= take
	}
	l.shed(t, l.take(t, first, c.Len(), left, func(*prompt.Entry) bool { return true })) // what lies ahead stayed as it was
	t.Compacted(Boundary{Kind: BoundaryMicro, Manual: e.Manual, Before: before, After: int64(c.Tokens())})
}

// shrink takes away what the recording lost without a line that says how, as clearing
// would, unless a line shows that tools or system prompt changed: then the conversation stayed.
func (l *recorded) shrink(t *Turn, e *traces.Event) {
	left := e.Saved
	if e.Head {
		left = l.behead(t, left)
	}
	l.shed(t, left)
}

// behead takes tokens from the end of the head and returns how many it could not take. Where a client of DeepSeek left
// plan mode the head lost 423 tokens, and 4,608 of 5,100 were read again: the changed tools stand last.
func (l *recorded) behead(t *Turn, tokens int32) (left int32) {
	left = tokens
	for i := t.Context.Messages() - 1; i >= 0 && left > 0; i-- {
		left = l.take(t, i, i+1, left, func(*prompt.Entry) bool { return true })
	}
	l.cut += tokens - left
	return left
}

// shed takes tokens from the oldest entries of the conversation, tool results first; what
// these cannot give it takes from the input of the round, then from reminders, and last
// from the head: the recorded total is known.
func (l *recorded) shed(t *Turn, tokens int32) {
	body, end := Body(t.Context), t.InputAt
	any := func(*prompt.Entry) bool { return true }
	tokens = l.take(t, body, end, tokens, func(e *prompt.Entry) bool { return e.Kind == prompt.KindToolResult })
	tokens = l.take(t, body, end, tokens, any)
	tokens = l.take(t, end, t.Context.Len(), tokens, any)
	tokens = l.take(t, t.Context.Messages(), body, tokens, any)
	l.behead(t, tokens)
}

// take takes tokens from the entries [from, to) that match, in order, and returns how
// many it could not take. Every entry keeps one.
func (l *recorded) take(t *Turn, from, to int, tokens int32, match func(*prompt.Entry) bool) int32 {
	c := t.Context
	for i := from; i < to && tokens > 0; i++ {
		e := c.At(i)
		if n := min(tokens, e.Tokens-1); n > 0 && match(e) {
			c.SetForm(i, prompt.FormCleared, e.Tokens-n, prompt.CauseEdit)
			tokens -= n
		}
	}
	return tokens
}

// AutoThreshold returns the level at which the recorded client compacts.
func (l *recorded) AutoThreshold(t *Turn) (int64, bool) {
	limits := facts.Limits{Window: t.window(), MaxInput: t.Reading.MaxInput, MaxOutput: t.Reading.MaxOutput}
	return agentlist.Of(t.Agent).CompactsAt(t.Version, limits), true
}
