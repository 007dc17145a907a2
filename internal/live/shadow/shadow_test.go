package shadow

import (
	"strings"
	"testing"
	"time"

	"github.com/compactsim/compactsim/internal/live/wire"
	"github.com/compactsim/compactsim/sim/prompt"
)

// shadowRequest has a system prompt of 10,000 bytes, which is 3,100 tokens at
// 0.31 a byte, with a breakpoint, and a prompt of 1,000 letters behind it, which
// with the name of its role is 1,004 bytes or 311 tokens.
func shadowRequest(letter string) *wire.Request {
	return &wire.Request{
		Model: "claude-sonnet-4-5", MaxTokens: 100,
		System: []wire.Block{{Kind: wire.KindText, Text: strings.Repeat("s", 10_000), Cache: wire.Cache1h}},
		Messages: []wire.Message{{Role: wire.RoleUser, Blocks: []wire.Block{
			{Kind: wire.KindText, Text: strings.Repeat(letter, 1000), Cache: wire.Cache5m},
		}}},
	}
}

// The first call writes all; one behind its first token reads the system prompt,
// one ahead of it does not, though it is told of late. Six minutes behind its last
// use the prompt has expired, an hour behind it the system prompt.
func TestShadow(t *testing.T) {
	start := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	reply := &wire.Reply{First: 2 * time.Second, Total: 5 * time.Second}
	var s Cache
	for i, tc := range []struct {
		at     int // s
		letter string
		want   prompt.Usage
	}{
		{0, "a", prompt.Usage{Write1h: 3100, Write5m: 311}},
		{3, "b", prompt.Usage{Read: 3100, Write5m: 311}},
		{1, "c", prompt.Usage{Write1h: 3100, Write5m: 311}},
		{200, "b", prompt.Usage{Read: 3411}},
		{200 + 360, "b", prompt.Usage{Read: 3100, Write5m: 311}},
		{560 + 3700, "d", prompt.Usage{Write1h: 3100, Write5m: 311}},
	} {
		if got := s.Predict(at(tc.at), shadowRequest(tc.letter), reply); got != tc.want {
			t.Errorf("call %d, %d s: %+v, want %+v", i+1, tc.at, got, tc.want)
		}
	}
}

// Another effort or other thinking leaves the system prompt readable, and nothing
// behind it.
func TestShadowOfParameters(t *testing.T) {
	var s Cache
	head, all := prompt.Usage{Read: 3100, Write5m: 311}, prompt.Usage{Read: 3411}
	for i, tc := range []struct {
		thinking wire.Thinking
		effort   string
		want     prompt.Usage
	}{
		{wire.Thinking{}, "", prompt.Usage{Write1h: 3100, Write5m: 311}},
		{wire.Thinking{}, "low", head},
		{wire.Thinking{Mode: wire.ThinkingAdaptive}, "low", head},
		{wire.Thinking{Mode: wire.ThinkingAdaptive}, "low", all},
		{wire.Thinking{}, "", all},
	} {
		r := shadowRequest("a")
		r.Thinking, r.Effort = tc.thinking, tc.effort
		if got := s.Predict(time.Unix(int64(10*i), 0), r, &wire.Reply{First: time.Second, Total: time.Second}); got != tc.want {
			t.Errorf("call %d: %+v, want %+v", i+1, got, tc.want)
		}
	}
}

// A prefix below the minimum of the model is not cached.
func TestShadowMinimum(t *testing.T) {
	s := Cache{MinTokens: func(string) int32 { return 4096 }}
	want := prompt.Usage{Uncached: 3411}
	for range 2 {
		if got := s.Predict(time.Unix(1, 0), shadowRequest("a"), &wire.Reply{}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

// An entry for an hour that is read each half an hour stays, through ten hours, though only the first call wrote it.
func TestShadowKeepsWhatIsRead(t *testing.T) {
	start := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	reply := &wire.Reply{First: 2 * time.Second, Total: 5 * time.Second}
	var s Cache
	for n := range 20 {
		want := prompt.Usage{Read: 3100, Write5m: 311}
		if n == 0 {
			want = prompt.Usage{Write1h: 3100, Write5m: 311}
		}
		r := shadowRequest(string(rune('a' + n)))
		if n > 0 {
			r.System[0].Cache = wire.CacheNone
		}
		if got := s.Predict(start.Add(time.Duration(n)*30*time.Minute), r, reply); got != want {
			t.Errorf("call %d: %+v, want %+v", n+1, got, want)
		}
	}
}

// Times are those of the wall: one that also has a monotonic reading stands in
// order with one that has none, as a clock that was set leaves them.
func TestShadowClock(t *testing.T) {
	var s Cache
	reply := &wire.Reply{First: time.Second, Total: 2 * time.Second}
	now := time.Now()
	s.Predict(now, shadowRequest("a"), reply)
	later := now.Add(3 * time.Second).Round(0)
	if got, want := s.Predict(later, shadowRequest("a"), reply), (prompt.Usage{Read: 3411}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
