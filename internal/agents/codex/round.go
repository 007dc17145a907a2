package codex

import (
	"slices"
	"strconv"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// round is a call with what was said before it.
type round struct {
	id       string
	model    string
	input    []block
	reply    []block
	count    count
	line     int32
	inputAt  int64 // time of the last line of the input, unix ns; 0 if unknown
	first    int64 // time of the first line of the reply
	last     int64 // time of the last line of the reply
	prompted bool
	answered bool
	total    int64 // input tokens: recorded, or by the blocks when the counts cannot be
}

// event is an Event with its blocks.
type event struct {
	traces.Event
	kept    []block // messages that stayed or came back
	summary []block
	forget  []*block // reasoning that left the context
}

// thread is the conversation of a rollout under construction.
type thread struct {
	ro         *rollout
	rounds     []round
	events     []event
	prefix     []block
	midContext bool
	repeated   int
	loose      int   // blocks behind the last call
	looseLine  int32 // line of the first of them

	open        round   // the call under way
	next        []block // what follows its reply and goes into the next call
	interrupted bool    // next holds a message: a further reply is another call's
	nextPrompt  bool
	nextAnswer  bool
	nextAt      int64
	model       string
	lastAt      int64
}

// newThread divides the items of a rollout into calls.
func newThread(ro *rollout) *thread {
	t := &thread{ro: ro}
	for i := range ro.items {
		it := &ro.items[i]
		switch it.kind {
		case itemModel:
			t.model = it.model
		case itemInput, itemOutput:
			t.input(it)
		case itemReply:
			t.reply(it)
		case itemCount:
			t.close(it)
		case itemCompacted:
			t.compact(it)
		}
		if it.kind != itemModel && it.kind != itemCount && it.time != 0 {
			t.lastAt = it.time
		}
	}
	t.abandon()
	if t.loose = len(t.open.input); t.loose > 0 {
		t.looseLine = t.open.input[0].Line
	}
	ro.items = nil
	return t
}

// input takes a message or a result: into the call under way when the model has
// not answered yet, else into the next.
func (t *thread) input(it *item) {
	said, answer := it.kind == itemInput && isPrompt(it.blocks), it.kind == itemOutput
	if len(t.open.reply) == 0 {
		t.open.input = append(t.open.input, it.blocks...)
		t.open.inputAt = max(t.open.inputAt, it.time)
		t.open.prompted = t.open.prompted || said
		t.open.answered = t.open.answered || answer
		return
	}
	t.next = append(t.next, it.blocks...)
	t.nextAt = max(t.nextAt, it.time)
	t.nextPrompt, t.nextAnswer = t.nextPrompt || said, t.nextAnswer || answer
	t.interrupted = t.interrupted || it.kind == itemInput
}

// isPrompt reports whether a person wrote one of the blocks.
func isPrompt(list []block) bool {
	return slices.ContainsFunc(list, func(b block) bool { return b.Kind == prompt.KindPrompt })
}

func (t *thread) reply(it *item) {
	if t.interrupted {
		t.abandon()
	}
	r := &t.open
	if len(r.reply) == 0 {
		r.first, r.line = it.time, it.line
	}
	if r.id == "" {
		r.id = it.id
	}
	r.last = max(r.last, it.time)
	r.reply = append(r.reply, it.blocks...)
}

// abandon makes a call whose tokens were never counted, an interrupted one,
// part of the input of the next: its text is in the context all the same.
func (t *thread) abandon() {
	r := &t.open
	r.input = append(append(r.input, r.reply...), t.next...)
	r.inputAt = max(r.inputAt, r.last, t.nextAt)
	r.prompted, r.answered = r.prompted || t.nextPrompt, r.answered || t.nextAnswer
	r.reply, r.id, r.first, r.last = nil, "", 0, 0
	t.startNext()
}

// startNext forgets what was held for the next call.
func (t *thread) startNext() {
	t.next, t.nextAt = nil, 0
	t.interrupted, t.nextPrompt, t.nextAnswer = false, false, false
}

// close ends the call under way with its token counts.
func (t *thread) close(it *item) {
	r := t.open
	r.count, r.model = it.count, t.model
	if r.line == 0 {
		r.line = it.line
	}
	if r.last == 0 {
		r.first, r.last = it.time, it.time
	}
	if r.id == "" {
		r.id = t.ro.id + "#" + strconv.Itoa(len(t.rounds))
	}
	t.rounds = append(t.rounds, r)
	t.open = round{input: t.next, inputAt: t.nextAt, prompted: t.nextPrompt, answered: t.nextAnswer}
	t.startNext()
}

// compact notes that the history was replaced ahead of the next call. What
// was said since the last call went into it.
func (t *thread) compact(it *item) {
	t.abandon()
	ev := event{Event: traces.Event{
		Kind: traces.EventCompact, Round: int32(len(t.rounds)), Absorbed: int32(len(t.open.input)), At: it.time, Line: it.line,
	}}
	for i, b := range it.blocks {
		if b.Kind == prompt.KindSummary {
			ev.summary = it.blocks[i:]
			break
		}
		ev.kept = it.blocks[:i+1]
	}
	if it.time != 0 && t.lastAt != 0 {
		ev.Wait = max(0, it.time-t.lastAt)
	}
	t.open.inputAt = max(t.open.inputAt, it.time)
	t.events = append(t.events, ev)
}

// disown takes calls that an earlier session owns out of the thread: what was
// said in them is input of the first call of its own.
func (t *thread) disown(owned map[string]bool) {
	var kept []round
	var carry []block
	next := 0
	for i := range t.rounds {
		r := t.rounds[i]
		for ; next < len(t.events) && int(t.events[next].Round) <= i; next++ {
			t.events[next].Absorbed += int32(len(carry))
			t.events[next].Round = int32(len(kept))
		}
		r.input = append(carry, r.input...)
		carry = nil
		if owned[r.id] {
			t.repeated++
			t.midContext = t.midContext || len(kept) == 0
			carry = append(r.input, r.reply...)
			continue
		}
		owned[r.id] = true
		kept = append(kept, r)
	}
	for ; next < len(t.events); next++ {
		t.events[next].Round = int32(len(kept))
	}
	t.rounds = kept
}
