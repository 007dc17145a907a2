package assembly

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/compactsim/compactsim/internal/kit/numbers"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/signs"
)

// emitter lays threads out in the flat form of a session.
type emitter struct {
	s          *Session
	out        *traces.Session
	tools      map[string]uint16
	objects    map[string]int32
	models     map[string]uint16
	files      map[*File]uint16
	uses       map[int32]int32         // index of tool calls in the session, by number
	results    map[prompt.Digest]int32 // index of tool results in the session, by call
	message    int32
	placements map[traces.Breakpoints]uint16 // as Round has them
	untimed    int                           // calls without a usable time
	doubted    int                           // calls of rounds whose own counts do not fit together
}

// emit makes the session, whose threads give up their blocks. heard says whether to note what was heard of these.
func (s *Session) emit(heard bool) *traces.Session {
	out := &traces.Session{
		ID: s.ID, Agent: s.Agent, Versions: s.Versions, Variant: s.Variant, Project: s.Project, Entry: s.Entry, Window: s.Window, Announced: s.Announced,
		Tools: []string{""}, Start: s.Start, End: s.End, LoggedUSD: s.LoggedUSD, Summed: s.Summed,
	}
	e := &emitter{
		s: s, out: out, tools: map[string]uint16{"": 0}, objects: map[string]int32{}, models: map[string]uint16{},
		files: map[*File]uint16{}, placements: map[traces.Breakpoints]uint16{}, uses: map[int32]int32{}, results: map[prompt.Digest]int32{},
	}
	for _, f := range s.Files {
		e.files[f] = e.enter(&out.Files, f.Name, "files")
	}
	if len(s.Threads) > 0 && s.Threads[0].continued {
		out.Start = s.Threads[0].Began
	}
	n := 0
	for i, t := range s.Threads {
		t.index = int32(i)
		n += t.size()
	}
	if out.Blocks = make([]prompt.Block, 0, n); heard {
		s.heard = make([]any, 0, n)
	}
	for _, t := range s.Threads {
		out.Threads = append(out.Threads, e.thread(t))
	}
	for i := range s.Unshown {
		out.Unshown = append(out.Unshown, e.unshown(&s.Unshown[i]))
	}
	if e.untimed > 0 && n > 0 {
		s.Problems.Add(s.Files[0].Name, 0, "session %s: %s", s.ID, numbers.Counted(e.untimed,
			"of its calls has no usable time; nothing expires before it", "of its calls have no usable time; nothing expires before them"))
	}
	if calls := out.NumCalls(); calls > 2 && oneTime(out) {
		s.Problems.Add(s.Files[0].Name, 0, "session %s: all of its %d calls have one time: prices are of that date, and nothing expires", s.ID, calls)
	}
	out.Quality = s.Quality
	if !s.Summed { // the client's own sum confirms the counts, or says what is missing
		s.doubt(out, e.doubted)
	}
	out.Quality.Unshown = countUnshown(out.Unshown)
	Measure(out)
	out.Quality.Problems, out.Problems = s.Problems.Total, s.Problems.List
	return out
}

// unshown finds the compaction of a call that no line shows.
func (e *emitter) unshown(u *Unshown) traces.UnshownCall {
	c := traces.UnshownCall{Event: -1, Cut: u.Cut, Model: u.Model, Usage: u.Usage, At: u.At, Line: u.Line, File: e.files[u.Source]}
	for t := range e.out.Threads {
		for i := range e.out.Threads[t].Events {
			if ev := &e.out.Threads[t].Events[i]; u.Compact && ev.Kind == traces.EventCompact && ev.Line == c.Line && ev.File == c.File {
				c.Thread, c.Event = int32(t), int32(i)
			}
		}
	}
	return c
}

// size returns the number of blocks a thread will have.
func (t *Thread) size() int {
	n := len(t.Ahead)
	for r := range t.Calls {
		n += len(t.Calls[r].Before) + len(t.Calls[r].Reply)
	}
	for e := range t.Happened {
		n += len(t.Happened[e].Text) + len(t.Happened[e].head)
	}
	return n
}

// places returns where blocks are from an index on, by their digests.
func (e *emitter) places(from int) map[prompt.Digest][]int32 {
	places := map[prompt.Digest][]int32{}
	for i := from; i < len(e.out.Blocks); i++ {
		d := e.out.Blocks[i].Digest
		places[d] = append(places[d], int32(i))
	}
	return places
}

func (e *emitter) thread(t *Thread) traces.Thread {
	out, from := t.Thread, len(e.out.Blocks)
	var places map[prompt.Digest][]int32
	out.Parent = -1
	if t.Up != nil {
		out.Parent = t.Up.index
	}
	out.Delay = e.delay(t)
	out.Prefix = e.prefix(t.Ahead)
	before, next := t.Began, 0
	out.Rounds = slices.Grow(out.Rounds, len(t.Calls))
	for r := range t.Calls {
		from := next
		for ; next < len(t.Happened) && int(t.Happened[next].Round) <= r; next++ {
			out.Events = append(out.Events, e.event(&t.Happened[next]))
		}
		out.Rounds = append(out.Rounds, e.round(t, r, before, t.Happened[from:next]))
		rd := &t.Calls[r]
		rd.Before, rd.Reply, before = nil, nil, rd.Last
	}
	for ; next < len(t.Happened); next++ {
		out.Events = append(out.Events, e.event(&t.Happened[next]))
		if t.Happened[next].Kind == traces.EventCompact {
			e.s.Quality.Bare++
		}
	}
	for i := range out.Events {
		if places == nil && len(t.Happened[i].dropped) > 0 {
			places = e.places(from)
		}
		out.Events[i].Cleared = e.cleared(&t.Happened[i], places)
		ev := &t.Happened[i]
		if c := ev.summary; c != nil {
			c.Thread, c.Event = t.index, int32(i)
			e.out.Summaries = append(e.out.Summaries, *c)
		}
		if ev.uncounted {
			e.s.Quality.Uncounted++
			counts := "no usable token counts; it is not in the bill"
			if ev.summary != nil {
				counts = "token counts that contradict each other"
			}
			e.s.Problem(Place{Source: ev.Source, Line: ev.Line}, "the call that made a summary has %s", counts)
		}
	}
	return out
}

// delay returns the time from the end of the response that started a thread, or
// from the start of its parent or session.
func (e *emitter) delay(t *Thread) int64 {
	from := e.out.Start
	if t.Up != nil {
		from = t.Up.Began
		if t.ParentRound >= 0 {
			from = t.Up.Calls[t.ParentRound].Last
		}
	}
	if t.Began == 0 || from == 0 {
		return 0
	}
	return max(0, t.Began-from)
}

// prefix lays out the blocks ahead of the first round: tools and system, then
// messages, which change with the role. What comes last belongs to the message
// of the first input, as the client sends it.
func (e *emitter) prefix(list []Block) traces.Span {
	from := int32(len(e.out.Blocks))
	head, said := true, false
	for i := range list {
		k := list[i].Kind
		if messages := k.Level() == prompt.LevelMessages; messages && (head || k.Assistant() != said) {
			e.message++
			head, said = false, k.Assistant()
		}
		e.block(&list[i])
	}
	if head || said {
		e.message++
	}
	return traces.Span{From: from, To: int32(len(e.out.Blocks))}
}

// span lays out the blocks of one message.
func (e *emitter) span(list []Block) traces.Span {
	from := int32(len(e.out.Blocks))
	for i := range list {
		e.block(&list[i])
	}
	if len(list) > 0 {
		e.message++
	}
	return traces.Span{From: from, To: int32(len(e.out.Blocks))}
}

func (e *emitter) block(b *Block) {
	place := int32(len(e.out.Blocks))
	b.at = place + 1
	out := b.Block
	out.Message = e.message
	out.Object = -1
	if b.Object != "" {
		out.Object = e.object(b.Object)
	}
	out.Tool = e.intern(e.tools, &e.out.Tools, b.Tool, "tools")
	if b.Source != nil {
		out.File = e.files[b.Source]
	}
	switch out.Call = b.call; out.Kind {
	case prompt.KindToolUse:
		e.uses[b.call] = place
	case prompt.KindToolResult:
		if b.call != 0 {
			use := &e.out.Blocks[e.uses[b.call]]
			out.Tool, out.Object, out.Op = use.Tool, use.Object, use.Op
			if use.Op != op.Read && use.Op != op.Exec || use.RangeFrom > 0 {
				out.RangeFrom, out.RangeLen = use.RangeFrom, use.RangeLen
			}
			out.Flags |= use.Flags & prompt.FlagMCP
		}
		e.results[b.ID] = place
	}
	if e.out.Blocks = append(e.out.Blocks, out); e.s.heard != nil {
		e.s.heard = append(e.s.heard, b.Heard)
	}
}

func (e *emitter) event(ev *Event) traces.Event {
	out := ev.Event
	out.File = e.files[ev.Source]
	out.Summary = e.span(ev.Text)
	if len(ev.head) > 0 {
		out.CallHead = e.span(ev.head)
	}
	return out
}

// cleared returns the places of the blocks that an event cleared, in order, given by digest the
// places of the thread's blocks that none has cleared yet.
func (e *emitter) cleared(ev *Event, places map[prompt.Digest][]int32) []int32 {
	var list []int32
	for _, id := range ev.Cleared {
		if i, ok := e.results[id]; ok {
			list = append(list, i)
		}
	}
	for _, d := range ev.dropped {
		if left := places[d]; len(left) > 0 {
			list = append(list, left[0])
			if len(left) > 1 { // one that is alone may be cleared again
				places[d] = left[1:]
			}
		}
	}
	for _, b := range ev.forgot {
		if b.at > 0 {
			list = append(list, b.at-1)
		}
	}
	slices.Sort(list)
	return list
}

// round makes a round with its intervals. The request is not logged: it is
// assumed to start with the last line of its input. before is the end of the
// previous response, or the thread's start.
func (e *emitter) round(t *Thread, r int, before int64, events []Event) traces.Round {
	rd := &t.Calls[r]
	if rd.First != 0 && rd.InputAt-rd.First > mostAhead {
		e.s.Problem(rd.Place, "time runs back: the response is older than its request; its time is taken for both")
		rd.InputAt = rd.First
	}
	out := traces.Round{
		ID: rd.ID, Logged: rd.Output, At: rd.InputAt, Line: rd.Line, File: e.files[rd.Source],
		Model: e.intern(e.models, &e.out.Models, cmp.Or(rd.Model, unnamed), "models"), Trigger: traces.TriggerOther,
		Signs: rd.Signs, Verdict: rd.Verdict, Parted: rd.Parted,
		Skill:   e.intern(e.tools, &e.out.Tools, signs.NameSkill.Of(rd.Skill), "tools"),
		Plugin:  e.intern(e.tools, &e.out.Tools, signs.NamePlugin.Of(rd.Plugin), "tools"),
		Gateway: e.intern(e.tools, &e.out.Tools, signs.NameGateway.Of(rd.Gateway), "tools"),
	}
	if rd.OK {
		out.Usage, out.Tail = rd.Usage.Usage, int32(rd.tail)
	}
	out.Tools = rd.tools
	out.Usage.Output = rd.output
	out.Input = e.span(rd.Before)
	out.Reply = e.span(rd.Reply)
	switch {
	case rd.Answered:
		out.Trigger = traces.TriggerToolResult
	case rd.Prompted:
		out.Trigger = traces.TriggerPrompt
	}
	out.Placement = e.placement(rd.Breakpoints)
	e.flags(rd, &out)
	for _, a := range rd.Advice {
		e.out.Advice = append(e.out.Advice, traces.AdviceCall{Thread: t.index, Round: int32(r), Model: cmp.Or(a.Model, unnamed), Usage: a.Usage})
	}
	if rd.Searches > 0 {
		e.out.Searches = append(e.out.Searches, traces.Search{Thread: t.index, Round: int32(r), Times: int32(rd.Searches)})
	}
	compaction := int64(0)
	for i := range events {
		compaction += events[i].Wait
	}
	intervals(&out, rd, before, compaction)
	if r > 0 && rd.InputAt != 0 && rd.InputAt < t.Calls[r-1].First {
		e.s.Problem(rd.Place, "time runs back: the request is older than the response before it")
		out.Flags |= signs.NoTime
	}
	if out.Flags&signs.NoTime != 0 {
		e.untimed++
	}
	return out
}

// placement returns 1 + the place of breakpoints in the session's list, 0 for none that are shown.
func (e *emitter) placement(b *traces.Breakpoints) uint16 {
	if b == nil {
		return 0
	}
	place := e.placements[*b]
	if place == 0 && len(e.out.Placements) < math.MaxUint16 {
		e.out.Placements = append(e.out.Placements, *b)
		place = uint16(len(e.out.Placements))
		e.placements[*b] = place
	}
	return place
}

func (e *emitter) flags(rd *Round, out *traces.Round) {
	q := &e.s.Quality
	q.WebSearches += int(rd.Searches)
	if rd.Fallback {
		out.Flags |= signs.Fallback
	}
	if rd.derived {
		out.Flags |= signs.OutputDerived
		q.DerivedOutputs++
	}
	if rd.unknown {
		out.Flags |= signs.OutputUnknown
		q.UnknownOutputs++
	}
	if rd.Assumed && rd.OK {
		out.Flags |= signs.TierAssumed
		q.AssumedTiers++
	}
	if rd.HalfDay && rd.OK {
		out.Flags |= signs.HalfDay
	}
	if rd.Spread && rd.OK {
		out.Flags |= signs.Spread
		q.Spread++
	}
	text := "call %s has no usable token counts; its size is estimated"
	switch {
	case rd.OK && rd.Bad:
		text = "call %s has an impossible token count, or lacks one; its output is estimated"
	case rd.OK && rd.Doubt:
		text = "call %s has token counts that contradict each other"
	case rd.OK && rd.Final && rd.Output == 0 && spoke(rd.Reply):
		text = "call %s has an answer and counts no output"
	case rd.OK:
		return
	}
	if q.Uncounted++; rd.OK {
		e.doubted++
	}
	if !rd.Told {
		e.s.Problem(rd.Place, text, rd.ID)
	}
}

// mostAhead is how much older than its request a response may be, ns: some logs have whole seconds, or the time of a result that was
// written late. In recordings of 28,000 calls no response is older than its request at all.
const mostAhead = int64(10 * time.Second)

// intervals sets how long a round waited and streamed, given the end of the
// previous response and how long compactions in between took.
func intervals(out *traces.Round, rd *Round, before, compaction int64) {
	if rd.First == 0 {
		out.Flags |= signs.NoTime
		return
	}
	request := rd.InputAt
	if request == 0 {
		request = before // nothing new was said: a retry or continuation
	}
	if request == 0 {
		out.Flags |= signs.NoTime
		request = rd.First
	}
	if before != 0 {
		out.Wait = max(0, request-before-compaction)
	}
	out.First = max(0, rd.First-request)
	out.Stream = max(out.First, rd.Last-request)
}

// unlisted is the last place of a list of names. It stands for all names that
// do not fit.
const unlisted = math.MaxUint16

// unnamed is the name of a model whose name is missing, and of all that are unlisted.
const unnamed = "unknown"

// enter adds a name to a list and returns its place. Names beyond the last place share
// that place, under the name unknown, and are a problem of the session.
func (e *emitter) enter(list *[]string, name, what string) uint16 {
	if len(*list) < unlisted {
		*list = append(*list, name)
		return uint16(len(*list) - 1)
	}
	if len(*list) == unlisted {
		*list = append(*list, unnamed)
		e.s.Problems.Add(e.s.Files[0].Name, 0, "session %s has more than %d %s; further ones are listed as unknown",
			e.s.ID, unlisted, what)
	}
	return unlisted
}

// intern returns the place of a name in a list, entering it when it is new.
func (e *emitter) intern(index map[string]uint16, list *[]string, name, what string) uint16 {
	i, ok := index[name]
	if !ok {
		i = e.enter(list, name, what)
		index[name] = i
	}
	return i
}

// object returns the place of an object in the session's list, adding it when it
// is new.
func (e *emitter) object(name string) int32 {
	i, ok := e.objects[name]
	if !ok {
		i = int32(len(e.out.Objects))
		e.objects[name] = i
		e.out.Objects = append(e.out.Objects, name)
	}
	return i
}
