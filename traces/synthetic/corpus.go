package synthetic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/compactsim/compactsim/internal/agents/assembly"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// MaxSessions is the largest corpus that is generated at once.
const MaxSessions = 10_000_000

// maxCorpusBytes bounds the sessions of a Corpus in memory, as Estimate has it: a
// larger machine is worth several seeds.
const maxCorpusBytes = 8 << 30

// ErrSize is wrapped by the errors of corpora that are too large, or have no
// sessions.
var ErrSize = errors.New("number of sessions")

// Corpus returns n sessions in the parsed form, in the order of their start. The
// result depends on the workload, the seed and n alone; workers is how many
// sessions are made at once, 0 for one per core. The error wraps ErrSize when n
// is out of 1…MaxSessions or the sessions need more memory than is allowed.
func (g *Generator) Corpus(ctx context.Context, n int, seed uint64, workers int) (*traces.Corpus, error) {
	if err := g.fits(n, seed); err != nil {
		return nil, err
	}
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	c := &traces.Corpus{Sessions: make([]*traces.Session, n), Unknown: map[string]int{}}
	const batch = 64 // sessions between two looks at the context
	assembly.Parallel(workers, (n+batch-1)/batch, func(k int) {
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

// fits returns an error when n sessions cannot be held.
func (g *Generator) fits(n int, seed uint64) error {
	if err := checkNumber(n); err != nil {
		return err
	}
	size := g.Estimate(n, seed).Memory
	if size <= maxCorpusBytes {
		return nil
	}
	most := float64(n) * maxCorpusBytes / size
	step := math.Pow(10, max(0, math.Floor(math.Log10(most))-1)) // two digits are enough
	advice := "lower turns, rounds or agents.rounds of the profile"
	if most >= 1 {
		advice = fmt.Sprintf("try %.0f", math.Floor(most/step)*step)
	}
	return fmt.Errorf("%w: %d would take about %.3g GB of memory, more than the %d that are allowed: %s",
		ErrSize, n, size/(1<<30), maxCorpusBytes>>30, advice)
}

func checkNumber(n int) error {
	if n < 1 || n > MaxSessions {
		return fmt.Errorf("%w: %d is out of range: want 1 to %d", ErrSize, n, MaxSessions)
	}
	return nil
}

// Estimate is the size of a corpus, reckoned from a few sessions.
type Estimate struct {
	Calls  float64 // of all sessions
	Memory float64 // bytes in the parsed form
}

// Estimate reckons the size of the first n sessions of a seed.
func (g *Generator) Estimate(n int, seed uint64) Estimate {
	var e Estimate
	sample := min(max(n, 0)/32+1, 64) // a thirtieth of the work at most
	for i := range sample {
		s := g.Session(seed, i)
		e.Calls += float64(s.NumCalls())
		e.Memory += float64(memoryOf(s))
	}
	e.Calls *= float64(n) / float64(sample)
	e.Memory *= float64(n) / float64(sample)
	return e
}

// memoryOf returns the bytes of a generated session, without strings it shares
// with others.
func memoryOf(s *traces.Session) uintptr {
	size := sizeOf[traces.Session](1) + sizeOf[prompt.Block](len(s.Blocks)) + sizeOf[traces.Thread](len(s.Threads)) +
		sizeOf[string](len(s.Objects)+len(s.Tools)) + uintptr(s.NumCalls()*callIDLength)
	for i := range s.Threads {
		size += sizeOf[traces.Round](len(s.Threads[i].Rounds)) + sizeOf[traces.Event](len(s.Threads[i].Events))
	}
	return size
}

func sizeOf[T any](n int) uintptr { return reflect.TypeFor[T]().Size() * uintptr(n) }

// Each makes the first n sessions of a seed, some at once, and gives each to a
// function that may be called by as many goroutines: for corpora that do not stay
// in memory. It stops at the first error and when the context is done, and returns
// all errors; workers of 0 are one per core.
func (g *Generator) Each(ctx context.Context, n int, seed uint64, workers int, do func(*traces.Session) error) error {
	if err := checkNumber(n); err != nil {
		return err
	}
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	errs := make([]error, min(workers, n))
	var next, done atomic.Int64
	var wg sync.WaitGroup
	for k := range errs {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if errs[k] = do(g.Session(seed, i)); errs[k] != nil {
					stop(errs[k])
					return
				}
				done.Add(1)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if int(done.Load()) < n {
		return fmt.Errorf("generate %d sessions: %w", n, context.Cause(ctx))
	}
	return nil
}
