package export_test

import (
	"io"
	"testing"

	"github.com/compactsim/compactsim/internal/export"
)

// What a format takes for 100,000 rows with every metric.
func BenchmarkWrite(b *testing.B) {
	const rows = 100_000
	t := tableOf(b, export.Source{Run: runOf(rows / 2)})
	for _, format := range export.Formats() {
		b.Run(format, func(b *testing.B) {
			var size counter
			for b.Loop() {
				size = 0
				if err := t.Write(&size, format); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)*rows/b.Elapsed().Seconds(), "rows/s")
			b.ReportMetric(float64(size)/rows, "B/row")
		})
	}
}

// counter counts the bytes written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

var _ io.Writer = (*counter)(nil)
