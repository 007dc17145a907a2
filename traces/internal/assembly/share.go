package assembly

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
)

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
// count where there is one, the visible blocks to the rest.
func (rd *Round) scaleReply() {
	if rd.Reasoning < 0 {
		scale(rd.Output, rd.Reply)
		return
	}
	var thought, said []*int32
	for i := range rd.Reply {
		if b := &rd.Reply[i]; b.Kind == prompt.KindThinking {
			thought = append(thought, &b.Tokens)
		} else {
			said = append(said, &b.Tokens)
		}
	}
	reasoning := rd.Reasoning
	switch {
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
