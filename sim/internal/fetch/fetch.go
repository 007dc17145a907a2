// Package fetch closes the loop: the agent does not act as recorded whatever was forgotten. A round that needs what the context
// does not have, and the recorded context had, may fetch it first, in a call of its own that grows the context, takes
// time, and can lead to the next compaction. What a file or a pointer has is read; what a tool had shown is asked
// again; what a person or an answer said cannot be had again. What the recording has comes back: the call, and the result
// with its file and its size. On the other side, what the recorded agent read again because its context had lost it is
// left out where the simulated one still has it.
package fetch

import (
	"math"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/draws"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/internal/course"
	"github.com/compactsim/compactsim/sim/needs"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/recall"
	"github.com/compactsim/compactsim/traces"
)

// Session is how the agent of a session departs from the recording. Its exported fields are the caller's to set before Begin.
type Session struct {
	Agent   Agent
	Profile *profile.Profile // nil for none
	Row     *results.Row     // of the session
	Repeats bool             // the strategy repeats the recording: the agent did fetch what it lacked
	Density Density          // of results
	Draws   draws.Source
	Words   needs.Words // nil for summaries of which only sizes are known

	session *traces.Session
	arena   *prompt.Arena
	index   *needs.Index // nil where nothing is measured
	keeps   needs.Survival
	learns  float64 // share of the names of files that the agent used because a file had shown them
	lean    leans
	reread  float64 // probability that it read something again because its context had lost it
	extras  int32   // calls in rounds that no recording has
}

// Begin makes s a session at its beginning, given what its actions need, nil for unknown, and where new blocks go.
func (s *Session) Begin(session *traces.Session, index *needs.Index, arena *prompt.Arena) {
	s.session, s.index, s.arena, s.extras = session, index, arena, 0
	if index != nil {
		s.keeps = needs.Expected(s.Profile)
		if s.learns = 1 - index.Chance(); s.Loop() == measures.LoopClosed {
			did := index.Behind()
			s.lean = leanOf(s.Profile, &did, s.learns, habitOf(1-s.Profile.RereadShare().Value, index))
		}
		s.reread = s.Agent.Refetch.rereadShare(s.Profile, index)
	}
}

// Bind says where new blocks go, and whose row is filled, in a copy of a session.
func (s *Session) Bind(row *results.Row, arena *prompt.Arena) { s.Row, s.arena = row, arena }

// Measures reports whether needs are looked for.
func (s *Session) Measures() bool { return s.index != nil }

// Loop returns what the agent's rounds depend on, for the row.
func (s *Session) Loop() measures.Loop {
	switch {
	case s.Repeats:
		return measures.LoopNone
	case s.index != nil && s.Agent.Refetch != Never:
		return measures.LoopClosed
	}
	return measures.LoopOpen
}

// LeftOut returns the recorded calls of the session that were left out so far.
func (s *Session) LeftOut() int { return s.Row.N(measures.Needs + measures.ID(recall.LeftOut)) }

// figures are the figures of the row about needs.
func (s *Session) figures() *recall.Needs { return (*recall.Needs)(s.Row.Figures[measures.Needs:]) }

// Thread is what a conversation lacks, fetches and leaves out. It keeps its storage between conversations.
type Thread struct {
	*course.Course
	of       *Session
	tally    *client.Tally
	judge    needs.Judge
	judged   bool      // the round under way
	extended bool      // the round under way has had its extra one
	passed   bool      // the last answer was left out as a whole
	owed     float64   // rounds that are due as the agent takes longer
	missing  []missing // what the answer of the round under way needs and the context does not have
	fetched  []again   // what the extra round brings again
	joined   joined
	left     []int32 // calls of the answer under way, or of the last one, that are left out
}

// missing is a need that the context does not have, and the share that summaries are expected to keep.
type missing struct {
	needs.Need
	kept float64
}

// Begin makes t a conversation of a session at its beginning, with the client's count.
func (t *Thread) Begin(of *Session, c *course.Course, tally *client.Tally) {
	*t = Thread{Course: c, of: of, tally: tally, judge: t.judge, missing: t.missing[:0], fetched: t.fetched[:0], left: t.left[:0],
		joined: joined{things: t.joined.things[:0]}}
	if of.index != nil {
		t.judge.Reset(of.index, of.session.Blocks, c.Index, !c.Agent(), &of.keeps, of.Words)
	}
}

// Inherit makes t know what was said to a conversation that t goes on from.
func (t *Thread) Inherit(o *Thread) {
	if t.of.index != nil {
		t.judge.Inherit(&o.judge)
	}
}

// CopyFrom makes t go on from where o is, in a copy of the session, keeping t's storage.
func (t *Thread) CopyFrom(o *Thread, of *Session, c *course.Course, tally *client.Tally) {
	judge := t.judge
	missing, fetched, left := append(t.missing[:0], o.missing...), append(t.fetched[:0], o.fetched...), append(t.left[:0], o.left...)
	with := joined{append(t.joined.things[:0], o.joined.things...), o.joined.id}
	if of.index != nil {
		judge.Become(&o.judge)
	}
	*t = *o
	t.Course, t.of, t.tally, t.judge, t.missing, t.fetched, t.left, t.joined = c, of, tally, judge, missing, fetched, left, with
}

// BeginRound begins a round whose input has come.
func (t *Thread) BeginRound() {
	t.judged, t.extended = false, false
	t.ShowJudge()
}

// ShowJudge shows the judge what is new in the context, before a layer edits it.
func (t *Thread) ShowJudge() {
	if t.of.index != nil {
		t.judge.Look(&t.Context, t.Round, t.of.figures())
	}
}

// Judge adds what the round under way needs to the row, once a round and just before its call is sent, and keeps what is missing. What is
// forgotten and can be had as it was costs a fetch: one more call on the warm prefix, and the tokens of what it
// brings, written once and read until the next compaction.
func (t *Thread) Judge() {
	if t.of.index == nil || t.judged {
		return
	}
	t.judged = true
	t.missing = t.missing[:0]
	t.ShowJudge()
	t.judge.Call(t.Round, t.of.figures(), t.miss)
}

// miss keeps a need that the context does not have and the recorded context had. Where both lack
// it, the recording shows what the agent did. A file that is read again is fetched by the round
// itself.
func (t *Thread) miss(n *needs.Need, state needs.State, kept float64) {
	if state != needs.Verbatim && n.Had && n.Kind != recall.NeedRead && t.of.Row.Loop == measures.LoopClosed {
		t.missing = append(t.missing, missing{*n, kept})
	}
}

// Extra is a round that no recording has: the output of its call, and what it brings, tokens.
type Extra struct{ Output, Result int32 }

// Extend returns the round that the agent makes before the request, if there is something to fetch or the agent takes longer, and the zero value for none.
func (t *Thread) Extend() Extra {
	s := t.of
	if t.extended || s.Repeats || s.Agent == (Agent{}) {
		return Extra{}
	}
	t.extended = true
	x := t.fetch()
	if t.Chain > 0 {
		t.owed += s.Agent.Elongation
	}
	if t.owed >= 1 && t.Round > 0 {
		t.owed--
		last := &t.Trace.Rounds[t.Round-1]
		x.Output += int32(last.Usage.Output)
		for b := t.Current().Input.From; b < t.Current().Input.To; b++ {
			x.Result += s.session.Blocks[b].Tokens
		}
	}
	return x
}

// fetch returns the round that fetches what the agent fetches of what is missing, and notes the blocks that it brings.
func (t *Thread) fetch() Extra {
	var x Extra
	t.fetched = t.choose(t.fetched[:0])
	for i := range t.fetched {
		a := &t.fetched[i]
		x.Result = int32(min(int64(x.Result)+t.of.weight(a), math.MaxInt32/2))
		x.Output += t.of.callTokens(a.block)
	}
	if x.Output > 0 {
		t.of.Row.Figures[measures.Needs+measures.ID(recall.Fetches)]++
	}
	return x
}

// choose appends what the agent fetches of what is missing, which is missing no more. Whether the agent fetches
// a thing is drawn once between two compactions.
func (t *Thread) choose(list []again) []again {
	how := t.of.Agent.Refetch
	for i := range t.missing {
		n := &t.missing[i]
		block := n.Source()
		if how == Never || block < 0 || t.judge.Holds(block) || slices.ContainsFunc(list, func(a again) bool { return t.of.brings(&a, block) }) {
			continue
		}
		if t.drawOf(block, "refetch") < (1-n.kept)*how.share(t.of.Profile, n.Kind, t.of.session.Blocks[block].Op == op.Exec, t.of.learns, &t.of.lean) {
			list = append(list, t.now(block))
		}
	}
	t.missing = t.missing[:0]
	return list
}

// drawOf returns the draw about a thing, 0…1, which is the same up to the next compaction. A file is one thing, whatever
// block shows it.
func (t *Thread) drawOf(block int32, about string) float64 {
	thing := block
	if o := t.of.session.Blocks[block].Object; o >= 0 {
		thing = 1<<23 + o
	}
	return draws.Unit(t.of.Draws.Uint64(draws.Layer, draws.Event(t.Index, thing, client.DrawKey(about), uint8(t.Chain))))
}

// Bring appends to the context the call of a round that no recording has, and what it brought.
func (t *Thread) Bring(x Extra) {
	s := t.of
	id := s.number(len(t.fetched) + 1)
	t.appendCalls(t.fetched, id) // calls come before results
	from := t.Context.Len()
	t.appendResults(t.fetched, id)
	for i := range t.fetched {
		a := &t.fetched[i]
		x.Output -= s.callTokens(a.block)
		x.Result -= int32(min(s.weight(a), math.MaxInt32/2))
	}
	if x.Output > 0 { // a round of an agent that takes longer
		t.Context.Add(s.inventBlock(t, prompt.KindToolUse, x.Output, s.extras))
		from++
		t.Context.Add(s.inventBlock(t, prompt.KindToolResult, max(0, x.Result), s.extras))
	}
	for i := from; i < t.Context.Len(); i++ {
		t.tally.Add(t.Context.BlockAt(i))
	}
	t.fetched = t.fetched[:0]
}

// Refetch says which of the things that are missing an agent fetches.
type Refetch uint8

// Ways to choose.
const (
	Never  Refetch = iota // the loop is open
	Low                   // the low end of what the profile says of the kind
	Fitted                // what the profile says
	High                  // its high end
	Always                // all
)

// Names returns the names of the ways in files.
func (Refetch) Names() []string { return []string{"never", "low", "fitted", "high", "always"} }

// Agent is how the agent departs from what it did in the recording.
type Agent struct {
	Refetch    Refetch `yaml:"refetch" doc:"What it fetches again, in calls of its own, of what its next action needs and the context does not have (docs/fidelity.md): never (the loop is open), or each thing with a probability by kind: low, fitted or high of the profile, or always. Needs texts."`
	Elongation float64 `yaml:"elongation" min:"0" max:"1" doc:"Further rounds after compactions, as a share of the recorded ones: 0.15 and 0.18 are published for agents whose observations were summarised (The Complexity Trap). Each weighs what the round before it weighed." unit:"share"`
}
