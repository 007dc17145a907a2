package codex

import (
	"slices"

	"github.com/compactsim/compactsim/internal/reading"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// emitter lays a thread out in the flat form of a session.
type emitter struct {
	t       *thread
	s       *traces.Session
	tools   map[string]uint16
	objects map[string]int32
	models  map[string]uint16
	calls   int32
	uses    map[string]prompt.Block // tool calls without a result yet, whose properties their results take over
	places  map[int32]int32         // where reasoning stands in the session, by line
	message int32
}

// emit makes the session of a fitted thread.
func emit(t *thread) *traces.Session {
	ro := t.ro
	s := &traces.Session{
		ID: ro.id, Agent: Agent, Versions: ro.versions, Project: ro.project, Window: ro.window, Files: []string{ro.Name},
		Start: ro.start, End: ro.end, Tools: []string{""},
	}
	e := &emitter{
		t: t, s: s, tools: map[string]uint16{"": 0}, objects: map[string]int32{}, models: map[string]uint16{},
		uses: map[string]prompt.Block{}, places: map[int32]int32{},
	}
	out := traces.Thread{ID: "main", Kind: traces.ThreadMain, Parent: -1, ParentRound: -1, MidContext: t.midContext}
	out.Prefix = e.span(t.prefix)
	before, next := ro.start, 0
	for r := range t.rounds {
		from := next
		for ; next < len(t.events) && int(t.events[next].Round) <= r; next++ {
			out.Events = append(out.Events, e.event(&t.events[next]))
		}
		out.Rounds = append(out.Rounds, e.round(&t.rounds[r], before, t.events[from:next]))
		before = t.rounds[r].last
	}
	for ; next < len(t.events); next++ {
		out.Events = append(out.Events, e.event(&t.events[next]))
	}
	s.Threads = []traces.Thread{out}
	reading.Measure(e.s)
	s.Quality.Lines, s.Quality.BadLines, s.Quality.Repeated = ro.Lines, ro.Bad, t.repeated
	s.Quality.Problems, s.Problems = ro.Problems.Total, ro.Problems.List
	return s
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
	out.Tool = reading.Intern(e.tools, &e.s.Tools, b.tool)
	if b.object != "" {
		out.Object = reading.Intern(e.objects, &e.s.Objects, b.object)
	}
	switch out.Kind {
	case prompt.KindToolUse:
		if b.call != "" {
			e.calls++
			out.Call = e.calls
			e.uses[b.call] = out
		}
	case prompt.KindToolResult:
		// A result without its call, or a second one, pairs with nothing.
		if use, ok := e.uses[b.call]; ok {
			delete(e.uses, b.call)
			out.Call = use.Call
			out.Tool, out.Object, out.Op = use.Tool, use.Object, use.Op
			out.Flags |= use.Flags & prompt.FlagMCP
		}
	case prompt.KindThinking:
		e.places[out.Line] = int32(len(e.s.Blocks))
	}
	e.s.Blocks = append(e.s.Blocks, out)
}

func (e *emitter) event(ev *event) traces.Event {
	out := ev.Event
	out.Summary = e.span(ev.summary)
	for _, b := range ev.forget {
		if i, ok := e.places[b.Line]; ok {
			out.Cleared = append(out.Cleared, i)
		}
	}
	slices.Sort(out.Cleared)
	return out
}

// round makes a round with its intervals. The request is not logged: it is
// taken to start with the last line of its input. before is the end of the
// previous response, or the session's start.
func (e *emitter) round(rd *round, before int64, events []event) traces.Round {
	out := traces.Round{
		ID: rd.id, Logged: rd.count.Output, At: rd.inputAt, Line: rd.line, Trigger: traces.TriggerOther,
		Model: reading.Intern(e.models, &e.s.Models, rd.model),
	}
	out.Input, out.Reply = e.span(rd.input), e.span(rd.reply)
	switch {
	case rd.count.ok:
		out.Usage = rd.count.Usage
	default:
		out.Usage.Output = tokens(rd.reply)
		out.Flags |= traces.RoundOutputDerived
		e.s.Quality.DerivedOutputs++
		e.t.ro.Problems.Add(e.t.ro.Name, int(rd.line), "call %s has no usable token counts; its size is estimated", rd.id)
	}
	switch {
	case rd.answered:
		out.Trigger = traces.TriggerToolResult
	case rd.prompted:
		out.Trigger = traces.TriggerPrompt
	}
	var compaction int64
	for i := range events {
		compaction += events[i].Wait
	}
	reading.Intervals(&out, reading.Moments{
		Input: rd.inputAt, First: rd.first, Last: rd.last, Before: before, Compaction: compaction,
	})
	return out
}
