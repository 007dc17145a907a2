package claudecode

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// builder makes a session of a recording.
type builder struct {
	opts     *traces.Options
	rec      *recording
	problems problems
	quality  traces.Quality
	claimed  map[string]*stream // stream of every call met
	threads  []*thread
}

// thread is a conversation under construction.
type thread struct {
	traces.Thread // without Prefix, Rounds and Events, which are made from these:
	agentType     string
	parent        *thread
	stream        *stream
	inherited     []int32 // nodes of the parent's path between its round and this branch
	prefix        []block
	rounds        []round
	events        []event
	start         int64 // time of the first line, 0 if unknown
	index         int32 // in the session
	continued     bool  // goes on with what an earlier session owns
}

// round is a call with what was said before it.
type round struct {
	call     *call
	input    []block
	reply    []block
	node     int32
	inputAt  int64 // time of the last input line, 0 if unknown
	prompted bool  // the input holds text for the model
	answered bool  // the input holds tool results
	derived  bool  // the output is not final
	unknown  bool  // nor can it be derived
	output   int64
	total    int64 // input tokens: recorded, or by the blocks when usage is unusable
}

// event is an Event with its blocks.
type event struct {
	traces.Event
	src     *source
	summary []block
	cleared []prompt.Digest
}

func newBuilder(opts *traces.Options, rec *recording) *builder {
	return &builder{
		opts: opts, rec: rec, problems: problems{limit: opts.MaxProblems},
		claimed: map[string]*stream{},
	}
}

// build returns the session, which has no threads when every call of it is
// owned by another or there is none.
func (b *builder) build() *traces.Session {
	for _, src := range b.rec.sources {
		if b.rec.keeps(src) {
			b.quality.Lines += src.lines
			b.quality.BadLines += src.bad
			b.problems.join(src.problems)
		}
	}
	streams := split(b.rec.entries)
	for _, st := range streams {
		b.addStream(st)
	}
	b.dropEmpty()
	b.link()
	b.sortThreads()
	for _, t := range b.threads {
		b.fit(t)
	}
	b.continueForeign()
	return b.emit()
}

// addStream adds the threads of a stream: the active path and its branches.
func (b *builder) addStream(st *stream) {
	t := b.plant(st)
	made := []*thread{}
	for _, p := range t.paths(b.estimateAll) {
		th := &thread{stream: st, agentType: ""}
		th.ID, th.Kind, th.Thread.Parent, th.ParentRound = "main", traces.ThreadMain, -1, -1
		switch {
		case p.parent >= 0:
			th.parent = made[p.parent]
			th.Kind = traces.ThreadBranch
			th.ID = b.branchID(t, p)
			b.inherit(t, th, p.anchor)
		case st.agent != "":
			th.ID, th.Kind = st.agent, traces.ThreadAgent
		}
		b.fill(t, th, p.nodes)
		made = append(made, th)
	}
	b.threads = append(b.threads, made...)
}

// branchID names a branch by its first call: it is unique, and the id of the
// line that starts it is not kept.
func (b *builder) branchID(t *tree, p path) string {
	for _, i := range p.nodes {
		if c := t.nodes[i].call; c != nil {
			return c.id
		}
	}
	return "branch"
}

// inherit finds where a branch leaves its parent: after the last round at or
// above the anchor, with the input lines between as its own first input.
func (b *builder) inherit(t *tree, th *thread, anchor int32) {
	th.ParentRound = -1
	after := int32(-1)
	for r := range th.parent.rounds {
		if n := th.parent.rounds[r].node; n <= anchor {
			th.ParentRound, after = int32(r), n
		}
	}
	if after < 0 {
		th.inherited = slices.Clone(th.parent.inherited)
	}
	for i := after + 1; i <= anchor; i++ {
		if t.nodes[i].thread == t.nodes[anchor].thread {
			th.inherited = append(th.inherited, i)
		}
	}
}

// dropEmpty removes threads without calls: a path that was left for another
// has calls, and so has the path it was left for.
func (b *builder) dropEmpty() {
	b.threads = slices.DeleteFunc(b.threads, func(t *thread) bool { return len(t.rounds) == 0 })
}

// problem notes a defect at a line.
func (b *builder) problem(e entry, format string, args ...any) {
	b.problems.add(e.src.name, e.line, format, args...)
}

// estimateAll estimates the tokens of blocks from their text.
func (b *builder) estimateAll(list []block) int64 {
	var n int64
	for i := range list {
		n += int64(b.estimate(&list[i].Block))
	}
	return n
}

// estimate weighs a block by its text. Images inside a tool result come on top
// of its text.
func (b *builder) estimate(bl *prompt.Block) int32 {
	n := b.opts.Rates.Tokens(bl.Kind, int(bl.Bytes))
	if bl.Kind == prompt.KindToolResult && bl.Flags&prompt.FlagImage != 0 {
		n += int(b.opts.Rates.Fixed[prompt.KindImage])
	}
	return int32(min(n, maxTokens))
}
