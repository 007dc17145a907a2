package claudecode

import (
	"strings"
	"testing"

	"github.com/compactsim/compactsim/traces"
)

// The first call of these scripts has 20,000 tokens; a prompt of 1,000 bytes
// weighs 310, a reply of 1,000 bytes 260 (rates of traces.DefaultRates).

func TestParallelToolCalls(t *testing.T) {
	// Three tool_use lines of one response chain on each other, and each result
	// hangs on its own tool_use line: by parentUuid two of three results and
	// what follows would be lost.
	s := newScript("S")
	s.prompt("go")
	a := s.call("m1", 20_000, readFile("t1", "/a"))
	b := s.call("m1", 20_000, readFile("t2", "/b"))
	c := s.call("m1", 20_000, readFile("t3", "/c"))
	for i, use := range []string{a, b, c} {
		s.head = use
		s.result([]string{"t1", "t2", "t3"}[i], words(1000))
	}
	s.call("m2", 22_000, text("done"))
	got := sessionOf(t, s)
	want(t, "threads", shape(got), "main: m1 m2")
	// 330 by rate each; growth 2,000 less 3 × 59 for the calls (.30 × 18 + 54 = 59 for {"file_path":"/a"}).
	want(t, "input", blocks(got, got.Threads[0].Rounds[1].Input), "tool_result:330 tool_result:330 tool_result:330 unseen:833")
	if p := got.Quality.Problems; p != 0 {
		t.Errorf("%d problems: %v", p, got.Problems)
	}
}

// Of several results of a call the first is sent, and all further results are told.
func TestSecondResultIsDropped(t *testing.T) {
	s := newScript("S")
	s.prompt("go")
	s.call("m1", 20_000, readFile("t1", "/a"))
	s.result("t1", words(1000))
	s.result("t1", words(500))
	s.call("m2", 22_000, text("done"))
	got := sessionOf(t, s)
	// 330 by rate; the growth of 2,000 less that and 59 of the call.
	want(t, "input", blocks(got, got.Threads[0].Rounds[1].Input), "tool_result:330 unseen:1611")
	if len(got.Problems) != 1 || !strings.Contains(got.Problems[0].Text, "second result of a tool call ignored") {
		t.Errorf("problems %v, want the second result", got.Problems)
	}
}

func TestResultLoggedInsideResponse(t *testing.T) {
	// A tool may finish while its response still streams.
	s := newScript("S")
	s.prompt("go")
	s.call("m1", 20_000, readFile("t1", "/a"))
	s.result("t1", "one")
	s.call("m1", 20_000, readFile("t2", "/b"))
	s.result("t2", "two")
	s.call("m2", 20_200, text("done"))
	got := sessionOf(t, s)
	want(t, "threads", shape(got), "main: m1 m2")
	want(t, "reply", blocks(got, got.Threads[0].Rounds[0].Reply), "tool_use:59 tool_use:59")
}

func TestPaths(t *testing.T) {
	tests := []struct {
		name  string
		write func(*script)
		want  string
	}{
		{"rewind", func(s *script) {
			s.prompt("first")
			at := s.call("m1", 20_000, text("one"))
			s.prompt(words(1000))
			s.call("m2", 20_400, text(words(1000)))
			s.prompt("more")
			s.call("m3", 20_700, text("three"))
			s.head = at
			s.prompt("another way")
			s.call("m4", 20_010, text("four"))
		}, "main: m1 m4\nbranch m2 from main/m1: m2 m3"},

		{"rewind to the start", func(s *script) {
			s.system("info", nil)
			at := s.head
			s.prompt(words(10_000))
			s.call("m1", 23_100, text(words(2000)))
			s.head = at
			s.prompt("better")
			s.call("m2", 20_000, text("yes"))
		}, "main: m2\nbranch m1 from main/start: m1"},

		{"rewind inside a branch", func(s *script) {
			s.prompt("first")
			at := s.call("m1", 20_000, text("one"))
			s.prompt(words(1000))
			inner := s.call("m2", 20_400, text("two"))
			s.prompt(words(2000))
			s.call("m3", 21_100, text("three"))
			s.head = inner
			s.prompt("again")
			s.call("m4", 20_410, text("four"))
			s.head = at
			s.prompt("no")
			s.call("m5", 20_005, text("five"))
		}, "main: m1 m5\nbranch m2 from main/m1: m2 m4\nbranch m3 from m2/m2: m3"},

		{"prompt queued during a turn", func(s *script) {
			// Both prompts hang on m1, but the totals go on growing: no rewind.
			s.prompt("first")
			at := s.call("m1", 20_000, text("one"))
			s.prompt(words(5000))
			s.call("m2", 21_560, text(words(5000)))
			s.head = at
			s.prompt(words(5000))
			s.call("m3", 24_400, text("three"))
		}, "main: m1 m2 m3"},

		{"prompt taken back before it was sent", func(s *script) {
			s.prompt("first")
			at := s.call("m1", 20_000, text("one"))
			s.prompt(words(4000))
			s.prompt("[Request interrupted by user]")
			s.head = at
			s.prompt("next")
			s.call("m2", 20_010, text("two"))
		}, "main: m1 m2"},

		{"local commands and notices fork the tree without a rewind", func(s *script) {
			s.prompt("first")
			s.call("m1", 20_000, text("one"))
			at := s.meta("<local-command-caveat>Caveat")
			s.prompt("<command-name>/exit</command-name>")
			s.prompt("<local-command-stdout>Bye</local-command-stdout>")
			s.head = at
			s.add(fields{"type": "assistant", "message": fields{"id": "x", "model": "<synthetic>", "content": []fields{text("No response requested.")}}})
			s.prompt("back")
			s.call("m2", 20_100, text("two"))
		}, "main: m1 m2"},

		{"dead parent", func(s *script) {
			s.prompt("first")
			s.call("m1", 20_000, text("one"))
			s.head = "lost"
			s.prompt("next")
			s.call("m2", 20_010, text("two"))
		}, "main: m1 m2"},

		{"dead bridge over a compaction", func(s *script) {
			s.prompt("first")
			s.call("m1", 160_000, text("one"))
			s.head = "lost"
			s.compact("auto", 160_300, words(4000))
			s.call("m2", 40_000, text("two"))
		}, "main: m1 m2"},

		{"cycle", func(s *script) {
			s.head = "S-3"
			s.prompt("first")
			s.call("m1", 20_000, text("one"))
			s.prompt("next")
			s.head = "S-4"
			s.call("m2", 20_010, text("two"))
		}, "main: m1 m2"},

		{"lines passed over in the chain", func(s *script) {
			s.prompt("first")
			s.call("m1", 20_000, text("one"))
			s.system("stop_hook_summary", nil)
			s.add(fields{"type": "progress", "data": fields{"type": "hook_progress"}})
			s.prompt("next")
			s.call("m2", 20_010, text("two"))
		}, "main: m1 m2"},

		{"history written twice in one file", func(s *script) {
			s.prompt("first")
			s.call("m1", 20_000, text("one"), readFile("t1", "/a"))
			s.result("t1", "file")
			s.call("m2", 20_100, text("two"))
			for _, l := range s.lines[:5] {
				s.raw(strings.ReplaceAll(l, "S-", "copy-"))
			}
			s.head = "copy-5"
			s.prompt("next")
			s.call("m3", 20_110, text("three"))
		}, "main: m1 m2 m3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newScript("S")
			tt.write(s)
			want(t, "threads", shape(sessionOf(t, s)), tt.want)
		})
	}
}

func TestTakenBackPromptIsNoInput(t *testing.T) {
	s := newScript("S")
	s.prompt("first")
	at := s.call("m1", 20_000, text("one"))
	s.prompt(words(4000))
	s.head = at
	s.prompt("next")
	s.call("m2", 20_003, text("two"))
	got := sessionOf(t, s)
	want(t, "input", blocks(got, got.Threads[0].Rounds[1].Input), "prompt:1 unseen:1")
}

func TestBranchInheritsContext(t *testing.T) {
	// Both the branch and the active path continue from m1's total and reply.
	s := newScript("S")
	s.prompt("first")
	at := s.call("m1", 20_000, text(words(1000)))
	s.prompt(words(1000))
	s.call("m2", 20_600, text("two"))
	s.head = at
	s.prompt(words(2000))
	s.call("m3", 20_900, text("three"))
	got := sessionOf(t, s)
	want(t, "threads", shape(got), "main: m1 m3\nbranch m2 from main/m1: m2")
	want(t, "reply", blocks(got, got.Threads[0].Rounds[0].Reply), "text:260")
	want(t, "active", blocks(got, got.Threads[0].Rounds[1].Input), "prompt:620 unseen:20")
	want(t, "branch", blocks(got, got.Threads[1].Rounds[0].Input), "prompt:310 unseen:30")
	if n := got.Threads[1].Prefix.Len(); n != 0 {
		t.Errorf("branch has a prefix of %d blocks", n)
	}
}

func TestBranchesInTurn(t *testing.T) {
	// Two processes go on from m1 and call in turn. By its total alone m3 would continue m2, whose context is as large.
	s := newScript("S")
	s.prompt("first")
	at := s.call("m1", 20_000, text("one"))
	s.prompt("this")
	left := s.call("m2", 20_900, text("two"))
	s.head = at
	s.prompt("that")
	right := s.call("m3", 20_900, text("three"))
	s.head = left
	s.prompt("more of this")
	s.call("m4", 21_200, text("four"))
	s.head = right
	s.prompt("more of that")
	s.call("m5", 21_200, text("five"))
	want(t, "threads", shape(sessionOf(t, s)), "main: m1 m3 m5\nbranch m2 from main/m1: m2 m4")
}

func TestOrphanResultIsKept(t *testing.T) {
	s := newScript("S")
	s.prompt("first")
	s.call("m1", 20_000, text("one"))
	s.result("gone", words(1000))
	s.call("m2", 20_400, text("two"))
	got := sessionOf(t, s)
	want(t, "input", blocks(got, got.Threads[0].Rounds[1].Input), "tool_result:330 unseen:69")
	want(t, "problem", got.Problems[0].Text, "tool result without its call")
}

func TestEveryCallIsInOneThread(t *testing.T) {
	// The same call id under two sub-agents, as a fork of a conversation has it.
	main := newScript("S")
	main.prompt("first")
	main.call("m1", 20_000, text("one"))
	fork := newScript("S")
	fork.clock = main.clock
	fork.agent = "fork"
	fork.prompt("first")
	fork.call("m1", 20_000, text("one"))
	fork.prompt("aside")
	fork.call("m2", 20_100, text("two"))
	got := sessionOf(t, main, fork)
	want(t, "threads", shape(got), "main: m1\nagent fork from main/m1: m2")
	if got.Threads[1].Kind != traces.ThreadAgent {
		t.Error("fork is not a thread of an agent")
	}
}
