package promptcache_test

import (
	"math"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/promptcache"
)

const hour = 3600 * second

// explicitTalk is a conversation whose client makes caches.
type explicitTalk struct {
	talk
	server *promptcache.Explicit
	stored float64
}

func newExplicitTalk(renew int64) *explicitTalk {
	k := &explicitTalk{server: promptcache.NewExplicit(promptcache.ExplicitConfig{MinTokens: 1024, Lifetime: hour, Renew: renew})}
	k.Reset(nil, &k.arena)
	return k
}

func (k *explicitTalk) call(at int64, last bool) exchange.Outcome {
	r := exchange.Request{Entries: k.Seal(), Change: k.MarkSent(), Last: last}
	out := k.server.Begin(at, &r)
	k.server.FirstToken(at, out.Ticket)
	k.server.End(at, out.Ticket, 0)
	k.stored += out.Stored
	return out
}

// A conversation begins with P tokens and grows by g with every call, d apart; the client makes
// another cache when it would send more than renew = 4g − 1 tokens behind the last, so with every
// fourth call. Those read nothing and the three that follow read all of the cache. It is kept for 4d until the next
// takes its place, the last for the hour after the last use.
func TestExplicitInClosedForm(t *testing.T) {
	const p, g, calls = 10_000, 500, 10
	d := 300 * second
	k := newExplicitTalk(4*g - 1)
	k.add(prompt.KindPrompt, p)
	var read int64
	for i := range calls {
		if i > 0 {
			k.add(prompt.KindPrompt, g)
		}
		out := k.call(int64(i)*d, false)
		size := int64(p + g*(i/4*4))
		want := size
		if i%4 == 0 {
			want = 0
		}
		if out.Usage.Read != want || out.Usage.Uncached != int64(p+g*i)-want || out.Miss != exchange.MissNone {
			t.Errorf("call %d: %+v, want a read of %d", i, out, want)
		}
		read += out.Usage.Read
	}
	// Two caches for 4 × 5 minutes each, the third, of calls 8 and 9, for 5 minutes and an hour.
	if want := (p*20.0 + (p+4*g)*20 + (p+8*g)*65) / 60 / 1e6; math.Abs(k.stored-want) > 1e-9 {
		t.Errorf("%g million token-hours, want %g", k.stored, want)
	}
	if want := int64(3*p + 3*(p+4*g) + p + 8*g); read != want {
		t.Errorf("%d tokens read, want %d", read, want)
	}
}

// After more than an hour the cache is gone: the thread misses it and has another made, and each is paid for its hour.
// What a last request sends is not kept, and a prompt below the minimum never.
func TestExplicitEnds(t *testing.T) {
	k := newExplicitTalk(1 << 20)
	k.add(prompt.KindPrompt, 1000)
	if out := k.call(0, false); out.Stored != 0 {
		t.Errorf("a cache of 1,000 tokens: %+v", out)
	}
	k.add(prompt.KindPrompt, 9000)
	k.call(0, false)
	if out := k.call(hour, false); out.Usage.Read != 10_000 || out.Miss != exchange.MissNone {
		t.Errorf("within the hour: %+v", out)
	}
	if out := k.call(2*hour+1, false); out.Usage.Read != 0 || out.Miss != exchange.MissExpiry || out.Expected != 10_000 {
		t.Errorf("after the hour: %+v", out)
	}
	if want := 0.01 * 3; math.Abs(k.stored-want) > 1e-9 {
		t.Errorf("%g million token-hours, want %g", k.stored, want)
	}
	k.SetForm(0, prompt.FormCleared, 0, prompt.CauseEdit)
	if out := k.call(2*hour+2, true); out.Usage.Read != 0 || out.Miss != exchange.MissEdit || out.Stored != 0 {
		t.Errorf("a last request with another prefix: %+v", out)
	}
}

// Threads with the same prefix read the longest cache of that prefix; another owner or model reads none.
func TestExplicitIsFoundByItsPrefix(t *testing.T) {
	k := newExplicitTalk(1 << 20)
	k.add(prompt.KindPrompt, 10_000)
	k.call(0, false)
	k.add(prompt.KindPrompt, 500)
	for _, tc := range []struct {
		thread, owner, model uint32
		want                 int64
	}{{9, 0, 0, 10_000}, {8, 1, 0, 0}, {7, 0, 1, 0}} {
		r := exchange.Request{Thread: tc.thread, Owner: tc.owner, Model: tc.model, Entries: k.Seal(), Change: k.MarkSent(), Last: true}
		if out := k.server.Begin(second, &r); out.Usage.Read != tc.want || out.Expected != 0 {
			t.Errorf("%+v: %+v", tc, out)
		}
	}
}
