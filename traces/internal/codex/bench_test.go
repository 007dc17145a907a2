package codex_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/internal/codex"
)

// BenchmarkRead reads a rollout of 200 calls with results of 8 kB.
func BenchmarkRead(b *testing.B) {
	r := new(rollout).begin("s1", "gpt-5.5").user("go")
	for i := range 200 {
		call := fmt.Sprintf("c%d", i)
		r.reason("rs_"+call).tool("fc_"+call, call, "ls").result(call, strings.Repeat("a line of output\n", 480)).count(8000+2200*i, 7000+2200*i, 100, 60)
	}
	text := r.text()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		inputs, err := traces.FindFS(fstest.MapFS{"a.jsonl": {Data: []byte(text)}})
		if err != nil {
			b.Fatal(err)
		}
		c, err := codex.ReadInputs(context.Background(), traces.Options{Workers: 1}, inputs, "bench")
		if err != nil || len(c.Sessions) != 1 {
			b.Fatal(err)
		}
	}
}
