package audit

import (
	"slices"

	"github.com/compactsim/compactsim/sim/calls"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
)

// Content is one part of what the contexts were made of.
type Content struct {
	Part string `json:"part"`
	// Tokens are added up over all calls: what is in the context of ten calls
	// counts ten times. Share is a share of all input tokens.
	Tokens int64   `json:"tokens_over_calls"`
	Share  float64 `json:"share_over_calls"`
	// Final is what was in the last context of each thread.
	Final      int64   `json:"final_tokens"`
	FinalShare float64 `json:"final_share"`
	USD        float64 `json:"cost_usd"` // its share of what each call paid for input
}

type part uint8

const (
	partPrefix part = iota
	partHuman
	partAssistant
	partRequests
	partResults
	partDuplicates
	partAttachments
	partSummaries
	partUnseen
	numParts
)

var partNames = [numParts]string{
	"tools and system prompt", "human", "assistant", "tool requests", "tool results", "duplicate reads",
	"attachments and reminders",
	"summaries", "not logged",
}

// partOf returns which part a block belongs to.
func partOf(b *prompt.Block) part {
	switch b.Kind {
	case prompt.KindTools, prompt.KindSystem:
		return partPrefix
	case prompt.KindPrompt, prompt.KindImage, prompt.KindDocument:
		if b.Flags&prompt.FlagMeta != 0 {
			return partAttachments
		}
		return partHuman
	case prompt.KindText, prompt.KindThinking:
		return partAssistant
	case prompt.KindToolUse:
		return partRequests
	case prompt.KindToolResult:
		return partResults
	case prompt.KindAttachment, prompt.KindReminder:
		return partAttachments
	case prompt.KindSummary:
		return partSummaries
	}
	return partUnseen
}

// mix is a context by parts, tokens.
type mix [numParts]int64

func (m *mix) total() int64 {
	var n int64
	for _, k := range m {
		n += k
	}
	return n
}

// content adds up contexts.
type content struct {
	over, final mix
	usd         [numParts]float64
}

// thread replays the contexts of a thread: its own blocks, and after a compaction the prefix, the summary and what the
// client restored. It returns the context at the end of each round, for the branches that start there.
func (k *content) thread(s *traces.Session, calls []calls.Call, start mix, duplicate func(int32) bool) []mix {
	t := calls[0].Thread
	ends := make([]mix, len(calls))
	now, next := start, 0
	var last mix // of the period
	for b := t.Prefix.From; b < t.Prefix.To; b++ {
		now[partOf(&s.Blocks[b])] += int64(s.Blocks[b].Tokens)
	}
	add := func(span traces.Span) {
		for b := span.From; b < span.To; b++ {
			p := partOf(&s.Blocks[b])
			if duplicate(b) {
				p = partDuplicates
			}
			now[p] += int64(s.Blocks[b].Tokens)
		}
	}
	for i := range calls {
		own := t.Rounds[i].Input
		for ; next < len(t.Events) && int(t.Events[next].Round) <= i; next++ {
			ev := &t.Events[next]
			now.act(s, ev)
			if ev.Kind == traces.EventCompact {
				own.From = t.Rounds[i].Input.From + ev.Absorbed
			}
		}
		add(own)
		if !calls[i].Out {
			k.call(&calls[i], &now)
		}
		add(t.Rounds[i].Reply)
		if ends[i] = now; !calls[i].Out {
			last = now
		}
	}
	for p, n := range last {
		k.final[p] += n
	}
	return ends
}

// call distributes the billed input of a call over its context.
func (k *content) call(c *calls.Call, now *mix) {
	input, held := c.Recorded.Usage.Input(), now.total()
	if input == 0 || held == 0 {
		return
	}
	paid := c.Cost.Total() - c.Cost[measures.ClassOutput]
	for p, n := range now {
		share := float64(n) / float64(held)
		k.over[p] += n
		k.usd[p] += share * paid
	}
}

// act applies an event to a context.
func (m *mix) act(s *traces.Session, ev *traces.Event) {
	if ev.Kind == traces.EventCompact {
		summary := min(s.Tokens(ev.Summary), int64(ev.Kept))
		*m = mix{partPrefix: m[partPrefix], partSummaries: summary, partAttachments: int64(ev.Kept) - summary}
		return
	}
	left := int64(ev.Saved)
	for _, b := range ev.Cleared {
		p := partOf(&s.Blocks[b])
		n := min(left, m[p], int64(s.Blocks[b].Tokens))
		m[p] -= n
		left -= n
	}
	m.shrink(left)
}

// shrink removes tokens from everything but the prefix, in proportion to size, when no log says what left.
func (m *mix) shrink(n int64) {
	messages := m.total() - m[partPrefix]
	if n <= 0 || messages <= 0 {
		return
	}
	n = min(n, messages)
	left := n
	for p := partHuman; p < numParts; p++ {
		cut := m[p] * n / messages
		m[p] -= cut
		left -= cut
	}
	for p := partHuman; p < numParts && left > 0; p++ {
		cut := min(left, m[p])
		m[p] -= cut
		left -= cut
	}
}

func (k *content) report(r *Report) {
	over, final := k.over.total(), k.final.total()
	for p, n := range k.over {
		c := Content{Part: partNames[p], Tokens: n, Final: k.final[p], USD: k.usd[p]}
		if over > 0 {
			c.Share = float64(n) / float64(over)
		}
		if final > 0 {
			c.FinalShare = float64(c.Final) / float64(final)
		}
		if n > 0 || c.Final > 0 {
			r.Content = append(r.Content, c)
		}
	}
	sortBy(r.Content, func(c *Content) float64 { return c.USD }, func(c *Content) string { return c.Part })
}

// scales weigh the things of a session in the contexts of its calls. A thing enters with the blocks
// that show it and leaves when they are cleared or compacted away.
type scales struct {
	session *traces.Session
	names   []string
	things  []int32 // by block: index into names, -1 for none
	now     []int64 // tokens by name in the context under way
	ends    map[readAt][]int64
	leaves  map[readAt]bool // rounds at which a branch leaves its thread
}

// newScales prepares the weighing of a session by what thing says of its blocks, "" for nothing.
func newScales(s *traces.Session, thing func(*traces.Session, int32) string) *scales {
	w := &scales{session: s, things: make([]int32, len(s.Blocks)), ends: map[readAt][]int64{}, leaves: map[readAt]bool{}}
	index := map[string]int32{}
	for b := range s.Blocks {
		name := thing(s, int32(b))
		i, ok := index[name]
		if !ok {
			if i = -1; name != "" {
				i, w.names = int32(len(w.names)), append(w.names, name)
			}
			index[name] = i
		}
		w.things[b] = i
	}
	for i := range s.Threads {
		if t := &s.Threads[i]; t.Kind == traces.ThreadBranch && t.Parent >= 0 {
			w.leaves[readAt{t.Parent, t.ParentRound}] = true
		}
	}
	return w
}

// thread replays the contexts of a thread and calls weigh for each of its first n rounds, when now
// holds the context of the round's request.
func (w *scales) thread(index int32, n int, weigh func(round int)) {
	t := &w.session.Threads[index]
	w.now = make([]int64, len(w.names))
	if t.Kind == traces.ThreadBranch && t.Parent >= 0 {
		copy(w.now, w.ends[readAt{t.Parent, t.ParentRound}])
	}
	w.add(t.Prefix)
	next := 0
	for i := range n {
		own := t.Rounds[i].Input
		for ; next < len(t.Events) && int(t.Events[next].Round) <= i; next++ {
			ev := &t.Events[next]
			if ev.Kind == traces.EventCompact {
				clear(w.now)
				own.From = t.Rounds[i].Input.From + ev.Absorbed
				w.add(ev.Summary)
				continue
			}
			for _, b := range ev.Cleared {
				if k := w.things[b]; k >= 0 {
					w.now[k] = max(0, w.now[k]-int64(w.session.Blocks[b].Tokens))
				}
			}
		}
		w.add(own)
		weigh(i)
		w.add(t.Rounds[i].Reply)
		if at := (readAt{index, int32(i)}); w.leaves[at] {
			w.ends[at] = slices.Clone(w.now)
		}
	}
}

func (w *scales) add(span traces.Span) {
	for b := span.From; b < span.To; b++ {
		if k := w.things[b]; k >= 0 {
			w.now[k] += int64(w.session.Blocks[b].Tokens)
		}
	}
}

// shares hands over what is in the context under way, with its share of the input of a request, tokens. Tokens
// of blocks are estimates: where they exceed the input, all shrink in proportion.
func (w *scales) shares(input int64, each func(name string, tokens int64, share float64)) {
	var held int64
	for _, n := range w.now {
		held += n
	}
	if whole := float64(max(held, input)); whole > 0 {
		for k, n := range w.now {
			if n > 0 {
				each(w.names[k], n, float64(n)/whole)
			}
		}
	}
}
