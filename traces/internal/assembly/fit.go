package assembly

import (
	"math"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/signs"
)

// fit lays the recorded totals over the blocks of a thread, so that replaying
// what the recording did gives every recorded total exactly. With T(n) the
// input tokens of call n without the tail that is never cached:
//
//	T(1) = prefix + input(1)
//	T(n+1) = T(n) + reply(n) + input(n+1)        with nothing in between
//	T(n+1) = static prefix + Kept + input(n+1)   after a compaction, less what it absorbed
//	… − Saved                                    after a microcompaction, a shrink, or thought left out
//
// Visible blocks keep their estimate when it is too low for the growth; the
// rest becomes an unseen block. When it is too high they are scaled down. They
// are never scaled up to include what is unseen. Only a reply whose final
// output was logged is scaled to that.
func (s *Session) fit(t *Thread) {
	for r := range t.Calls {
		rd := &t.Calls[r]
		if rd.OK && rd.Input() > MaxTokens {
			rd.OK, rd.Final = false, false
		}
		rd.tail = s.tailOf(rd.Call)
		before, reply := s.weigh(rd.Before), s.weigh(rd.Reply)
		if (before || reply) && !rd.OK {
			s.tooLarge(rd.Place)
		}
		if rd.Final {
			rd.scaleReply()
		}
	}
	for e := range t.Happened {
		ev := &t.Happened[e]
		stayed, text := s.weigh(ev.Stayed), s.weigh(ev.Text)
		if stayed || text {
			s.tooLarge(Place{ev.Source, ev.Line})
		}
	}
	f := fitter{s: s, t: t, events: slices.Grow([]Event(nil), len(t.Happened))}
	f.rounds(f.begin())
	f.densify()
	s.address(t)
	for r := range t.Calls {
		s.deriveOutput(&t.Calls[r], r == len(t.Calls)-1)
	}
}

// weigh gives blocks their estimate, which is cut to MaxTokens together, and
// reports whether it was.
func (s *Session) weigh(list []Block) (cut bool) {
	for i := range list {
		list[i].Tokens = Weigh(&s.Rates, &list[i].Block)
	}
	if cut = Tokens(list) > MaxTokens; cut {
		scale(MaxTokens, list)
	}
	return cut
}

// tooLarge records a context that was cut to MaxTokens.
func (s *Session) tooLarge(at Place) {
	s.Problem(at, "the context is estimated at more than %d tokens and is cut to that", MaxTokens)
}

// clamp32 returns n, or the largest int32 when it is larger.
func clamp32(n int64) int32 { return int32(min(n, math.MaxInt32)) }

// fitter walks over the gaps between the calls of a thread.
type fitter struct {
	s       *Session
	t       *Thread
	total   int64    // input tokens of the last call
	grown   int64    // tokens by which the head has grown
	lists   []int64  // tokens by which each list of tools, in order, is heavier than the first one
	list    int      // the one that was sent last
	last    *Round   // the last call, nil for one of the parent's thread or after a compaction
	reply   []Block  // its reply
	fixed   bool     // the reply was fitted in the parent's thread
	final   bool     // the reply has its logged size
	thought []*Block // thinking that is still in the context
	found   []*Round // calls whose unseen input has what the provider found for them on the web, and still sends
	events  []Event  // result: the events of the recording and those inferred
	next    int      // first event of the thread that is not yet handled
}

// begin fits what a thread starts with and returns the first round that is left.
func (f *fitter) begin() int {
	switch {
	case f.t.Kind == traces.ThreadBranch:
		f.leaveParent()
		return 0
	case f.s.Head != nil:
		f.t.Ahead = f.s.Head(f.t)
		f.total = Tokens(f.t.Ahead)
		return 0
	}
	// A compaction before the first call is history: its summary belongs to what
	// the thread begins with. One that has a bill stays.
	rd := &f.t.Calls[0]
	var summary []Block
	for _, ev := range f.take(0) {
		if ev.Kind == traces.EventCompact {
			summary = ev.Text
			if !f.s.foreign[rd.ID] {
				f.s.Quality.Bare++
			}
		}
		if ev.summary != nil {
			ev.Text, ev.Absorbed = nil, 0
			f.events = append(f.events, ev)
		}
	}
	f.s.layPrefix(f.t, summary)
	rd.total = Tokens(f.t.Ahead) + Tokens(rd.Before)
	f.endAt(rd)
	return 1
}

// leaveParent takes up the context a branch inherits.
func (f *fitter) leaveParent() {
	f.fixed = true
	p, r := f.t.Up, f.t.ParentRound
	for ; r < 0 && p.Kind == traces.ThreadBranch; p, r = p.Up, p.ParentRound {
	}
	if r < 0 {
		f.total = Tokens(p.Ahead)
		return
	}
	f.total = p.Calls[r].total
	f.reply = p.Calls[r].Reply
}

// take returns the events before a round that are not yet handled.
func (f *fitter) take(round int) []Event {
	from := f.next
	for f.next < len(f.t.Happened) && int(f.t.Happened[f.next].Round) <= round {
		f.next++
	}
	return f.t.Happened[from:f.next]
}

func (f *fitter) rounds(first int) {
	for r := first; r < len(f.t.Calls); r++ {
		rd := &f.t.Calls[r]
		events := f.take(r)
		inferred := f.close(rd, events)
		f.events = append(f.events, events...)
		if inferred.Saved > 0 {
			inferred.Round, inferred.At = int32(r), rd.InputAt
			inferred.Source, inferred.Line = rd.Source, rd.Line
			f.events = append(f.events, inferred)
		}
		f.endAt(rd)
		if slices.ContainsFunc(events, func(e Event) bool { return e.Kind == traces.EventCompact }) {
			f.last = nil
		}
	}
	rest := f.take(len(f.t.Calls))
	for i := range rest {
		rest[i].Kept, rest[i].Absorbed = clamp32(Tokens(rest[i].Stayed)+Tokens(rest[i].Text)), 0
	}
	f.t.Happened = append(f.events, rest...)
}

// change notes that a round has another list of tools than the round before, and what it weighs, and reports whether the list was sent
// before. A new one weighs what else the request has more, or less.
func (f *fitter) change(rd *Round, more int64) (known bool) {
	if f.lists == nil {
		f.lists = []int64{0}
	}
	was, to := f.lists[f.list], int(rd.Parted)-1
	for known = to < len(f.lists); len(f.lists) <= to; {
		f.lists = append(f.lists, was+more)
	}
	f.list, rd.tools = to, int32(f.lists[to]-was)
	return known
}

// endAt makes a round the last call.
func (f *fitter) endAt(rd *Round) {
	f.last, f.total, f.reply, f.fixed, f.final = rd, rd.total, rd.Reply, false, rd.Final
	if n := headTokens(rd.Before) + int64(rd.tools); n != 0 {
		f.grown, f.t.headGrows = f.grown+n, true
	}
	if !f.s.Exact {
		return
	}
	for i := range rd.Reply {
		if b := &rd.Reply[i]; b.Kind == prompt.KindThinking && b.Tokens > 0 {
			f.thought = append(f.thought, b)
		}
	}
}

// close fits the growth from the last call to rd. The event it returns is one
// that no line shows; without Saved it is none.
func (f *fitter) close(rd *Round, events []Event) Event {
	f.weighHead(rd.Before)
	compact, micro := -1, -1
	for i := range events {
		switch events[i].Kind {
		case traces.EventCompact:
			compact = i
			events[i].Kept = clamp32(Tokens(events[i].Stayed) + Tokens(events[i].Text))
		case traces.EventMicrocompact:
			micro = i
		}
	}
	if compact >= 0 {
		return f.closeCompact(rd, &events[compact])
	}
	visible := Tokens(f.reply) + Tokens(rd.Before)
	if !f.bound(rd, f.total+visible) {
		return Event{}
	}
	growth := rd.total - f.total
	if rd.Verdict == signs.VerdictTools && rd.Parted > 0 {
		known := f.change(rd, growth-visible)
		if growth -= int64(rd.tools); !known {
			return Event{}
		}
	}
	if rd.Shrunk > 0 {
		rd.tools = -int32(float64(static(f.t)+f.grown) * rd.Shrunk)
		growth -= int64(rd.tools)
	}
	if rest := growth - visible; rest < 0 && rd.Signs.Has(signs.Head) {
		ev := shrunk(-rest)
		ev.Head = true
		return ev
	}
	if f.s.Exact {
		if rest := growth - visible; micro >= 0 && rest < 0 {
			events[micro].Saved, f.thought = clamp32(-rest), nil
			return Event{}
		}
		return f.closeExact(rd, growth)
	}
	switch rest := growth - visible; {
	case rest > 0:
		f.s.unseen(rd, rest)
	case rest == 0:
	case micro >= 0:
		events[micro].Saved = clamp32(-rest)
	case !f.shave(rd, growth):
		return shrunk(-rest)
	}
	return Event{}
}

// weighHead gives what comes to tools and system prompt as many tokens for a byte as those have that the thread began with.
func (f *fitter) weighHead(list []Block) {
	var bytes, tokens int64
	for i := range f.t.Ahead {
		if b := &f.t.Ahead[i]; b.Kind.Level() != prompt.LevelMessages && b.Bytes > 0 {
			bytes, tokens = bytes+int64(b.Bytes), tokens+int64(b.Tokens)
		}
	}
	for i := range list {
		if b := &list[i]; bytes > 0 && b.Kind.Level() != prompt.LevelMessages {
			b.Tokens = clamp32(int64(b.Bytes) * tokens / bytes)
		}
	}
}

// bound sets the total of a round to the recorded one, or to MaxTokens when the
// estimate exceeds it, and reports that blocks must be fitted to it. Otherwise
// the estimate is the total.
func (f *fitter) bound(rd *Round, estimate int64) bool {
	if rd.OK {
		rd.total = rd.context()
		return true
	}
	rd.total = min(estimate, MaxTokens)
	if estimate > MaxTokens {
		f.s.tooLarge(rd.Place)
	}
	return estimate > MaxTokens
}

// shrunk returns the event of a context that lost tokens for no logged reason.
func shrunk(tokens int64) Event {
	return Event{Event: traces.Event{Kind: traces.EventShrink, Saved: clamp32(tokens)}}
}

// shave scales visible blocks down to a growth, if possible.
func (f *fitter) shave(rd *Round, growth int64) bool {
	if left := growth - Tokens(f.reply); f.fixed || f.final && left >= 0 {
		if left < 0 {
			return false
		}
		scale(left, rd.Before)
		return true
	}
	if growth < 0 {
		return false
	}
	scale(growth, f.reply, rd.Before)
	return true
}

// closeExact fits a growth where outputs are exact. A total that falls short at a prompt
// by about the size of the thinking shows that the provider left the thinking out of the
// context. Models of OpenAI through gpt-5.5 do so; gpt-5.6 keeps it. One that falls amid
// a turn, where the client does not go back, shows that the last call had input that is not sent again.
func (f *fitter) closeExact(rd *Round, growth int64) Event {
	visible := Tokens(rd.Before)
	rest := growth - Tokens(f.reply) - visible
	if growth < Tokens(f.reply) && !rd.Prompted && f.last != nil && searched(f.reply) && -rest < Tokens(f.last.Before) {
		return f.dropFound(-rest)
	}
	forgot := f.forgotten(rd, -rest)
	if rd.Prompted && len(forgot) == 0 {
		f.thought = nil // what a prompt kept stays, or has been left out before
	}
	saved := size(forgot)
	room := visible + rest + saved // for the input
	switch {
	case room > visible:
		f.s.unseen(rd, room-visible)
		if searched(f.reply) || searched(rd.Reply) {
			f.found = append(f.found, rd)
		}
	case room >= 0:
		scale(room, rd.Before)
	default:
		if saved == 0 && growth < 0 && f.holdsFound(-rest) {
			return f.loseFound(-rest)
		}
		if saved == 0 {
			room += f.cutReply(rd, growth)
		}
		scale(max(0, room), rd.Before)
	}
	lost := max(0, -room)
	switch {
	case saved > 0:
	case growth < 0 && f.s.Onward && !rd.Prompted && f.last != nil && lost < Tokens(f.last.Before):
		return f.dropFound(lost)
	default:
		return shrunk(lost)
	}
	f.thought = slices.DeleteFunc(f.thought, func(b *Block) bool { return slices.Contains(forgot, b) })
	return Event{Event: traces.Event{Kind: traces.EventForget, Saved: clamp32(saved + lost)}, forgot: forgot}
}

// forgotten returns the thinking that a request no longer sends: at a person's prompt every reply's, otherwise the last reply's, if that
// called no tool. short is how many tokens the request has less than everything visible. DeepSeek's models keep the thinking that
// led to a tool call (api-docs.deepseek.com, thinking mode).
func (f *fitter) forgotten(rd *Round, short int64) []*Block {
	lacks := func(list []*Block) bool { return len(list) > 0 && short > size(list)/2 }
	if rd.Prompted && lacks(f.thought) && !strings.Contains(rd.Model, "deepseek") {
		return slices.Clone(f.thought)
	}
	if f.fixed || callsTool(f.reply) {
		return nil
	}
	last := f.thought
	for len(last) > 0 && !slices.ContainsFunc(f.reply, func(b Block) bool { return b.Digest == last[0].Digest }) {
		last = last[1:]
	}
	if lacks(last) {
		return slices.Clone(last)
	}
	return nil
}

// size returns the tokens of blocks.
func size(list []*Block) (n int64) {
	for _, b := range list {
		n += int64(b.Tokens)
	}
	return n
}

// cutReply cuts the last reply when the context grew by less than its output:
// not all output is sent back. It returns the tokens cut.
func (f *fitter) cutReply(rd *Round, growth int64) int64 {
	if growth < 0 || len(f.reply) == 0 || f.fixed {
		return 0
	}
	had := Tokens(f.reply)
	keep := max(0, growth-Tokens(rd.Before))
	if keep >= had {
		return 0
	}
	scale(keep, f.reply)
	return had - keep
}

// closeCompact fits the first call after a compaction: what is neither static
// prefix nor its own input was kept. No total shows the input from before the
// compaction, which was absorbed.
func (f *fitter) closeCompact(rd *Round, ev *Event) (lost Event) {
	f.thought, f.found = nil, nil
	static, own := static(f.t)+f.grown, rd.Before[ev.Absorbed:]
	if !f.bound(rd, static+int64(ev.Kept)+Tokens(own)) {
		return lost
	}
	room := rd.total - static
	if room < 0 {
		lost = shrunk(-room)
		room = 0
	}
	if Tokens(own) > room {
		scale(room, own)
	}
	left := room - Tokens(own)
	ev.Kept = clamp32(left)
	summary, stayed := Tokens(ev.Text), Tokens(ev.Stayed)
	if f.s.Sealed && len(ev.Text) > 0 {
		// The summary gets what the messages that stayed leave.
		summary = max(summary, left-stayed)
		for i := range ev.Text {
			ev.Text[i].Flags |= prompt.FlagDerived
		}
		scale(min(left, summary), ev.Text)
	} else if summary > left {
		scale(left, ev.Text)
	}
	return lost
}

// unseen adds the tokens of a growth that no line shows.
func (s *Session) unseen(rd *Round, n int64) {
	unseen := UnseenBlock
	if s.Unseen != nil {
		unseen = s.Unseen
	}
	before := make([]Block, len(rd.Before), len(rd.Before)+1) // append would make room for twice as many
	copy(before, rd.Before)
	rd.Before = append(before, Block{Block: unseen(rd.ID, n)})
}

// deriveOutput sets the output of a round: the logged one when it is final,
// else what the fit left to the reply, which for the last call is its estimate.
func (s *Session) deriveOutput(rd *Round, last bool) {
	rd.output = rd.Output
	if rd.Final {
		return
	}
	rd.derived = true
	rd.unknown = last && len(rd.Reply) == 0 && !s.Exact
	rd.output = max(rd.output, Tokens(rd.Reply))
}

// Usual reports whether a term of service, as the interfaces of models state it, is the usual one,
// which has the listed prices.
func Usual(term string) bool {
	switch term {
	case "", "standard", "default", "auto", "normal", "not_available", "global":
		return true
	}
	return false
}

// Served returns the name of a model with the terms that a call was served under, such as its speed,
// where they are not the usual ones, each as "[fast]": they have prices of their own. A window of a
// million tokens stays last.
func Served(model string, terms ...string) string {
	model, large := strings.CutSuffix(model, "[1m]")
	for _, t := range terms {
		if !Usual(t) {
			model += "[" + t + "]"
		}
	}
	if large {
		model += "[1m]"
	}
	return model
}
