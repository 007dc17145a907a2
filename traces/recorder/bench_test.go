package recorder_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compactsim/compactsim/traces/recorder"
)

// How much longer a request of 200 kB takes through a recorder than without it, in turns, at the median.
func BenchmarkOverhead(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		_, _ = io.WriteString(w, answer)
	}))
	defer server.Close()
	log, err := os.Create(filepath.Join(b.TempDir(), "log.jsonl"))
	if err != nil {
		b.Fatal(err)
	}
	defer log.Close()
	r, err := recorder.New(log, recorder.Upstreams{Anthropic: server.URL, OpenAI: server.URL})
	if err != nil {
		b.Fatal(err)
	}
	front := httptest.NewServer(r)
	body := `{"model":"x","messages":"` + strings.Repeat("x", 200_000) + `"}`
	ask := func(to string) time.Duration {
		from := time.Now()
		resp, err := http.Post(to+"/v1/messages", "application/json", strings.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		return time.Since(from)
	}
	var more []time.Duration
	for b.Loop() {
		direct := ask(server.URL)
		more = append(more, ask(front.URL)-direct)
	}
	slices.Sort(more)
	b.ReportMetric(float64(more[len(more)/2].Microseconds()), "µs-more/request")
	front.Close()
	if err := r.Close(); err != nil {
		b.Fatal(err)
	}
}
