package traces

import (
	"fmt"

	"github.com/compactsim/compactsim/sim/prompt"
)

// Check verifies what must hold of a session: spans lie within its blocks,
// parents come before children, call ids are unique, and replaying what the
// recording did gives the recorded input tokens of every call exactly, its
// tail aside. Rounds without recorded tokens count by their blocks. Threads begin
// with a message to the model, reminders aside, and every result that has a call
// comes after it.
func (s *Session) Check() error {
	ids := map[string]bool{}
	done := make([][]reached, len(s.Threads))
	made := map[int32]bool{}
	for i := range s.Blocks {
		if s.Blocks[i].Tokens < 0 {
			return fmt.Errorf("session %s: block %d has %d tokens", s.ID, i, s.Blocks[i].Tokens)
		}
	}
	for i := range s.Threads {
		t := &s.Threads[i]
		if t.Parent >= int32(i) {
			return fmt.Errorf("session %s: thread %s comes before its parent", s.ID, t.ID)
		}
		for r := range t.Rounds {
			if id := t.Rounds[r].ID; ids[id] {
				return fmt.Errorf("session %s: call %s is in more than one round", s.ID, id)
			}
			ids[t.Rounds[r].ID] = true
		}
		if err := s.checkSpans(t); err != nil {
			return fmt.Errorf("session %s: thread %s: %w", s.ID, t.ID, err)
		}
		if err := s.checkMessages(i, made); err != nil {
			return fmt.Errorf("session %s: thread %s: %w", s.ID, t.ID, err)
		}
		done[i] = make([]reached, len(t.Rounds))
		if err := s.replay(i, done); err != nil {
			return fmt.Errorf("session %s: thread %s: %w", s.ID, t.ID, err)
		}
	}
	return nil
}

func (s *Session) checkSpans(t *Thread) error {
	valid := func(p Span) bool { return p.From >= 0 && p.From <= p.To && int(p.To) <= len(s.Blocks) }
	if !valid(t.Prefix) || t.Kind == ThreadBranch && t.Prefix.Len() > 0 {
		return fmt.Errorf("prefix %v is out of range", t.Prefix)
	}
	if t.Parent >= 0 && int(t.ParentRound) >= len(s.Threads[t.Parent].Rounds) {
		return fmt.Errorf("parent has no round %d", t.ParentRound)
	}
	for r := range t.Rounds {
		rd := &t.Rounds[r]
		if !valid(rd.Input) || !valid(rd.Reply) {
			return fmt.Errorf("round %d: spans %v %v are out of range", r, rd.Input, rd.Reply)
		}
		if rd.Wait < 0 || rd.First < 0 || rd.Stream < rd.First {
			return fmt.Errorf("round %d: intervals %d %d %d run back", r, rd.Wait, rd.First, rd.Stream)
		}
	}
	last := int32(0)
	for i := range t.Events {
		ev := &t.Events[i]
		if !valid(ev.Summary) || ev.Round < last || int(ev.Round) > len(t.Rounds) ||
			ev.Kept < 0 || ev.Saved < 0 || ev.Wait < 0 {
			return fmt.Errorf("event %d is out of range or order", i)
		}
		last = ev.Round
		behind := int(ev.Round) >= len(t.Rounds)
		if ev.Absorbed < 0 || ev.Absorbed > 0 && (behind || int(ev.Absorbed) > t.Rounds[ev.Round].Input.Len()) {
			return fmt.Errorf("event %d absorbed %d blocks, more than its round's input", i, ev.Absorbed)
		}
	}
	return nil
}

// checkMessages checks the messages of a thread. made are the calls of threads so
// far; call numbers are the session's.
func (s *Session) checkMessages(thread int, made map[int32]bool) error {
	t := &s.Threads[thread]
	first := prompt.KindNone
	pass := func(p Span) error {
		for i := p.From; i < p.To; i++ {
			b := &s.Blocks[i]
			if first == prompt.KindNone && b.Kind.Level() == prompt.LevelMessages && b.Kind != prompt.KindReminder {
				first = b.Kind
			}
			switch {
			case b.Call == 0:
			case b.Kind == prompt.KindToolUse:
				made[b.Call] = true
			case b.Kind == prompt.KindToolResult && !made[b.Call]:
				return fmt.Errorf("the result of call %d has no call before it", b.Call)
			}
		}
		return nil
	}
	if err := pass(t.Prefix); err != nil {
		return err
	}
	for r := range t.Rounds {
		if err := pass(t.Rounds[r].Input); err != nil {
			return fmt.Errorf("round %d: %w", r, err)
		}
		if r == 0 && t.Kind != ThreadBranch && (first == prompt.KindNone || first.Assistant()) {
			return fmt.Errorf("it does not begin with a message to the model")
		}
		if err := pass(t.Rounds[r].Reply); err != nil {
			return fmt.Errorf("round %d: %w", r, err)
		}
	}
	return nil
}

// reached is the input of a round, in tokens, and what of its context is tools and system prompt.
type reached struct{ input, head int64 }

// replay computes the input tokens of every round of a thread.
func (s *Session) replay(i int, done [][]reached) error {
	t := &s.Threads[i]
	at := s.begin(t, done)
	next := 0
	for r := range t.Rounds {
		rd := &t.Rounds[r]
		own := rd.Input
		for ; next < len(t.Events) && int(t.Events[next].Round) <= r; next++ {
			if ev := &t.Events[next]; ev.Kind == EventCompact {
				at.input = at.head + int64(ev.Kept)
				own.From = rd.Input.From + ev.Absorbed
			} else {
				at.input -= int64(ev.Saved)
			}
		}
		at.head += s.head(rd.Input) + int64(rd.Tools)
		at.input += s.Tokens(own) + int64(rd.Tools)
		if want := rd.Usage.Input() - int64(rd.Tail); want != 0 && at.input != want {
			return fmt.Errorf("round %d (call %s): blocks and events give %d input tokens, recorded are %d",
				r, rd.ID, at.input, want)
		}
		done[i][r] = at
		at.input += s.Tokens(rd.Reply)
	}
	return nil
}

// begin returns what a thread starts from: a branch goes on from its parent.
func (s *Session) begin(t *Thread, done [][]reached) reached {
	for ; t.Kind == ThreadBranch && t.Parent >= 0; t = &s.Threads[t.Parent] {
		if r := t.ParentRound; r >= 0 {
			at := done[t.Parent][r]
			at.input += s.Tokens(s.Threads[t.Parent].Rounds[r].Reply)
			return at
		}
	}
	return reached{s.Tokens(t.Prefix), s.head(t.Prefix)}
}

// head returns the tokens of tools and system prompt among the blocks of a span.
func (s *Session) head(p Span) (n int64) {
	for i := p.From; i < p.To; i++ {
		if s.Blocks[i].Kind.Level() != prompt.LevelMessages {
			n += int64(s.Blocks[i].Tokens)
		}
	}
	return n
}

// Tokens returns the tokens of the blocks of a span.
func (s *Session) Tokens(p Span) int64 {
	var n int64
	for i := p.From; i < p.To; i++ {
		n += int64(s.Blocks[i].Tokens)
	}
	return n
}
