package live

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/ask"
	"github.com/compactsim/compactsim/sim/summarizer"
)

// A dollar for each thousand tokens that are not read from the cache.
func dollars(_ string, u prompt.Usage) float64 {
	return float64(u.Uncached+u.Writes()+u.Output) / 1000
}

// Only compactions go to a server; what the recording answers does not, nor what
// the stub sizes.
func TestWhatGoesLive(t *testing.T) {
	server := &fakeServer{}
	s := conversation("alpha")
	l := newLive(t, Options{Backend: server, Texts: library(s)})
	c := s.call()
	known := prompt.Answer{Summary: 42, Digest: prompt.DigestString("recorded")}
	c.Intent.Known = &known
	if a := compose(t, l, c); a != known {
		t.Errorf("the recording's answer came back as %+v", a)
	}
	c.Intent.Known, c.Intent.Source = nil, "prompt_suggestion"
	stub := summarizer.Default()
	if a := compose(t, l, c); a != stub.Summarize(c.Intent, c.Draws, c.Event, c.Span) {
		t.Errorf("a short fork came back as %+v, not as the stub has it", a)
	}
	if n := len(server.requests); n != 0 {
		t.Fatalf("%d requests for calls that are not live", n)
	}
	// The provider's own compaction is not asked for: the call fails at once, for the strategy to go on.
	c.Intent.Source, c.Intent.Way = sourceCompact, wayServer
	if a := compose(t, l, c); a.Failed != ask.FailAPI || l.opts.Shared.Report().Failures[whyNotMade] != 1 {
		t.Errorf("the provider's compaction: %+v, %+v", a, l.opts.Shared.Report())
	}
	c.Intent.Way = "fork"
	compose(t, l, c)
	if r := l.opts.Shared.Report(); len(server.requests) != 1 || r.Made != 1 {
		t.Errorf("%d requests, report %+v", len(server.requests), r)
	}
}

// The answer has the server's sizes and times: of 300 output tokens the summary
// has its share by bytes.
func TestAnswer(t *testing.T) {
	s := conversation("alpha")
	at := time.Unix(1000, 0)
	store := folder(t, t.TempDir(), Make)
	server := &fakeServer{answer: func(int, *Request) (*Reply, error) {
		r := good()
		r.Attempts = 3
		return r, nil
	}}
	l := newLive(t, Options{
		Backend: server, Texts: library(s), Prices: dollars, Calls: store, Now: func() time.Time { return at },
	})
	a := compose(t, l, s.call())
	text := strings.TrimSpace(full("/src/a.go"))
	want := int32(float64(300*len(text))/float64(len(good().Text)) + 0.5)
	if a.Summary != want || a.Bytes != int32(len(text)) || a.Output != 300 || a.Digest.IsZero() {
		t.Errorf("answer %+v, want %d tokens in %d bytes", a, want, len(text))
	}
	if a.First != a.Total || a.Total != int64(5*time.Second) || a.Failed != "" {
		t.Errorf("times %d and %d, failed %q", a.First, a.Total, a.Failed)
	}
	m := prompt.Measured{Usage: prompt.Usage{Uncached: 100, Read: 500, Output: 300}, Iterations: 1, Attempts: 3}
	if *a.Measured != m {
		t.Errorf("measured %+v, want %+v", *a.Measured, m)
	}
	for _, got := range recorded(t, store) {
		if !got.Began.Equal(at.Add(-5 * time.Second)) {
			t.Errorf("the call is said to have begun at %v, want 5 s before its end", got.Began)
		}
	}
	r := l.opts.Shared.Report()
	if r.USD != 0.4 || r.Retries() != 2 || r.Usage.Output != 300 {
		t.Errorf("report %+v", r)
	}
	if len(r.Calls) != 1 || r.Calls[0].Tokens != want {
		t.Errorf("calls %+v", r.Calls)
	}
}

// compactInto puts a summary in the place of a conversation's messages.
func (s *script) compactInto(a *prompt.Answer) {
	from := s.context.Messages()
	ref := s.arena.Add(prompt.Block{Kind: prompt.KindSummary, Digest: a.Digest, Tokens: a.Summary, Bytes: a.Bytes, Object: -1})
	s.context.Replace(from, s.context.Len(), []prompt.Ref{ref}, prompt.CauseCompaction)
}

// The next compaction sends the summary of the one before.
func TestChain(t *testing.T) {
	s := conversation("alpha")
	server := &fakeServer{answer: func(n int, _ *Request) (*Reply, error) {
		r := good()
		r.Text = words(fmt.Sprintf("<summary>summary %d</summary>", n))
		return r, nil
	}}
	l := newLive(t, Options{Backend: server, Texts: library(s)})
	for n := 1; n <= 3; n++ {
		a := compose(t, l, s.call())
		first := server.last().Messages[0].Content[0].Text
		if want := summaryHeader + fmt.Sprintf("summary %d", n-1); n > 1 && first != want {
			t.Errorf("call %d begins with %q, want %q", n, first, want)
		}
		s.compactInto(&a)
	}
	if lost := l.opts.Shared.Report().Composed.Lost; lost != 0 {
		t.Errorf("%d summaries were lost", lost)
	}
	other := newLive(t, Options{Backend: server, Texts: library(s)})
	compose(t, other, s.call())
	if lost := other.opts.Shared.Report().Composed.Lost; lost != 1 {
		t.Errorf("%d summaries are lost to a run that has not made them, want 1", lost)
	}
}

// What a layer can go on from is an answer; what the run cannot go on from is
// an error.
func TestFailures(t *testing.T) {
	budget := errors.New("no money is left")
	for _, c := range []struct {
		name   string
		err    error
		failed string
		excess int64
		cause  string
	}{
		{"too long", &Failure{Cause: CauseTooLong, Excess: 123}, ask.FailTooLong, 123, "prompt too long"},
		{"too long by an unknown gap", &Failure{Cause: CauseTooLong}, ask.FailTooLong, 0, "prompt too long"},
		{"overloaded", fmt.Errorf("gave up: %w", &Failure{Cause: CauseOverloaded}), ask.FailAPI, 0, "overloaded"},
		{"a broken response", &Failure{Cause: CauseBroken}, ask.FailAPI, 0, "broken response"},
		{"a request the server refuses", &Failure{Cause: CauseRequest, Status: 400}, ask.FailAPI, 0, "bad request"},
		{"a wrong key", &Failure{Cause: CauseAuth, Status: 401}, "", 0, ""},
		{"an unknown model", &Failure{Cause: CauseModel, Status: 404}, "", 0, ""},
		{"the budget", budget, "", 0, ""},
	} {
		s := conversation("alpha")
		server := &fakeServer{answer: func(int, *Request) (*Reply, error) { return &Reply{Attempts: 1}, c.err }}
		l := newLive(t, Options{Backend: server, Texts: library(s)})
		a, err := l.Compose(t.Context(), s.call())
		if c.failed == "" {
			if !errors.Is(err, c.err) || !strings.Contains(err.Error(), "live call 1 (compact, round 0)") {
				t.Errorf("%s: error %v, want one that names the call and wraps %v", c.name, err, c.err)
			}
			continue
		}
		if err != nil || a.Failed != c.failed || a.Excess != c.excess || !a.Refused() {
			t.Errorf("%s: answer %+v, error %v", c.name, a, err)
		}
		if n := l.opts.Shared.Report().Failures[c.cause]; n != 1 {
			t.Errorf("%s: counted %d times as %q", c.name, n, c.cause)
		}
	}
}

// A call that is repeated after a failure is asked again, not taken from the
// store; so is a shorter one after a prompt that was too long.
func TestRetryIsAnotherCall(t *testing.T) {
	server := &fakeServer{answer: func(n int, r *Request) (*Reply, error) {
		switch n {
		case 1:
			return &Reply{Attempts: 1}, &Failure{Cause: CauseTooLong, Excess: 10}
		case 2:
			return &Reply{StopReason: "end_turn", Usage: prompt.Usage{Output: 1}}, nil
		}
		return good(), nil
	}}
	s := conversation("alpha")
	store := folder(t, t.TempDir(), Make)
	l := newLive(t, Options{Backend: server, Texts: library(s), Calls: store})
	c := s.call()
	var got []string
	for n := range 3 {
		c.Intent.Ordinal = uint8(n)
		got = append(got, compose(t, l, c).Failed)
	}
	want := []string{ask.FailTooLong, ask.FailEmpty, ""}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("answers %q, want %q", got, want)
	}
	// From the store come the same answers in any order, without a request.
	for _, n := range []int{2, 0, 1} {
		c.Intent.Ordinal = uint8(n)
		if a := compose(t, l, c); a.Failed != want[n] {
			t.Errorf("call %d from the store: %q, want %q", n, a.Failed, want[n])
		}
	}
	if n := len(server.requests); n != 3 {
		t.Errorf("%d requests, want 3", n)
	}
}

// A run over recorded calls asks no server, and gives the same answers.
func TestReplay(t *testing.T) {
	store := folder(t, t.TempDir(), Make)
	run := func(o Options) (list []prompt.Answer) {
		s := conversation("alpha")
		o.Calls, o.Texts = store, library(s)
		l := newLive(t, o)
		for range 3 {
			a := compose(t, l, s.call())
			m := *a.Measured
			a.Measured = nil
			list = append(list, a, prompt.Answer{Excess: m.Usage.Input(), Output: int32(m.Usage.Output)})
			s.compactInto(&a)
		}
		return list
	}
	made := run(Options{Backend: &fakeServer{}})
	replayed := run(Options{})
	if fmt.Sprint(made) != fmt.Sprint(replayed) {
		t.Errorf("made     %v\nreplayed %v", made, replayed)
	}
	s := conversation("beta")
	l := newLive(t, Options{Calls: store, Texts: library(s)})
	if _, err := l.Compose(t.Context(), s.call()); err == nil {
		t.Error("a call that is not stored is answered without a server")
	}
}

// Who interrupts gets an error that says so; what was answered by then is
// stored.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	later, stop := context.WithCancel(t.Context())
	defer stop()
	store := folder(t, t.TempDir(), Make)
	server := &fakeServer{answer: func(n int, _ *Request) (*Reply, error) {
		if n == 1 {
			cancel()
			return good(), nil
		}
		stop()
		return &Reply{Attempts: 1, Wasted: prompt.Usage{Uncached: 1000}}, &Failure{Cause: CauseBroken}
	}}
	s := conversation("alpha")
	l := newLive(t, Options{Backend: server, Texts: library(s), Calls: store, Prices: dollars})
	if a, err := l.Compose(ctx, s.call()); err != nil || a.Failed != "" || len(recorded(t, store)) != 1 {
		t.Errorf("a call that was answered: %+v, %v, %d stored", a, err, len(recorded(t, store)))
	}
	s = conversation("beta")
	l.opts.Texts = library(s)
	if _, err := l.Compose(ctx, s.call()); !errors.Is(err, context.Canceled) || len(server.requests) != 1 {
		t.Errorf("a call behind the interrupt: %v, %d requests", err, len(server.requests))
	}
	if _, err := l.Compose(later, s.call()); !errors.Is(err, context.Canceled) || len(recorded(t, store)) != 1 {
		t.Errorf("a call that was interrupted: %v, %d stored", err, len(recorded(t, store)))
	}
	if usd := l.opts.Shared.Report().USD; usd != 1.4 {
		t.Errorf("$%v, want 1.40 with what was billed until then", usd)
	}
}

// Sessions that run at the same time do not mix their summaries, and the report
// adds up.
func TestConcurrent(t *testing.T) {
	const sessions, calls = 100, 3
	var scripts []*script
	for i := range sessions {
		scripts = append(scripts, conversation(fmt.Sprint("s", i)))
	}
	server := &fakeServer{answer: func(_ int, r *Request) (*Reply, error) {
		reply := good()
		reply.Text = words("<summary>" + r.Messages[0].Content[0].Text + "+</summary>")
		return reply, nil
	}}
	l := newLive(t, Options{Backend: server, Texts: library(scripts...), Prices: dollars})
	var wg sync.WaitGroup
	for i, s := range scripts {
		wg.Go(func() {
			for range calls {
				a, err := l.Compose(context.Background(), s.call())
				if err != nil {
					t.Error(err)
					return
				}
				s.compactInto(&a)
			}
			a, _ := l.memory.find(s.context.BlockAt(2).Digest)
			want := fmt.Sprintf("Please fix the login of s%d.+", i)
			if a.text != strings.Repeat(summaryHeader, calls-1)+want+strings.Repeat("+", calls-1) {
				t.Errorf("session %d ends with the summary %q", i, a.text)
			}
		})
	}
	wg.Wait()
	if r := l.opts.Shared.Report(); r.Made != sessions*calls || r.Composed.Lost != 0 || r.USD != sessions*calls*0.4 {
		t.Errorf("report %+v", r)
	}
}
