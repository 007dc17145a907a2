package claudecode

import "github.com/compactsim/compactsim/internal/reading"

// scale shares total among the blocks of lists in proportion to their tokens,
// by largest remainder, so that the sum is exact. Blocks without tokens share
// by count. Without any block nothing happens.
func scale(total int64, lists ...[]block) {
	var weights []*int32
	for _, list := range lists {
		for i := range list {
			weights = append(weights, &list[i].Tokens)
		}
	}
	reading.Share(total, weights)
}
