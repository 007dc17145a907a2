package synthetic

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// Observation is one dimension of a corpus: what was measured, once for each
// session, turn, call or block.
type Observation struct {
	Name   string
	Unit   string // "tokens", "seconds", "share" or "" for counts
	Values []float64
}

// observer gathers the values of sessions by dimension, in the order of
// observed.
type observer struct {
	values map[string][]float64
}

// PerSession is the name of a dimension of which every session has one value.
const PerSession = "turns per session"

// observed are the dimensions with their units, in the order of reports.
var observed = []struct{ name, unit string }{
	{PerSession, ""}, {"calls per turn", ""}, {"tool uses per call", ""},
	{"prompt", "tokens"}, {"text", "tokens"}, {"answer", "tokens"}, {"thinking", "tokens"}, {"output per call", "tokens"},
	{"result", "tokens"}, {"result of Read", "tokens"}, {"result of Bash", "tokens"}, {"result of Edit", "tokens"},
	{"result of Grep", "tokens"}, {"result of Glob", "tokens"}, {"result of Write", "tokens"}, {"result of Task", "tokens"},
	{"idle gap", "seconds"}, {"tool time", "seconds"}, {"time to first block", "seconds"}, {"streaming", "seconds"},
	{"first context", "tokens"}, {"context growth per call", "tokens"}, {"largest context", "tokens"}, {"compactions per session", ""},
	{"reads of reads and edits", "share"}, {"reads of a file read before", "share"}, {"files per session", ""},
	{"sub-agents per session", ""}, {"calls per sub-agent", ""}, {"branches per session", ""}, {"input read from cache", "share"},
}

// Observe measures the dimensions by which corpora are compared. Sessions
// without a main thread are left out, and dimensions that nothing has a value
// of are empty.
func Observe(sessions []*traces.Session) []Observation {
	o := observer{values: map[string][]float64{}}
	for _, s := range sessions {
		if len(s.Threads) > 0 && s.Threads[0].Kind == traces.ThreadMain && !s.Threads[0].MidContext {
			o.session(s)
		}
	}
	list := make([]Observation, len(observed))
	for i, d := range observed {
		list[i] = Observation{Name: d.name, Unit: d.unit, Values: o.values[d.name]}
		slices.Sort(list[i].Values)
	}
	return list
}

func (o *observer) add(name string, x float64) { o.values[name] = append(o.values[name], x) }

func (o *observer) session(s *traces.Session) {
	agents, branches, compactions, turns := 0, 0, 0, 0
	var largest int64
	for i := range s.Threads {
		t := &s.Threads[i]
		for k := range t.Events {
			if t.Events[k].Kind == traces.EventCompact {
				compactions++
			}
		}
		switch t.Kind {
		case traces.ThreadAgent, traces.ThreadOrphan:
			agents++
			o.add("calls per sub-agent", float64(len(t.Rounds)))
		case traces.ThreadBranch:
			branches++
		}
		if t.Kind == traces.ThreadMain || t.Kind == traces.ThreadBranch {
			turns += o.turns(t)
		}
		o.rounds(s, t)
		if i == 0 {
			for r := range t.Rounds {
				largest = max(largest, t.Rounds[r].Usage.Input())
			}
		}
	}
	o.add(PerSession, float64(turns))
	o.add("sub-agents per session", float64(agents))
	o.add("branches per session", float64(branches))
	o.add("compactions per session", float64(compactions))
	o.add("largest context", float64(largest))
	o.add("first context", float64(s.Threads[0].Rounds[0].Usage.Input()))
	if u := s.Usage(); u.Input() > 0 {
		o.add("input read from cache", float64(u.Read)/float64(u.Input()))
	}
	o.files(s)
}

// turns measures the turns of a thread and returns their number.
func (o *observer) turns(t *traces.Thread) int {
	n, calls := 0, 0
	for r := range t.Rounds {
		rd := &t.Rounds[r]
		if rd.Trigger == traces.TriggerPrompt {
			if n++; calls > 0 {
				o.add("calls per turn", float64(calls))
			}
			calls = 0
			if r > 0 {
				o.add("idle gap", float64(rd.Wait)/1e9)
			}
		}
		calls++
	}
	if calls > 0 {
		o.add("calls per turn", float64(calls))
	}
	return n
}

// rounds measures the calls of a thread.
func (o *observer) rounds(s *traces.Session, t *traces.Thread) {
	for r := range t.Rounds {
		rd := &t.Rounds[r]
		o.add("output per call", float64(rd.Usage.Output))
		if rd.Flags&traces.RoundNoTime == 0 && rd.First > 0 {
			o.add("time to first block", float64(rd.First)/1e9)
			o.add("streaming", float64(rd.Stream-rd.First)/1e9)
		}
		if rd.Trigger == traces.TriggerToolResult && startsAgents(s, t, r) == 0 {
			o.add("tool time", float64(rd.Wait)/1e9)
		}
		if r > 0 {
			if growth := rd.Usage.Input() - t.Rounds[r-1].Usage.Input(); growth > 0 {
				o.add("context growth per call", float64(growth))
			}
		}
		o.blocks(s, t, rd)
	}
}

// startsAgents counts the sub-agents asked for by the call before round r.
func startsAgents(s *traces.Session, t *traces.Thread, r int) int {
	n := 0
	if r > 0 {
		for k := t.Rounds[r-1].Reply.From; k < t.Rounds[r-1].Reply.To; k++ {
			if s.Blocks[k].Op == prompt.OpAgent {
				n++
			}
		}
	}
	return n
}

// blocks measures what a call says and what it answers.
func (o *observer) blocks(s *traces.Session, t *traces.Thread, rd *traces.Round) {
	for i := rd.Input.From; i < rd.Input.To; i++ {
		b := &s.Blocks[i]
		switch {
		case b.Kind == prompt.KindPrompt && t.Kind != traces.ThreadAgent && b.Flags&prompt.FlagMeta == 0:
			o.add("prompt", float64(b.Tokens))
		case b.Kind == prompt.KindToolResult && b.Flags&prompt.FlagError == 0:
			o.add("result", float64(b.Tokens))
			if d := "result of " + s.Tools[b.Tool]; isObserved(d) {
				o.add(d, float64(b.Tokens))
			}
		}
	}
	uses, last := 0, int64(0)
	for i := rd.Reply.From; i < rd.Reply.To; i++ {
		switch b := &s.Blocks[i]; b.Kind {
		case prompt.KindToolUse:
			uses++
		case prompt.KindThinking:
			o.add("thinking", float64(b.Tokens))
		case prompt.KindText:
			last += int64(b.Tokens)
		}
	}
	switch {
	case uses > 0:
		o.add("tool uses per call", float64(uses))
		if last > 0 {
			o.add("text", float64(last))
		}
	case last > 0 && t.Kind != traces.ThreadAgent:
		o.add("answer", float64(last))
	}
}

func isObserved(name string) bool {
	return slices.ContainsFunc(observed, func(d struct{ name, unit string }) bool { return d.name == name })
}

// files measures the working set of a session.
func (o *observer) files(s *traces.Session) {
	var reads, edits, again int
	seen, known := map[int32]bool{}, map[int32]bool{}
	for i := range s.Blocks {
		b := &s.Blocks[i]
		if b.Kind != prompt.KindToolUse || b.Object < 0 {
			continue
		}
		switch b.Op {
		case prompt.OpRead:
			reads++
			if seen[b.Object] {
				again++
			}
			seen[b.Object], known[b.Object] = true, true
		case prompt.OpEdit, prompt.OpWrite:
			edits++
			known[b.Object] = true
		}
	}
	o.add("files per session", float64(len(known)))
	if reads+edits > 0 {
		o.add("reads of reads and edits", float64(reads)/float64(reads+edits))
	}
	if reads > 0 {
		o.add("reads of a file read before", float64(again)/float64(reads))
	}
}
