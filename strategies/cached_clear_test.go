package strategies

import (
	"slices"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
)

const agentKind = traces.ThreadAgent

// reads adds rounds of Read with results of 1,000 tokens, the last one as the
// round's input.
func (k *talk) reads(n int) {
	for range n {
		k.round("Read", "", 1000)
	}
	k.InputAt = k.Context.Len() - 1
}

// pinned returns the tokens of the blocks of deletions in the context.
func (k *talk) pinned() []int32 {
	var list []int32
	for i := range k.Context.Len() {
		if e := k.Context.At(i); e.Kind == prompt.KindAttachment {
			list = append(list, e.Tokens)
		}
	}
	return list
}

// 002:44-54: at twelve registered results all but the newest five are deleted;
// the messages stay whole, and a block of seven deletions stays behind the
// input. Seven more results later the next seven go.
func TestCachedDeletion(t *testing.T) {
	k, h := hosted()
	l := layer(t, "cached-microcompact: {}")
	k.reads(11)
	if out := asked(t, l, k); out != (Outcome{Declined, "too few results"}) {
		t.Errorf("eleven: %+v", out)
	}
	for i, total := range []int{7, 14} {
		k.reads(1 + 6*i)
		n := k.Context.Len()
		out := asked(t, l, k)
		if out.Verdict != Done || len(h.deleted) != total || k.Context.Len() != n+1 {
			t.Fatalf("%+v, %d deleted, want %d", out, len(h.deleted), total)
		}
		if b := k.Boundary(); b.Kind != BoundaryMicro || b.Deleted != 7000 || b.Uncounted != 7000 || b.Cleared != 0 || b.After-b.Before != 7*25 {
			t.Errorf("boundary %+v", b)
		}
		if out := asked(t, l, k); out.Verdict != Declined {
			t.Errorf("again: %+v", out)
		}
	}
	if got := k.results(); slices.Min(got) != 1000 || !slices.Equal(k.pinned(), []int32{175, 175}) {
		t.Errorf("results %v, pins %v", got, k.pinned())
	}
	for i, id := range h.deleted {
		if got := k.Context.BlockAt(k.Context.Index(id)); got.Kind != prompt.KindToolResult || got.Call != int32(i+1) {
			t.Errorf("deletion %d is call %d", i, got.Call)
		}
	}
	if h.counts[measures.CacheDeletions] != 14 || h.counts[measures.DeletedTokens] != 14000 || h.counts[measures.ReturnedTokens] != 0 {
		t.Errorf("counts %v", h.counts)
	}
}

// The parameters: threshold, keep_recent, tools, edit_tokens and the count.
func TestCachedDeletionParameters(t *testing.T) {
	for text, want := range map[string]int{
		"{}": 8, "{threshold: 13}": 8, "{threshold: 14}": 0, "{keep_recent: 1}": 12, "{tools: [Bash]}": 0,
		"{models: [other]}": 0, "{models: [opus, other]}": 8,
	} {
		k, h := hosted()
		k.Model = "opus"
		k.reads(13)
		asked(t, layer(t, "cached-microcompact: "+text), k)
		if len(h.deleted) != want {
			t.Errorf("%s: %d deleted, want %d", text, len(h.deleted), want)
		}
	}
	k, _ := hosted()
	k.reads(12)
	asked(t, layer(t, "cached-microcompact: {edit_tokens: 40, count_pending_clears: false}"), k)
	if b := k.Boundary(); b.Uncounted != 0 || b.Deleted != 7000 || !slices.Equal(k.pinned(), []int32{280}) {
		t.Errorf("boundary %+v, pins %v", b, k.pinned())
	}
}

// A result needs a cache_reference, and only those ahead of the last marker
// have one: results of this round's input wait for the next.
func TestCachedDeletionReference(t *testing.T) {
	k, h := hosted()
	l := layer(t, "cached-microcompact: {}")
	k.parallel("Read", make([]int32, 12)...)
	if out := asked(t, l, k); out != (Outcome{Declined, "no result before the last marker"}) || len(h.deleted) != 0 {
		t.Errorf("%+v, %v deleted", out, h.deleted)
	}
	k.parallel("Read", make([]int32, 10)...)
	if asked(t, l, k); len(h.deleted) != 12 { // of 22 results all but five, ten new ones among them
		t.Errorf("%d deleted, want 12", len(h.deleted))
	}
}

// A compaction resets the read that the next is compared with (002:153-154): what it
// made shorter is no expiry, and deletions of the request behind it stay in force.
func TestCachedDeletionBaseline(t *testing.T) {
	k, h := hosted()
	l := layer(t, "cached-microcompact: {}")
	k.Usage.Read = 150_000
	l.(AfterResponse).AfterResponse(&k.Turn)
	l.(AfterCompaction).AfterCompaction(&k.Turn)
	k.reads(12)
	asked(t, l, k)
	k.Usage.Read = 20_000
	l.(AfterResponse).AfterResponse(&k.Turn)
	if len(h.deleted) != 7 || h.counts[measures.ReturnedTokens] != 0 {
		t.Errorf("%d deleted, %d tokens back, want 7 and 0", len(h.deleted), h.counts[measures.ReturnedTokens])
	}
}

// Only the main thread deletes (003, "Critical safety"); with the guard off a
// fork that copies its parent's messages does so too.
func TestCachedDeletionGuard(t *testing.T) {
	for text, want := range map[string]int{"{}": 0, "{main_thread_guard: false}": 7} {
		k, h := hosted()
		k.reads(12)
		k.Kind = agentKind
		asked(t, layer(t, "cached-microcompact: "+text), k)
		if len(h.deleted) != want {
			t.Errorf("%s: %d deleted, want %d", text, len(h.deleted), want)
		}
	}
}

// Without a warm cache there is nothing to edit. When the read of a response falls by more
// than 2,000 tokens and 5 % (002:55; 000:613), whatever the pause before it, the deleted
// results come back whole, and the blocks of deletions go; the refs are free to be deleted
// again, behind the next response. The 7,000 tokens that were deleted are no fall. forget_deleted_on_expiry off keeps
// them declared.
func TestCachedDeletionExpiry(t *testing.T) {
	const off = "{forget_deleted_on_expiry: false}"
	for _, tc := range []struct {
		text           string
		read           int64 // by the response behind the deletions, 40,000 by the one before
		deleted, again int
		returned       int64
		pins           int
	}{
		{"{}", 0, 0, 9, 7000, 0},
		{"{}", 40_000 - 7000 - 2001, 0, 9, 7000, 0},
		{"{}", 40_000 - 7000 - 2000, 7, 7, 0, 1},
		{off, 0, 7, 7, 0, 1},
	} {
		text := tc.text
		k, h := hosted()
		l := layer(t, "cached-microcompact: "+text)
		k.reads(12)
		k.Usage.Read = 40_000
		l.(AfterResponse).AfterResponse(&k.Turn)
		asked(t, l, k)
		k.reads(2)
		input := k.Context.At(k.InputAt).ID
		k.Usage = prompt.Usage{Read: tc.read, Write5m: 40_000 - tc.read}
		l.(AfterResponse).AfterResponse(&k.Turn)
		k.Idle = 6 * minutes
		asked(t, l, k)
		if len(h.deleted) != tc.deleted || h.counts[measures.ReturnedTokens] != tc.returned || len(k.pinned()) != tc.pins {
			t.Errorf("%s: %d deleted, %d tokens back, pins %v", text, len(h.deleted), h.counts[measures.ReturnedTokens], k.pinned())
		}
		if k.Context.At(k.InputAt).ID != input {
			t.Errorf("%s: the input has moved", text)
		}
		k.Idle = 0
		asked(t, l, k)
		if len(h.deleted) != tc.deleted {
			t.Errorf("%s: %d deleted from a prefix that no response has shown", text, len(h.deleted))
		}
		k.Usage.Read = 40_000
		l.(AfterResponse).AfterResponse(&k.Turn)
		asked(t, l, k)
		if len(h.deleted) != tc.again {
			t.Errorf("%s: %d deleted in the warm cache, want %d", text, len(h.deleted), tc.again)
		}
	}
	k, h := hosted()
	k.reads(12)
	k.Usage = prompt.Usage{}
	if out := asked(t, layer(t, "cached-microcompact: {}"), k); len(h.deleted) != 0 || out.Reason != "the cache is cold" {
		t.Errorf("before the first response: %+v", out)
	}
}

// A block of deletions must be sent again at its place (002:54). Without that it
// is gone from the next request, the results come back, and as they count as
// deleted they are never deleted again.
func TestCachedDeletionWithoutPin(t *testing.T) {
	k, h := hosted()
	l := layer(t, "cached-microcompact: {pin: false}")
	k.reads(12)
	asked(t, l, k)
	k.Context.MarkSent()
	if len(h.deleted) != 7 || len(k.pinned()) != 1 {
		t.Fatalf("%d deleted, pins %v", len(h.deleted), k.pinned())
	}
	at := int32(k.Context.Len() - 1)
	k.reads(1)
	asked(t, l, k)
	if len(h.deleted) != 0 || len(k.pinned()) != 0 || h.counts[measures.ReturnedTokens] != 7000 {
		t.Errorf("%d deleted, pins %v, %d tokens back", len(h.deleted), k.pinned(), h.counts[measures.ReturnedTokens])
	}
	if ch := k.Context.MarkSent(); ch != (prompt.Change{At: at, Cause: prompt.CauseEdit}) {
		t.Errorf("change %+v, want an edit at %d", ch, at)
	}
	k.reads(6) // twelve that were never deleted
	if asked(t, l, k); len(h.deleted) != 7 || k.Context.BlockAt(k.Context.Index(h.deleted[0])).Call != 8 {
		t.Errorf("%d deleted, want calls 8 to 14", len(h.deleted))
	}
}

// A compaction clears the state (002:55): nothing counts as registered but what
// it kept, and no block of deletions is left.
func TestCachedDeletionBehindCompaction(t *testing.T) {
	k, h := hosted()
	l := layer(t, "cached-microcompact: {}")
	k.reads(12)
	asked(t, l, k)
	k.InputAt = k.Context.Len()
	h.deleted = nil // the loop forgets deletions
	l.(AfterCompaction).AfterCompaction(&k.Turn)
	if len(k.pinned()) != 0 || k.InputAt != k.Context.Len() {
		t.Errorf("pins %v, input at %d of %d", k.pinned(), k.InputAt, k.Context.Len())
	}
	if asked(t, l, k); len(h.deleted) != 7 {
		t.Errorf("%d of the kept results deleted, want 7", len(h.deleted))
	}
}

// After an hour time-based clearing takes over (002:55): it clears in place what
// was deleted, so nothing comes back, and the state begins anew. What is cleared
// was not in the client's count any more.
func TestTimeClearingTakesOver(t *testing.T) {
	k, h := hosted()
	cached, timed := layer(t, "cached-microcompact: {}"), layer(t, "time-microcompact: {}")
	k.reads(12)
	asked(t, cached, k)
	k.Boundary()
	k.reads(1)
	k.Idle, k.Reading.Values[MeasureIdle] = 61*minutes, 61*minutes
	asked(t, timed, k)
	if b := k.Boundary(); b.Cleared != 8 || b.Uncounted != 1000 {
		t.Errorf("boundary %+v: of eight cleared only one was still counted", b)
	}
	asked(t, cached, k)
	if len(h.deleted) != 0 || h.counts[measures.ReturnedTokens] != 0 || len(k.pinned()) != 0 {
		t.Errorf("%d deleted, %d tokens back, pins %v", len(h.deleted), h.counts[measures.ReturnedTokens], k.pinned())
	}
	k.Idle, k.Reading.Values[MeasureIdle] = 0, 0
	k.reads(6)
	if out := asked(t, cached, k); out.Verdict != Declined {
		t.Errorf("eleven registered: %+v", out)
	}
	k.reads(1)
	if asked(t, cached, k); len(h.deleted) != 7 {
		t.Errorf("%d deleted, want 7", len(h.deleted))
	}
}

// In a warm cache too: what is cleared in place is no longer deleted, and the
// other deletions and the blocks go with it.
func TestTimeClearingTakesOverWarm(t *testing.T) {
	k, h := hosted()
	cached, timed := layer(t, "cached-microcompact: {}"), layer(t, "time-microcompact: {gap_minutes: 3, keep_recent: 8}")
	k.reads(12)
	asked(t, cached, k)
	k.reads(1)
	k.Idle, k.Reading.Values[MeasureIdle] = 4*minutes, 4*minutes
	asked(t, timed, k) // five of the seven deleted
	asked(t, cached, k)
	if len(h.deleted) != 0 || h.counts[measures.ReturnedTokens] != 2000 || len(k.pinned()) != 0 {
		t.Errorf("%d deleted, %d tokens back, pins %v", len(h.deleted), h.counts[measures.ReturnedTokens], k.pinned())
	}
}

// A branch has a state of its own.
func TestCachedDeletionClone(t *testing.T) {
	k, h := hosted()
	l := layer(t, "cached-microcompact: {}").(*cachedClear)
	k.reads(12)
	asked(t, l, k)
	c := l.Clone().(*cachedClear)
	k.reads(7)
	asked(t, l, k)
	if len(c.deleted) != 7 || len(c.pins) != 1 || len(l.deleted) != 14 || len(h.deleted) != 14 {
		t.Errorf("clone %v, original %v", c.deleted, l.deleted)
	}
}

// Without blocks of deletions there is nothing to take out again. One that stands where the
// round's input begins goes without moving that.
func TestPinsAtTheInput(t *testing.T) {
	k, l := newTalk(), new(cachedClear)
	if l.unpin(&k.Turn); l.lost {
		t.Error("deletions are lost of a thread that had none")
	}
	k.add(prompt.KindAttachment, 0)
	k.InputAt = k.Context.Len() - 1
	l.pins = []int32{int32(k.InputAt)}
	if l.unpin(&k.Turn); !l.lost || k.InputAt != 4 || k.Context.Len() != 4 {
		t.Errorf("lost %v, the input at %d of %d; want it lost, and the input at 4 of 4", l.lost, k.InputAt, k.Context.Len())
	}
}
