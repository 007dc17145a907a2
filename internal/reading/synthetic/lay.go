package synthetic

import (
	"strings"

	"github.com/compactsim/compactsim/internal/reading/assembly"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// layer lays a plan out as the session that a reader would make of its
// transcripts: thread after thread, with names numbered as they appear.
type layer struct {
	p       *plan
	s       *traces.Session
	message int32
	calls   int32 // tool uses of the threads before
	ids     string
	laid    int            // rounds
	rounds  []traces.Round // room for those that are not laid
	tools   []uint16
	models  []uint16
	objects []int32
	index   []int32 // of threads in the session, by track
}

// zeroed returns n zeros in the storage of s if that is large enough.
func zeroed[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	s = s[:n]
	clear(s)
	return s
}

// lay returns the planned session. It shares nothing with the plan.
func (p *plan) lay() *traces.Session {
	g := p.g
	tools := len(g.tools.tools) + len(g.agents.tools)
	s := &traces.Session{
		ID: uuid(p.d.bits(forSession, 0), 0), Agent: traces.AgentClaudeCode, Versions: g.versions, Project: g.w.Project,
		Threads: make([]traces.Thread, 0, len(p.tracks)), Blocks: make([]prompt.Block, 0, p.numBlocks()),
		Objects: make([]string, 0, min(len(g.paths), p.uses())), Tools: make([]string, 1, tools+1),
	}
	s.Files = []string{s.ID + ".jsonl"}
	l := &p.layer
	*l = layer{
		p: p, s: s, ids: p.callIDs(), rounds: make([]traces.Round, p.calls),
		tools: zeroed(l.tools, tools), models: zeroed(l.models, len(g.names)),
		objects: zeroed(l.objects, len(g.paths)), index: zeroed(l.index, len(p.tracks)),
	}
	defer func() { l.s, l.ids, l.rounds = nil, "", nil }()
	for _, kind := range [...]traces.ThreadKind{traces.ThreadMain, traces.ThreadBranch, traces.ThreadAgent} {
		for i := range p.tracks {
			if t := &p.tracks[i]; t.kind == kind {
				l.index[i] = int32(len(s.Threads))
				s.Threads = append(s.Threads, l.thread(t))
			}
		}
	}
	s.Start = s.Threads[0].Rounds[0].At - s.Threads[0].Rounds[0].Wait
	if ev := s.Threads[0].Events; len(ev) > 0 && ev[0].Round == 0 {
		s.Start -= ev[0].Wait
	}
	last := &s.Threads[0].Rounds[len(s.Threads[0].Rounds)-1]
	s.End = last.At + last.Stream + turnEndDelay
	assembly.Measure(s)
	return s
}

// turnEndDelay is the time from the end of a turn to the line that logs it.
const turnEndDelay = 70 * millisecond

// numBlocks returns the blocks the session will have, prefixes included.
func (p *plan) numBlocks() int {
	n := 0
	for i := range p.tracks {
		n += len(p.tracks[i].blocks)
		if p.tracks[i].kind != traces.ThreadBranch {
			n += 2
		}
		if p.tracks[i].reminders > 0 {
			n++
		}
	}
	return n
}

// uses returns the tool uses of the session.
func (p *plan) uses() int {
	n := 0
	for i := range p.tracks {
		n += int(p.tracks[i].uses)
	}
	return n
}

// callIDLength is the length of "msg_01" and 22 characters of base 58.
const callIDLength = 28

// callIDs returns the API's ids of all calls in one string: 16 characters of the
// session and a counter.
func (p *plan) callIDs() string {
	id := []byte(p.d.apiID(messagePrefix, 0))
	var ids strings.Builder
	ids.Grow(p.calls * callIDLength)
	for n := range p.calls {
		inBase58(id[len(id)-6:], uint64(n)+1)
		ids.Write(id)
	}
	return ids.String()
}

func (l *layer) thread(t *track) traces.Thread {
	out := traces.Thread{ID: "main", Kind: t.kind, Parent: -1, ParentRound: -1, Delay: t.delay}
	if t.parent >= 0 {
		out.Parent, out.ParentRound = l.index[t.parent], t.parentRound
	}
	switch t.kind {
	case traces.ThreadAgent:
		out.ID = t.agent
	case traces.ThreadBranch:
		out.ID = l.ids[l.laid*callIDLength : (l.laid+1)*callIDLength]
	}
	l.prefix(t, &out)
	out.Events = append([]traces.Event(nil), t.events...)
	n := copy(l.rounds, t.rounds)
	out.Rounds, l.rounds = l.rounds[:n:n], l.rounds[n:]
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
	s := l.s
	from := int32(len(s.Blocks))
	if t.kind != traces.ThreadBranch {
		for _, b := range l.p.g.prefix(t.kind, t.static) {
			b.Message = l.message
			s.Blocks = append(s.Blocks, b)
		}
	}
	l.message++
	if t.reminders > 0 {
		b := assembly.ReminderBlock(s.ID, out.ID, int64(t.reminders))
		b.Message = l.message
		s.Blocks = append(s.Blocks, b)
	}
	out.Prefix = traces.Span{From: from, To: int32(len(s.Blocks))}
}

func (l *layer) round(t *track, rd *traces.Round) {
	rd.ID = l.ids[l.laid*callIDLength : (l.laid+1)*callIDLength]
	l.laid++
	if l.models[rd.Model] == 0 {
		l.s.Models = append(l.s.Models, l.p.g.names[rd.Model])
		l.models[rd.Model] = uint16(len(l.s.Models))
	}
	rd.Model = l.models[rd.Model] - 1
	rd.Input = l.span(t, rd.Input)
	if n := rd.Input.To - 1; n >= rd.Input.From && l.s.Blocks[n].Kind == prompt.KindUnseen {
		message := l.s.Blocks[n].Message
		l.s.Blocks[n] = assembly.UnseenBlock(rd.ID, int64(l.s.Blocks[n].Tokens))
		l.s.Blocks[n].Message = message
	}
	rd.Reply = l.span(t, rd.Reply)
	if rd.Flags&traces.RoundOutputDerived != 0 {
		l.s.Quality.DerivedOutputs++
	}
}

// span lays the blocks of one message.
func (l *layer) span(t *track, in traces.Span) traces.Span {
	s := l.s
	from := int32(len(s.Blocks))
	to := from + in.To - in.From
	s.Blocks = s.Blocks[:to] // made for all of them
	planned := t.blocks[in.From:in.To]
	laid := s.Blocks[from:]
	for i := range laid {
		b := &laid[i]
		*b = planned[i]
		b.Message = l.message
		if b.Call > 0 {
			b.Call += l.calls
			b.Tool = l.tool(t, b.Tool)
			if b.Object >= 0 {
				b.Object = l.object(b.Object)
			}
		}
	}
	if in.From < in.To {
		l.message++
	}
	return traces.Span{From: from, To: to}
}

// tool numbers a tool of the track's mix.
func (l *layer) tool(t *track, k uint16) uint16 {
	g := l.p.g
	mix := &g.tools
	if t.kind == traces.ThreadAgent {
		mix = &g.agents
	}
	i := mix.tools[k].index
	if l.tools[i] == 0 {
		l.tools[i] = uint16(len(l.s.Tools))
		l.s.Tools = append(l.s.Tools, mix.tools[k].Name)
	}
	return l.tools[i]
}

// object numbers a file or the project.
func (l *layer) object(i int32) int32 {
	if l.objects[i] == 0 {
		l.s.Objects = append(l.s.Objects, l.p.g.paths[i])
		l.objects[i] = int32(len(l.s.Objects))
	}
	return l.objects[i] - 1
}
