package claudecode

import (
	"github.com/compactsim/compactsim/traces"
)

// fit lays the recorded totals over the blocks of a thread, so that replaying
// what the recording did gives every recorded total exactly. With T(n) the
// input tokens of call n without the tail that is never cached:
//
//	T(1) = prefix + input(1)
//	T(n+1) = T(n) + reply(n) + input(n+1)      with nothing in between
//	T(n+1) = static prefix + Kept + input(n+1)   after a compaction, less what it absorbed
//	… − Saved                                    after a microcompaction or shrink
//
// Visible blocks keep their estimate when it leaves a rest, which becomes an
// unseen block; when they are estimated too high for the growth they are
// scaled down to it. They are never scaled up to swallow what is unseen. Only
// a reply whose final output was logged is scaled to that.
func (b *builder) fit(t *thread) {
	for r := range t.rounds {
		rd := &t.rounds[r]
		b.weigh(rd.input)
		b.weigh(rd.reply)
		if rd.call.final() {
			scale(rd.call.usage.Output, rd.reply)
		}
	}
	for e := range t.events {
		b.weigh(t.events[e].summary)
	}
	f := fitter{b: b, t: t}
	if t.Kind == traces.ThreadBranch {
		f.leaveParent()
	} else {
		f.begin()
	}
	f.rounds()
	for r := range t.rounds {
		deriveOutput(&t.rounds[r], r == len(t.rounds)-1)
	}
}

// weigh gives blocks their estimate.
func (b *builder) weigh(list []block) {
	for i := range list {
		list[i].Tokens = b.estimate(&list[i].Block)
	}
}

// fitter walks over the gaps between the calls of a thread.
type fitter struct {
	b      *builder
	t      *thread
	total  int64   // input tokens of the last call
	reply  []block // its reply
	fixed  bool    // the reply was fitted in the parent's thread
	final  bool    // the reply has its logged size
	shrunk event   // what the last gap lost without a line that says why
	events []event // result: the events of the recording and those inferred
	next   int     // first event of the thread that is not handled yet
}

// leaveParent takes up the context a branch inherits.
func (f *fitter) leaveParent() {
	f.fixed = true
	p, r := f.t.parent, f.t.ParentRound
	for ; r < 0 && p.Kind == traces.ThreadBranch; p, r = p.parent, p.ParentRound {
	}
	if r < 0 {
		f.total = tokens(p.prefix)
		return
	}
	f.total = p.rounds[r].total
	f.reply = p.rounds[r].reply
}

// begin fits the first call of a thread of its own. A compaction ahead of it
// is history: its summary is part of what the thread begins with.
func (f *fitter) begin() {
	rd := &f.t.rounds[0]
	var summary []block
	for _, ev := range f.take(0) {
		if ev.Kind == traces.EventCompact {
			summary = ev.summary
		}
	}
	f.b.layPrefix(f.t, summary)
	rd.total = tokens(f.t.prefix) + tokens(rd.input)
	f.total, f.reply, f.final = rd.total, rd.reply, rd.call.final()
}

// take returns the events ahead of a round that are not handled yet.
func (f *fitter) take(round int) []event {
	from := f.next
	for f.next < len(f.t.events) && int(f.t.events[f.next].Round) <= round {
		f.next++
	}
	return f.t.events[from:f.next]
}

func (f *fitter) rounds() {
	first := 1
	if f.t.Kind == traces.ThreadBranch {
		first = 0
	}
	for r := first; r < len(f.t.rounds); r++ {
		rd := &f.t.rounds[r]
		events := f.take(r)
		f.close(rd, events)
		f.events = append(f.events, events...)
		if f.shrunk.Saved > 0 {
			f.events = append(f.events, f.inferred(rd, r))
		}
		f.total, f.reply = rd.total, rd.reply
		f.fixed, f.final, f.shrunk = false, rd.call.final(), event{}
	}
	rest := f.take(len(f.t.rounds))
	for i := range rest {
		rest[i].Kept, rest[i].Absorbed = int32(tokens(rest[i].summary)), 0
	}
	f.t.events = append(f.events, rest...)
}

// inferred completes an event that no line tells of.
func (f *fitter) inferred(rd *round, r int) event {
	ev := f.shrunk
	ev.Kind, ev.Round, ev.At = traces.EventShrink, int32(r), rd.inputAt
	ev.src, ev.Line = rd.call.entry.src, rd.call.entry.line
	return ev
}

// close fits the growth from the last call to rd.
func (f *fitter) close(rd *round, events []event) {
	compact, micro := -1, -1
	for i := range events {
		switch events[i].Kind {
		case traces.EventCompact:
			compact = i
			events[i].Kept = int32(tokens(events[i].summary))
		case traces.EventMicrocompact:
			micro = i
		}
	}
	if compact >= 0 {
		f.closeCompact(rd, &events[compact])
		return
	}
	visible := tokens(f.reply) + tokens(rd.input)
	rd.total = f.total + visible
	if !rd.call.usage.ok {
		return
	}
	growth := rd.call.context() - f.total
	rd.total = rd.call.context()
	switch rest := growth - visible; {
	case rest > 0:
		rd.unseen(rest)
	case rest == 0:
	case micro >= 0:
		events[micro].Saved = int32(-rest)
	case !f.shave(rd, growth):
		f.shrunk.Saved = int32(-rest)
	}
}

// shave scales what is visible down to a growth, if that can be.
func (f *fitter) shave(rd *round, growth int64) bool {
	if left := growth - tokens(f.reply); f.fixed || f.final && left >= 0 {
		if left < 0 {
			return false
		}
		scale(left, rd.input)
		return true
	}
	if growth < 0 {
		return false
	}
	scale(growth, f.reply, rd.input)
	return true
}

// closeCompact fits the first call after a compaction: what is neither static
// prefix nor its own input was kept. Input that came before the compaction was
// absorbed and keeps its estimate: no total tells of it.
func (f *fitter) closeCompact(rd *round, ev *event) {
	static, own := f.b.static(f.t), rd.input[ev.Absorbed:]
	if !rd.call.usage.ok {
		rd.total = static + int64(ev.Kept) + tokens(own)
		return
	}
	rd.total = rd.call.context()
	room := rd.total - static
	if room < 0 {
		f.shrunk.Saved = int32(-room)
		room = 0
	}
	if tokens(own) > room {
		scale(room, own)
	}
	ev.Kept = int32(room - tokens(own))
	if tokens(ev.summary) > int64(ev.Kept) {
		scale(int64(ev.Kept), ev.summary)
	}
}

// unseen adds the tokens of a growth that no line shows.
func (rd *round) unseen(n int64) {
	rd.input = append(rd.input, block{Block: UnseenBlock(rd.call.id, n)})
}

// deriveOutput gives a round its output: the logged one when it is final, else
// what the fit left to the reply, which for the last call is its estimate.
func deriveOutput(rd *round, last bool) {
	rd.output = rd.call.usage.Output
	if rd.call.final() {
		return
	}
	rd.derived = true
	rd.unknown = last && len(rd.reply) == 0
	rd.output = max(rd.output, tokens(rd.reply))
}

// tokens sums the tokens of blocks.
func tokens(list []block) int64 {
	var n int64
	for i := range list {
		n += int64(list[i].Tokens)
	}
	return n
}
