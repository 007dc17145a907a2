package claudecode

import (
	"fmt"
	"slices"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/internal/assembly"
	"github.com/compactsim/compactsim/traces/signs"
)

// builder divides a recording into the threads of a session.
type builder struct {
	session   *assembly.Session
	claimed   map[string][]claim             // streams that own the calls of a message id
	inherited map[*assembly.Thread][]int32   // nodes of the parent's path between its round and a branch
	signs     map[*assembly.Thread]signs.Set // of lines after the round where a branch leaves its parent
}

// claim is a call that a stream owns.
type claim struct {
	by    *stream
	usage assembly.Usage
}

// build makes a session of a recording.
func build(opts *traces.Options, rec *recording) *assembly.Session {
	f := format
	f.Rates = opts.Rates
	s := &assembly.Session{
		Format: &f, ID: rec.id, Start: rec.start, End: rec.end, Problems: assembly.Problems{Limit: opts.MaxProblems},
	}
	for _, src := range rec.sources {
		s.Files = append(s.Files, src.File)
		if rec.keeps(src) {
			s.Own(src.File)
			if src.opens {
				f.Static = nil // what no line shows of the first call is tools and system
			}
			for what, n := range src.announced {
				s.Announced[what] = max(s.Announced[what], int32(opts.Rates.Tokens(prompt.KindAttachment, n)))
			}
		}
	}
	for _, e := range rec.entries {
		if v := e.src.names.at(e.version); v != "" && !slices.Contains(s.Versions, v) {
			s.Versions = append(s.Versions, v)
		}
		if s.Project == "" {
			s.Project = e.src.names.at(e.project)
		}
		if s.Entry == "" {
			s.Entry = e.src.names.at(e.entry)
		}
	}
	b := &builder{session: s, claimed: map[string][]claim{}, inherited: map[*assembly.Thread][]int32{}, signs: map[*assembly.Thread]signs.Set{}}
	for _, st := range split(rec.entries) {
		b.addStream(st)
	}
	return s
}

// problem notes a defect at a line.
func (b *builder) problem(e entry, format string, args ...any) {
	b.session.Problem(e.where(), format, args...)
}

// estimate estimates the tokens of blocks from their text.
func (b *builder) estimate(list []assembly.Block) int64 {
	var n int64
	for i := range list {
		n += int64(assembly.Weigh(&b.session.Rates, &list[i].Block))
	}
	return n
}

// addStream adds the threads of a stream: the active path and its branches.
func (b *builder) addStream(st *stream) {
	t := b.plant(st)
	made := []*assembly.Thread{}
	for _, p := range t.paths(b.estimate) {
		th := assembly.Main()
		th.Starter = st.tool
		switch {
		case p.parent >= 0:
			th.Up = made[p.parent]
			th.Kind = traces.ThreadBranch
			th.ID = b.branchID(t, p)
			b.inherit(t, th, p.anchor)
		case st.agent != "":
			th.ID, th.Kind = st.agent, traces.ThreadAgent
		}
		b.fill(t, th, p.nodes)
		made = append(made, th)
	}
	b.session.Threads = append(b.session.Threads, made...)
}

// branchID names a branch by its first call, which is unique; the id of the
// line that starts it is not kept.
func (b *builder) branchID(t *tree, p path) string {
	for _, i := range p.nodes {
		if c := t.nodes[i].call; c != nil {
			return c.ID
		}
	}
	return "branch"
}

// inherit finds where a branch leaves its parent: after the last round at or
// above the anchor. The input lines in between become the branch's first input.
func (b *builder) inherit(t *tree, th *assembly.Thread, anchor int32) {
	th.ParentRound = -1
	after := int32(-1)
	for r := range th.Up.Calls {
		if n := th.Up.Calls[r].Node; n <= anchor {
			th.ParentRound, after = int32(r), n
		}
	}
	if after >= 0 {
		b.signs[th] = t.nodes[after].behind
	} else {
		b.inherited[th] = slices.Clone(b.inherited[th.Up])
	}
	for i := after + 1; i <= anchor; i++ {
		if t.nodes[i].thread == t.nodes[anchor].thread {
			b.inherited[th] = append(b.inherited[th], i)
		}
	}
}

// filler walks over the nodes of a path and gathers input until a response.
type filler struct {
	b       *builder
	t       *tree
	th      *assembly.Thread
	pending []assembly.Block
	at      int64 // time of the last pending line
	text    bool
	answers bool
	signs   signs.Set // since the last response
	results map[prompt.Digest]bool
}

// fill makes the rounds and events of a thread from the nodes of its path.
func (b *builder) fill(t *tree, th *assembly.Thread, nodes []int32) {
	f := &filler{b: b, t: t, th: th, results: map[prompt.Digest]bool{}}
	for _, i := range nodes {
		th.Began = assembly.Earlier(th.Began, t.nodes[i].at)
	}
	if len(nodes) > 0 && t.nodes[nodes[0]].at != 0 {
		th.Began = t.nodes[nodes[0]].at
	}
	if f.signs = b.signs[th]; th.Up == nil {
		f.signs = t.ahead
	}
	for _, i := range f.b.inherited[th] {
		f.node(i, nil)
	}
	for k, i := range nodes {
		f.node(i, nodes[k+1:])
	}
}

func (f *filler) node(i int32, later []int32) {
	n := &f.t.nodes[i]
	defer func() { f.signs |= n.behind }()
	f.signs |= n.signs
	switch {
	case n.call != nil:
		f.call(i, n.call)
	case n.kind == recordCompact, n.kind == recordMicrocompact:
		f.boundary(n, later)
	case n.has(flagSummary):
		f.summary(n)
	default:
		f.input(n)
	}
}

// input adds a line to the pending input. Of several results of a tool call the first counts.
func (f *filler) input(n *node) {
	for _, bl := range blocksOf(n.entry) {
		result := bl.Kind == prompt.KindToolResult
		if result && f.results[bl.ID] {
			f.b.problem(n.entry, "second result of a tool call ignored")
			continue
		}
		if result {
			f.results[bl.ID], f.answers = true, true
		} else {
			f.text = true
		}
		f.pending = append(f.pending, bl)
	}
	f.at = max(f.at, n.at)
}

// call closes a round. Earlier passes of the model are rounds of their own,
// with input that no line shows.
func (f *filler) call(i int32, c *call) {
	if c.Final = c.final(); c.Final && !c.stopped {
		f.b.session.Problem(c.Place, "call %s has no stop reason, which calls of its version have: if its last line was not written, its output is larger", c.ID)
		c.Doubt, c.Told = true, true
	}
	for k, u := range c.passes {
		pass := c.Call
		pass.ID, pass.Usage, pass.Blocks, pass.Advice, pass.Summaries, pass.Final = fmt.Sprintf("%s/%d", c.ID, k+1), u, nil, nil, nil, !u.Bad
		f.round(i, &pass)
	}
	f.round(i, &c.Call)
}

func (f *filler) round(i int32, c *assembly.Call) {
	rd := assembly.Round{
		Call: c, Before: f.pending, Reply: c.Blocks, Node: i, InputAt: f.at,
		Prompted: f.text, Answered: f.answers, Signs: f.signs,
	}
	f.th.Summarized(&rd)
	f.th.Calls = append(f.th.Calls, rd)
	f.pending, f.at, f.text, f.answers, f.signs = nil, 0, false, false, 0
}

// boundary starts an event before the next round.
func (f *filler) boundary(n *node, later []int32) {
	bd := &n.src.boundaries[n.detail]
	ev := assembly.Event{Source: n.src.File, Cleared: bd.cleared}
	ev.Kind = traces.EventMicrocompact
	if n.kind == recordCompact {
		ev.Kind = traces.EventCompact
		ev.Absorbed = int32(len(f.pending))
	}
	ev.Manual, ev.PreTokens = bd.manual, bd.preTokens
	ev.Preserved = bd.preserved
	ev.Round = int32(len(f.th.Calls))
	ev.At, ev.Line = n.at, n.line
	if ev.Wait = int64(bd.took) * int64(time.Millisecond); ev.Wait == 0 {
		ev.Wait = f.waited(n, later)
	}
	f.th.Happened = append(f.th.Happened, ev)
	f.at = max(f.at, n.at)
}

// waited returns how long a compaction took, measured from the last line before
// it. The command that asks for one is logged after the boundary, with the time
// it was typed.
func (f *filler) waited(n *node, later []int32) int64 {
	base := f.at
	if base == 0 && len(f.th.Calls) > 0 {
		base = f.th.Calls[len(f.th.Calls)-1].Last
	}
	for _, i := range later {
		l := &f.t.nodes[i]
		if l.call != nil {
			break
		}
		if l.has(flagCommand) && l.at <= n.at {
			base = max(base, l.at)
		}
	}
	if base == 0 || n.at == 0 {
		return 0
	}
	return f.th.SummaryTime(max(0, n.at-base), 0)
}

// summary gives the blocks of a summary to the compaction before it; a summary
// without a boundary is a compaction itself.
func (f *filler) summary(n *node) {
	k := len(f.th.Happened) - 1
	if k < 0 || f.th.Happened[k].Kind != traces.EventCompact || int(f.th.Happened[k].Round) != len(f.th.Calls) {
		ev := assembly.Event{Source: n.src.File}
		ev.Kind, ev.Round, ev.At, ev.Line = traces.EventCompact, int32(len(f.th.Calls)), n.at, n.line
		ev.Absorbed = int32(len(f.pending))
		f.th.Happened = append(f.th.Happened, ev)
		k++
	}
	f.th.Happened[k].Text = append(f.th.Happened[k].Text, blocksOf(n.entry)...)
	f.at = max(f.at, n.at)
}
