package claudecode

import (
	"strings"
	"testing"
	"time"

	"github.com/compactsim/compactsim/traces"
)

// resumed writes session A and session B, which repeats A's lines under its own
// id and new line ids, with the times they had, and goes on.
func resumed(history, more func(*script)) map[string][]byte {
	a := newScript("A")
	history(a)
	b := newScript("B")
	history(b)
	b.clock = a.clock.AddDate(0, 0, 1)
	more(b)
	return map[string][]byte{"A.jsonl": a.bytes(), "B.jsonl": b.bytes()}
}

func TestResumedSession(t *testing.T) {
	c := corpusOf(t, traces.Options{}, resumed(func(s *script) {
		s.prompt(words(1000))
		s.call("m1", 20_000, readFile("t1", "/a"))
		s.result("t1", words(1000))
		s.call("m2", 20_400, text(words(1000)))
	}, func(s *script) {
		s.prompt(words(1000))
		s.call("m3", 21_000, text("on"))
		s.prompt(words(500))
		s.call("m4", 21_200, text("on"))
	}))
	if len(c.Sessions) != 2 {
		t.Fatalf("%d sessions", len(c.Sessions))
	}
	a, b := c.Sessions[0], c.Sessions[1]
	want(t, "earlier session", a.ID+" "+shape(a), "A main: m1 m2")
	want(t, "later session", b.ID+" "+shape(b), "B main: m3 m4")
	if b.Quality.Repeated != 2 || c.Repeated != 2 || a.Quality.Repeated != 0 {
		t.Errorf("repeated %d and %d, want 2 in the later session", a.Quality.Repeated, b.Quality.Repeated)
	}
	// The last response stands at 4 s, the first own prompt a day and a second behind it.
	if since := time.Duration(b.Threads[0].Since); since != 24*time.Hour+time.Second || a.Threads[0].Since != 0 {
		t.Errorf("the later session goes on after %v, the earlier one after %d ns; want 24h0m1s and 0", since, a.Threads[0].Since)
	}
	if !b.Threads[0].MidContext {
		t.Error("the later session does not start amid a context")
	}
	last := a.Threads[0].Rounds[1]
	if left := b.Threads[0].Left; left.Usage.Input() != last.Usage.Input() || left.Gap != b.Threads[0].Since || !left.Model || a.Threads[0].Left.Usage.Input() != 0 {
		t.Errorf("%+v was left, want what m2 left, and by nobody to the earlier session", left)
	}
	// Its prefix is A's: the same blocks with the same digests, and the last reply.
	pa, pb := a.Threads[0], b.Threads[0]
	history := a.Tokens(pa.Prefix) + a.Tokens(pa.Rounds[0].Input) + a.Tokens(pa.Rounds[0].Reply) + a.Tokens(pa.Rounds[1].Input)
	if got := b.Tokens(pb.Prefix); got != history+260 || got != 20_657 {
		t.Errorf("prefix of %d tokens, want %d + 260 for the last reply", got, history)
	}
	kinds := strings.Fields(blocks(b, pb.Prefix))
	want(t, "prefix", strings.Join(kinds[len(kinds)-3:], " "), "tool_result:330 unseen:11 text:260")
	for i := int32(0); i < 2; i++ {
		if a.Blocks[pa.Prefix.From+i].Digest != b.Blocks[pb.Prefix.From+i].Digest {
			t.Errorf("block %d of the prefix has another digest", i)
		}
	}
	want(t, "first own input", blocks(b, pb.Rounds[0].Input), "prompt:310 unseen:30")
	if b.Start <= a.End {
		t.Error("the later session starts with lines it repeats")
	}
}

// A compaction that no call follows, and one ahead of the first call, are in no figure and counted apart.
func TestBareCompactions(t *testing.T) {
	compact := func(s *script) { s.compact("manual", 20_000, "sum") }
	for name, lines := range map[string]func(*script){
		"behind the last call":    func(s *script) { s.prompt("a"); s.call("m1", 20_000, text("b")); compact(s) },
		"ahead of the first call": func(s *script) { compact(s); s.prompt("a"); s.call("m1", 20_000, text("b")) },
	} {
		s := newScript("S")
		lines(s)
		if got := sessionOf(t, s).Quality.Bare; got != 1 {
			t.Errorf("%s: %d compactions that no call shows, want 1", name, got)
		}
	}
}

func TestResumedAfterCompaction(t *testing.T) {
	c := corpusOf(t, traces.Options{}, resumed(func(s *script) {
		s.prompt(words(1000))
		u := tokensOf(20_000)
		u["cache_read_input_tokens"], u["cache_creation_input_tokens"] = 10_000, 9_997
		s.callUsage("m1", u, text(words(1000)))
		s.compact("manual", 20_260, words(1000))
		s.prompt(words(1000))
		s.call("m2", 12_000, text(words(1000)))
	}, func(s *script) {
		s.prompt(words(1000))
		s.call("m3", 13_000, text("on"))
	}))
	b := c.Sessions[1]
	want(t, "later session", shape(b), "main: m3")
	// 10,000 static; kept 12,000 − 3 of tail − 10,000 − 310 = 1,687, of which 260 summary.
	want(t, "prefix", blocks(b, b.Threads[0].Prefix), "tools:7000 system:3000 summary:260 unseen:1427 prompt:310 text:260")
	if len(b.Threads[0].Events) != 0 {
		t.Errorf("events of the earlier session in the later one: %+v", b.Threads[0].Events)
	}
}

func TestCopyOfWholeSession(t *testing.T) {
	files := resumed(func(s *script) {
		s.prompt("go")
		s.call("m1", 20_000, text("one"))
	}, func(*script) {})
	c := corpusOf(t, traces.Options{}, files)
	if len(c.Sessions) != 1 || c.Repeated != 1 {
		t.Fatalf("%d sessions, %d repeated calls; want 1 and 1", len(c.Sessions), c.Repeated)
	}
	if len(c.Problems) != 1 || !strings.Contains(c.Problems[0].Text, "session B has no API calls of its own") {
		t.Errorf("problems %v", c.Problems)
	}
}

func TestBranchInRepeatedPart(t *testing.T) {
	// B rewinds A's conversation behind m1: m2 is A's, and A's active path.
	c := corpusOf(t, traces.Options{}, resumed(func(s *script) {
		s.prompt("first")
		s.call("m1", 20_000, text(words(1000)))
		s.prompt(words(1000))
		s.call("m2", 20_600, text(words(1000)))
	}, func(s *script) {
		s.head = "B-2"
		s.prompt(words(2000))
		s.call("m3", 20_900, text("three"))
	}))
	want(t, "A", shape(c.Sessions[0]), "main: m1 m2")
	want(t, "B", shape(c.Sessions[1]), "main: m3")
}

func TestContinuedFileWithLinesOfTheOldSession(t *testing.T) {
	// Newer clients leave the old session id on copied lines.
	a := newScript("A")
	a.prompt("first")
	a.call("m1", 20_000, text("one"))
	b := newScript("B")
	b.lines, b.head, b.clock = append(b.lines, a.lines...), a.head, a.clock
	b.prompt("next")
	b.call("m2", 20_100, text("two"))
	c := corpusOf(t, traces.Options{}, map[string][]byte{"A.jsonl": a.bytes(), "B.jsonl": b.bytes()})
	if len(c.Sessions) != 2 {
		t.Fatalf("%d sessions", len(c.Sessions))
	}
	want(t, "A", c.Sessions[0].ID+" "+shape(c.Sessions[0]), "A main: m1")
	want(t, "B", c.Sessions[1].ID+" "+shape(c.Sessions[1]), "B main: m2")
}

func TestSeveralSessionsInOneStream(t *testing.T) {
	a, b := newScript("A"), newScript("B")
	for _, s := range []*script{a, b} {
		s.prompt("first")
		s.call("m"+s.session, 20_000, text("one"))
	}
	c := corpusOf(t, traces.Options{}, map[string][]byte{"all.jsonl": append(a.bytes(), b.bytes()...)})
	if len(c.Sessions) != 2 || c.Sessions[0].ID != "A" || c.Sessions[1].ID != "B" {
		t.Fatalf("sessions %v", c.Sessions)
	}
}
