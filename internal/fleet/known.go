package fleet

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	"github.com/compactsim/compactsim/traces/synthetic"
)

// known keeps what the sessions of a fleet are drawn from: organisations share
// profiles, which are asked for while the fleet is read, sized and drawn.
type known struct {
	mu   sync.Mutex
	kept map[generatorKey]*drawnFrom
}

// generatorKey is all that a workload, its generator and a sample of its sessions
// depend on.
type generatorKey struct {
	profile, version, model string
	static                  int
	sizes                   string // turns and rounds
	start                   time.Time
	seed                    uint64
}

// drawnFrom is what sessions are drawn from. What takes long is made when it is first
// asked for.
type drawnFrom struct {
	workload  *synthetic.Workload // nil when it cannot be read
	err       error               // of reading it
	flaws     func() []error      // of the workload
	generator func() (*synthetic.Generator, error)
	calls     func() float64 // mean of a session's; 0 without a generator
}

// drawnFrom returns what the sessions of an organisation are drawn from under a profile.
// A File that was not read keeps none of it.
func (f *File) drawnFrom(o *Org, profile string) *drawnFrom {
	if f.known == nil {
		return f.newDrawnFrom(o, profile)
	}
	s := &o.Sessions
	key := generatorKey{
		profile: profile, version: cmp.Or(s.Version, f.Client.Version), model: s.Model,
		static: cmp.Or(s.Static, f.Client.Static), sizes: fmt.Sprint(s.Turns, s.Rounds), start: f.Start.Time, seed: f.Seed,
	}
	f.known.mu.Lock()
	defer f.known.mu.Unlock()
	if f.known.kept == nil {
		f.known.kept = map[generatorKey]*drawnFrom{}
	}
	if f.known.kept[key] == nil {
		f.known.kept[key] = f.newDrawnFrom(o, profile)
	}
	return f.known.kept[key]
}

func (f *File) newDrawnFrom(o *Org, profile string) *drawnFrom {
	d, seed := new(drawnFrom), f.Seed
	if d.workload, d.err = f.changed(o, profile); d.err != nil {
		return d
	}
	d.flaws = sync.OnceValue(d.workload.Validate)
	d.generator = sync.OnceValues(func() (*synthetic.Generator, error) { return synthetic.NewGenerator(d.workload) })
	d.calls = sync.OnceValue(func() float64 {
		g, err := d.generator()
		if err != nil {
			return 0
		}
		return meanCalls(g, seed)
	})
	return d
}
