package synthetic

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/internal/reading"
)

// MaxSessions is the largest corpus that is generated at once.
const MaxSessions = 10_000_000

// Corpus returns n sessions in the parsed form, in the order of their start. The
// result depends on the workload, the seed and n alone; workers is how many
// sessions are made at once, 0 for one per core.
func (g *Generator) Corpus(ctx context.Context, n int, seed uint64, workers int) (*traces.Corpus, error) {
	if n < 1 || n > MaxSessions {
		return nil, fmt.Errorf("%d sessions are out of range: want 1 to %d", n, MaxSessions)
	}
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	c := &traces.Corpus{Sessions: make([]*traces.Session, n), Unknown: map[string]int{}}
	const batch = 64 // sessions between two looks at the context
	reading.Parallel(workers, (n+batch-1)/batch, func(k int) {
		for i := k * batch; i < min(n, (k+1)*batch) && ctx.Err() == nil; i++ {
			c.Sessions[i] = g.Session(seed, i)
		}
	})
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("generate %d sessions: %w", n, err)
	}
	slices.SortFunc(c.Sessions, func(a, b *traces.Session) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), strings.Compare(a.ID, b.ID))
	})
	return c, nil
}
