package assembly

import (
	"cmp"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/numbers"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// Part is one file of a session: the session itself, or a sub-agent.
type Part struct {
	*File
	Tree
	ID         string // of the session or sub-agent, as logged
	Up         string // id of the session that started a sub-agent, "" for none
	Variant    string // as in traces.Session
	Start, End int64  // unix ns, 0 if unknown
	USD        float64
	Window     int64                    // largest context window logged, tokens
	Tasks      map[string]prompt.Digest // tool calls by the id of the sub-agent that they started
	Below      []*Part                  // sub-agents whose conversations are in the same file
	Beside     []*File                  // files that tell about the part and hold no conversation of their own

	bare, first int // messages of the model without counts, and the line of the first such message
}

// NewPart returns the part that a file is read into.
func NewPart(f *File) *Part {
	return &Part{File: f, Tree: Tree{File: f}, Tasks: map[string]prompt.Digest{}}
}

// Top returns p, so that readers can hand over types that embed a Part.
func (p *Part) Top() *Part { return p }

// Texts returns the texts that the blocks of a part and of those below it keep.
func (p *Part) Texts() (list []traces.Text) {
	for i := range p.Len() {
		for _, s := range p.Tree.Steps(i) {
			list = append(list, TextsOf(s.Blocks)...)
		}
	}
	for _, b := range p.Below {
		list = append(list, b.Texts()...)
	}
	return list
}

// Counted reports whether a call of the part, without those below it, has counts.
func (p *Part) Counted() bool {
	return slices.ContainsFunc(p.entries, func(e entry) bool {
		return slices.ContainsFunc(e.steps, func(h held) bool { return h.kind == StepCount && !h.missing() })
	})
}

// Bare notes that a message of the model at a line has no counts.
func (p *Part) Bare(line int) {
	if p.bare++; p.first == 0 || line < p.first {
		p.first = line
	}
}

// AddBeside adds a call that is no part of the conversation. what names it among such calls, and id is the id of its response, "" for none.
func (p *Part) AddBeside(what, id string, at int64, line int, model string, u Usage) {
	if !u.OK {
		p.Lacks(1, line, "a call beside the conversation has no usable token counts; it is not in the bill")
		return
	}
	b := NewPart(p.File)
	b.ID, b.Up = what, p.ID
	b.Add(-1, []Step{
		{Kind: StepInput, At: at, Line: int32(line)}, {Kind: StepReply, At: at, Line: int32(line), ID: id},
		{Kind: StepCount, At: at, Line: int32(line), Model: ModelName(model), Usage: u, Final: true},
	})
	p.Below = append(p.Below, b)
}

// tell tells of messages without counts, where others have some.
func (p *Part) tell() {
	if p.bare > 0 && p.Counted() {
		p.Lacks(p.bare, p.first, "%s no token counts; each is taken for part of the next call", numbers.Counted(p.bare, "message of the model has", "messages of the model have"))
	}
	for _, b := range p.Below {
		b.tell()
	}
}

// estimate tells of a part in which replies have no counts at all, or ends each of these as a call whose
// size is what was said.
func (p *Part) estimate(wanted bool) {
	if p.Counted() {
		return
	}
	n, first := 0, int32(0)
	for i := range p.Len() {
		for _, s := range p.Tree.Steps(i) {
			if s.Kind == StepReply {
				if n++; first == 0 {
					first = s.Line
				}
			}
		}
	}
	if n > 0 && !wanted {
		p.Problems.Add(p.Name, int(first), "no call has token counts, of %d; they are left out without --estimate", n)
	}
	for i := range p.Len() {
		var steps []Step
		for _, s := range p.Tree.Steps(i) {
			if s.Kind != StepCount {
				steps = append(steps, s)
			}
			if s.Kind == StepReply && wanted {
				steps = append(steps, Step{Kind: StepCount, At: s.At, Line: s.Line, ID: s.ID, Model: s.Model, Usage: Usage{Reasoning: -1}})
			}
		}
		p.Set(i, steps)
	}
}

// At notes a time of a line and returns it.
func (p *Part) At(at int64) int64 {
	if at != 0 {
		p.Start, p.End = Earlier(p.Start, at), max(p.End, at)
	}
	return at
}

// Families makes a session of every part that no other one started, with the
// sub-agents it started as threads. Those whose session is missing make one
// without a main thread. Files in which no call has counts are left out, or are estimated.
func Families[F interface{ Top() *Part }](agent string, opts *traces.Options, files []F) []*Session {
	format := &Format{Agent: agent, Rates: opts.Rates, Exact: true}
	var parts []*Part
	for _, f := range files {
		if p := f.Top(); p.Lines > 0 {
			p.tell()
			p.estimate(opts.Estimate)
			parts = append(parts, p)
		}
	}
	ups := map[string]string{}
	for _, p := range parts {
		if p.ID == "" {
			p.ID = p.Stem()
			p.Problems.Add(p.Name, 0, "no session id; the session is named by its file")
		}
		p.Speaks(p.ID)
		p.Speaks(p.Up)
		if p.Up != "" && p.Up != p.ID {
			ups[p.ID] = p.Up
		}
	}
	named, of, tasks := map[string]int{}, map[string]*Session{}, map[string]prompt.Digest{}
	var list []*Session
	for _, own := range [...]bool{true, false} { // sub-agents last: their session is made by then
		for _, p := range parts {
			root := p.ID
			for n := 0; ups[root] != "" && n < len(parts); n++ {
				root = ups[root]
			}
			if own != (p.Up == "") {
				continue
			}
			s := of[root]
			if s == nil || own {
				s = &Session{Format: format, ID: UniqueID(named, root), Variant: p.Variant, Project: p.Project, Problems: Problems{Limit: opts.MaxProblems}}
				list = append(list, s)
			}
			if of[root] == nil {
				of[root] = s
			}
			p.addTasks(tasks)
			s.join(p, !own)
		}
	}
	for _, s := range list {
		for _, t := range s.Threads {
			if t.Kind == traces.ThreadAgent {
				t.Starter = tasks[t.ID]
			}
		}
		slices.SortStableFunc(s.Threads, func(a, b *Thread) int { return cmp.Compare(a.Kind, b.Kind) })
	}
	return list
}

// addTasks adds the tool calls that started the sub-agents of a part, and of those below it.
func (p *Part) addTasks(tasks map[string]prompt.Digest) {
	for id, d := range p.Tasks {
		tasks[id] = d
	}
	for _, b := range p.Below {
		b.addTasks(tasks)
	}
}

// join adds the threads of a part.
func (s *Session) join(p *Part, agent bool) {
	s.extend(p, agent)
	for _, f := range append([]*File{p.File}, p.Beside...) {
		s.Files = append(s.Files, f)
		s.Own(f)
	}
}

// extend adds the threads of a part and of those below it.
func (s *Session) extend(p *Part, agent bool) {
	threads := p.Threads(p.ID)
	for _, t := range threads {
		if agent && t.Kind == traces.ThreadMain {
			t.Kind, t.ID = traces.ThreadAgent, p.ID
		}
	}
	if v := p.Version; v != "" && !slices.Contains(s.Versions, v) {
		s.Versions = append(s.Versions, v)
	}
	s.Start, s.End, s.LoggedUSD = Earlier(s.Start, p.Start), max(s.End, p.End), s.LoggedUSD+p.USD
	s.Window = max(s.Window, p.Window)
	s.Threads = append(s.Threads, threads...)
	for _, b := range p.Below {
		s.extend(b, true)
	}
}
