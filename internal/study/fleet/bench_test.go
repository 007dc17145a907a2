package fleet

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/compactsim/compactsim/internal/reading/synthetic"
)

// BenchmarkTenThousand makes and simulates 10,000 users of about 200 calls each:
// calls is what a model answered, gen-s what it took to draw the sessions.
func BenchmarkTenThousand(b *testing.B) {
	for _, strategy := range []string{"none", "auto-compact/167k", "claude-code/2026-03"} {
		b.Run(strategy, func(b *testing.B) {
			f, err := Load("ten-thousand", Inputs{})
			if err != nil {
				b.Fatal(err)
			}
			f.Strategies = []string{strategy}
			r := runner(b)
			r.Verify = false
			b.ReportAllocs()
			var calls float64
			var made time.Duration
			for b.Loop() {
				from := time.Now()
				p := generate(b, f)
				made += time.Since(from)
				out, err := r.Simulate(context.Background(), p)
				if err != nil {
					b.Fatal(err)
				}
				calls = out.Cells[0].Total.Metrics["calls"]
			}
			b.ReportMetric(calls, "calls")
			b.ReportMetric(made.Seconds()/float64(b.N), "gen-s")
		})
	}
}

// BenchmarkMemory draws 10,000 users: bytes of the heap they hold, by block.
func BenchmarkMemory(b *testing.B) {
	f, err := Load("ten-thousand", Inputs{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		p := generate(b, f)
		runtime.GC()
		runtime.ReadMemStats(&after)
		blocks, held := 0, 0
		for _, s := range p.Sessions {
			blocks += len(s.Blocks)
			held += cap(s.Blocks) * 64
		}
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "MB")
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(blocks), "B/block")
		b.ReportMetric(float64(held)/float64(blocks), "blockB/block")
		b.ReportMetric(float64(blocks), "blocks")
	}
}

// sized returns a fleet of so many users, each of one session of so many calls.
func sized(b testing.TB, users, calls int) *File {
	b.Helper()
	f, err := Load("ten-thousand", Inputs{})
	if err != nil {
		b.Fatal(err)
	}
	f.Strategies = []string{"auto-compact/167k"}
	for i := range f.Orgs {
		f.Orgs[i].Users = users / len(f.Orgs)
		f.Orgs[i].Sessions.Turns = &synthetic.Dist{Min: float64(calls) / 10}
	}
	return f
}

// BenchmarkScaling fits the exponent of the time by the size, from one size to
// eight times it: 1 is linear. Of three runs of each size the fastest counts.
func BenchmarkScaling(b *testing.B) {
	for name, size := range map[string]func(k int) (users, calls int){
		"users": func(k int) (int, int) { return 400 * k, 100 },
		"calls": func(k int) (int, int) { return 200, 200 * k },
	} {
		b.Run(name, func(b *testing.B) {
			r := runner(b)
			r.Verify, r.Workers = false, 1
			for b.Loop() {
				var x, y []float64
				for _, k := range []int{1, 2, 4, 8} {
					users, calls := size(k)
					f := sized(b, users, calls)
					best := math.Inf(1)
					for range 3 {
						from := time.Now()
						if _, err := r.Run(context.Background(), f); err != nil {
							b.Fatal(err)
						}
						best = min(best, time.Since(from).Seconds())
					}
					x, y = append(x, math.Log(float64(k))), append(y, math.Log(best))
					b.ReportMetric(best, fmt.Sprintf("s-x%d", k))
				}
				_, exponent := stat.LinearRegression(x, y, nil, false)
				b.ReportMetric(exponent, "exponent")
			}
		})
	}
}
