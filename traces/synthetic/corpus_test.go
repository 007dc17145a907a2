package synthetic

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/compactsim/compactsim/traces"
)

// Sessions that are handed on one by one equal the sessions of a corpus, whatever the workers.
func TestEachGivesTheSessionsOfACorpus(t *testing.T) {
	g := generator(t, workload(t, "fan-out"))
	const n = 60
	c, err := g.Corpus(context.Background(), n, 3, 2)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, s := range c.Sessions {
		want[s.ID] = fmt.Sprint(s.Start, s.End, s.Usage(), len(s.Blocks))
	}
	for _, workers := range []int{0, 1, 7} {
		var mu sync.Mutex
		got := map[string]string{}
		err := g.Each(context.Background(), n, 3, workers, func(s *traces.Session) error {
			mu.Lock()
			defer mu.Unlock()
			got[strings.Clone(s.ID)] = fmt.Sprint(s.Start, s.End, s.Usage(), len(s.Blocks))
			return nil
		})
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("%d workers: %d sessions that are not the %d of the corpus, error %v", workers, len(got), len(want), err)
		}
	}
}

// The first error ends the work, and so does the end of the context; what was
// done by then was done whole.
func TestEachStops(t *testing.T) {
	g := generator(t, workload(t, "short-fix"))
	full := errors.New("disk full")
	calls := 0
	err := g.Each(context.Background(), 1000, 1, 1, func(*traces.Session) error {
		if calls++; calls == 5 {
			return full
		}
		return nil
	})
	if !errors.Is(err, full) || calls != 5 {
		t.Errorf("after an error in the fifth: %d calls, error %v", calls, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	calls = 0
	err = g.Each(ctx, 1000, 1, 1, func(*traces.Session) error {
		if calls++; calls == 5 {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || calls != 5 {
		t.Errorf("interrupted in the fifth: %d calls, error %v", calls, err)
	}
	ctx, cancel = context.WithCancel(context.Background())
	calls = 0
	err = g.Each(ctx, 5, 1, 1, func(*traces.Session) error {
		if calls++; calls == 5 {
			cancel()
		}
		return nil
	})
	if err != nil {
		t.Errorf("interrupted in the last of all: %v", err)
	}
	for _, n := range []int{0, -1, MaxSessions + 1} {
		if err := g.Each(context.Background(), n, 1, 1, nil); !errors.Is(err, ErrSize) {
			t.Errorf("%d sessions: error %v", n, err)
		}
	}
}

// What a corpus will take is known before it is made, and one that no machine
// holds is refused at once.
func TestCorpusIsEstimated(t *testing.T) {
	for _, name := range []string{"long-refactor", "fan-out"} {
		g := generator(t, workload(t, name))
		memory := g.memory(600, 1)
		c, err := g.Corpus(context.Background(), 600, 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		size, _, _ := corpusBytes(c)
		if x := memory / float64(size); x < 0.75 || x > 1.33 {
			t.Errorf("%s: %.0f bytes are expected, %d came", name, memory, size)
		}
	}
	_, err := generator(t, workload(t, "overnight")).Corpus(context.Background(), MaxSessions, 1, 1)
	if !errors.Is(err, ErrSize) || !strings.Contains(err.Error(), "GB of memory, more than the 8 that are allowed: try ") {
		t.Errorf("ten million nights: error %v", err)
	}
}
