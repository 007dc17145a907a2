package promptcache

import (
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
)

// talk is a conversation that grows by one block of 100 tokens a call behind a
// system prompt of 2,000.
type talk struct {
	context prompt.Context
	cache   *Anthropic
	now     int64
}

func newTalk() *talk {
	k := &talk{cache: New(Config{})}
	k.context.Reset(nil, new(prompt.Arena))
	k.add(prompt.KindSystem, 2000)
	return k
}

func (k *talk) add(kind prompt.Kind, tokens int32) {
	k.context.Add(prompt.Block{Kind: kind, Tokens: tokens, Digest: prompt.Digest{Hi: 5, Lo: uint64(k.context.Len())}, Object: -1})
}

// call appends a block and sends the conversation with markers on the system
// prompt and on the last block.
func (k *talk) call(change func(*exchange.Request)) exchange.Outcome {
	k.add(prompt.KindPrompt, 100)
	entries := k.context.Seal()
	r := exchange.Request{
		Owner: 1, Model: 1, MinTokens: 1024, Entries: entries, Change: prompt.NoChange,
		Markers: []exchange.Marker{{}, {Position: int32(len(entries) - 1)}},
	}
	if change != nil {
		change(&r)
	}
	out := k.cache.Begin(k.now, &r)
	k.cache.FirstToken(k.now+1, out.Ticket)
	k.cache.End(k.now+2, out.Ticket, 10)
	k.now += 10
	return out
}

func read(t *testing.T, name string, out exchange.Outcome, want int64) {
	t.Helper()
	if out.Usage.Read != want || out.Usage.Input() != out.Effective {
		t.Errorf("%s: read %d of %d (classes add up to %d), want %d", name, out.Usage.Read, out.Effective, out.Usage.Input(), want)
	}
}

// Message entries belong to the variant of the request, tools and system do not:
// a call with other parameters falls back to the system prompt, and going back
// finds what the first variant had left.
func TestVariantKeepsMessagesApart(t *testing.T) {
	k := newTalk()
	k.call(nil)
	read(t, "same variant", k.call(nil), 2100)
	other := func(r *exchange.Request) { r.Variant = 1 }
	out := k.call(other)
	read(t, "other variant", out, 2000)
	if out.Miss != exchange.MissHead {
		t.Errorf("miss %v, want head: a parameter changed", out.Miss)
	}
	read(t, "other variant again", k.call(other), 2300)
	read(t, "first variant", k.call(nil), 2200)
}

// What a request is said to leave unheld has no part in serving it; the next
// reads that much less, and writes it.
func TestUnheld(t *testing.T) {
	k := newTalk()
	k.call(nil)
	read(t, "the request itself", k.call(func(r *exchange.Request) { r.Unheld = 30 }), 2100)
	out := k.call(nil)
	read(t, "the next", out, 2170)
	if out.Usage.Write5m != 130 || out.Miss != exchange.MissNone {
		t.Errorf("wrote %d with miss %v, want 130 and none", out.Usage.Write5m, out.Miss)
	}
	read(t, "the one after", k.call(nil), 2300)
}

// A shifted breakpoint reads by its shift more or less, and classes still add up.
func TestShift(t *testing.T) {
	for shift, want := range map[int32]int64{0: 2000, 50: 2050, -300: 1700} {
		k := newTalk()
		moved := func(r *exchange.Request) { r.Markers[0].Shift = shift }
		k.call(moved)
		read(t, "fallback", k.call(func(r *exchange.Request) { moved(r); r.Variant = 1 }), want)
	}
}

// Results that stand behind the last breakpoint are sent plain, and the next
// call writes them.
func TestShiftOfTheLastBreakpoint(t *testing.T) {
	k := newTalk()
	k.call(nil)
	out := k.call(func(r *exchange.Request) { r.Markers[1].Shift = -40 })
	read(t, "marked early", out, 2100)
	if out.Usage.Write5m != 60 || out.Usage.Uncached != 40 {
		t.Errorf("wrote %d and sent %d plain, want 60 and 40", out.Usage.Write5m, out.Usage.Uncached)
	}
	read(t, "the next", k.call(nil), 2160)
}

// Other conversations keep the head alive when the thread's own entries have
// expired; they do not lower what is read otherwise.
func TestShared(t *testing.T) {
	k := newTalk()
	shared := func(r *exchange.Request) { r.Shared = 1500 }
	k.call(shared)
	read(t, "alive", k.call(shared), 2100)
	k.now += DefaultLifetime5m + 10
	out := k.call(shared)
	read(t, "expired", out, 1500)
	if out.Miss != exchange.MissExpiry {
		t.Errorf("miss %v, want expiry", out.Miss)
	}
}

// What no line shows is a size, not a block: it takes no position of the
// look-back. Twenty prompts with a size behind each are twenty positions.
func TestUnseenTakesNoPosition(t *testing.T) {
	k := newTalk()
	k.call(nil)
	for range DefaultLookback - 2 {
		k.add(prompt.KindPrompt, 10)
		k.add(prompt.KindUnseen, 10)
	}
	read(t, "19 prompts on", k.call(nil), 2100)
	for range DefaultLookback {
		k.add(prompt.KindPrompt, 10)
		k.add(prompt.KindUnseen, 10)
	}
	read(t, "21 prompts on", k.call(nil), 2000)
}
