package synthetic

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
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
	objects map[int32]int32 // places in the session of files and the project
	index   []int32         // of threads in the session, by track
}

// lay returns the planned session. It shares nothing with the plan.
func (p *plan) lay() *traces.Session {
	s := &traces.Session{
		ID: uuid(p.d.bits(forSession, 0), 0), Agent: facts.ClaudeCode, Versions: p.g.versions, Project: p.g.w.Project,
		Tools: []string{""},
	}
	s.Files = []string{s.ID + ".jsonl"}
	l := &layer{p: p, s: s, objects: map[int32]int32{}, index: make([]int32, len(p.tracks))}
	n := 0
	for i := range p.tracks {
		t := &p.tracks[i]
		n += len(t.blocks) + min(t.reminders, 1)
		if t.kind != traces.ThreadBranch {
			n += 2 // tools and system prompt
		}
	}
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
func (l *layer) callID() string { return l.p.d.apiID(messagePrefix, l.laid+1) }

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
	out.Events, out.Rounds = slices.Clone(t.events), slices.Clone(t.rounds)
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

// prefix lays the blocks before the first round. The reminders are in the
// message of the first input.
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
	at, ok := l.objects[i]
	if !ok {
		at = int32(len(l.s.Objects))
		l.s.Objects, l.objects[i] = append(l.s.Objects, l.p.g.paths[i]), at
	}
	return at
}
