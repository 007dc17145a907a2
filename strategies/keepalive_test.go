package strategies

import (
	"slices"
	"testing"

	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
)

// All problems at once: an interval that the lifetime does not outlast keeps
// nothing.
func TestKeepaliveValidate(t *testing.T) {
	p := keepaliveParams{Every5m: 5, Every1h: 60, AtMost: -1, MinTokens: -1, Instruction: -1, Output: -1}
	if errs := spec.Validate(&p); len(errs) != 6 {
		t.Errorf("%d problems, want 6: %v", len(errs), errs)
	}
}

// The next keep-alive is due an interval behind the last use of the prefix: the
// last response, then the last keep-alive. There is none before a response, while
// a request is under way, or for a context that was replaced in the gap.
func TestKeepaliveWake(t *testing.T) {
	const minute = int64(60e9)
	k := newTalk()
	k.Now = 100 * minute
	l := layer(t, "keepalive: {}").(*keepalive)
	if at := l.Wake(&k.Turn); at != 0 {
		t.Errorf("before a response: %d", at)
	}
	k.Usage = prompt.Usage{Write5m: 18_500}
	l.AfterResponse(&k.Turn)
	if at := l.Wake(&k.Turn); at != 100*minute+minute*9/2 {
		t.Errorf("behind a response: %d", at)
	}
	k.TTL = exchange.TTL1h
	if at := l.Wake(&k.Turn); at != 155*minute {
		t.Errorf("with a lifetime of an hour: %d", at)
	}
	k.Now, k.Idle = 155*minute, 55*minute
	if out := l.Timer(&k.Turn); out.Verdict != Done || len(k.TakeBackground()) != 1 {
		t.Errorf("at 55 minutes: %+v", out)
	}
	if at := l.Wake(&k.Turn); at != 210*minute {
		t.Errorf("behind a keep-alive: %d", at)
	}
	clone := l.Clone().(*keepalive)
	l.BeforeRequest(&k.Turn)
	if at := l.Wake(&k.Turn); at != 0 {
		t.Errorf("with a request under way: %d", at)
	}
	clone.AfterCompaction(&k.Turn)
	if out := clone.Timer(&k.Turn); out.Verdict != Declined || clone.Wake(&k.Turn) != 0 {
		t.Errorf("behind a compaction: %+v", out)
	}
}

// What is sent again is the last request, without the response behind it.
func TestKeepaliveRequest(t *testing.T) {
	k := newTalk()
	k.round("Bash", "", 300)
	end := k.Context.Len()
	k.add(prompt.KindText, 60)
	k.use("Bash", "", 100)
	k.Usage = prompt.Usage{Read: 18_900}
	l := layer(t, "keepalive: {}").(*keepalive)
	l.Timer(&k.Turn)
	list := k.TakeBackground()
	if len(list) != 1 || int(list[0].To) != end || list[0].Known.Output != 1 || list[0].Source != "keepalive" {
		t.Fatalf("%+v, want entries up to %d", list, end)
	}
}

// A hook that declines allocates nothing.
func TestKeepaliveAllocatesNothing(t *testing.T) {
	k := newTalk()
	l := layer(t, "keepalive: {}").(*keepalive)
	if n := testing.AllocsPerRun(100, func() {
		l.BeforeRequest(&k.Turn)
		l.AfterResponse(&k.Turn)
		l.Wake(&k.Turn)
	}); n > 0 {
		t.Errorf("%g allocations", n)
	}
}

// At most two in one gap: the third timer is refused, and no fourth comes. A context of the
// least size, 18,500 tokens, is kept; one token more as the least, and it is not.
func TestKeepalivesOfAGap(t *testing.T) {
	k, _ := besideTalk()
	k.Usage = prompt.Usage{Read: 18_500}
	l := layer(t, "keepalive: {at_most: 2, min_tokens: 18500}").(*keepalive)
	l.AfterResponse(&k.Turn)
	for i, want := range []string{"", "", "enough in one gap"} {
		if l.Wake(&k.Turn) == 0 {
			t.Fatalf("no timer of number %d", i+1)
		}
		if out := l.Timer(&k.Turn); out.Reason != want {
			t.Errorf("keep-alive %d: %+v, want %q", i+1, out, want)
		}
	}
	var sent []uint8
	for _, in := range k.TakeBackground() {
		sent = append(sent, in.Ordinal)
	}
	if !slices.Equal(sent, []uint8{0, 1}) || l.Wake(&k.Turn) != 0 {
		t.Errorf("sent %v, and another at %d; want two and none", sent, l.Wake(&k.Turn))
	}
	l = layer(t, "keepalive: {min_tokens: 18501}").(*keepalive)
	if out := l.Timer(&k.Turn); out.Reason != "too small a context" || l.Wake(&k.Turn) != 0 {
		t.Errorf("%+v, then at %d; want no keep-alive in this gap", out, l.Wake(&k.Turn))
	}
}
