package scenarios

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/compactsim/compactsim/internal/kit/parallel"
	"github.com/compactsim/compactsim/internal/loop"
	"github.com/compactsim/compactsim/traces"
)

// Estimate is the size of a run before it is made.
type Estimate struct {
	Sessions int
	Cells    int           // simulated ones; the billed ones are only added up
	Calls    int           // recorded calls to simulate, over all cells
	Time     time.Duration // to simulate them on the plan's workers, without reading and reporting
}

// probeTime is how long an estimate simulates to measure the speed. probeRun is
// how many sessions in a row it takes of a cell: a loop is slower on its first.
const (
	probeTime = 150 * time.Millisecond
	probeRun  = 6
)

// Estimate returns how large the run would be. The time is extrapolated by
// calls from a short probe over cells and sessions chosen evenly.
func (p *Plan) Estimate(ctx context.Context, corpus *traces.Corpus) (Estimate, error) {
	sessions := withCalls(corpus)
	if len(sessions) == 0 {
		return Estimate{}, errNoCalls
	}
	d, err := p.design()
	if err != nil {
		return Estimate{}, err
	}
	configs, err := p.configs(d)
	if err != nil {
		return Estimate{}, err
	}
	e := Estimate{Sessions: len(sessions), Cells: len(configs)}
	for _, s := range sessions {
		e.Calls += s.NumCalls() * len(configs)
	}
	e.Time, err = probe(ctx, sessions, configs, p.Workers, e.Calls)
	return e, err
}

// chunk is a few sessions of one cell.
type chunk struct {
	cell     int
	sessions []*traces.Session
}

// probe simulates chunks until its time is up and returns how long all calls
// would take.
func probe(ctx context.Context, sessions []*traces.Session, configs []loop.Config, workers, calls int) (time.Duration, error) {
	chunks := spread(sessions, len(configs))
	var done atomic.Int64
	start := time.Now()
	timed, stop := context.WithTimeout(ctx, probeTime)
	defer stop()
	err := parallel.Do(timed, workers, len(chunks), func(i int) error {
		loop := loop.NewLoop(configs[chunks[i].cell])
		for _, s := range chunks[i].sessions {
			if timed.Err() != nil {
				break
			}
			s, err := s.Load()
			if err == nil {
				_, err = loop.Run(s)
			}
			if err != nil {
				return err
			}
			done.Add(int64(s.NumCalls()))
		}
		return nil
	})
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return 0, err
	}
	elapsed := time.Since(start)
	return time.Duration(float64(elapsed) * float64(calls) / float64(max(1, done.Load()))), nil
}

// spread cuts cells × sessions into chunks and mixes them, so that the first
// chunks come from everywhere.
func spread(sessions []*traces.Session, cells int) []chunk {
	var chunks []chunk
	for i := range cells {
		for run := range slices.Chunk(sessions, probeRun) {
			chunks = append(chunks, chunk{i, run})
		}
	}
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(chunks), func(i, j int) { chunks[i], chunks[j] = chunks[j], chunks[i] })
	return chunks
}
