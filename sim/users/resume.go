package users

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// resume continues the conversation of a with b, which follows it in time: the
// context of a replaces what b had before its first prompt. The numbers of b
// start at from; resume returns the first free ones after it. b must not be
// used afterwards.
func resume(a, b *traces.Session, from numbers) numbers {
	j := newJoint(a, b, from)
	next := numbersAfter(b.Blocks)
	a.Blocks = append(a.Blocks, b.Blocks...)
	for i := j.blocks; i < int32(len(a.Blocks)); i++ {
		x := &a.Blocks[i]
		x.Message += j.messages
		if x.Call > 0 {
			x.Call += j.calls
		}
		if x.Tool > 0 {
			x.Tool = uint16(j.tools[x.Tool])
		}
		if x.Object >= 0 {
			x.Object = int32(j.objects[x.Object])
		}
	}
	for i := range b.Threads {
		j.thread(&b.Threads[i], i == 0)
	}
	a.End = b.End
	a.Quality.Calls += b.Quality.Calls
	a.Quality.InputTokens += b.Quality.InputTokens
	a.Quality.UnseenTokens += b.Quality.UnseenTokens
	a.Quality.DerivedOutputs += b.Quality.DerivedOutputs
	return numbers{from.messages + next.messages, from.calls + next.calls}
}

// numbers are the free numbers of blocks, kept beside a session so that many
// resumptions need not search its blocks.
type numbers struct {
	messages, calls int32
}

func numbersAfter(blocks []prompt.Block) numbers {
	var n numbers
	for i := range blocks {
		n.messages = max(n.messages, blocks[i].Message+1)
		n.calls = max(n.calls, blocks[i].Call)
	}
	return n
}

// joint is where two sessions meet: what is added to the numbers of the second.
type joint struct {
	a *traces.Session
	numbers
	blocks, rounds, threads int32
	tools, objects, models  []int // by index in b
}

func newJoint(a, b *traces.Session, from numbers) *joint {
	j := &joint{
		a: a, numbers: from, blocks: int32(len(a.Blocks)),
		rounds: int32(len(a.Threads[0].Rounds)), threads: int32(len(a.Threads)) - 1,
	}
	a.Tools, j.tools = merge(a.Tools, b.Tools)
	a.Objects, j.objects = merge(a.Objects, b.Objects)
	a.Models, j.models = merge(a.Models, b.Models)
	return j
}

// merge adds the names of b that a lacks, and returns the index of each name of b.
func merge(a, b []string) (all []string, at []int) {
	all = slices.Clip(a)
	for _, name := range b {
		i := slices.Index(all, name)
		if i < 0 {
			i = len(all)
			all = append(all, name)
		}
		at = append(at, i)
	}
	return all, at
}

// thread moves a thread of b to a: the main one to the end of a's main thread.
func (j *joint) thread(t *traces.Thread, main bool) {
	for i := range t.Rounds {
		r := &t.Rounds[i]
		r.Input, r.Reply, r.Model = j.span(r.Input), j.span(r.Reply), uint16(j.models[r.Model])
	}
	for i := range t.Events {
		e := &t.Events[i]
		e.Summary = j.span(e.Summary)
		for k := range e.Cleared {
			e.Cleared[k] += j.blocks
		}
	}
	if main {
		j.goOn(t)
		return
	}
	x := *t
	x.Prefix = j.span(t.Prefix)
	switch {
	case t.Parent == 0:
		x.ParentRound += j.rounds
	case t.Parent > 0:
		x.Parent += j.threads
	}
	j.a.Threads = append(j.a.Threads, x)
}

// goOn appends the rounds of b's main thread to the rounds of a's.
func (j *joint) goOn(t *traces.Thread) {
	main := &j.a.Threads[0]
	last := &main.Rounds[len(main.Rounds)-1]
	t.Rounds[0].Wait = max(0, t.Rounds[0].At-last.At-last.Stream)
	main.Rounds = append(main.Rounds, t.Rounds...)
	for i := range t.Events {
		e := t.Events[i]
		e.Round += j.rounds
		main.Events = append(main.Events, e)
	}
}

func (j *joint) span(s traces.Span) traces.Span {
	return traces.Span{From: s.From + j.blocks, To: s.To + j.blocks}
}
