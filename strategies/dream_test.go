package strategies

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/compactsim/compactsim/sim/prompt/ask"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
)

// Reasons of the gates, in their order.
const (
	tooSoon   = "too soon after the last one"
	justSeen  = "sessions were looked at just now"
	tooFew    = "too few sessions since the last one"
	lostRace  = "lost the race for the lock"
	isLocked  = "locked by another session"
	noReason  = ""
	longLimit = 24 * int64(time.Hour)
)

// dreamTalk is the last of six sessions of a user who consolidated 24 hours ago;
// the five others had a response an hour ago.
func dreamTalk() (*talk, *besideHost) {
	k, h := besideTalk()
	now := k.Epoch + k.Now
	k.Session = 5
	k.User = &User{Ends: make([]int64, 6), Live: make([]bool, 6), Dream: dreamLock{Last: now - longLimit}}
	for i := range 5 {
		k.User.Ends[i] = now - int64(time.Hour)
	}
	k.User.Ends[5], k.User.Live[5] = now, true
	return k, h
}

// wait moves the clock of a talk.
func (k *talk) wait(d time.Duration) { k.Now += int64(d) }

// why returns the only reason for which there was no dream.
func (h *besideHost) why(t *testing.T) string {
	t.Helper()
	if len(h.reasons) > 1 {
		t.Fatalf("reasons %v", h.reasons)
	}
	for r := range h.reasons {
		return r
	}
	return noReason
}

// The gates (E5: minHours 24, minSessions 5, a scan every 10 minutes,
// stale after an hour), each at its edge. Time and scan come ahead of the list
// of sessions, the lock last.
func TestDreamGates(t *testing.T) {
	const held = 3 // session 2
	for name, tc := range map[string]struct {
		layer string
		set   func(*talk, *dream)
		want  string
	}{
		"24 hours, 5 sessions, no lock": {"dream: {}", func(*talk, *dream) {}, noReason},
		"a nanosecond short of 24 hours": {"dream: {}",
			func(k *talk, _ *dream) { k.User.Dream.Last++ }, tooSoon},
		"12 hours where 12 are asked for": {"dream: {hours: 12}",
			func(k *talk, _ *dream) { k.User.Dream.Last += longLimit / 2 }, noReason},
		"never before": {"dream: {}", func(k *talk, _ *dream) { k.User.Dream.Last = 0 }, noReason},
		"looked 9:59 ago": {"dream: {}",
			func(k *talk, l *dream) { l.scanned = k.Epoch + k.Now - int64(10*time.Minute) + 1 }, justSeen},
		"looked 10:00 ago": {"dream: {}",
			func(k *talk, l *dream) { l.scanned = k.Epoch + k.Now - int64(10*time.Minute) }, noReason},
		"time comes ahead of the scan": {"dream: {}",
			func(k *talk, l *dream) { l.scanned = k.Epoch + k.Now; k.User.Dream.Last++ }, tooSoon},
		"four sessions": {"dream: {}", func(k *talk, _ *dream) { k.User.Ends[0] = 0 }, tooFew},
		"four where four are asked for": {"dream: {sessions: 4}",
			func(k *talk, _ *dream) { k.User.Ends[0] = 0 }, noReason},
		"a session ahead of the last dream": {"dream: {}",
			func(k *talk, _ *dream) { k.User.Ends[0] = k.User.Dream.Last }, tooFew},
		"four and its own": {"dream: {count_own: true}",
			func(k *talk, _ *dream) { k.User.Ends[0] = 0 }, noReason},
		"a lone session with five in the past": {"dream: {past_sessions: 5}",
			func(k *talk, _ *dream) { k.User.Dream.Last = 0; clear(k.User.Ends) }, noReason},
		"the past ends with the first dream": {"dream: {past_sessions: 5}",
			func(k *talk, _ *dream) { clear(k.User.Ends) }, tooFew},
		"held by a session that lives": {"dream: {}",
			func(k *talk, _ *dream) { k.User.Dream.Holder = held; k.User.Live[held-1] = true }, isLocked},
		"old, its holder gone": {"dream: {}",
			func(k *talk, _ *dream) { k.User.Dream.Holder = held }, noReason},
		"60 minutes old, its holder gone": {"dream: {hours: 0}", func(k *talk, _ *dream) {
			k.User.Dream = dreamLock{Last: k.Epoch + k.Now - int64(time.Hour), Holder: held}
			k.User.Ends = append(k.User.Ends, k.Epoch, k.Epoch, k.Epoch, k.Epoch, k.Epoch)
		}, isLocked},
		"older than a stale time of 59 minutes": {"dream: {hours: 0, stale_minutes: 59}", func(k *talk, _ *dream) {
			k.User.Dream = dreamLock{Last: k.Epoch + k.Now - int64(time.Hour), Holder: held}
			k.User.Ends = append(k.User.Ends, k.Epoch, k.Epoch, k.Epoch, k.Epoch, k.Epoch)
		}, noReason},
		"sessions come ahead of the lock": {"dream: {}", func(k *talk, _ *dream) {
			k.User.Dream.Holder, k.User.Ends[0] = held, 0
			k.User.Live[held-1] = true
		}, tooFew},
	} {
		k, h := dreamTalk()
		l := layer(t, tc.layer).(*dream)
		tc.set(k, l)
		calls := loopEnds(k, l)
		if got := h.why(t); got != tc.want || (len(calls) == 1) != (tc.want == noReason) {
			t.Errorf("%s: %d calls, %q; want %q", name, len(calls), got, tc.want)
		}
	}
}

// Two sessions that look at once: the second does not see the lock that the
// first has just written. Reading the lock again makes one session give way (003:2430); without
// the second reading both dream.
func TestDreamRace(t *testing.T) {
	for _, tc := range []struct {
		layer string
		later time.Duration
		want  string
	}{
		{"dream: {race_seconds: 2}", time.Second, lostRace},
		{"dream: {race_seconds: 2, reread: false}", time.Second, noReason},
		{"dream: {race_seconds: 2, reread: false}", 2 * time.Second, tooSoon},
		{"dream: {}", 0, tooSoon}, // a written lock is seen at once
	} {
		first, _ := dreamTalk()
		first.Session = 4
		first.User.Ends[4] = first.Epoch
		loopEnds(first, layer(t, tc.layer))
		k, h := dreamTalk()
		k.User = first.User
		k.wait(tc.later)
		calls := loopEnds(k, layer(t, tc.layer))
		if got := h.why(t); got != tc.want || (len(calls) == 1) != (tc.want == noReason) {
			t.Errorf("%s, %v later: %d calls, %q; want %q", tc.layer, tc.later, len(calls), got, tc.want)
		}
	}
}

// The lock holds the time of the consolidation: it stays on success and goes back on a failure and
// when a person kills the dream (003:2432-2434, 2498).
// Then the next look, ten minutes on, dreams again.
func TestDreamLockAfterwards(t *testing.T) {
	for _, tc := range []struct {
		layer, failed, reason string
		dreams                int64
		again                 int
	}{
		{"dream: {}", "", "", 1, 0},
		{"dream: {failure: 0.6}", ask.FailAPI, ask.FailAPI, 0, 1},
		{"dream: {killed: 0.6}", "", "killed", 0, 1},
	} {
		k, h := dreamTalk()
		last, now := k.User.Dream.Last, k.Epoch+k.Now
		l := layer(t, tc.layer)
		in := loopEnds(k, l)[0]
		if d := k.User.Dream; d != (dreamLock{Last: now, Before: last, Holder: 6}) || in.Known.Failed != tc.failed {
			t.Errorf("%s: while it dreams: %+v, %+v", tc.layer, d, in.Known)
		}
		answers(k, l, tc.failed)
		want := now
		if tc.dreams == 0 {
			want = last
		}
		if d := k.User.Dream; d.Last != want || d.Holder != 0 || h.counts[measures.Dreams] != tc.dreams || h.why(t) != tc.reason {
			t.Errorf("%s: afterwards %+v, %v %v", tc.layer, d, h.counts, h.reasons)
		}
		k.wait(10 * time.Minute)
		if n := len(loopEnds(k, l)); n != tc.again {
			t.Errorf("%s: %d dreams ten minutes later, want %d", tc.layer, n, tc.again)
		}
	}
}

// A dream whose session has ended goes on, or is lost with the lock held: then
// nobody dreams for 24 hours, and its holder being gone the next one may.
func TestDreamOfASessionThatEnds(t *testing.T) {
	for text, want := range map[string]struct {
		dreams int64
		holder int32
	}{"dream: {}": {1, 0}, "dream: {survives_exit: false}": {0, 6}} {
		k, h := dreamTalk()
		l := layer(t, text)
		loopEnds(k, l)
		k.User.Live[5] = false
		answers(k, l, "")
		if h.counts[measures.Dreams] != want.dreams || k.User.Dream.Holder != want.holder {
			t.Errorf("%s: %d dreams, %+v", text, h.counts[measures.Dreams], k.User.Dream)
		}
		k.Session = 0
		k.wait(24 * time.Hour)
		for i := range k.User.Ends {
			k.User.Ends[i] = k.Epoch + k.Now
		}
		if n := len(loopEnds(k, layer(t, text))); n != 1 {
			t.Errorf("%s: %d dreams of another session a day later: %v", text, n, h.reasons)
		}
	}
}

// A session that has lost the lock meanwhile does not touch it: neither the lock of another
// session nor one that its own session has taken since.
func TestDreamKeepsOffTheLockOfOthers(t *testing.T) {
	for _, holder := range []int32{2, 6} {
		k, _ := dreamTalk()
		l := layer(t, "dream: {}")
		loopEnds(k, l)
		other := dreamLock{Last: k.Epoch + 7, Holder: holder}
		k.User.Dream = other
		answers(k, l, ask.FailAPI)
		if k.User.Dream != other {
			t.Errorf("%+v, want %+v", k.User.Dream, other)
		}
	}
}

// Four phases (003:2440-2478) are so many turns of one forked call; one that is
// killed ends half-way.
func TestDreamCall(t *testing.T) {
	for text, turns := range map[string]int32{
		"dream: {}": 2 + 3 + 3 + 2,
		"dream: {phases: {orient: 1, gather: 5, consolidate: 2, prune: 1}}": 9,
		"dream: {killed: 1, phases: {prune: 1}}":                            5,
	} {
		k, _ := dreamTalk()
		in := loopEnds(k, layer(t, text))[0]
		if in.Source != "dream" || in.Own || in.Turns != turns || in.Lifetime != ask.Lifetime5m ||
			in.Instruction != 2000 || in.TurnInput != 2500 || in.Known.Output != 400 {
			t.Errorf("%s: %+v %+v, want %d turns", text, in, in.Known, turns)
		}
	}
}

// A dream takes its share of the lines out of the index, and what no prompt
// holds anyway (003:2474): 30 % of 100 leave 70 of 39 tokens.
func TestDreamPrunesTheIndex(t *testing.T) {
	for _, tc := range []struct {
		layer  string
		lines  int32
		left   int32
		tokens []int32
	}{
		{"dream: {}", 100, 70, []int32{70 * 39}},
		{"dream: {pruned: 0}", 100, 100, nil},
		{"dream: {pruned: 0}", 400, 166, []int32{6474}},
	} {
		k, h := dreamTalk()
		k.User.Memory = memoryIndex{Lines: tc.lines}
		l := layer(t, tc.layer)
		loopEnds(k, l)
		answers(k, l, "")
		if k.User.Memory.Lines != tc.left || fmt.Sprint(h.sections) != fmt.Sprint(tc.tokens) {
			t.Errorf("%s: %d lines, sections %v; want %d, %v", tc.layer, k.User.Memory.Lines, h.sections, tc.left, tc.tokens)
		}
	}
}

// Sub-agents do not dream, and neither does a session without a user.
func TestDreamExclusions(t *testing.T) {
	k, h := dreamTalk()
	k.Kind = traces.ThreadAgent
	if n := len(loopEnds(k, layer(t, "dream: {}"))); n != 0 {
		t.Errorf("%d dreams of a sub-agent", n)
	}
	k, _ = dreamTalk()
	k.User = nil
	if n := len(loopEnds(k, layer(t, "dream: {}"))); n != 0 || !maps.Equal(h.reasons, map[string]int{}) {
		t.Errorf("%d dreams without a user, %v", n, h.reasons)
	}
}

// One response is enough for a dream.
func TestDreamOfOneResponse(t *testing.T) {
	for n, want := range map[int32]int{0: 1, 1: 0} {
		p := dreamPhases{Orient: n}
		if got := p.Rules(); len(got) != want {
			t.Errorf("%d responses: %v", n, got)
		}
	}
}
