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

// PerSession is the name of a dimension of which every session has one value.
const PerSession = "turns per session"

// observed are the dimensions with their units, in the order of reports.
var observed = []struct{ name, unit string }{
	{PerSession, ""}, {"calls per turn", ""}, {"tool uses per call", ""},
	{"prompt", "tokens"}, {"text", "tokens"}, {"answer", "tokens"}, {"thinking", "tokens"},
	{"output per call", "tokens"}, {"result", "tokens"}, {"result of Read", "tokens"}, {"result of Bash", "tokens"},
	{"result of Edit", "tokens"}, {"result of Grep", "tokens"}, {"result of Glob", "tokens"},
	{"result of Write", "tokens"}, {"result of Task", "tokens"},
	{"idle gap", "seconds"}, {"tool time", "seconds"}, {"time to first block", "seconds"}, {"streaming", "seconds"},
	{"first context", "tokens"}, {"context growth per call", "tokens"}, {"largest context", "tokens"},
	{"compactions per session", ""}, {"reads of reads and edits", "share"}, {"reads of a file read before", "share"},
	{"files per session", ""}, {"sub-agents per session", ""}, {"calls per sub-agent", ""}, {"branches per session", ""},
	{"input read from cache", "share"},
}

// Observe measures the dimensions by which corpora are compared. It leaves out
// sessions without a main thread; dimensions without values are empty.
func Observe(sessions []*traces.Session) []Observation {
	o := observe(sessions)
	list := make([]Observation, len(observed))
	for i, d := range observed {
		list[i] = Observation{Name: d.name, Unit: d.unit, Values: o.values[d.name]}
	}
	return list
}

// observer gathers the values of sessions by dimension: those that are observed,
// and those that only a fit needs. A share of cases is the mean of zeros and ones.
type observer struct {
	values map[string][]float64
	models map[string]float64 // turns of the main threads, by model
}

// observe measures all dimensions; the values of each ascend.
func observe(sessions []*traces.Session) *observer {
	o := &observer{values: map[string][]float64{}, models: map[string]float64{}}
	for _, s := range sessions {
		if len(s.Threads) > 0 && s.Threads[0].Kind == traces.ThreadMain && !s.Threads[0].MidContext {
			o.session(s)
		}
	}
	for _, values := range o.values {
		slices.Sort(values)
	}
	return o
}

func (o *observer) add(name string, x float64) { o.values[name] = append(o.values[name], x) }

// hit adds a one or a zero.
func (o *observer) hit(name string, is bool) {
	x := 0.0
	if is {
		x = 1
	}
	o.add(name, x)
}

func (o *observer) session(s *traces.Session) {
	agents, branches, compactions, turns := 0, 0, 0, 0
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
		o.start(s, t)
		o.rounds(s, t)
	}
	var largest int64
	main := &s.Threads[0]
	for r := range main.Rounds {
		largest = max(largest, main.Rounds[r].Usage.Input())
	}
	o.add(PerSession, float64(turns))
	o.add("sub-agents per session", float64(agents))
	o.add("branches per session", float64(branches))
	o.add("compactions per session", float64(compactions))
	o.add("largest context", float64(largest))
	o.add("first context", float64(main.Rounds[0].Usage.Input()))
	o.hit("warm starts", main.Rounds[0].Usage.Read > 0)
	if u := s.Usage(); u.Input() > 0 {
		o.add("input read from cache", float64(u.Read)/float64(u.Input()))
	}
	o.compactions(s, main)
	o.files(s)
}

// users returns whose calls those of a thread are, for dimensions that differ.
func users(t *traces.Thread) string {
	if t.Kind == traces.ThreadAgent || t.Kind == traces.ThreadOrphan {
		return "agents' "
	}
	return "main "
}

// start measures the prefix of a thread.
func (o *observer) start(s *traces.Session, t *traces.Thread) {
	if t.Kind == traces.ThreadBranch || len(t.Rounds) == 0 {
		return
	}
	var static float64
	for i := t.Prefix.From; i < t.Prefix.To; i++ {
		if s.Blocks[i].Kind.Level() != prompt.LevelMessages {
			static += float64(s.Blocks[i].Tokens)
		}
	}
	if t.Rounds[0].Usage.Read > 0 {
		o.add(users(t)+"static prefix", static)
	}
	o.add(users(t)+"hidden prefix", float64(s.Tokens(t.Prefix)))
}

// compactions measures those of the main thread.
func (o *observer) compactions(s *traces.Session, t *traces.Thread) {
	for i := range t.Events {
		ev := &t.Events[i]
		if ev.Kind != traces.EventCompact || ev.Kept == 0 {
			continue
		}
		summary := s.Tokens(ev.Summary)
		o.add("summary", float64(summary))
		o.add("restored", max(0, float64(int64(ev.Kept)-summary)))
		if ev.Wait > 0 {
			o.add("compaction time", float64(ev.Wait)/1e9)
		}
	}
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
		o.add("written for an hour", float64(rd.Usage.Write1h))
		o.add("written", float64(rd.Usage.Writes()))
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
		if t.Kind == traces.ThreadMain && rd.Trigger == traces.TriggerPrompt {
			o.models[s.Models[rd.Model]]++
			o.hit("switches of the model", r > 0 && t.Rounds[r-1].Model != rd.Model)
		}
		o.input(s, t, rd)
		o.reply(s, t, rd)
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

// input measures what a call answers. The time of a tool shows when no other was
// waited for.
func (o *observer) input(s *traces.Session, t *traces.Thread, rd *traces.Round) {
	results, tool := 0, ""
	for i := rd.Input.From; i < rd.Input.To; i++ {
		b := &s.Blocks[i]
		tokens := float64(b.Tokens)
		switch b.Kind {
		case prompt.KindPrompt:
			o.add("prompts", 1)
			if t.Kind != traces.ThreadAgent && b.Flags&prompt.FlagMeta == 0 {
				o.add("prompt", tokens)
			}
		case prompt.KindImage:
			o.add("image bytes", float64(b.Bytes))
		case prompt.KindToolResult:
			results++
			tool = users(t) + s.Tools[b.Tool]
			o.hit("failures of "+tool, b.Flags&prompt.FlagError != 0)
			if b.Flags&prompt.FlagError == 0 {
				o.add("result", tokens)
				o.add("result of "+s.Tools[b.Tool], tokens)
				o.add("result of "+tool, tokens)
			}
		}
	}
	if results == 1 {
		o.add("time of "+tool, float64(rd.Wait)/1e9)
	}
}

// reply measures what a call writes, and how fast.
func (o *observer) reply(s *traces.Session, t *traces.Thread, rd *traces.Round) {
	uses, text, thinks := 0, false, false
	var said, behind float64 // tokens: of text, and of all after the first block
	for i := rd.Reply.From; i < rd.Reply.To; i++ {
		b := &s.Blocks[i]
		tokens := float64(b.Tokens)
		if i > rd.Reply.From {
			behind += tokens
		}
		switch b.Kind {
		case prompt.KindToolUse:
			uses++
			o.add("input of "+users(t)+s.Tools[b.Tool], tokens)
		case prompt.KindThinking:
			thinks = true
			o.add("thinking", tokens)
		case prompt.KindText:
			text = true
			said += tokens
		}
	}
	o.hit("calls that think", thinks)
	switch {
	case uses > 0:
		o.add("tool uses per call", float64(uses))
		o.hit("calls with tools that write text", text)
		if said > 0 {
			o.add("text", said)
		}
	case said > 0 && t.Kind != traces.ThreadAgent:
		o.add("answer", said)
	}
	if took := float64(rd.Stream-rd.First) / 1e9; behind >= 100 && took > 0.5 {
		o.add("speed", min(300, max(5, behind/took)))
	}
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
