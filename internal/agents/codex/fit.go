package codex

import (
	"github.com/compactsim/compactsim/internal/reading"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// fit lays the recorded totals over the blocks of a thread, so that replaying
// what the recording did gives every recorded total exactly. With T(n) the
// input tokens of call n:
//
//	T(1) = static prefix + input(1)
//	T(n+1) = T(n) + reply(n) + input(n+1)       with nothing in between
//	T(n+1) = static prefix + Kept + input(n+1)  after a compaction, less what it absorbed
//	… − Saved                                   when reasoning was left out, or after a shrink
//
// The usage tells the tokens of a reply and of its reasoning. Input keeps its
// estimate when that leaves a rest, which becomes an unseen block; estimates
// too high for the growth are scaled down to it, never up.
func (t *thread) fit(rates *traces.Rates) {
	for r := range t.rounds {
		rd := &t.rounds[r]
		weigh(rates, rd.input)
		weigh(rates, rd.reply)
		rd.scaleReply()
	}
	for e := range t.events {
		weigh(rates, t.events[e].kept)
		weigh(rates, t.events[e].summary)
	}
	f := fitter{t: t}
	for r := range t.rounds {
		f.round(r)
	}
	for ; f.next < len(t.events); f.next++ {
		ev := t.events[f.next]
		ev.Absorbed = 0
		ev.Kept = int32(tokens(ev.kept) + tokens(ev.summary))
		f.events = append(f.events, ev)
	}
	t.events = f.events
}

// weigh gives blocks their estimate.
func weigh(rates *traces.Rates, list []block) {
	for i := range list {
		b := &list[i]
		n := rates.Tokens(b.Kind, int(b.Bytes))
		if b.Kind == prompt.KindToolResult && b.Flags&prompt.FlagImage != 0 {
			n += int(rates.Fixed[prompt.KindImage])
		}
		b.Tokens = int32(min(n, maxTokens))
	}
}

// scaleReply gives a reply the output tokens the usage tells: reasoning its own,
// the rest to what is visible.
func (rd *round) scaleReply() {
	if !rd.count.ok {
		return
	}
	var thought, said []*int32
	for i := range rd.reply {
		if b := &rd.reply[i]; b.Kind == prompt.KindThinking {
			thought = append(thought, &b.Tokens)
		} else {
			said = append(said, &b.Tokens)
		}
	}
	output, reasoning := rd.count.Output, rd.count.reasoning
	switch {
	case len(thought) == 0:
		reasoning = 0
	case len(said) == 0:
		reasoning = output
	}
	if reasoning == 0 {
		for _, n := range thought {
			*n = 0
		}
		thought = nil
	}
	reading.Share(reasoning, thought)
	reading.Share(output-reasoning, said)
}

// fitter walks over the calls of a thread.
type fitter struct {
	t       *thread
	total   int64    // input tokens of the last call
	reply   []block  // its reply
	thought []*block // reasoning that still stands in the context
	events  []event  // result: the events of the recording and those inferred
	next    int      // first event of the thread that is not handled yet
	static  int64
}

// round fits what stands between the last call and round r.
func (f *fitter) round(r int) {
	rd := &f.t.rounds[r]
	if r == 0 {
		f.static = f.t.layPrefix(rd)
	}
	from := len(f.events)
	for ; f.next < len(f.t.events) && int(f.t.events[f.next].Round) <= r; f.next++ {
		f.events = append(f.events, f.t.events[f.next])
	}
	switch due := f.events[from:]; {
	case len(due) > 0:
		for i := range due[:len(due)-1] {
			due[i].Kept = int32(tokens(due[i].kept) + tokens(due[i].summary))
		}
		f.compacted(rd, r, &due[len(due)-1])
	case r == 0:
		f.grow(rd, r, f.static)
	default:
		f.grow(rd, r, f.total+tokens(f.reply))
	}
	f.total, f.reply = rd.total, rd.reply
	for i := range rd.reply {
		if b := &rd.reply[i]; b.Kind == prompt.KindThinking && b.Tokens > 0 {
			f.thought = append(f.thought, b)
		}
	}
}

// grow fits a round that goes on from a context of base tokens, the last reply
// included.
func (f *fitter) grow(rd *round, r int, base int64) {
	visible := tokens(rd.input)
	rd.total = base + visible
	if !rd.count.ok {
		return
	}
	rd.total = rd.count.Input()
	rest := rd.total - base - visible
	saved := f.forgettable()
	if forgets := rd.prompted && saved > 0 && rest < -saved/2; !forgets {
		saved = 0
	}
	room := visible + rest + saved // for the input
	switch {
	case room > visible:
		rd.unseen(room - visible)
	case room >= 0:
		scaleTo(room, rd.input)
	default:
		room += f.shaveReply(rd, saved)
		scaleTo(max(0, room), rd.input)
	}
	lost := max(0, -room)
	if saved > 0 {
		f.forget(rd, r, saved+lost)
	} else if lost > 0 {
		f.shrink(rd, r, lost)
	}
}

// shaveReply cuts the last reply down when the context grew by less than its
// output: not all of that is sent back. It returns the tokens cut. Where
// reasoning is left out the reply keeps its size, which the saving counts on.
func (f *fitter) shaveReply(rd *round, saved int64) int64 {
	growth := rd.total - f.total
	if saved > 0 || growth < 0 || len(f.reply) == 0 {
		return 0
	}
	had := tokens(f.reply)
	keep := max(0, growth-tokens(rd.input))
	if keep >= had {
		return 0
	}
	scaleTo(keep, f.reply)
	return had - keep
}

// shrink notes that the context lost tokens and no line says why.
func (f *fitter) shrink(rd *round, r int, lost int64) {
	f.events = append(f.events, event{Event: traces.Event{
		Kind: traces.EventShrink, Round: int32(r), Saved: int32(lost), At: rd.inputAt, Line: rd.line,
	}})
}

// forgettable returns the reasoning in the context, tokens.
func (f *fitter) forgettable() int64 {
	var n int64
	for _, b := range f.thought {
		n += int64(b.Tokens)
	}
	return n
}

// forget notes that the provider left the reasoning so far out of the context.
// Models through gpt-5.5 do at most prompts of a person, and the recorded totals
// then fall by just the reasoning of the turns before; gpt-5.6 keeps it.
func (f *fitter) forget(rd *round, r int, saved int64) {
	f.events = append(f.events, event{
		Event:  traces.Event{Kind: traces.EventForget, Round: int32(r), Saved: int32(saved), At: rd.inputAt, Line: rd.line},
		forget: f.thought,
	})
	f.thought = nil
}

// compacted fits the first call after a compaction: what is neither static
// prefix nor its own input was kept. Input that came before was absorbed and
// keeps its estimate: no total tells of it.
func (f *fitter) compacted(rd *round, r int, ev *event) {
	f.thought = nil
	own := rd.input[ev.Absorbed:]
	retained, summary := tokens(ev.kept), tokens(ev.summary)
	if !rd.count.ok {
		ev.Kept = int32(retained + summary)
		rd.total = f.static + int64(ev.Kept) + tokens(own)
		return
	}
	rd.total = rd.count.Input()
	room := rd.total - f.static
	if room < 0 {
		f.shrink(rd, r, -room)
		room = 0
	}
	if tokens(own) > room {
		scaleTo(room, own)
	}
	left := room - tokens(own)
	ev.Kept = int32(left)
	if len(ev.summary) > 0 {
		// The size of an encrypted summary is not logged: it has what the
		// messages that stayed leave of the context.
		scaleTo(min(left, max(summary, left-retained)), ev.summary)
	}
}

// scaleTo scales the tokens of blocks to a total.
func scaleTo(total int64, list []block) {
	weights := make([]*int32, len(list))
	for i := range list {
		weights[i] = &list[i].Tokens
	}
	reading.Share(total, weights)
}

// unseen adds the tokens of a growth that no line shows.
func (rd *round) unseen(n int64) {
	b := newBlock(prompt.KindUnseen, []byte(rd.id))
	b.Tokens, b.Flags, b.Bytes = int32(n), prompt.FlagDerived, 0
	rd.input = append(rd.input, b)
}

// tokens sums the tokens of blocks.
func tokens(list []block) int64 {
	var n int64
	for i := range list {
		n += int64(list[i].Tokens)
	}
	return n
}
