package live

import (
	"context"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
)

// A call is counted with its outcome; one that the end of the run met before a
// server had it is not.
func TestWhatWasSent(t *testing.T) {
	for _, c := range []struct {
		name                      string
		cause                     Cause
		sent                      Reply
		interrupted               bool
		made, refused, unanswered int
	}{
		{"no connection", CauseNetwork, Reply{Attempts: 4}, false, 1, 0, 1},
		{"a wrong key", CauseAuth, Reply{Attempts: 1}, false, 1, 1, 0},
		{"interrupted in the queue", "", Reply{}, true, 0, 0, 0},
		{"interrupted at the server", "", Reply{Attempts: 1, Wasted: prompt.Usage{Uncached: 9}}, true, 1, 0, 1},
	} {
		s := conversation("alpha")
		ctx, cancel := context.WithCancel(t.Context())
		server := &fakeServer{answer: func(int, *Request) (*Reply, error) {
			if c.interrupted {
				cancel()
				return &c.sent, context.Canceled
			}
			return &c.sent, &Failure{Cause: c.cause}
		}}
		l := newLive(t, Options{Backend: server, Texts: library(s)})
		_, _ = l.Compose(ctx, s.call())
		cancel()
		if r := l.opts.Shared.Report(); r.Made != c.made || r.Refused != c.refused || r.Unanswered != c.unanswered {
			t.Errorf("%s: %d made, %d refused, %d unanswered; want %d, %d, %d", c.name, r.Made, r.Refused, r.Unanswered, c.made, c.refused, c.unanswered)
		}
	}
}
