package backend_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/compactsim/compactsim/internal/live/backend"
	"github.com/compactsim/compactsim/internal/live/devserver"
	"github.com/compactsim/compactsim/internal/live/wire"
)

// long returns a request of about 170,000 tokens in 400 messages, 570 kB.
func long(n int) *wire.Request {
	r := conversation()
	last := r.Messages[len(r.Messages)-1]
	r.Messages = r.Messages[:len(r.Messages)-1]
	first := r.Messages
	r.Messages = nil
	for i := range 200 {
		use := first[1]
		use.Blocks = append([]wire.Block{}, use.Blocks...)
		use.Blocks[1].ID = fmt.Sprint("t", i)
		said := wire.Message{Role: wire.RoleUser, Blocks: []wire.Block{{Kind: wire.KindText, Text: strings.Repeat(fmt.Sprintf("Line %d of case %d says more. ", i, n), 100)}}}
		if i > 0 {
			said.Blocks = append([]wire.Block{{Kind: wire.KindToolResult, ID: fmt.Sprint("t", i-1), Text: "ok"}}, said.Blocks...)
		}
		r.Messages = append(r.Messages, said, use)
	}
	last.Blocks = append([]wire.Block{}, last.Blocks...)
	last.Blocks[0].ID = "t199"
	r.Messages = append(r.Messages, last)
	return r
}

// peak returns the largest heap in use while f runs, bytes.
func peak(f func()) uint64 {
	done, most := make(chan struct{}), make(chan uint64)
	go func() {
		var top uint64
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			top = max(top, m.HeapInuse)
			select {
			case <-done:
				most <- top
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	f()
	close(done)
	return <-most
}

// The memory of a hundred calls that are in flight together: each holds a prompt
// of 570 kB, and the server answers none before it has read all. What the
// prompts themselves take is told apart.
func BenchmarkHundredCalls(b *testing.B) {
	requests := make([]*wire.Request, 100)
	for i := range requests {
		requests[i] = long(i)
	}
	for _, name := range []string{"anthropic", "openai"} {
		b.Run(name, func(b *testing.B) {
			var most uint64
			runtime.GC()
			var before runtime.MemStats
			runtime.ReadMemStats(&before)
			for b.Loop() {
				most = max(most, peak(func() { together(b, name, requests) }))
			}
			b.ReportMetric(float64(most)/1e6, "MB-peak")
			b.ReportMetric(float64(before.HeapInuse)/1e6, "MB-prompts")
		})
	}
}

func together(b *testing.B, name string, requests []*wire.Request) {
	var read sync.WaitGroup
	read.Add(len(requests))
	answer, _ := serve(b, devserver.Options{})
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		read.Done()
		read.Wait()
		small := strings.NewReader(`{"model":"claude-x","max_tokens":4000,"stream":true,"messages":[{"role":"user","content":"Write a summary."}]}`)
		q := r.Clone(r.Context())
		q.Body, q.ContentLength = io.NopCloser(small), small.Size()
		answer.ServeHTTP(w, q)
	}))
	defer h.Close()
	backend := both(b, h.URL, backend.Limits{})[name]
	var wg sync.WaitGroup
	for _, r := range requests {
		wg.Go(func() {
			if _, err := backend.Do(context.Background(), r); err != nil {
				b.Error(err)
			}
		})
	}
	wg.Wait()
}
