package claudecode

import (
	"slices"

	"github.com/compactsim/compactsim/internal/reading"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// emitter lays threads out in the flat form of a session.
type emitter struct {
	b       *builder
	s       *traces.Session
	tools   map[string]uint16
	objects map[string]int32
	models  map[string]uint16
	files   map[*source]uint16
	calls   map[prompt.Digest]int32
	uses    map[prompt.Digest]prompt.Block // tool calls, whose properties their results take over
	places  map[prompt.Digest]int32        // index of tool results in the session, by call
	message int32
}

// emit makes the session.
func (b *builder) emit() *traces.Session {
	s := &traces.Session{ID: b.rec.id, Agent: Agent, Tools: []string{""}, Start: b.rec.start, End: b.rec.end}
	e := &emitter{
		b: b, s: s, tools: map[string]uint16{"": 0}, objects: map[string]int32{}, models: map[string]uint16{},
		files: map[*source]uint16{}, calls: map[prompt.Digest]int32{}, uses: map[prompt.Digest]prompt.Block{},
		places: map[prompt.Digest]int32{},
	}
	for i, src := range b.rec.sources {
		e.files[src] = uint16(min(i, 1<<16-1))
		s.Files = append(s.Files, src.name)
	}
	e.head()
	n := 0
	for i, t := range b.threads {
		t.index = int32(i)
		n += t.size()
	}
	s.Blocks = make([]prompt.Block, 0, n)
	for _, t := range b.threads {
		s.Threads = append(s.Threads, e.thread(t))
	}
	s.Quality = b.quality
	reading.Measure(e.s)
	s.Quality.Problems = b.problems.total
	s.Problems = b.problems.list
	return s
}

// size returns the number of blocks a thread will have.
func (t *thread) size() int {
	n := len(t.prefix)
	for r := range t.rounds {
		n += len(t.rounds[r].input) + len(t.rounds[r].reply)
	}
	for e := range t.events {
		n += len(t.events[e].summary)
	}
	return n
}

// head fills versions and project, in order of appearance.
func (e *emitter) head() {
	for _, en := range e.b.rec.entries {
		if v := en.src.names.at(en.version); v != "" && !slices.Contains(e.s.Versions, v) {
			e.s.Versions = append(e.s.Versions, v)
		}
		if e.s.Project == "" {
			e.s.Project = en.src.names.at(en.project)
		}
	}
	if len(e.b.threads) > 0 && e.b.threads[0].continued {
		e.s.Start = earlier(0, e.b.threads[0].start)
	}
}

func (e *emitter) thread(t *thread) traces.Thread {
	out := t.Thread
	out.Parent = -1
	if t.parent != nil {
		out.Parent = t.parent.index
	}
	out.Delay = e.delay(t)
	out.Prefix = e.prefix(t.prefix)
	at, next := t.start, 0
	for r := range t.rounds {
		from := next
		for ; next < len(t.events) && int(t.events[next].Round) <= r; next++ {
			out.Events = append(out.Events, e.event(&t.events[next]))
		}
		out.Rounds = append(out.Rounds, e.round(t, r, at, t.events[from:next]))
		at = t.rounds[r].call.last
	}
	for ; next < len(t.events); next++ {
		out.Events = append(out.Events, e.event(&t.events[next]))
	}
	for i := range out.Events {
		out.Events[i].Cleared = e.cleared(t.events[i].cleared)
	}
	return out
}

// prefix lays out the blocks ahead of the first round: tools and system, then
// messages, which change with the role. What stands last belongs to the message
// of the first input, as the client sends it.
func (e *emitter) prefix(list []block) traces.Span {
	from := int32(len(e.s.Blocks))
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
	return traces.Span{From: from, To: int32(len(e.s.Blocks))}
}

// span lays out the blocks of one message.
func (e *emitter) span(list []block) traces.Span {
	from := int32(len(e.s.Blocks))
	for i := range list {
		e.block(&list[i])
	}
	if len(list) > 0 {
		e.message++
	}
	return traces.Span{From: from, To: int32(len(e.s.Blocks))}
}

func (e *emitter) block(b *block) {
	out := b.Block
	out.Message = e.message
	out.Object = e.object(b.object)
	out.Tool = reading.Intern(e.tools, &e.s.Tools, b.tool)
	if b.src != nil {
		out.File = e.files[b.src]
	}
	if !b.id.IsZero() {
		out.Call = e.calls[b.id]
		if out.Call == 0 {
			out.Call = int32(len(e.calls)) + 1
			e.calls[b.id] = out.Call
		}
	}
	switch out.Kind {
	case prompt.KindToolUse:
		e.uses[b.id] = out
	case prompt.KindToolResult:
		if use, ok := e.uses[b.id]; ok {
			out.Tool, out.Object, out.Op = use.Tool, use.Object, use.Op
			out.RangeFrom, out.RangeLen = use.RangeFrom, use.RangeLen
			out.Flags |= use.Flags & prompt.FlagMCP
		}
		e.places[b.id] = int32(len(e.s.Blocks))
	}
	e.s.Blocks = append(e.s.Blocks, out)
}

func (e *emitter) object(path string) int32 {
	if path == "" {
		return -1
	}
	return reading.Intern(e.objects, &e.s.Objects, path)
}

func (e *emitter) event(ev *event) traces.Event {
	out := ev.Event
	out.File = e.files[ev.src]
	out.Summary = e.span(ev.summary)
	return out
}

// cleared returns where the results of tool calls stand, in order.
func (e *emitter) cleared(ids []prompt.Digest) []int32 {
	var list []int32
	for _, id := range ids {
		if i, ok := e.places[id]; ok {
			list = append(list, i)
		}
	}
	slices.Sort(list)
	return list
}
