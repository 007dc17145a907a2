package synthetic

import (
	"slices"
	"strings"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/internal/assembly"
	"github.com/compactsim/compactsim/traces/signs"
)

// layer lays a plan out as the session that a reader would make of its
// transcripts: thread after thread, with names numbered as they appear.
type layer struct {
	p       *plan
	s       *traces.Session
	message int32
	calls   int32           // tool uses of the threads before
	laid    uint64          // rounds
	ids     strings.Builder // of the calls so far, in one piece
	id      []byte          // of a call, of which the last digits are its number
	index   []int32         // of threads in the session, by track
}

// lay returns the planned session. It shares nothing with the plan.
func (p *plan) lay() *traces.Session {
	s := &traces.Session{
		ID: uuid(p.d.bits(forSession, 0), 0), Agent: facts.ClaudeCode, Versions: p.g.versions, Project: p.g.w.Project,
		Tools: []string{""},
	}
	s.Files = []string{s.ID + ".jsonl"}
	l := &layer{p: p, s: s, id: []byte(p.d.apiID(messagePrefix, 0)), index: make([]int32, len(p.tracks))}
	n, ids := 0, 0
	for i := range p.tracks {
		t := &p.tracks[i]
		n += len(t.blocks) + min(t.reminders, 1)
		ids += len(t.rounds)
		if t.kind == traces.ThreadBranch {
			ids++
		} else {
			n += 2 // tools and system prompt
		}
	}
	l.ids.Grow(ids * len(l.id))
	s.Blocks = make([]prompt.Block, 0, n)
	for _, kind := range [...]traces.ThreadKind{traces.ThreadMain, traces.ThreadBranch, traces.ThreadAgent} {
		for i := range p.tracks {
			if t := &p.tracks[i]; t.kind == kind {
				l.index[i] = int32(len(s.Threads))
				s.Threads = append(s.Threads, l.thread(t))
			}
		}
	}
	main := &s.Threads[0]
	s.Start = main.Rounds[0].At - main.Rounds[0].Wait
	if ev := main.Events; len(ev) > 0 && ev[0].Round == 0 {
		s.Start -= ev[0].Wait
	}
	last := &main.Rounds[len(main.Rounds)-1]
	s.End = last.At + last.Stream + turnEndDelay
	assembly.Measure(s)
	return s
}

// turnEndDelay is the time from the end of a turn to the line that logs it.
const turnEndDelay = 70 * millisecond

// callID returns the API's id of the next call.
func (l *layer) callID() string {
	from := l.ids.Len()
	inBase58(l.id[len(l.id)-countDigits:], l.laid+1)
	l.ids.Write(l.id)
	return l.ids.String()[from:]
}

func (l *layer) thread(t *track) traces.Thread {
	out := traces.Thread{ID: "main", Kind: t.kind, Parent: -1, ParentRound: -1, Delay: t.delay}
	if t.parent >= 0 {
		out.Parent, out.ParentRound = l.index[t.parent], t.parentRound
	}
	switch t.kind {
	case traces.ThreadAgent:
		out.ID, out.AgentType = t.agent, l.p.g.w.Agents.Type
	case traces.ThreadBranch:
		out.ID = l.callID()
	}
	l.prefix(t, &out)
	out.Events, out.Rounds = append(out.Events, t.events...), append(out.Rounds, t.rounds...)
	next := 0
	for r := range out.Rounds {
		for ; next < len(out.Events) && int(out.Events[next].Round) <= r; next++ {
			out.Events[next].Summary = l.span(t, out.Events[next].Summary)
		}
		l.round(t, &out.Rounds[r])
	}
	l.calls += t.uses
	return out
}

// prefix lays the blocks before the first round. The reminders are in the message of the first input.
func (l *layer) prefix(t *track, out *traces.Thread) {
	from := int32(len(l.s.Blocks))
	if t.kind != traces.ThreadBranch {
		for _, b := range l.p.g.prefix(t.kind, t.static) {
			l.add(b)
		}
	}
	l.message++
	if t.reminders > 0 {
		l.add(assembly.ReminderBlock(l.s.ID, out.ID, int64(t.reminders)))
	}
	out.Prefix = traces.Span{From: from, To: int32(len(l.s.Blocks))}
}

func (l *layer) round(t *track, rd *traces.Round) {
	rd.ID = l.callID()
	l.laid++
	rd.Model = uint16(number(&l.s.Models, l.p.g.names[rd.Model]))
	rd.Input = l.span(t, rd.Input)
	if n := rd.Input.To - 1; n >= rd.Input.From && l.s.Blocks[n].Kind == prompt.KindUnseen {
		message := l.s.Blocks[n].Message
		l.s.Blocks[n] = assembly.UnseenBlock(rd.ID, int64(l.s.Blocks[n].Tokens))
		l.s.Blocks[n].Message = message
	}
	rd.Reply = l.span(t, rd.Reply)
	if rd.Flags&signs.OutputDerived != 0 {
		l.s.Quality.DerivedOutputs++
	}
}

// add lays a block in the message under way.
func (l *layer) add(b prompt.Block) {
	b.Message = l.message
	l.s.Blocks = append(l.s.Blocks, b)
}

// span lays the blocks of one message.
func (l *layer) span(t *track, in traces.Span) traces.Span {
	from := int32(len(l.s.Blocks))
	for _, b := range t.blocks[in.From:in.To] {
		if b.Call > 0 {
			b.Call += l.calls
			b.Tool = uint16(number(&l.s.Tools, l.p.g.mix(t.kind).tools[b.Tool].Name))
			if b.Object >= 0 {
				b.Object = l.object(b.Object)
			}
		}
		l.add(b)
	}
	if in.From < in.To {
		l.message++
	}
	return traces.Span{From: from, To: int32(len(l.s.Blocks))}
}

// number returns the place of a name in a short list, to which a new one is added.
func number(list *[]string, name string) int {
	i := slices.Index(*list, name)
	if i < 0 {
		i = len(*list)
		*list = append(*list, name)
	}
	return i
}

// object numbers a file or the project.
func (l *layer) object(i int32) int32 {
	at := &l.p.objects[i]
	if *at == 0 {
		l.s.Objects = append(l.s.Objects, l.p.g.paths[i])
		*at = int32(len(l.s.Objects))
	}
	return *at - 1
}

// maxUses is the number of tool uses that a call has at most.
const maxUses = 8

// failedBytes is the length of the result of a call that failed.
const failedBytes = 120

// use plans the tool calls of a response, one and then more with probability Workload.Parallel each. The tool stays an
// index into the mix until the session is laid out.
func (w *pen) use() {
	p, t := w.p, w.track()
	for i := range maxUses {
		at := p.at(place(w.t, w.n, 3+i))
		if i > 0 && !at.hit(forParallel, p.g.w.Parallel) {
			return
		}
		k := w.tools.choice.at(at.unit(forTool))
		tool := &w.tools.tools[k]
		b := p.add(t, prompt.KindToolUse, int32(tool.overhead), 0)
		t.uses++
		b.Call, b.Tool, b.Op, b.Flags = t.uses, uint16(k), tool.op, tool.flags
		w.fill(b, tool, at)
		b.Tokens = int32(p.g.rates.Tokens(prompt.KindToolUse, int(b.Bytes)))
	}
}

// fill plans the input of a tool use.
func (w *pen) fill(b *prompt.Block, tool *genTool, at spot) {
	p := w.p
	g := p.g
	switch {
	case tool.files:
		b.Object = w.pickFile(tool.Name, at)
	case tool.op == op.Search && tool.Name != toolGlob:
		b.Object = int32(len(g.paths) - 1)
	}
	if b.Object >= 0 {
		b.Bytes += g.lengths[b.Object]
	}
	if tool.read {
		w.readRange(b, at)
		return
	}
	free := int32(max(minFree, at.draw(&tool.Input, forToolInput)/g.rates.PerByte[prompt.KindToolUse]+0.5))
	b.Bytes += free
	switch tool.op {
	case op.Edit:
		b.RangeLen = free - 2*replaced(free)
	case op.Write:
		b.RangeLen = free
	}
}

// replaced returns how much of an edit's free text is the text it replaces, bytes.
func replaced(free int32) int32 { return free * 2 / 5 }

// minFree is the least length of free text in a tool's input, bytes.
const minFree = 8

// pickFile chooses the file a call works on. Edits go to a file used lately.
func (w *pen) pickFile(tool string, at spot) int32 {
	g := w.p.g
	if w.files > 0 && (tool == toolEdit || at.hit(forFilePick, g.w.Reread)) {
		return w.recent[at.below(forFileEdit, w.files)]
	}
	return int32(at.below(forFileEdit, g.w.Files))
}

// fileTokens returns the size of a file of the session.
func (p *plan) fileTokens(f int32) float64 {
	return max(1, p.at(forFiles|uint64(f)).draw(&p.g.w.FileSize, forFileSize))
}

// lineBytes is the typical length of a line of a file with its number.
const lineBytes = 36

// readRange plans which part of its file a Read asks for: the whole file, or one of equal windows.
func (w *pen) readRange(b *prompt.Block, at spot) {
	p := w.p
	tokens := p.fileTokens(b.Object)
	n := p.windows(tokens)
	if n == 1 {
		return
	}
	lines := int32(tokens/float64(n)/p.g.rates.PerByte[prompt.KindToolResult])/lineBytes + 1
	b.RangeFrom = 1 + lines*int32(at.below(forFileRange, n))
	b.RangeLen = lines
	b.Bytes += int32(len(`,"offset":,"limit":`) + digits(b.RangeFrom) + digits(b.RangeLen))
}

// windows returns the number of parts in which a file of a size is read.
func (p *plan) windows(tokens float64) int {
	limit := p.g.w.ReadLimit
	return (int(tokens) + limit - 1) / limit
}

func digits(n int32) int {
	k := 1
	for ; n >= 10; n /= 10 {
		k++
	}
	return k
}

// results plans the results of the last call's tools. They go with the next request, once the slowest is there.
func (w *pen) results() {
	p := w.p
	t := w.track()
	span := t.rounds[len(t.rounds)-1].Reply
	reply := t.blocks[span.From:span.To] // stays as it is when the track grows
	w.at = w.before + 2*millisecond
	for i := range reply {
		use := &reply[i]
		if use.Kind != prompt.KindToolUse {
			continue
		}
		at := p.at(place(w.t, w.n, i))
		tool := &w.tools.tools[use.Tool]
		var b *prompt.Block
		end := w.before
		if tool.task {
			var bytes int32
			bytes, end = p.agent(w.t, use.Bytes-int32(tool.overhead), w.before+taskDelay, w.model)
			b = w.push(prompt.KindToolResult, bytes, int32(p.g.rates.Tokens(prompt.KindToolResult, int(bytes))))
		} else {
			b = w.result(use, tool, at)
			end += seconds(at.draw(&tool.Time, forToolTime))
		}
		b.Call, b.Tool, b.Op, b.Object = use.Call, use.Tool, use.Op, use.Object
		b.RangeFrom, b.RangeLen = use.RangeFrom, use.RangeLen
		b.Flags |= use.Flags & prompt.FlagMCP
		w.at = max(w.at, end+2*millisecond)
	}
	w.trigger = traces.TriggerToolResult
}

// result plans the result of a tool use that starts no agent.
func (w *pen) result(use *prompt.Block, tool *genTool, at spot) *prompt.Block {
	p := w.p
	g := p.g
	if use.Object >= 0 && tool.files {
		w.touch(use.Object)
	}
	if at.hit(forToolError, tool.Errors) {
		b := w.push(prompt.KindToolResult, failedBytes, int32(g.rates.Tokens(prompt.KindToolResult, failedBytes)))
		b.Flags = prompt.FlagError
		return b
	}
	var tokens float64
	if tool.read {
		size := p.fileTokens(use.Object)
		tokens = size / float64(p.windows(size))
	} else {
		tokens = at.draw(&tool.Result, forToolResult)
	}
	bytes, exact := g.size(prompt.KindToolResult, tokens)
	return w.push(prompt.KindToolResult, bytes, exact)
}

// touch puts a file in front of those used last.
func (w *pen) touch(f int32) {
	i := 0
	for i < w.files && w.recent[i] != f {
		i++
	}
	if i == w.files && w.files < len(w.recent) {
		w.files++
	}
	i = min(i, len(w.recent)-1)
	copy(w.recent[1:i+1], w.recent[:i])
	w.recent[0] = f
}
