// Package live has real models write the summaries of a run: compose, send, record. It composes the request of a call
// from the texts of the blocks that the simulated client would send (compose.go, texts.go), sends it through either
// interface (client.go), and keeps the answer in a file (record.go). The result is told in the terms of a modelled
// answer: sizes, times, a digest.
//
// A recorded call is found by the SHA-256 of its request's body. A replay composes the same bodies, because recordings,
// settings and earlier summaries are the same.
package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/compactsim/compactsim/internal/kit/draws"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/ask"
	"github.com/compactsim/compactsim/sim/summarizer"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/texts"
)

// Summarizer answers summary calls by real models. It is safe for concurrent use: the sessions of a run share one.
type Summarizer struct {
	opts   Options
	memory memory
}

// New returns a summariser. The settings must be valid.
func New(o Options) *Summarizer {
	o.MaxOutput = cmp.Or(o.MaxOutput, DefaultMaxOutput)
	if o.Stub == nil {
		o.Stub = summarizer.Default()
	}
	if o.Shared == nil {
		o.Shared = &Shared{}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Prices == nil {
		o.Prices = func(string, prompt.Usage) float64 { return 0 }
	}
	return &Summarizer{opts: o}
}

// Summarize sizes an answer without a call, for callers that have none to give.
func (s *Summarizer) Summarize(in *prompt.Intent, src draws.Source, event uint64, span prompt.Digest) prompt.Answer {
	return s.opts.Stub.Summarize(in, src, event, span)
}

// Compose answers a call: a compaction by a model or a recorded call, unless the
// recording has the answer; others by the stub. A call that failed in a
// way a layer can handle, such as a prompt that is too long, is an answer with
// its reason in Failed. An error means that the run cannot continue: a wrong
// key or model, an exhausted budget, a call that is not recorded, or the end of ctx,
// whose error it then wraps. It names the call; the caller adds the session.
// What was paid for is recorded by then.
func (s *Summarizer) Compose(ctx context.Context, c *summarizer.Call) (prompt.Answer, error) {
	switch {
	case !made(c.Intent):
		return s.Summarize(c.Intent, c.Draws, c.Event, c.Span), nil
	case c.Intent.Way == wayServer:
		s.opts.Shared.update(func(r *Report) { count(&r.Failures, whyNotMade) })
		return prompt.Answer{Failed: ask.FailAPI}, nil
	}
	p := s.opts.plan(c)
	a, err := s.fetch(ctx, c, &p)
	if err != nil {
		return prompt.Answer{}, fmt.Errorf("live call %d (%s, round %d): %w", c.Intent.Number, c.Intent.Source, c.Round, err)
	}
	return a, nil
}

// fetch composes a call and answers it.
func (s *Summarizer) fetch(ctx context.Context, c *summarizer.Call, p *plan) (prompt.Answer, error) {
	if err := ctx.Err(); err != nil {
		return prompt.Answer{}, err
	}
	m, err := s.compose(ctx, c, p)
	if err != nil {
		return prompt.Answer{}, fmt.Errorf("compose the request: %w", err)
	}
	if s.opts.Dry {
		stored := s.opts.Calls != nil && s.opts.Calls.Has(m.key)
		e := Estimate{Calls: 1, Stored: 1}
		if !stored {
			e = s.expected(c, p)
		}
		s.opts.Shared.update(func(r *Report) {
			if r.expect(m.key, &e); !stored {
				count(&r.Models, p.model)
			}
		})
		if !stored {
			return s.Summarize(c.Intent, c.Draws, c.Event, c.Span), nil
		}
	}
	call := func(ctx context.Context) (*Record, error) { return s.call(ctx, m) }
	var got *Record
	var replayed bool
	if s.opts.Calls == nil {
		got, err = call(ctx)
	} else {
		got, replayed, err = s.opts.Calls.Do(ctx, m.key, call)
	}
	if err != nil {
		return prompt.Answer{}, err
	}
	return s.answer(m, &got.Reply, replayed), nil
}

// compose returns a call with its request.
func (s *Summarizer) compose(ctx context.Context, c *summarizer.Call, p *plan) (*composer, error) {
	reader, err := s.opts.Texts(ctx, c.Session)
	if err != nil {
		return nil, err
	}
	m := &composer{opts: &s.opts, memory: &s.memory, call: c, plan: p, texts: reader}
	m.sent, err = m.request()
	if err = errors.Join(err, reader.Close()); err != nil {
		return nil, err
	}
	body, err := m.sent.body(s.opts.Provider, false)
	m.key = keyOf(body, c.Intent.Ordinal)
	return m, err
}

// call makes a call and books it. Its error means that the run cannot continue.
func (s *Summarizer) call(ctx context.Context, m *composer) (*Record, error) {
	if s.opts.Backend == nil {
		return nil, errors.New("it is not recorded, and no server is given to make it")
	}
	reply, err := s.opts.Backend.Do(ctx, m.sent)
	began := s.opts.Now().UTC().Add(-reply.Total)
	if errors.As(err, &reply.Failure) && !reply.Failure.Fatal() && ctx.Err() == nil {
		err = nil
	}
	if reply.Attempts > 0 {
		s.book(m, reply, err)
	}
	if gone := ctx.Err(); err != nil && gone != nil && !errors.Is(err, gone) {
		err = errors.Join(gone, err)
	}
	if err != nil {
		return nil, err
	}
	c := m.call
	return &Record{Session: c.Session.ID, Source: c.Intent.Source, Model: m.plan.model, Thread: c.Thread, Round: c.Round,
		Began: began, Reply: *reply}, nil
}

// book counts a call that went to a server; err is what ended the run with it.
func (s *Summarizer) book(m *composer, reply *Reply, err error) {
	s.opts.Shared.update(func(r *Report) {
		r.Made++
		r.Requests += int64(reply.Attempts)
		r.Usage.Add(&reply.Usage)
		r.Usage.Add(&reply.Wasted)
		r.Wasted.Add(&reply.Wasted)
		r.spent += s.opts.cost(m.plan.model, reply)
		r.Composed.Unseen += m.count.Unseen
		r.Composed.Lost += m.count.Lost
		switch f := reply.Failure; {
		case f != nil && (f.Cause == CauseTooLong || f.Cause == CauseRequest || f.Fatal()):
			r.Refused++
		case f != nil || err != nil:
			r.Unanswered++
		case reply.Estimated:
			r.Estimated++
		}
	})
}

// answer returns the result of a call in the terms of a modelled one.
func (s *Summarizer) answer(m *composer, reply *Reply, replayed bool) prompt.Answer {
	a := prompt.Answer{Measured: &prompt.Measured{Usage: reply.Usage, Wasted: reply.Wasted, Attempts: int32(reply.Attempts)}}
	var why string
	if f := reply.Failure; f != nil {
		a.Failed, why = ask.FailAPI, string(f.Cause)
		if f.Cause == CauseTooLong {
			a.Failed, a.Excess = ask.FailTooLong, f.Excess
		}
	} else {
		why = s.take(&a, m, reply)
	}
	s.record(m, reply, &a, why, replayed)
	return a
}

// take sets what a reply gives, and returns why it has no summary.
func (s *Summarizer) take(a *prompt.Answer, m *composer, reply *Reply) string {
	r := m.plan.read(reply)
	a.Measured.Iterations = 1
	a.First, a.Total, a.Output = int64(reply.Total), int64(reply.Total), r.output
	if a.Failed = r.failed; a.Failed != "" {
		return cmp.Or(r.why, r.failed)
	}
	a.Summary, a.Bytes = r.tokens, int32(len(r.text))
	a.Digest = s.memory.keep(m.key, written{text: r.text, analysis: r.analysis, tokens: r.tokens, output: a.Output})
	a.Measured.Missing, a.Measured.Cut = r.missing, r.cut
	return ""
}

// Shared is what the summarisers of a run share, besides recorded calls: the report. The zero value is empty and ready
// to use; it must not be copied.
type Shared struct {
	mu     sync.Mutex
	report Report
}

// Backend makes calls, as a Client does: there is a reply beside an error too. It must be safe for concurrent use.
type Backend interface {
	Do(ctx context.Context, r *Request) (*Reply, error)
}

// Texts are the texts behind the blocks of a session. *texts.Reader is one.
type Texts interface {
	Block(i int32) (texts.Content, error)
	Close() error
}

// Options configure a Summarizer. Texts and either Backend or Calls must be given, except for a dry run.
type Options struct {
	// Settings without MaxOutput have the default.
	Settings
	// MaxOutputOf returns the largest output of a model, tokens, which no call
	// exceeds; 0 if unknown. Nil for no limit.
	MaxOutputOf func(model string) int
	Backend     Backend
	Calls       *Folder // recorded calls; nil for none
	Texts       func(context.Context, *traces.Session) (Texts, error)
	Stub        *summarizer.Stub // of calls that are not made; nil for summarizer.Default()
	// Prices return the price of a call, USD; nil for 0.
	Prices func(model string, u prompt.Usage) float64
	Now    func() time.Time // nil for time.Now
	// Shared is given to all summarisers of a run, so that they have one report, and a dry run estimates a call of
	// several once; nil for a separate one.
	Shared *Shared
	// Dry estimates calls instead of making them: Stub answers all that are not stored.
	Dry bool
}
