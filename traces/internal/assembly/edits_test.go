package assembly

import (
	"slices"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
)

// Two stubs stand for messages a and b, and the second for c too. What was said first are these three, each once: a program that
// shortens its history again in each of 413 requests (52 MB) took 24 GB where each stub brought its list along.
func TestFormsTellEachMessageOnce(t *testing.T) {
	said := func(text string) *Message { return &Message{Digest: prompt.DigestString(text)} }
	a, b, c, plain, one, two := said("a"), said("b"), said("c"), said("plain"), said("one"), said("two")
	f := forms{one.Digest: {a, b}, two.Digest: {a, b, c}}
	if got := f.first([]*Message{one, plain, two, one}); !slices.Equal(got, []*Message{a, b, plain, c}) {
		t.Errorf("%d messages, want a, b, plain and c", len(got))
	}
}

// A program that takes messages out of the middle puts one back: the request says again what it said, and one message more ahead of
// some of these. What follows that one is sent anew, so the recording has an edit where the message behind it was. It went unnoticed,
// and the simulation read 16 % of a bill from the cache that had been paid in full.
func TestMessagePutBack(t *testing.T) {
	said := func(assistant bool, text string) *Message {
		return NewMessage(assistant, []Block{{Block: Derived(prompt.KindText, prompt.DigestString(text), 10)}})
	}
	a, b, c, d := said(false, "a"), said(true, "b"), said(false, "c"), said(true, "d")
	list := []*Request{
		{Start: 1, End: 2, Signs: Signs{Whole: true}, Messages: []*Message{a, c}, Reply: d.Blocks},
		{Start: 3, End: 4, Signs: Signs{Whole: true}, Messages: []*Message{a, b, c, d, said(false, "e")}},
	}
	threads := Conversations("s", list)
	if len(threads) != 1 || len(threads[0].Calls) != 2 {
		t.Fatalf("%d threads, want one of two calls", len(threads))
	}
	events := threads[0].Happened
	if len(events) != 1 || !events[0].Gone || !slices.Equal(events[0].dropped, digests([]*Message{c})) {
		t.Errorf("events %+v, want c dropped, which moved", events)
	}
	if n := len(threads[0].Calls[1].Before); n != 1 {
		t.Errorf("%d new blocks, want e alone", n)
	}
}
