package fetch

import (
	"slices"

	"github.com/compactsim/compactsim/sim/needs"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/recall"
	"github.com/compactsim/compactsim/traces"
)

// The input of a round is the input in the recording, less what belongs to the recording's own ways: what its client
// put back behind a compaction that a strategy does not repeat, and, in a closed loop, what its agent read again because
// the recorded context had lost what the simulated one still has. A call that does nothing else is not made.

// TakeInput appends the input of the round under way to the context, and the client's count of
// that input to what follows the last response.
func (t *Thread) TakeInput() {
	t.takeJoined()
	in := t.Current().Input
	from, to := t.broughtBack()
	if from == to && len(t.left) == 0 {
		t.append(in)
		t.tally.AddEstimate(t.Score().Estimate)
		return
	}
	s := t.of
	var results, left int64
	for k := in.From; k < in.To; k++ {
		if b := &s.session.Blocks[k]; b.Kind == prompt.KindToolResult {
			results += int64(b.Tokens)
			if slices.Contains(t.left, b.Call) {
				left += int64(b.Tokens)
			}
		}
	}
	for k := in.From; k < in.To; k++ {
		b := &s.session.Blocks[k]
		switch {
		case k >= from && k < to && isBroughtBack(b), b.Kind.Level() != prompt.LevelMessages,
			b.Kind == prompt.KindToolResult && slices.Contains(t.left, b.Call),
			t.passed && (isBroughtBack(b) || b.Kind == prompt.KindUnseen):
			continue
		case b.Kind == prompt.KindUnseen && left > 0: // their part of what no line shows
			t.Context.Add(s.inventBlock(t, prompt.KindUnseen, int32(int64(b.Tokens)*(results-left)/results), s.extras))
			continue
		}
		t.Context.Append(prompt.Ref(k))
		t.tally.Add(b)
	}
	t.left, t.passed = t.left[:0], false
}

// append appends an input to the context, less what has come to the head (head.Head.Part).
func (t *Thread) append(in traces.Span) {
	if t.Current().Parted > 0 {
		for k := in.From; k < in.To; k++ {
			if t.of.session.Blocks[k].Kind.Level() != prompt.LevelMessages {
				t.Context.AppendRange(prompt.Ref(in.From), prompt.Ref(k))
				in.From = k + 1
			}
		}
	}
	t.Context.AppendRange(prompt.Ref(in.From), prompt.Ref(in.To))
}

// LeaveOut finds the calls of the coming answer that are left out: those that bring for a use what the recorded context had lost,
// and the context has. That the agent made them for that reason is drawn. It reports whether these are all its calls.
func (t *Thread) LeaveOut() bool {
	s := t.of
	if t.left = t.left[:0]; s.Row.Loop != measures.LoopClosed || int(t.Round)+1 >= len(t.Trace.Rounds) {
		return false
	}
	for _, p := range s.index.Repeats(t.Index, t.Round) {
		if p.Lost && p.Used && t.judge.Holds(p.Source) && t.drawOf(p.Result, "leave out") < s.reread {
			t.left = append(t.left, p.Call)
		}
	}
	if len(t.left) == 0 {
		return false
	}
	reply := t.Current().Reply
	return !slices.ContainsFunc(s.session.Blocks[reply.From:reply.To], func(b prompt.Block) bool {
		return b.Kind == prompt.KindToolUse && !slices.Contains(t.left, b.Call)
	})
}

// Passes reports whether the round under way is left out as a whole. One that answers a person is not: what it says
// besides is an answer.
func (t *Thread) Passes() bool {
	if t.of.Row.Loop != measures.LoopClosed || t.Current().Trigger == traces.TriggerPrompt || t.Score().Person {
		return false
	}
	t.ShowJudge()
	return t.LeaveOut()
}

// Pass goes on to the next round without a call.
func (t *Thread) Pass() {
	t.of.Row.Figures[measures.Needs+measures.ID(recall.LeftOut)]++
	t.passed = true
	t.Round++
}

// joined is what calls bring that an answer makes beside its recorded ones, and the id of the first call.
type joined struct {
	things []again
	id     int32
}

// PlanReply finds what the coming answer leaves out of the recorded one, and what it asks for besides. It returns the
// answer's output, tokens.
func (t *Thread) PlanReply() int32 {
	t.LeaveOut()
	t.join()
	r := t.Current()
	output := int32(r.Usage.Output)
	if len(t.left) > 0 {
		for _, b := range t.of.session.Blocks[r.Reply.From:r.Reply.To] {
			if slices.Contains(t.left, b.Call) {
				output -= b.Tokens
			}
		}
	}
	output = max(output, 0)
	for i := range t.joined.things {
		output += t.of.callTokens(t.joined.things[i].block)
	}
	return output
}

// join finds what the next round needs and the context does not have, where the coming answer does nothing but look at files that
// the next round uses: an agent that looks at what its next step needs asks for all of that at once.
func (t *Thread) join() {
	if t.joined.things = t.joined.things[:0]; t.of.Row.Loop != measures.LoopClosed || len(t.left) > 0 || !t.onlyLooks() {
		return
	}
	t.missing = t.missing[:0]
	reply, used := t.Current().Reply, false
	t.judge.Foresee(t.Round+1, func(n *needs.Need, state needs.State, kept float64) {
		if n.Source() >= reply.From || slices.ContainsFunc(t.of.index.Places(n), func(p needs.Place) bool { return p.Block >= reply.To }) {
			used = true // what the recorded calls bring is not missing
		} else {
			t.miss(n, state, kept)
		}
	})
	if !used {
		t.missing = t.missing[:0]
	}
	t.joined.things = t.choose(t.joined.things)
	t.joined.id = t.of.number(len(t.joined.things))
}

// onlyLooks reports whether the recorded answer to the round under way is calls that show files and nothing else, and the
// next round takes their results.
func (t *Thread) onlyLooks() bool {
	next := int(t.Round) + 1
	if next >= len(t.Trace.Rounds) || t.Trace.Rounds[next].Trigger == traces.TriggerPrompt {
		return false
	}
	calls := 0
	for k := t.Current().Reply.From; k < t.Current().Reply.To; k++ {
		if b := &t.of.session.Blocks[k]; b.Kind == prompt.KindToolUse {
			if b.Op != op.Read && b.Op != op.Exec || b.Object < 0 {
				return false
			}
			calls++
		}
	}
	return calls > 0
}

// takeJoined appends what the calls bring that the last answer made beside its recorded ones.
func (t *Thread) takeJoined() {
	from := t.Context.Len()
	t.appendResults(t.joined.things, t.joined.id)
	for i := from; i < t.Context.Len(); i++ {
		t.tally.Add(t.Context.BlockAt(i))
	}
	t.joined.things = t.joined.things[:0]
}

// TakeReply appends the answer to the round under way to the context.
func (t *Thread) TakeReply() {
	reply := t.Current().Reply
	for k := reply.From; k < reply.To; k++ {
		if len(t.left) == 0 {
			t.Context.AppendRange(prompt.Ref(k), prompt.Ref(reply.To))
			break
		}
		if b := &t.of.session.Blocks[k]; b.Kind != prompt.KindToolUse || !slices.Contains(t.left, b.Call) {
			t.Context.Append(prompt.Ref(k))
		}
	}
	t.appendCalls(t.joined.things, t.joined.id)
}

// broughtBack returns the part of the input of the round under way that came behind a recorded compaction, if the
// strategy does not repeat what the recording did; else an empty range.
func (t *Thread) broughtBack() (from, to int32) {
	if t.of.Repeats {
		return 0, 0
	}
	in := t.Current().Input
	for i := t.Event; i < len(t.Trace.Events) && t.Trace.Events[i].Round <= t.Round; i++ {
		if e := &t.Trace.Events[i]; e.Kind == traces.EventCompact && e.Round == t.Round {
			from, to = in.From+e.Absorbed, in.To
		}
	}
	return from, to
}

// isBroughtBack reports whether a client adds a block by itself behind a compaction: files, skills and reminders, and
// nothing that a person said or a tool answered.
func isBroughtBack(b *prompt.Block) bool {
	return (b.Kind == prompt.KindAttachment || b.Kind == prompt.KindReminder) && b.Flags&prompt.FlagMeta != 0
}
