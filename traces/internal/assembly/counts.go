package assembly

import (
	"errors"
	"fmt"
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/signs"
)

// Total is what a log has of several calls together, tokens. Input includes what was read and written.
type Total struct{ Input, Read, Write, Output int64 }

// Portion is a call that has a share of a total.
type Portion struct {
	Of      *Usage // with its own output, where that is logged; the share goes here
	Context int64  // estimated input, tokens
	Before  int64  // tokens of the call before, 0 for none: what it would read
}

// ErrNoCalls says that a total has tokens of which the log has no call.
var ErrNoCalls = errors.New("tokens of a model of which the log has no call; they are not in the bill")

// Spread gives every call its share of a total: of the input what its context is
// estimated at and an equal part of what that leaves, of the reads to the context of the call before, up to its own, of
// the writes to what is left, of the output to its own. The shares add up to the
// total and are marked. Outputs that do not add up to it are in doubt.
func (t Total) Spread(calls []Portion) error {
	fresh := t.Input - t.Read - t.Write
	switch most := int64(max(1, len(calls))) * MaxTokens; {
	case min(t.Input, t.Read, t.Write, t.Output) < 0 || max(t.Input, t.Read, t.Write, t.Output) > most || fresh < 0:
		return fmt.Errorf("totals that cannot be: input %d, reads %d, writes %d, output %d", t.Input, t.Read, t.Write, t.Output)
	case t.Input+t.Output == 0:
		return nil
	case len(calls) == 0:
		return ErrNoCalls
	}
	n := len(calls)
	contexts, reads, writes, outputs := make([]int32, n), make([]int32, n), make([]int32, n), make([]int32, n)
	said, head := int64(0), t.Input
	for _, c := range calls {
		said, head = said+c.Of.Output, head-min(max(1, c.Context), MaxTokens)
	}
	head = max(0, head/int64(n)) // that no estimate has
	for i, c := range calls {
		contexts[i], outputs[i] = Within(max(1, c.Context)+head), Within(c.Of.Output)
		if c.Before > 0 {
			reads[i] = Within(c.Before + head)
		}
	}
	share(t.Input, contexts)
	share(t.Read, reads)
	over := int64(0)
	for i := range reads {
		more := max(0, reads[i]-contexts[i])
		reads[i], over = reads[i]-more, over+int64(more)
	}
	for i := range reads {
		more := int32(min(over, int64(contexts[i]-reads[i])))
		reads[i], over = reads[i]+more, over-int64(more)
		writes[i] = contexts[i] - reads[i]
	}
	if fresh > 0 {
		share(t.Write, writes)
	}
	if said != t.Output {
		share(t.Output, outputs)
	}
	for i, c := range calls {
		*c.Of = Usage{Reasoning: -1, OK: true, Assumed: writes[i] > 0, Spread: true, Doubt: said != 0 && said != t.Output, Usage: prompt.Usage{
			Uncached: int64(contexts[i] - reads[i] - writes[i]), Read: int64(reads[i]), Write5m: int64(writes[i]), Output: int64(outputs[i]),
		}}
	}
	return nil
}

// Within returns a count that a call can have: 0 to MaxTokens.
func Within(n int64) int32 { return int32(min(max(0, n), MaxTokens)) }

// share is Share for a list of values.
func share(total int64, list []int32) {
	weights := make([]*int32, len(list))
	for i := range list {
		weights[i] = &list[i]
	}
	Share(total, weights)
}

// A count that was replaced or left out in every line of a recording is a
// plausible number in each. What gives it away is how counts follow each other:
// a conversation grows, what is read was sent before, and what is new differs
// from call to call.

// A sign is a relation between the counts of a call and the one before it in
// its thread that few calls of a sound recording have: in 186 recordings with
// 14,609 calls the context did not grow in at most 6 % of a session's calls, 21 % read
// more than was sent before, 1 % wrote as much as the call before, 2 % had as many new
// tokens, and 17 % as many of output.
type sign struct {
	what string
	most float64 // share of the calls that have a call before them
	few  bool    // below fewPairs every call must have it: two or three of five calls often do
	long bool    // below fewPairs it says nothing: short answers of a script are equally long
	told bool    // it says nothing of two answers whose texts are as long as each other
	may  bool    // it is told and doubts no count: answers that stop at one limit are equally long
	sums bool    // each request is larger than the one before by nearly the first or more
	all  bool    // it is told where two calls have it, or the only one: of 22,214 calls in recordings of real clients none has it
	has  func(before, call *traces.Round, compacted bool) bool
}

var contradictions = [...]sign{
	{what: "the context does not grow", most: 0.25, has: func(before, call *traces.Round, compacted bool) bool {
		return !compacted && call.Usage.Input() <= before.Usage.Input()
	}},
	{what: "all of the input counts as for the call before, and the request holds more", all: true, has: func(before, call *traces.Round, compacted bool) bool {
		a, b := &before.Usage, &call.Usage
		return !compacted && a.Uncached == b.Uncached && a.Read == b.Read && a.Writes() == b.Writes()
	}},
	{what: "more is read than was sent before", most: 0.5, has: func(before, call *traces.Round, compacted bool) bool {
		return !compacted && call.Usage.Read > before.Usage.Input()+before.Usage.Output
	}},
	{what: "as much is written to the cache as by the call before", most: 0.5, few: true, has: func(before, call *traces.Round, compacted bool) bool {
		return !compacted && call.Usage.Writes() > 0 && call.Usage.Writes() == before.Usage.Writes()
	}},
	{what: "as much is neither read nor written as by the call before", most: 0.5, has: func(before, call *traces.Round, compacted bool) bool {
		return !compacted && call.Usage.Uncached > signs.MaxTail && call.Usage.Uncached == before.Usage.Uncached
	}},
	// Of the recordings at hand a session has at most 41 such calls of 110, and of three and more none has them all. Where the first request
	// is short nearly every call adds as much; then about half of the outputs are longer than the one before, and of sums all are.
	{what: "input and output grow as sums of all calls so far do", most: 0.75, few: true, sums: true, has: func(before, call *traces.Round, compacted bool) bool {
		return !compacted && call.Usage.Output > before.Usage.Output
	}},
	{what: "the output is as long as the output of the call before", most: 0.5, long: true, told: true, may: true, has: func(before, call *traces.Round, _ bool) bool {
		return call.Usage.Output > shortOutput && call.Flags&(signs.OutputDerived|signs.OutputUnknown) == 0 &&
			call.Usage.Output == before.Usage.Output
	}},
}

// shortOutput is the length up to which answers are often equally long, tokens: a word, a number.
const shortOutput = 16

// fewPairs is the number of calls with one before them below which a share says little.
const fewPairs = 8

// doubt counts calls whose counts contradict those around them, where there are
// more than sound recordings have. one is how many calls were counted one by one, which may be among them.
func (s *Session) doubt(out *traces.Session, one int) {
	var met [len(contradictions)]int
	pairs := 0
	for i := range out.Threads {
		t := &out.Threads[i]
		changed := map[int32]bool{} // ahead of these rounds the recording says that the context was
		for k := range t.Events {
			if e := &t.Events[k]; e.Kind != traces.EventShrink {
				changed[e.Round] = true
			}
		}
		for r := 1; r < len(t.Rounds); r++ {
			before, call := &t.Rounds[r-1], &t.Rounds[r]
			if !before.Counted() || !call.Counted() {
				continue
			}
			pairs++
			for k := range contradictions {
				if c := &contradictions[k]; c.has(before, call, changed[int32(r)]) && c.fits(out, &t.Rounds[0], before, call) {
					met[k]++
				}
			}
		}
	}
	worst, text := 0, ""
	for k, n := range met {
		if !contradictions[k].tells(n, pairs) {
			continue
		}
		if contradictions[k].may {
			s.Problems.Add(s.Files[0].Name, 0, "session %s: in %d of %d calls %s: the log has one value for all, or all answers were equally long",
				s.ID, n, pairs, contradictions[k].what)
		} else if n > worst {
			worst, text = n, fmt.Sprintf("token counts contradict each other: in %d of %d calls %s", n, pairs, contradictions[k].what)
		}
	}
	if worst > 0 {
		s.Problems.Add(s.Files[0].Name, 0, "session %s: %s", s.ID, text)
		out.Quality.Uncounted += max(0, worst-one)
	}
	if n, read := constant(out); n > 0 {
		s.Problems.Add(s.Files[0].Name, 0, "session %s: all %d calls behind a first one read %d tokens, however much was sent before: the log has one value for all, or only the head was cached",
			s.ID, n, read)
	}
}

// fits reports whether what else a sign asks for holds of a call, the one before it, and the first of its thread.
func (c *sign) fits(s *traces.Session, first, before, call *traces.Round) bool {
	switch {
	case c.told:
		return !alike(s, before, call)
	case c.all:
		return written(s, before.Reply)+written(s, call.Input) > 0
	case c.sums:
		return first.Counted() && call.Usage.Input()-before.Usage.Input() >= first.Usage.Input()*3/4
	}
	return true
}

// tells reports whether more calls of so many have a sign than sound recordings do.
func (c *sign) tells(n, pairs int) bool {
	most := c.most * float64(pairs)
	switch {
	case c.all:
		return n > 1 || n > 0 && n == pairs
	case pairs < fewPairs && c.long || pairs < 3 && c.sums:
		return false
	case pairs < fewPairs && c.few:
		most = float64(pairs - 1)
	}
	return n > 1 && float64(n) > most
}

// oneTime reports whether all calls of a session are of one moment that is known. In none of 407 recordings do all calls of a session have one time.
func oneTime(s *traces.Session) bool {
	var at int64
	for i := range s.Threads {
		for r := range s.Threads[i].Rounds {
			switch now := s.Threads[i].Rounds[r].At; {
			case now == 0 || at != 0 && now != at:
				return false
			default:
				at = now
			}
		}
	}
	return true
}

// beyondRead is how much more than it reads a call may have been sent before, tokens, with another read at the next call: the steps of
// Google's reads are the longest, 8,192 of its own tokens, of which it reports up to 1.07 for each.
const beyondRead = 8_800

// beyondMarked is the same for a cache that reads up to a breakpoint, tokens: the least that it caches for most models.
const beyondMarked = 1024

// constant returns the number of calls behind the first ones of their threads, and what they read, tokens, where all of at least fewPairs
// read one number, though most of them sent far more before: 0 elsewhere. In 358 recordings of eight calls and more the calls of each have
// seven different reads at least. A session whose requests show that they mark what precedes the messages alone is none.
func constant(s *traces.Session) (n int, read int64) {
	if len(s.Placements) > 0 && !slices.ContainsFunc(s.Placements, func(b traces.Breakpoints) bool { return b.N == 0 || b.Messages() > 0 }) {
		return 0, 0
	}
	far := 0
	for i := range s.Threads {
		rounds := s.Threads[i].Rounds
		for r := 1; r < len(rounds); r++ {
			before, call := &rounds[r-1], &rounds[r]
			switch {
			case !before.Counted() || !call.Counted():
				continue
			case n == 0:
				read = call.Usage.Read
			case call.Usage.Read != read:
				return 0, 0
			}
			beyond := int64(beyondRead)
			if CacheByModel(s.Models[call.Model]) == facts.CacheMarked {
				beyond = beyondMarked
			}
			if n++; before.Usage.Input() >= read+beyond {
				far++
			}
		}
	}
	if read == 0 || n < fewPairs || 2*far <= n {
		return 0, 0
	}
	return n, read
}

// alike reports whether the texts of two answers are as long as each other, within an eighth.
func alike(s *traces.Session, a, b *traces.Round) bool {
	n, m := written(s, a.Reply), written(s, b.Reply)
	return min(n, m) > 0 && 8*(max(n, m)-min(n, m)) <= min(n, m)
}

// written returns the bytes of the texts of blocks.
func written(s *traces.Session, span traces.Span) (n int64) {
	for i := span.From; i < span.To; i++ {
		n += int64(s.Blocks[i].Bytes)
	}
	return n
}

// spoke reports whether a reply has a text or a tool call, which take tokens.
func spoke(reply []Block) bool {
	return slices.ContainsFunc(reply, func(b Block) bool {
		return b.Bytes > 0 && (b.Kind == prompt.KindText || b.Kind == prompt.KindToolUse)
	})
}

// Measure sets in s.Quality how many tokens are known: prefixes and growth, and
// the part of these that no line shows. The last reply of a thread has not been
// sent back and is not counted.
func Measure(s *traces.Session) {
	s.Quality.Calls = s.NumCalls()
	for i := range s.Threads {
		t := &s.Threads[i]
		count(s, t.Prefix)
		for r := range t.Rounds {
			count(s, t.Rounds[r].Input)
			if r+1 < len(t.Rounds) {
				count(s, t.Rounds[r].Reply)
			}
		}
	}
}

func count(s *traces.Session, span traces.Span) {
	q := &s.Quality
	for i := span.From; i < span.To; i++ {
		b := &s.Blocks[i]
		q.InputTokens += int64(b.Tokens)
		switch b.Kind {
		case prompt.KindTools, prompt.KindSystem, prompt.KindReminder:
			q.PrefixTokens += int64(b.Tokens)
		case prompt.KindUnseen:
			q.UnseenTokens += int64(b.Tokens)
		}
	}
}

// scale distributes total among the blocks of lists in proportion to their
// tokens, by largest remainder, so that the sum is exact. Blocks without tokens
// get equal parts. Without any block nothing happens.
func scale(total int64, lists ...[]Block) {
	var weights []*int32
	for _, list := range lists {
		for i := range list {
			weights = append(weights, &list[i].Tokens)
		}
	}
	Share(total, weights)
}

// Share distributes total among weights in proportion to their values, by
// largest remainder, so that the sum is exact. Weights that are all zero get
// equal parts. Weights must not be negative; without any nothing happens.
func Share(total int64, weights []*int32) {
	if len(weights) == 0 {
		return
	}
	var sum int64
	for _, w := range weights {
		sum += int64(*w)
	}
	if sum == 0 {
		for _, w := range weights {
			*w = 1
		}
		sum = int64(len(weights))
	}
	type rest struct {
		at   int
		left int64
	}
	rests := make([]rest, len(weights))
	given := int64(0)
	for i, w := range weights {
		n := int64(*w) * total // at most 1e8 × 1e8: far inside int64
		*w = int32(n / sum)
		given += n / sum
		rests[i] = rest{i, n % sum}
	}
	slices.SortStableFunc(rests, func(a, b rest) int {
		switch {
		case a.left > b.left:
			return -1
		case a.left < b.left:
			return 1
		}
		return 0
	})
	for k := int64(0); k < total-given; k++ {
		*weights[rests[k].at]++
	}
}

// scaleReply scales a reply to the logged output tokens: thinking to its own
// count where there is one, the visible blocks to the rest. A count of none beside thinking that the log shows is no count: Qwen
// Code writes it where the provider has thinking in the output.
func (rd *Round) scaleReply() {
	var thought, said []*int32
	shown := false
	for i := range rd.Reply {
		if b := &rd.Reply[i]; b.Kind == prompt.KindThinking {
			thought = append(thought, &b.Tokens)
			shown = shown || b.Bytes > 0
		} else {
			said = append(said, &b.Tokens)
		}
	}
	reasoning := rd.Reasoning
	switch {
	case reasoning < 0, reasoning == 0 && shown:
		scale(rd.Output, rd.Reply)
		return
	case len(thought) == 0:
		reasoning = 0
	case len(said) == 0:
		reasoning = rd.Output
	}
	if reasoning == 0 {
		for _, n := range thought {
			*n = 0
		}
		thought = nil
	}
	Share(reasoning, thought)
	Share(rd.Output-reasoning, said)
}
