package cassette

import (
	"fmt"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/internal/live/wire"
)

// BenchmarkReplay replays a run of 1,000 calls, each of a request of 400 blocks
// and answered by 12 kB of summary: what stands for 150,000 tokens.
func BenchmarkReplay(b *testing.B) {
	for _, redact := range []bool{false, true} {
		b.Run(fmt.Sprintf("redact=%v", redact), func(b *testing.B) {
			dir := b.TempDir()
			f := openFolder(b, dir, Record, Options{Redact: redact})
			r := asked()
			for i := range 200 {
				pair := r.Messages[1:3:3]
				pair[0].Blocks[0].ID = fmt.Sprint("toolu_", i)
				r.Messages = append(r.Messages, pair...)
			}
			for n := range 1000 {
				c := answered(nth(n))
				c.Request = Describe(r)
				c.Reply.Text = "<summary>" + strings.Repeat("word and words. ", 750) + "</summary>"
				if err := f.Store(c); err != nil {
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

// BenchmarkDescribe is what keeping the digests of a request costs.
func BenchmarkDescribe(b *testing.B) {
	r := asked()
	r.Messages[0].Blocks[0].Text = strings.Repeat("x", 600_000)
	b.SetBytes(600_000)
	for b.Loop() {
		if q := Describe(r); q.Messages[0] == "" || r.Messages[0].Role != wire.RoleUser {
			b.Fatal("nothing is described")
		}
	}
}
