package live

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
)

// What attempts that broke off were billed is told with the answer, beside what
// the answer itself was billed.
func TestReplyTellsWhatWasWasted(t *testing.T) {
	b := &fake{do: func(n int) (*Reply, error) {
		if n < 3 {
			return &Reply{}, &Failure{Cause: CauseBroken}
		}
		return &Reply{Usage: prompt.Usage{Read: 100, Output: 50}}, nil
	}}
	reply, err := retrying(t, b, 4, quick).Do(context.Background(), dialogue())
	if err != nil {
		t.Fatal(err)
	}
	if want := times(2); reply.Wasted != want || reply.Usage != (prompt.Usage{Read: 100, Output: 50}) {
		t.Errorf("wasted %+v, want %+v; billed %+v", reply.Wasted, want, reply.Usage)
	}
}

// Who gives up during the second attempt learns what both were billed.
func TestCancelledInTheSecondAttempt(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	b := &fake{do: func(n int) (*Reply, error) {
		if n == 2 {
			cancel()
		}
		return &Reply{}, &Failure{Cause: CauseBroken}
	}}
	reply, err := retrying(t, b, 4, quick).Do(ctx, dialogue())
	if !errors.Is(err, context.Canceled) || reply.Wasted != times(2) || reply.Attempts != 2 {
		t.Errorf("%v: %+v", err, reply)
	}
}

// vanishing closes the connection when it has read a request, without a word.
func vanishing(t *testing.T) string {
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		buf := make([]byte, 4096)
		for n := int64(0); n < r.ContentLength; {
			k, err := r.Body.Read(buf)
			if n += int64(k); err != nil {
				break
			}
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		conn.Close()
	}))
	t.Cleanup(h.Close)
	return h.URL
}

// A request that went out in full may be billed although no word came back; one
// that reached nobody is not.
func TestResetAheadOfTheResponseIsBooked(t *testing.T) {
	const gone = "http://127.0.0.1:1" // nothing listens there, and no other test can take the port
	for _, tc := range []struct {
		url   string
		cause Cause
		want  prompt.Usage
	}{{vanishing(t), CauseBroken, estimate(dialogue())}, {gone, CauseNetwork, prompt.Usage{}}} {
		for name, b := range both(t, tc.url, 0) {
			g := gated(t, b, Settings{})
			f := failure(t)(call(g, dialogue()))
			if usd := g.gate.sum().USD; f.Cause != tc.cause || usd != price("", tc.want) || f.Billed != tc.want {
				t.Errorf("%s: %+v, booked $%v, want %s and %+v", name, f, usd, tc.cause, tc.want)
			}
		}
	}
}

// An endless answer is booked as the most that the request allowed: its 8 MB are no two million tokens.
func TestFloodIsBookedWithinTheOutputAllowed(t *testing.T) {
	for name, b := range both(t, startServer(t, "flood").URL, 0) {
		g := gated(t, b, Settings{})
		f := failure(t)(call(g, dialogue()))
		if most := int64(dialogue().MaxTokens); f.Cause != CauseTooLarge || f.Billed.Output != most || g.gate.sum().USD != price("", f.Billed) {
			t.Errorf("%s: %+v, booked %+v, want %d tokens of output", name, f, g.gate.sum(), most)
		}
	}
}

// Within a budget a model without a price is not asked, whatever others cost.
func TestBudgetRefusesUnpricedModels(t *testing.T) {
	b := answering(prompt.Usage{Output: 1})
	priced := func(model string) bool { return model != "dev-unpriced" }
	r := short(1)
	r.Model = "dev-unpriced"
	g := around(t, b, Config{Settings: Settings{Budget: 1}, Priced: priced})
	if err := do(g, r); err == nil || !strings.Contains(err.Error(), "needs the price of every model") || b.calls != 0 {
		t.Errorf("%v after %d calls", err, b.calls)
	}
	if err := do(g, short(1)); err != nil {
		t.Error(err)
	}
	g = around(t, b, Config{Priced: priced})
	if err := do(g, r); err != nil {
		t.Errorf("without a budget: %v", err)
	}
}

// What the attempts of calls tell to have been billed is what the gate has booked,
// and no less than the server counted.
func TestBooksAgreeWithTheServer(t *testing.T) {
	for _, name := range []string{"anthropic", "openai"} {
		s := startServer(t, "reset@1", "cut@3", "529@5")
		g := retrying(t, both(t, s.URL, 0)[name], 4, quick)
		var told prompt.Usage
		for range 5 {
			reply, err := g.Do(context.Background(), dialogue())
			if err != nil {
				t.Fatal(err)
			}
			told.Add(&reply.Usage)
			told.Add(&reply.Wasted)
		}
		counted := prompt.Usage{}
		for _, r := range s.Requests() {
			counted.Add(&r.Billed)
		}
		if usd := g.gate.sum().USD; math.Abs(price("", told)-usd) > 1e-9 {
			t.Errorf("%s: told %+v, booked $%v", name, told, usd)
		}
		if told.Input() < counted.Input() || told.Output < counted.Output {
			t.Errorf("%s: booked %+v, the server counted %+v", name, told, counted)
		}
	}
}

// A call that is interrupted ahead of the server sent nothing.
func TestCancelledAheadOfTheServer(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	b := answering(prompt.Usage{Output: 1})
	reply, err := retrying(t, b, 4, quick).Do(ctx, dialogue())
	if !errors.Is(err, context.Canceled) || reply.Attempts != 0 || b.calls != 0 {
		t.Errorf("%v: %+v, %d calls", err, reply, b.calls)
	}
}

// What a limit stops in its second attempt was billed for the first.
func TestStoppedInTheSecondAttempt(t *testing.T) {
	b := failing(Failure{Cause: CauseBroken})
	reply, err := around(t, b, Config{Settings: Settings{Attempts: 4, MaxCalls: 1}}).Do(context.Background(), dialogue())
	if !errors.Is(err, ErrMaxCalls) || reply.Wasted != times(1) || reply.Attempts != 1 {
		t.Errorf("%v: %+v", err, reply)
	}
}
