package cassette

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkReplay replays a run of 1,000 calls, each answered by 12 kB of
// summary.
func BenchmarkReplay(b *testing.B) {
	for _, redact := range []bool{false, true} {
		b.Run(fmt.Sprintf("redact=%v", redact), func(b *testing.B) {
			dir := b.TempDir()
			f := openFolder(b, dir, Record, Options{Redact: redact})
			for n := range 1000 {
				c := answered(nth(n))
				c.Reply.Text = "<summary>" + strings.Repeat("word and words. ", 750) + "</summary>"
				if _, err := f.store(c); err != nil {
					b.Fatal(err)
				}
			}
			b.ResetTimer()
			for b.Loop() {
				f := openFolder(b, dir, Replay, Options{})
				for n := range 1000 {
					if _, _, err := f.Do(b.Context(), nth(n), nil); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1000, "µs/call")
		})
	}
}
