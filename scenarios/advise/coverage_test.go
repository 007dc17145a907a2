package advise

import (
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/scenarios/choose"
	"github.com/compactsim/compactsim/sim/needs"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

var coverageOf = flag.String("coverage", "", "measure how often the saving on unseen sessions lies in the interval of advice, over the sessions "+
	"under these `paths`, separated by commas")

// coverage counts splits of sessions.
type coverage struct{ splits, inside, advised, insideAdvised int }

// split advises by the costs of some sessions and holds the interval against what the chosen value saves on the rest.
func (k *coverage) split(costs [][]float64, sessions []*traces.Session, train func(session int) bool) {
	best := cheapest(costs, train)
	if best == 0 {
		return
	}
	known := make([][]float64, len(costs))
	var seen []*traces.Session
	var was, is float64
	for v := range costs {
		for s, usd := range costs[v] {
			if train(s) {
				known[v] = append(known[v], usd)
			}
		}
	}
	for s := range costs[0] {
		if train(s) {
			seen = append(seen, sessions[s])
		} else {
			was, is = was+costs[0][s], is+costs[best][s]
		}
	}
	c := Change{SavesUSD: 1}
	c.judge(known, choose.UnitsOf(seen))
	if was == 0 || len(known[0]) < choose.Blocks {
		return
	}
	k.splits++
	in := 1 - is/was
	covered := in >= c.Low-1e-9 && in <= c.High+1e-9
	if covered {
		k.inside++
	}
	if c.wins() {
		k.advised++
		if covered {
			k.insideAdvised++
		}
	}
}

// nameless returns sessions of which neither project nor person is known.
func nameless(n int) []*traces.Session { return slices.Repeat([]*traces.Session{{}}, n) }

func (k *coverage) share() float64 { return float64(k.inside) / float64(max(1, k.splits)) }

// halves splits sessions in the order of time by blocks, some number of times: a half of the blocks is known.
func (k *coverage) halves(costs [][]float64, sessions []*traces.Session, times int, r *rand.Rand) {
	n := len(costs[0])
	for i := range times {
		blocks := min(n, []int{4, 6, 8, 10}[i%4])
		known := make([]bool, blocks)
		for _, b := range r.Perm(blocks)[:blocks/2] {
			known[b] = true
		}
		k.split(costs, sessions, func(s int) bool { return known[s*blocks/n] })
	}
}

// Costs of these sessions spread as in recordings (their logarithms by 1.3), and values save shares that
// spread by 0.15. What the chosen value saves on others lies in the interval in at least 85 of 100 splits, and so does
// what it saves on average, which is known here.
func TestIntervalCoversUnseenSessions(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{16, 60} {
		for _, mean := range []float64{0.02, 0.25} {
			var k, truth coverage
			for range 100 {
				costs := make([][]float64, 7)
				for range n {
					usd := math.Exp(1.3 * r.NormFloat64())
					costs[0] = append(costs[0], usd)
					shared := r.NormFloat64()
					for v := 1; v < len(costs); v++ {
						// The values of a setting are alike: what they save goes together.
						share := mean + 0.15*(0.9*shared+0.3*r.NormFloat64()) - 0.01*float64(v)
						costs[v] = append(costs[v], usd*(1-share))
					}
				}
				k.halves(costs, nameless(n), 4, r)
				if best := cheapest(costs, func(int) bool { return true }); best > 0 {
					var c Change
					c.judge(costs, choose.UnitsOf(nameless(n)))
					truth.splits++
					if saves := mean - 0.01*float64(best); saves >= c.Low && saves <= c.High {
						truth.inside++
					}
				}
			}
			t.Logf("%3d sessions, saving %.2f: %d splits, %.3f inside, %.3f hold the truth; %d advised", n, mean, k.splits, k.share(),
				truth.share(), k.advised)
			if k.share() < 0.85 || truth.share() < 0.85 {
				t.Errorf("%d sessions, saving %.2f: the saving on others lies in the interval in %.3f of splits, the true one in %.3f, want 0.85",
					n, mean, k.share(), truth.share())
			}
		}
	}
}

// With -coverage: the same on recordings. docs/advise.md has the figures.
func TestIntervalCoversRecordings(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	if *coverageOf == "" {
		t.Skip("without -coverage")
	}
	var all coverage
	for _, path := range strings.Split(*coverageOf, ",") {
		corpus, err := agents.Read(t.Context(), traces.Options{Listener: needs.NewListener()}, path)
		if err != nil {
			t.Fatal(err)
		}
		sessions := corpus.WithCalls()
		p := adviserOf(t, 1)
		if err := p.Prepare(t.Context(), corpus); err != nil {
			t.Fatal(err)
		}
		made := byAgent(sessions)
		for name, list := range made {
			if len(list) < 2*choose.Blocks {
				continue
			}
			slices.SortStableFunc(list, func(a, b *traces.Session) int { return int(min(1, max(-1, a.Start-b.Start))) })
			for _, group := range offered(agents.Of(name).Settings, "", nil) {
				costs, err := p.costs(t.Context(), list, group)
				if err != nil {
					t.Fatal(err)
				}
				var k coverage
				k.halves(costs, list, 400, rand.New(rand.NewPCG(1, 2)))
				t.Logf("%s, %s, %s: %d sessions, %d splits, %.3f inside; %d advised, %d of them inside", path, name, group[0].setting.Group, len(list),
					k.splits, k.share(), k.advised, k.insideAdvised)
				all.splits, all.inside = all.splits+k.splits, all.inside+k.inside
				all.advised, all.insideAdvised = all.advised+k.advised, all.insideAdvised+k.insideAdvised
			}
		}
		corpus.Close()
	}
	t.Logf("all: %d splits, %.3f inside; %d advised, %d of them inside", all.splits, all.share(), all.advised, all.insideAdvised)
	if all.share() < 0.85 {
		t.Errorf("the saving lies in the interval in %.3f of splits, want 0.85", all.share())
	}
}
