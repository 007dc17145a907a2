package compare

import (
	"context"
	"fmt"
	"testing"
)

// Rows of many sessions in all metrics, 1,000 resamples.
func BenchmarkRun(b *testing.B) {
	for _, n := range []int{45, 1_000, 10_000, 100_000, 200_000} {
		b.Run(fmt.Sprintf("sessions=%d", n), func(b *testing.B) {
			x, y := run(cell("x", many(n, 0)...)), run(cell("x", many(n, 0.1)...))
			b.ResetTimer()
			for b.Loop() {
				r, err := Run(context.Background(), []Input{{"x", x}, {"y", y}}, Options{})
				if err != nil {
					b.Fatal(err)
				}
				changed := 0
				for _, f := range r.Comparisons[0].Figures {
					if f.Changed() {
						changed++
					}
				}
				b.ReportMetric(float64(changed), "metrics")
			}
		})
	}
}
