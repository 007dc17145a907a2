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
