package traces

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/compactsim/compactsim/sim/prompt"
)

// A parsed block takes at most 64 bytes: a corpus of a million blocks must fit.
func TestBlockSize(t *testing.T) {
	if n := unsafe.Sizeof(prompt.Block{}); n > 64 {
		t.Errorf("a block takes %d bytes", n)
	}
}

func TestRates(t *testing.T) {
	r := DefaultRates()
	for _, tt := range []struct {
		kind  prompt.Kind
		bytes int
		want  int
	}{
		{prompt.KindText, 1000, 260}, {prompt.KindToolUse, 1000, 354}, {prompt.KindToolResult, 1000, 330},
		{prompt.KindPrompt, 1, 1}, {prompt.KindPrompt, 0, 0}, {prompt.KindImage, 500_000, 1600},
	} {
		if got := r.Tokens(tt.kind, tt.bytes); got != tt.want {
			t.Errorf("%d bytes of %v: %d tokens, want %d", tt.bytes, tt.kind, got, tt.want)
		}
	}
}

// small is a session of two calls: 100 tokens of prefix, 10 of input, 5 of
// reply, 20 of input.
func small() *Session {
	s := &Session{ID: "S", Blocks: []prompt.Block{
		{Kind: prompt.KindSystem, Tokens: 100}, {Kind: prompt.KindPrompt, Tokens: 10},
		{Kind: prompt.KindText, Tokens: 5}, {Kind: prompt.KindPrompt, Tokens: 20},
	}}
	s.Threads = []Thread{{ID: "main", Parent: -1, ParentRound: -1, Prefix: Span{0, 1}, Rounds: []Round{
		{ID: "a", Input: Span{1, 2}, Reply: Span{2, 3}, Usage: prompt.Usage{Read: 110}},
		{ID: "b", Input: Span{3, 4}, Usage: prompt.Usage{Read: 100, Write5m: 35}},
	}}}
	return s
}

// Reasoning of the last reply alone had not been sent; everything else that a recording drops had.
func TestStayed(t *testing.T) {
	for name, tt := range map[string]struct {
		event       Event
		sent, reply bool
	}{
		"another round":         {Event{Kind: EventCompact, Round: 2}, true, true},
		"the last reply's":      {Event{Kind: EventForget, Round: 1, Cleared: []int32{2}}, true, false},
		"what was sent":         {Event{Kind: EventForget, Round: 1, Cleared: []int32{1, 2}}, false, false},
		"a cleared result":      {Event{Kind: EventMicrocompact, Round: 1, Cleared: []int32{2}}, false, false},
		"nobody knows what":     {Event{Kind: EventForget, Round: 1}, false, false},
		"before the first call": {Event{Kind: EventForget, Cleared: []int32{2}}, true, true},
	} {
		th := small().Threads[0]
		th.Events = []Event{tt.event}
		if sent, reply := th.Stayed(1); sent != tt.sent || reply != tt.reply {
			t.Errorf("%s: sent %v, reply %v; want %v, %v", name, sent, reply, tt.sent, tt.reply)
		}
	}
}

func TestCheck(t *testing.T) {
	if err := small().Check(); err != nil {
		t.Error(err)
	}
	event := func(ev Event) func(*Session) {
		return func(s *Session) { ev.Round = 1; s.Threads[0].Events = []Event{ev} }
	}
	for _, tt := range []struct {
		name   string
		change func(*Session)
		want   string
	}{
		{"tokens", func(s *Session) { s.Blocks[2].Tokens++ }, "round 1 (call b): blocks and events give 136 input tokens, recorded are 135"},
		{"shrink", event(Event{Kind: EventShrink, Saved: 1}), "give 134"},
		{"compaction", event(Event{Kind: EventCompact, Kept: 7}), "give 127"}, // 100 + 7 + 20
		{"ids", func(s *Session) { s.Threads[0].Rounds[1].ID = "a" }, "call a is in more than one round"},
		{"span", func(s *Session) { s.Threads[0].Rounds[1].Input.To = 9 }, "out of range"},
		{"parent", func(s *Session) { s.Threads[0].Parent = 0 }, "before its parent"},
		{"negative", func(s *Session) { s.Blocks[0].Tokens = -1 }, "block 0 has -1 tokens"},
		{"clock", func(s *Session) { s.Threads[0].Rounds[1].Wait = -1 }, "run back"},
	} {
		s := small()
		tt.change(s)
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// A branch goes on with the head as it has grown in its parent: 100 tokens of system prompt and 20 that came with the parent's
// second call, so 120 + 7 kept + 10 of input behind a compaction.
func TestBranchKeepsAGrownHead(t *testing.T) {
	s := small()
	s.Blocks[3].Kind = prompt.KindSystem
	s.Threads = append(s.Threads, Thread{
		ID: "again", Kind: ThreadBranch, Parent: 0, ParentRound: 1,
		Events: []Event{{Kind: EventCompact, Kept: 7}},
		Rounds: []Round{{ID: "c", Input: Span{1, 2}, Usage: prompt.Usage{Read: 137}}},
	})
	if err := s.Check(); err != nil {
		t.Error(err)
	}
}
