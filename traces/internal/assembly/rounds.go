package assembly

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/signs"
)

// StepKind says what a line means for its conversation.
type StepKind uint8

// The kinds of step.
const (
	StepInput   StepKind = iota // a message to the model
	StepResult                  // the result of a tool
	StepReply                   // what the model wrote
	StepCount                   // the token counts that end a call
	StepCompact                 // the history was replaced
	StepClear                   // results of tools were cleared
)

// Step is one line of a conversation without its text.
type Step struct {
	Kind   StepKind
	At     int64  // unix ns, 0 if unknown
	First  int64  // time of the first line of a reply, where that is not At
	Line   int32  // from 1
	Source *File  // nil for the thread's file
	ID     string // of a reply; of a count, what identifies its call if the reply has no id
	Model  string // of the call that a count ends
	// Gateway is whom a client asked for Model, where it logs that.
	Gateway string
	Blocks  []Block
	Usage   Usage // of a count, or of the call that made a summary: Bad where it was made and not counted
	Final   bool  // the counted output is final
	// Summaries are Call's counts of summaries.
	Summaries []Usage
	// Signs are what the line shows of the client that makes the next call.
	Signs signs.Set
	// Verdict is what the log says, or shows, of a call's prefix.
	Verdict signs.Verdict
	Parted  int32   // as traces.Round has it
	Shrunk  float64 // as Call has it
	// Breakpoints are what the request of a counted call has of them, nil where the log does not show them.
	Breakpoints *traces.Breakpoints
	Manual      bool  // a compaction that a person asked for
	Calls       int32 // that Usage adds up, where a summary took several; 0 is one
	Tokens      int32 // of the context before a compaction, as the client counted them
	// Cleared are the calls of tools whose results were cleared.
	Cleared []prompt.Digest
	// Dropped are the digests of blocks of any kind that were cleared.
	Dropped []prompt.Digest
	Gone    bool // nothing is in the place of what was cleared
	// Uncalled says that no call made the summary of a compaction, and Aside that one with a context of its own did.
	Uncalled, Aside bool
}

// Rounds divides the steps of one thread, in order, into rounds. The items
// between two counts are the input of a call and its reply.
type Rounds struct {
	*Thread
	Source           *File
	Version, Project string

	open        Round   // the call under way
	next        []Block // what follows its reply and goes into the next call
	interrupted bool    // next holds a message: a further reply is another call's
	nextSigns   signs.Set
	nextPrompt  bool
	nextAnswer  bool
	nextAt      int64
	lastAt      int64
	folded      bool // blocks were joined; see Unanswered
}

// NewRounds returns a divider for a thread that has no rounds yet.
func NewRounds(t *Thread, f *File) *Rounds {
	return &Rounds{Thread: t, Source: f, open: Round{Call: &Call{}}}
}

// Add takes the next step.
func (t *Rounds) Add(s *Step) {
	if s.Source == nil {
		s.Source = t.Source
	}
	for i := range s.Blocks {
		s.Blocks[i].Line, s.Blocks[i].Source = s.Line, s.Source
	}
	t.Sign(s.Signs)
	switch s.Kind {
	case StepInput, StepResult:
		t.input(s)
	case StepReply:
		t.reply(s)
	case StepCount:
		t.count(s)
		return
	case StepCompact:
		t.compact(s)
	case StepClear:
		t.Happened = append(t.Happened, Event{Source: s.Source, Cleared: s.Cleared, dropped: s.Dropped, Event: traces.Event{
			Kind: traces.EventMicrocompact, Gone: s.Gone, Round: int32(len(t.Calls)), At: s.At, Line: s.Line,
		}})
		return
	}
	if s.At != 0 {
		t.lastAt = s.At
		t.Began = Earlier(t.Began, s.At)
	}
}

// Done ends the thread and returns the blocks after its last call, which belong to none.
// A call without an id gets one from the session and the call's number.
func (t *Rounds) Done(session string) []Block {
	t.abandon()
	for i := range t.Calls {
		if c := t.Calls[i].Call; c.ID == "" {
			c.ID = session + "#" + strconv.Itoa(i)
		}
	}
	return t.open.Before
}

// Sign adds signs of the client to the next call that begins.
func (t *Rounds) Sign(s signs.Set) {
	if len(t.open.Reply) == 0 {
		t.open.Signs |= s
	} else {
		t.nextSigns |= s
	}
}

// Answered reports whether the model has written since the last call was counted.
func (t *Rounds) Answered() bool { return len(t.open.Reply) > 0 }

// Unsay drops the answer under way, which was no part of the conversation.
func (t *Rounds) Unsay() { t.open.Reply = nil }

// input adds a message or a result to the call under way if the model has not
// answered yet, else to the next.
func (t *Rounds) input(s *Step) {
	said, answer := s.Kind == StepInput && isPrompt(s.Blocks), s.Kind == StepResult
	if len(t.open.Reply) == 0 {
		t.open.Before = t.gather(t.open.Before, s.Blocks)
		t.open.InputAt = max(t.open.InputAt, s.At)
		t.open.Prompted = t.open.Prompted || said
		t.open.Answered = t.open.Answered || answer
		return
	}
	t.next = t.gather(t.next, s.Blocks)
	t.nextAt = max(t.nextAt, s.At)
	t.nextPrompt, t.nextAnswer = t.nextPrompt || said, t.nextAnswer || answer
	t.interrupted = t.interrupted || s.Kind == StepInput
}

// isPrompt reports whether a person wrote one of the blocks.
func isPrompt(list []Block) bool {
	return slices.ContainsFunc(list, func(b Block) bool { return b.Kind == prompt.KindPrompt })
}

func (t *Rounds) reply(s *Step) {
	if t.interrupted {
		t.abandon()
	}
	r := &t.open
	if len(r.Reply) == 0 {
		r.First, r.Line = cmp.Or(s.First, s.At), s.Line
	}
	if r.ID == "" {
		r.ID = s.ID
	}
	r.Last = max(r.Last, s.At)
	r.Reply = t.gather(r.Reply, s.Blocks)
}

// abandon makes an interrupted call, whose tokens were never counted, part of
// the input of the next: its text is in the context all the same.
func (t *Rounds) abandon() {
	r := &t.open
	r.Before = t.gather(t.gather(r.Before, r.Reply), t.next)
	r.InputAt = max(r.InputAt, r.Last, t.nextAt)
	r.Prompted, r.Answered, r.Signs = r.Prompted || t.nextPrompt, r.Answered || t.nextAnswer, r.Signs|t.nextSigns
	r.Reply, r.ID, r.First, r.Last = nil, "", 0, 0
	t.startNext()
}

// startNext drops what was held for the next call.
func (t *Rounds) startNext() {
	t.next, t.nextAt, t.nextSigns = nil, 0, 0
	t.interrupted, t.nextPrompt, t.nextAnswer = false, false, false
}

// count ends the call under way with its token counts.
func (t *Rounds) count(s *Step) {
	r := t.open
	r.Usage, r.Final, r.Model, r.Version, r.Project, r.Source = s.Usage, s.Final, s.Model, t.Version, t.Project, s.Source
	r.Gateway, r.Verdict, r.Parted, r.Shrunk, r.Summaries, r.Breakpoints = s.Gateway, s.Verdict, s.Parted, s.Shrunk, s.Summaries, s.Breakpoints
	if r.Line == 0 {
		r.Line = s.Line
	}
	if r.ID == "" && s.ID != "" {
		d := prompt.DigestString(s.ID)
		for i := range r.Reply {
			d = d.Extend(r.Reply[i].Digest)
		}
		r.ID = fmt.Sprintf("%016x%016x", d.Hi, d.Lo)
	}
	if r.Last == 0 {
		r.First, r.Last = s.At, s.At
	}
	t.Summarized(&r)
	t.Calls = append(t.Calls, r)
	t.open = Round{Call: &Call{}, Before: t.next, InputAt: t.nextAt, Signs: t.nextSigns, Prompted: t.nextPrompt, Answered: t.nextAnswer}
	t.startNext()
}

// Retract takes back the last call, whose answer was no part of the conversation: its input is input of the next call. It
// returns nil if there is no call.
func (t *Rounds) Retract() *Round {
	n := len(t.Calls) - 1
	if n < 0 {
		return nil
	}
	r := t.Calls[n]
	t.Calls = t.Calls[:n]
	t.open.Before = append(slices.Clip(r.Before), t.open.Before...)
	t.open.Prompted, t.open.Answered = t.open.Prompted || r.Prompted, t.open.Answered || r.Answered
	return &r
}

// compact records that the history was replaced before the next call. What was
// said since the last call went into the summary. The summary comes last in the
// blocks of the step, after messages that stayed or came back; the head of the call that made it comes first.
func (t *Rounds) compact(s *Step) {
	t.abandon()
	ev := Event{Source: s.Source, dropped: s.Dropped, Event: traces.Event{
		Kind: traces.EventCompact, Round: int32(len(t.Calls)), Absorbed: int32(len(t.open.Before)), At: s.At, Line: s.Line,
		Manual: s.Manual, PreTokens: s.Tokens, Uncalled: s.Uncalled,
	}}
	first := func(list []Block, is func(b Block) bool) ([]Block, []Block) {
		n := slices.IndexFunc(list, is)
		if n < 0 {
			n = len(list)
		}
		return list[:n:n], list[n:]
	}
	ev.head, ev.Text = first(s.Blocks, func(b Block) bool { return b.Kind.Level() == prompt.LevelMessages })
	ev.Stayed, ev.Text = first(ev.Text, func(b Block) bool { return b.Kind == prompt.KindSummary })
	if s.At != 0 && t.lastAt != 0 {
		output := s.Usage.Output
		for i := 0; output == 0 && i < len(ev.Text); i++ {
			output = int64(ev.Text[i].Bytes / bytesPerToken)
		}
		ev.Wait = t.SummaryTime(max(0, s.At-t.lastAt), output)
	}
	ev.uncounted = s.Usage.Bad && !s.Usage.OK || s.Usage.Doubt && !s.Aside // a request of its own may say nothing of the cache
	if s.Usage.OK && (s.Aside || s.Usage.Read == 0 && s.Usage.Writes() == 0) {
		ev.Asked, ev.Told, ev.Cached = int32(s.Usage.Input()), int32(s.Usage.Output), s.Usage.Read+s.Usage.Writes() > 0
	}
	if s.Usage.OK {
		ev.summary = &traces.SummaryCall{Model: cmp.Or(s.Model, unnamed), Usage: s.Usage.Usage, Calls: s.Calls}
	}
	t.open.InputAt = max(t.open.InputAt, s.At)
	t.Happened = append(t.Happened, ev)
}

// Summarized adds the compactions that the server made inside the next call of the thread, one for
// each pass that wrote a summary. All that the call sent went into them, and a summary that its reply
// shows is theirs.
func (t *Thread) Summarized(rd *Round) {
	for i := range rd.Summaries {
		u := &rd.Summaries[i]
		ev := Event{Source: rd.Source, uncounted: !u.OK, Event: traces.Event{
			Kind: traces.EventCompact, Round: int32(len(t.Calls)), Absorbed: int32(len(rd.Before)), At: cmp.Or(rd.InputAt, rd.First), Line: rd.Line,
		}}
		if u.OK {
			ev.PreTokens = int32(u.Input())
			ev.summary = &traces.SummaryCall{Model: cmp.Or(rd.Model, unnamed), Usage: u.Usage}
		}
		if i == len(rd.Summaries)-1 {
			rd.Reply = slices.DeleteFunc(rd.Reply, func(b Block) bool {
				if b.Kind == prompt.KindSummary {
					ev.Text = append(ev.Text, b)
				}
				return b.Kind == prompt.KindSummary
			})
		}
		t.Happened = append(t.Happened, ev)
	}
}

// longestSummary is the time between the line before a compaction and its record that is taken for a summary call, ns: a
// longer one holds a pause. 30 seen compactions of Claude Code, whose logs tell when a person asked for one, took 36 to 156 s; by a
// lognormal (68 s, standard deviation of the logarithm 0.35) one in 100,000 takes longer than this. 17 of Codex took 2 to 77 s.
const longestSummary = int64(5 * time.Minute)

// SummaryTime returns how long a compaction took, ns, for which the log shows the time since the line before, ns, and the
// output of the summary call, tokens. What is longer than a summary call is mostly idle time: a person went away and asked
// for the compaction later. Then the output counts at the rate of the thread's calls, and nothing where either is unknown.
func (t *Thread) SummaryTime(since, output int64) int64 {
	if since <= longestSummary {
		return since
	}
	tokens, took := int64(0), int64(0)
	for i := range t.Calls {
		if c := &t.Calls[i]; c.InputAt != 0 && c.Last > c.InputAt && c.Last-c.InputAt <= longestSummary {
			tokens, took = tokens+c.Usage.Output, took+c.Last-c.InputAt
		}
	}
	if tokens == 0 {
		return 0
	}
	return min(longestSummary, int64(float64(output)*float64(took)/float64(tokens)))
}
