package validate

import (
	"slices"

	"github.com/compactsim/compactsim/internal/serving/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// Class is the situation a call is predicted in: the first of the list that
// applies, so that a prompt after an expiry counts as expiry.
type Class uint8

// The classes of a call.
const (
	ClassFirst        Class = iota // first call of a thread that has no earlier context
	ClassCompaction                // the messages were replaced by a summary
	ClassMicrocompact              // tool results were cleared
	ClassRewind                    // the context went back: an abandoned branch, or a shrink no line explains
	ClassModel                     // another model than the thread's last call
	ClassExpiry                    // more than the lifetime since the last response ended
	ClassSubAgent                  // any other call of a sub-agent
	ClassToolResult                // any other call that answers tool results alone
	ClassPrompt                    // any other call that answers a person, a refused tool call with words included
	ClassOther                     // a retry or a continuation
	numClasses
)

var classNames = [numClasses]string{
	"first_call", "after_compaction", "after_microcompact", "rewind", "model_switch", "after_expiry",
	"sub_agent", "after_tool_result", "after_prompt", "other",
}

// String returns the name used in reports.
func (c Class) String() string { return classNames[min(c, numClasses-1)] }

// Call is one call of a recorded conversation with its prediction.
type Call struct {
	Session           string
	Agent             string
	Version, Model    string
	Entry             string // how the client was started
	Epoch             string // of the version and the model, by the profile
	File              string
	Name              string // of the call, without the session's id (traces.CallName)
	Line              int
	Thread            string
	Kind              traces.ThreadKind
	Round             int
	Class             Class
	TTL               prompt.TTL
	TierKnown         bool         // the recording says for how long it wrote
	Gap               int64        // ns since the thread's last response ended
	Context           int64        // input tokens, recorded and predicted alike
	Left              int64        // tokens the recording's last call of the thread left in the cache: read + written
	Predicted, Actual prompt.Usage // Output is 0
	Naive             prompt.Usage // by the naive rule
	Miss              prompt.MissClass
	// Costs of the input, USD; 0 and Priced false for a model without a price.
	PredictedUSD, ActualUSD, NaiveUSD float64
	LossUSD                           float64 // average additional cost by losses
	Priced                            bool
	Rules                             profile.Set // that applied

	round *traces.Round
}

// close reports whether a read is within 1 % of the context of the recorded one.
func (c *Call) close(read int64) bool {
	d := max(read-c.Actual.Read, c.Actual.Read-read)
	return float64(d) <= within*float64(c.Context)
}

// Error returns the predicted less the recorded read, tokens.
func (c *Call) Error() int64 { return c.Predicted.Read - c.Actual.Read }

// collapseShare is the share of the remaining prefix below which a read counts
// as collapsed.
const collapseShare = 0.9

// Collapsed reports whether the recording read less than nine tenths of what
// the thread had left for no visible reason: within the lifetime, with the same
// model, no event, and no change of the request in the model either.
func (c *Call) Collapsed() bool {
	switch c.Class {
	case ClassToolResult, ClassPrompt, ClassSubAgent, ClassOther:
		return !c.changed() && float64(c.Actual.Read) < collapseShare*float64(c.Left)
	}
	return false
}

// changed reports whether the client sends something different in the model
// too: another head, or other messages from a hooked tool call on.
func (c *Call) changed() bool {
	return c.Miss == prompt.MissHead || c.Miss == prompt.MissEdit && c.Rules.Has(profile.RuleHook)
}

// past is what a thread's last recorded call left behind.
type past struct {
	left  int64
	ttl   prompt.TTL
	model uint16
	known bool
}

// history describes the calls of one session and what was known before each.
type history struct {
	s  *traces.Session
	at [][]past // after each call, by thread
	// unwritten says that writes are billed as plain input.
	unwritten bool
}

// callsOf returns the calls of a session's conversation in order of threads and
// rounds, without predictions.
func callsOf(s *traces.Session) []Call {
	h := history{s, make([][]past, len(s.Threads)), agents.Unwritten(s)}
	for i := range h.at {
		h.at[i] = make([]past, len(s.Threads[i].Rounds))
	}
	var list []Call
	for i := range s.Threads {
		t := &s.Threads[i]
		p := h.inherited(t)
		next := 0
		for r := range t.Rounds {
			from := next
			for next < len(t.Events) && int(t.Events[next].Round) <= r {
				next++
			}
			list = append(list, h.call(t, r, p, t.Events[from:next]))
			p = h.after(p, &t.Rounds[r])
			h.at[i][r] = p
		}
	}
	return list
}

// inherited returns what a branch takes over from its parent.
func (h *history) inherited(t *traces.Thread) past {
	for t.Kind == traces.ThreadBranch && t.Parent >= 0 {
		if t.ParentRound >= 0 {
			return h.at[t.Parent][t.ParentRound]
		}
		t = &h.s.Threads[t.Parent]
	}
	return past{}
}

// after returns what a call left, given what the previous one had left.
// OpenAI's cache keeps all of the input and logs no writes.
func (h *history) after(p past, r *traces.Round) past {
	n := past{left: r.Usage.Read + r.Usage.Writes(), ttl: p.ttl, model: r.Model, known: true}
	if agents.Automatic(h.s) || h.unwritten {
		n.left = r.Usage.Input()
	}
	switch {
	case r.Usage.Write1h > 0:
		n.ttl = prompt.TTL1h
	case r.Usage.Writes() > 0:
		n.ttl = prompt.TTL5m
	}
	return n
}

func (h *history) call(t *traces.Thread, r int, p past, events []traces.Event) Call {
	rd := &t.Rounds[r]
	now := h.after(p, rd)
	c := Call{
		Session: h.s.ID, Agent: h.s.Agent, Version: h.s.Version(), Model: h.s.Models[rd.Model], Entry: h.s.Entry, round: rd,
		Line: int(rd.Line), Thread: t.ID, Kind: t.Kind, Round: r, TTL: now.ttl,
		TierKnown: rd.Flags&traces.RoundTierAssumed == 0 && !agents.Automatic(h.s), Gap: rd.Wait, Context: rd.Usage.Input(), Left: p.left,
		Actual: input(rd.Usage), Class: h.classOf(t, rd, r, p, events),
	}
	if int(rd.File) < len(h.s.Files) {
		c.File, c.Name = h.s.Files[rd.File], traces.CallName("", rd.File, rd.Line)
	}
	if c.Naive = naive(&c, p, int64(rd.Tail)); h.unwritten {
		c.Naive = c.Naive.Plain()
	}
	return c
}

func input(u prompt.Usage) prompt.Usage { u.Output = 0; return u }

func (h *history) classOf(t *traces.Thread, rd *traces.Round, r int, p past, events []traces.Event) Class {
	asked := false
	for b := rd.Input.From; b < rd.Input.To; b++ {
		block := &h.s.Blocks[b]
		asked = asked || block.Kind == prompt.KindPrompt && block.Flags&prompt.FlagMeta == 0
	}
	had := func(kind traces.EventKind) bool {
		return slices.ContainsFunc(events, func(e traces.Event) bool { return e.Kind == kind })
	}
	switch {
	case !p.known:
		return ClassFirst
	case had(traces.EventCompact):
		return ClassCompaction
	case had(traces.EventMicrocompact):
		return ClassMicrocompact
	case had(traces.EventShrink), t.Kind == traces.ThreadBranch && r == 0:
		return ClassRewind
	case rd.Model != p.model:
		return ClassModel
	case rd.Wait > profile.Life(p.ttl):
		return ClassExpiry
	case t.Kind == traces.ThreadAgent, t.Kind == traces.ThreadOrphan:
		return ClassSubAgent
	case rd.Trigger == traces.TriggerPrompt, asked:
		return ClassPrompt
	case rd.Trigger == traces.TriggerToolResult:
		return ClassToolResult
	}
	return ClassOther
}

// naive predicts a call by the simplest possible rule, given the true totals:
// it reads all that the thread's last call left cached if the gap is within the
// lifetime, else nothing, and writes the rest.
func naive(c *Call, p past, tail int64) prompt.Usage {
	u := prompt.Usage{Uncached: min(tail, c.Context)}
	if p.known && c.Gap <= profile.Life(p.ttl) {
		u.Read = min(p.left, c.Context-u.Uncached)
	}
	if rest := c.Context - u.Uncached - u.Read; c.TTL == prompt.TTL1h {
		u.Write1h = rest
	} else {
		u.Write5m = rest
	}
	return u
}
