package live

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
)

// price is the price of claude-sonnet-4-5 in USD.
func price(_ string, u prompt.Usage) float64 {
	return (3*float64(u.Uncached) + 0.3*float64(u.Read) + 3.75*float64(u.Write5m) + 6*float64(u.Write1h) + 15*float64(u.Output)) / 1e6
}

func answering(u prompt.Usage) *fake {
	return &fake{do: func(int) (*Reply, error) { return &Reply{Usage: u}, nil }}
}

// short is a request of 10 bytes.
func short(maxTokens int) *Request {
	return &Request{Model: "claude-sonnet-4-5", MaxTokens: maxTokens,
		Messages: []Message{{Role: roleUser, Content: []Block{Text("0123456789")}}}}
}

// An estimate bounds what the same request is billed.
func TestMostIsABound(t *testing.T) {
	// 124 bytes in three objects: 49 tokens, and 60 for each.
	if got, want := estimate(short(100)), (prompt.Usage{Uncached: 49 + 3*60, Output: 100}); got != want {
		t.Errorf("estimate %+v, want %+v", got, want)
	}
	quoting := short(100)
	quoting.Messages[0].Content[0] = Text(`{"cache_control":{"type":"ephemeral","ttl":"1h"}}`)
	if got := estimate(quoting); got.Uncached == 0 || got.Writes() > 0 {
		t.Errorf("a text that quotes a breakpoint is estimated as %+v", got)
	}
	reply, err := anthropicAt(t, startServer(t).URL, 0).Do(context.Background(), dialogue())
	if err != nil {
		t.Fatal(err)
	}
	e := estimate(dialogue())
	if e.Write1h < reply.Usage.Input() || e.Output < reply.Usage.Output || e.Uncached+e.Read+e.Write5m != 0 {
		t.Errorf("estimate %+v of what was billed %+v", e, reply.Usage)
	}
}

// So many calls, and then an error that says so.
func TestMaxCalls(t *testing.T) {
	b := answering(prompt.Usage{Output: 1})
	g := gated(t, b, Settings{MaxCalls: 3})
	for range 3 {
		if err := do(g, short(1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := do(g, short(1)); !errors.Is(err, ErrMaxCalls) || b.calls != 3 || g.gate.sum().Calls != 3 {
		t.Errorf("%v after %d calls, %+v", err, b.calls, g.gate.sum())
	}
}

// The estimate of a call must fit into what is left. It is 235 tokens of input at
// $3 and 1,000 of output at $15 a million: $0.0157; billed are 100 and 100
// tokens: $0.0018. With $0.02, the third call finds $0.0164, the fourth $0.0146.
func TestBudget(t *testing.T) {
	b := answering(prompt.Usage{Uncached: 100, Output: 100})
	g := gated(t, b, Settings{Budget: 0.02})
	for i := range 3 {
		if err := do(g, short(1000)); err != nil {
			t.Fatalf("call %d: %v", i+1, err)
		}
	}
	err := do(g, short(1000))
	if !errors.Is(err, ErrBudget) || b.calls != 3 || math.Abs(g.gate.sum().USD-0.0054) > 1e-12 {
		t.Errorf("%v after %d calls, %+v", err, b.calls, g.gate.sum())
	}
	if err := do(g, short(10)); err != nil {
		t.Errorf("a smaller call: %v", err)
	}
}

// An answer that broke off is booked as estimated.
func TestBrokenIsBooked(t *testing.T) {
	for _, tc := range []struct {
		cause Cause
		want  prompt.Usage
	}{
		{CauseBroken, prompt.Usage{Uncached: 229, Output: 100}},
		{CauseTimeout, prompt.Usage{Uncached: 229, Output: 100}},
		{CauseRate, prompt.Usage{}},
		{CauseNetwork, prompt.Usage{}},
	} {
		g := gated(t, failing(Failure{Cause: tc.cause}), Settings{})
		f := failure(t)(call(g, short(100)))
		if s := g.gate.sum(); f.Billed != tc.want || s.USD != price("", tc.want) || s.InFlight != 0 {
			t.Errorf("%+v: booked %+v, want %+v", tc.cause, s, tc.want)
		}
	}
}

// A hundred calls at once: never more in flight than allowed, and never more
// spent than the budget, although every call costs its whole estimate.
func TestConcurrencyAndBudget(t *testing.T) {
	cost := prompt.Usage{Uncached: 64, Output: 1000} // $0.015192
	var flying, most atomic.Int64
	b := &fake{do: func(int) (*Reply, error) {
		n := flying.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		time.Sleep(time.Millisecond)
		flying.Add(-1)
		return &Reply{Usage: cost}, nil
	}}
	g := gated(t, b, Settings{Concurrency: 5, Budget: 0.5})
	var ok, refused atomic.Int64
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			switch err := do(g, short(1000)); {
			case err == nil:
				ok.Add(1)
			case errors.Is(err, ErrBudget):
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if most.Load() > 5 || ok.Load() != 32 || refused.Load() != 68 || g.gate.sum().USD > 0.5 { // 0.5/0.015192 = 32.9, and the 32nd is within its estimate
		t.Errorf("%d in flight, %d answered, %d refused, %+v", most.Load(), ok.Load(), refused.Load(), g.gate.sum())
	}
}

// A call waits while the estimates of those in flight leave it no room, and goes
// when they turn out cheaper.
func TestBudgetWaitsForEstimates(t *testing.T) { synctest.Test(t, budgetWaits) }

func budgetWaits(t *testing.T) {
	entered, leave := make(chan struct{}, 2), make(chan struct{})
	b := &fake{do: func(int) (*Reply, error) {
		entered <- struct{}{}
		<-leave
		return &Reply{Usage: prompt.Usage{Output: 1}}, nil
	}}
	g := gated(t, b, Settings{Budget: 0.02}) // room for one estimate of $0.0157
	done := make(chan error, 2)
	for range 2 {
		go func() { done <- do(g, short(1000)) }()
	}
	<-entered
	synctest.Wait()
	if n := g.gate.sum().InFlight; n != 1 {
		t.Errorf("%d in flight", n)
	}
	close(leave)
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// Whoever came first is served first, and who gives up makes room.
func TestGateIsFair(t *testing.T) { synctest.Test(t, gateIsFair) }

func gateIsFair(t *testing.T) {
	var mu sync.Mutex
	var order []string
	leave := make(chan struct{})
	b := backendFunc(func(_ context.Context, r *Request) (*Reply, error) {
		mu.Lock()
		order = append(order, r.Model)
		mu.Unlock()
		<-leave
		return &Reply{}, nil
	})
	g := gated(t, b, Settings{Concurrency: 1})
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for i := range 10 {
		r := short(1)
		r.Model = fmt.Sprint(i)
		wg.Go(func() {
			if i == 4 {
				if _, err := g.Do(ctx, r); !errors.Is(err, context.Canceled) {
					t.Errorf("the one who gave up: %v", err)
				}
				return
			}
			if err := do(g, r); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait() // so that they queue in this order
	}
	cancel()
	synctest.Wait()
	close(leave)
	wg.Wait()
	if want := []string{"0", "1", "2", "3", "5", "6", "7", "8", "9"}; !slices.Equal(order, want) {
		t.Errorf("served in the order %v, want %v", order, want)
	}
}

type backendFunc func(context.Context, *Request) (*Reply, error)

func (f backendFunc) Do(ctx context.Context, r *Request) (*Reply, error) { return f(ctx, r) }

// A hundred calls at once through all layers to a server that fails one time in
// three: all are answered, none twice, and the books are the server's.
func TestHundredCalls(t *testing.T) {
	for _, name := range []string{"anthropic", "openai"} {
		s := startServer(t, "429"+every(11, 3), "529"+every(11, 6), "500"+every(23, 2), "reset"+every(11, 9), "cut"+every(17, 4), "error-answer"+every(19, 5))
		stack := around(t, both(t, s.URL, 0)[name], Config{Settings: Settings{Concurrency: 50, Budget: 100, Attempts: 12}})
		g := stack
		var wg sync.WaitGroup
		var attempts, output atomic.Int64
		for i := range 100 {
			r := dialogue()
			r.Messages[0].Content[0].Text += fmt.Sprintf(" This is case %d.", i)
			wg.Go(func() {
				reply, err := stack.Do(context.Background(), r)
				if err != nil {
					t.Error(err)
					return
				}
				attempts.Add(int64(reply.Attempts))
				output.Add(reply.Usage.Output)
			})
		}
		wg.Wait()
		answered := map[string]int{}
		for _, r := range s.Requests() {
			if r.Answered {
				answered[r.Body]++
			}
		}
		for _, n := range answered {
			if n != 1 {
				t.Errorf("%s: a call was answered %d times", name, n)
			}
		}
		requests, all := s.Count()
		if len(answered) != 100 || all != 100 || requests != int(attempts.Load()) || requests < 120 {
			t.Errorf("%s: %d calls, %d answered, %d requests, %d attempts", name, len(answered), all, requests, attempts.Load())
		}
		if sp := g.gate.sum(); sp.Calls != requests || sp.InFlight != 0 || sp.USD < price("", prompt.Usage{Output: output.Load()}) {
			t.Errorf("%s: spent %+v, output %d", name, sp, output.Load())
		}
	}
}

// every returns the ordinals of each nth request from a first, as a fault has them.
func every(nth, first int) string {
	var list []string
	for n := first; n < 300; n += nth {
		list = append(list, strconv.Itoa(n))
	}
	return "@" + strings.Join(list, ",")
}
