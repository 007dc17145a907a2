package users

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/synthetic"
)

// A session goes on with another: what the first was stays as it is, and every
// block, round and thread of the second says what it said, numbered behind the
// first.
func TestResumeKeepsBoth(t *testing.T) {
	var makers []*synthetic.Generator
	for _, profile := range []string{"chat", "fan-out", "short-fix", "exploration"} {
		w, err := synthetic.LoadWorkload(profile)
		if err != nil {
			t.Fatal(err)
		}
		w.Rewinds = 0.3
		g, err := synthetic.NewGenerator(w)
		if err != nil {
			t.Fatal(err)
		}
		makers = append(makers, g)
	}
	rapid.Check(t, func(rt *rapid.T) {
		first, second := rapid.SampledFrom(makers).Draw(rt, "first"), rapid.SampledFrom(makers).Draw(rt, "second")
		seed := rapid.Uint64Range(0, 50).Draw(rt, "seed")
		a, b, both := first.Session(seed, 0), second.Session(seed, 1), first.Session(seed, 0)
		move(b, a.End+hour)
		moved := second.Session(seed, 1)
		move(moved, a.End+hour)
		if next := resume(both, moved, numbersAfter(both.Blocks)); next != numbersAfter(both.Blocks) {
			rt.Fatalf("the next numbers are %v, want %v", next, numbersAfter(both.Blocks))
		}
		if !slices.Equal(both.Blocks[:len(a.Blocks)], a.Blocks) || both.Start != a.Start || both.End != b.End {
			rt.Fatal("the first session is another")
		}
		j := compared{rt, a, b, both}
		j.blocks()
		j.threads()
	})
}

// compared are two sessions and what each became.
type compared struct {
	*rapid.T
	a, b, both *traces.Session
}

func (c *compared) blocks() {
	shift := len(c.a.Blocks)
	var message, call int32 // the last ones of the first session
	for i := range c.a.Blocks {
		message, call = max(message, c.a.Blocks[i].Message), max(call, c.a.Blocks[i].Call)
	}
	for i := range c.b.Blocks {
		was, is := c.b.Blocks[i], c.both.Blocks[shift+i]
		object := func(s *traces.Session, x prompt.Block) string {
			if x.Object < 0 {
				return ""
			}
			return s.Objects[x.Object]
		}
		switch {
		case is.Digest != was.Digest || is.Tokens != was.Tokens || is.Kind != was.Kind:
			c.Fatalf("block %d is %+v, was %+v", i, is, was)
		case c.both.Tools[is.Tool] != c.b.Tools[was.Tool] || object(c.both, is) != object(c.b, was):
			c.Fatalf("block %d is of %s %s, was of %s %s", i, c.both.Tools[is.Tool], object(c.both, is), c.b.Tools[was.Tool], object(c.b, was))
		case is.Message-was.Message != message+1 || was.Call > 0 && is.Call-was.Call != call:
			c.Fatalf("block %d is of message %d and call %d, was of %d and %d", i, is.Message, is.Call, was.Message, was.Call)
		}
	}
}

func (c *compared) threads() {
	rounds := len(c.a.Threads[0].Rounds)
	if n := len(c.both.Threads[0].Rounds); n != rounds+len(c.b.Threads[0].Rounds) || c.both.NumCalls() != c.a.NumCalls()+c.b.NumCalls() {
		c.Fatalf("%d rounds in the main thread, %d calls", n, c.both.NumCalls())
	}
	for i := range c.b.Threads {
		was := &c.b.Threads[i]
		is, from := &c.both.Threads[0], rounds
		if i > 0 {
			is, from = &c.both.Threads[len(c.a.Threads)-1+i], 0
			if got, want := c.parentCall(c.both, is), c.parentCall(c.b, was); got != want {
				c.Fatalf("thread %d starts from call %s, did from %s", i, got, want)
			}
		}
		for k := range was.Rounds {
			x, y := &was.Rounds[k], &is.Rounds[from+k]
			if x.ID != y.ID || c.b.Models[x.Model] != c.both.Models[y.Model] || !c.same(x.Input, y.Input) || !c.same(x.Reply, y.Reply) {
				c.Fatalf("thread %d: round %d is %+v, was %+v", i, k, y, x)
			}
		}
	}
	last, next := &c.both.Threads[0].Rounds[rounds-1], &c.both.Threads[0].Rounds[rounds]
	if at := last.At + last.Stream + next.Wait; at != next.At {
		c.Fatalf("it goes on at %d, want %d", at, next.At)
	}
}

// same reports whether two spans, of the second session and of both, hold the same.
func (c *compared) same(was, is traces.Span) bool {
	return was.Len() == is.Len() && (was.Len() == 0 || c.b.Blocks[was.From].Digest == c.both.Blocks[is.From].Digest)
}

// parentCall returns the id of the call that a thread starts from.
func (c *compared) parentCall(s *traces.Session, t *traces.Thread) string {
	return s.Threads[t.Parent].Rounds[t.ParentRound].ID
}

// A sub-agent's own sub-agent stays its: of threads main, agent and agent's agent
// behind a session that had one sub-agent, the last has index 3 and the parent 2.
func TestResumeKeepsParents(t *testing.T) {
	session := func(threads ...traces.Thread) *traces.Session {
		s := &traces.Session{Tools: []string{""}, Models: []string{"m"}}
		for _, th := range threads {
			th.Rounds = make([]traces.Round, 2)
			s.Threads = append(s.Threads, th)
		}
		return s
	}
	agent := func(parent int32) traces.Thread {
		return traces.Thread{Kind: traces.ThreadAgent, Parent: parent, ParentRound: 1}
	}
	main := traces.Thread{Kind: traces.ThreadMain, Parent: -1, ParentRound: -1}
	a := session(main, agent(0))
	resume(a, session(main, agent(0), agent(1)), numbers{})
	var got [][2]int32
	for _, th := range a.Threads {
		got = append(got, [2]int32{th.Parent, th.ParentRound})
	}
	if want := [][2]int32{{-1, -1}, {0, 1}, {0, 3}, {2, 1}}; !slices.Equal(got, want) {
		t.Errorf("parents and their rounds %v, want %v", got, want)
	}
}
