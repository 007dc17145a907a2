package assembly

import (
	"errors"
	"fmt"

	"github.com/compactsim/compactsim/sim/prompt"
)

// Total is what a log has of several calls together, tokens. Input includes what was read and written.
type Total struct{ Input, Read, Write, Output int64 }

// Portion is a call that has a share of a total.
type Portion struct {
	Of      *Usage // with its own output, where that is logged; the share goes here
	Context int64  // estimated input, tokens
	Before  int64  // that of the call before, 0 for none: what it would read
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
		contexts[i], outputs[i] = within(max(1, c.Context)+head), within(c.Of.Output)
		if c.Before > 0 {
			reads[i] = within(c.Before + head)
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

// within returns a count that a call can have.
func within(n int64) int32 { return int32(min(max(0, n), MaxTokens)) }

// share is Share for a list of values.
func share(total int64, list []int32) {
	weights := make([]*int32, len(list))
	for i := range list {
		weights[i] = &list[i]
	}
	Share(total, weights)
}
