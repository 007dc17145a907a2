package stats

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func drawn(t testing.TB, b Bootstrap, n int, sums, maxima [][]float64) Draws {
	d, err := b.Draw(context.Background(), n, sums, maxima)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Three pairs drawn three times have 27 equally likely outcomes. The share of
// resamples with each sum and each maximum equals the share by full enumeration.
func TestBootstrapIsFullEnumeration(t *testing.T) {
	values := []float64{1, 10, 100}
	sums, maxima := map[float64]float64{}, map[float64]float64{}
	for i := range 27 {
		a, b, c := values[i%3], values[i/3%3], values[i/9]
		sums[a+b+c] += 1.0 / 27
		maxima[max(a, b, c)] += 1.0 / 27
	}
	const resamples = 100_000
	d := drawn(t, Bootstrap{Seed: 1, Resamples: resamples}, 3, [][]float64{values}, [][]float64{values})
	for what, pair := range map[string]struct {
		want map[float64]float64
		got  []float64
	}{"sum": {sums, d.Sums[0]}, "maximum": {maxima, d.Maxima[0]}} {
		seen := map[float64]float64{}
		for _, v := range pair.got {
			seen[v] += 1.0 / resamples
		}
		for v, share := range pair.want {
			// Five standard errors of a share.
			if off := 5 * math.Sqrt(share*(1-share)/resamples); math.Abs(seen[v]-share) > off {
				t.Errorf("%s %v in a share of %v, want %v ± %v", what, v, seen[v], share, off)
			}
			delete(seen, v)
		}
		if len(seen) > 0 {
			t.Errorf("impossible %s: %v", what, seen)
		}
	}
}

// Every resample draws as many pairs as there are, and columns share weights: a
// column of ones sums to n, one that is three times another sums to three times.
func TestBootstrapSharesWeights(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 1500).Draw(t, "n")
		b := Bootstrap{Seed: rapid.Uint64().Draw(t, "seed"), Resamples: rapid.IntRange(1, 40).Draw(t, "resamples")}
		ones, ramp, triple := make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range n {
			ones[i], ramp[i], triple[i] = 1, float64(i), float64(3*i)
		}
		d, err := b.Draw(context.Background(), n, [][]float64{ones, ramp, triple}, [][]float64{ramp})
		if err != nil {
			t.Fatal(err)
		}
		for r := range b.Resamples {
			if d.Sums[0][r] != float64(n) || d.Sums[2][r] != 3*d.Sums[1][r] {
				t.Fatalf("resample %d of %d pairs: %v %v %v", r, n, d.Sums[0][r], d.Sums[1][r], d.Sums[2][r])
			}
			if m := d.Maxima[0][r]; m < 0 || m > float64(n-1) || m*float64(n) < d.Sums[1][r] {
				t.Fatalf("resample %d: maximum %v below the mean of %v", r, m, d.Sums[1][r]/float64(n))
			}
		}
	})
}

// The number of workers and of resamples beside it do not change a resample.
func TestBootstrapDeterminism(t *testing.T) {
	const n = 3000
	column := make([]float64, n)
	for i := range column {
		column[i] = math.Sin(float64(i))
	}
	all := [][]float64{column}
	want := drawn(t, Bootstrap{Seed: 9, Resamples: 100, Workers: 1}, n, all, all)
	for _, workers := range []int{2, 3, 8, 0} {
		if got := drawn(t, Bootstrap{Seed: 9, Resamples: 100, Workers: workers}, n, all, all); !reflect.DeepEqual(got, want) {
			t.Errorf("%d workers give other draws", workers)
		}
	}
	if got := drawn(t, Bootstrap{Seed: 9, Resamples: 37}, n, all, all); !slices.Equal(got.Sums[0], want.Sums[0][:37]) {
		t.Error("fewer resamples are other resamples")
	}
	if got := drawn(t, Bootstrap{Seed: 10, Resamples: 100}, n, all, all); slices.Equal(got.Sums[0], want.Sums[0]) {
		t.Error("another seed gives the same draws")
	}
}

// With many pairs the bootstrap of a sum tends to the normal interval.
func TestBootstrapTendsToNormal(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	const n = 2000
	column := make([]float64, n)
	var sum float64
	for i := range column {
		column[i] = math.Mod(float64(i)*0.618033988749895, 1) // spread evenly over [0, 1)
		sum += column[i]
	}
	d := drawn(t, Bootstrap{Seed: 3, Resamples: 20_000}, n, [][]float64{column}, nil)
	got, want := Percentile(d.Sums[0], 0.95), Interval{sum - 1.959964*StandardErrorOfSum(column), sum + 1.959964*StandardErrorOfSum(column)}
	if width := want.High - want.Low; math.Abs(got.Low-want.Low) > width/50 || math.Abs(got.High-want.High) > width/50 {
		t.Errorf("bootstrap %+v, normal %+v", got, want)
	}
}

// Columns of few values sum up as they do among others.
func TestBootstrapSparse(t *testing.T) {
	const n = 2000
	few, many := make([]float64, n), make([]float64, n)
	for i := range n {
		many[i] = 1
	}
	few[3], few[777], few[1999] = 5, -2, 0.25
	with := slices.Clone(many)
	for i, v := range few {
		with[i] += v
	}
	d := drawn(t, Bootstrap{Seed: 4, Resamples: 50}, n, [][]float64{few, many, with, make([]float64, n)}, nil)
	for r := range 50 {
		if d.Sums[0][r]+d.Sums[1][r] != d.Sums[2][r] || d.Sums[3][r] != 0 {
			t.Fatalf("resample %d: %v + %v is not %v", r, d.Sums[0][r], d.Sums[1][r], d.Sums[2][r])
		}
	}
}

func TestBootstrapInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := (Bootstrap{Resamples: 10}).Draw(ctx, 1, [][]float64{{1}}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func BenchmarkBootstrap(b *testing.B) {
	for _, size := range []struct{ pairs, columns int }{{45, 100}, {10_000, 100}, {100_000, 1}, {100_000, 100}} {
		b.Run(fmt.Sprintf("pairs=%d/columns=%d", size.pairs, size.columns), func(b *testing.B) {
			columns := matrix(size.columns, size.pairs)
			for c := range columns {
				for i := range columns[c] {
					columns[c][i] = math.Sin(float64(i * (c + 1)))
				}
			}
			for b.Loop() {
				drawn(b, Bootstrap{Seed: 1, Resamples: 1000}, size.pairs, columns, columns[:1])
			}
		})
	}
}
