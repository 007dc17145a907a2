package claudecode

import (
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/signs"
)

// A response that asked an advisor has the usage of three iterations (recorded:
// the top level reads 219,031 = 109,050 + 109,981 and has the cache_creation of the
// first alone). It is two rounds: neither was a request of 219,031 tokens, both are
// billed, and the advisor, of another model and context, is a call beside them. One
// iteration changes nothing.
func TestPassesBehindAnAdvisor(t *testing.T) {
	pass := func(kind string, read, write, output int) fields {
		return fields{
			"type": kind, "input_tokens": 2, "cache_read_input_tokens": read, "cache_creation_input_tokens": write,
			"cache_creation": fields{"ephemeral_1h_input_tokens": write}, "output_tokens": output,
		}
	}
	advisor := pass("advisor_message", 0, 90_000, 4000)
	advisor["model"] = "claude-fable-5"
	usage := pass("", 219_031, 1931, 700)
	usage["iterations"] = []fields{pass("message", 109_050, 931, 200), advisor, pass("message", 109_981, 1000, 500)}
	one := pass("", 110_981, 300, 10)
	one["iterations"] = []fields{pass("message", 110_981, 300, 10)}
	s := newScript("S")
	s.prompt("go")
	s.callUsage("m1", usage, text("one"), text("two"))
	s.prompt("and then")
	s.callUsage("m2", one, text("three"))
	all := sessionOf(t, s)
	main := all.Threads[0]
	want := []prompt.Usage{
		{Uncached: 2, Read: 109_050, Write1h: 931, Output: 200},
		{Uncached: 2, Read: 109_981, Write1h: 1000, Output: 500},
		{Uncached: 2, Read: 110_981, Write1h: 300, Output: 10},
	}
	if len(main.Rounds) != len(want) {
		t.Fatalf("%d rounds, want 3", len(main.Rounds))
	}
	for i := range want {
		if r := &main.Rounds[i]; r.Usage.Input() != want[i].Input() || r.Usage.Read != want[i].Read || i < 2 && r.Logged != want[i].Output {
			t.Errorf("round %s: %+v, want %+v", r.ID, r.Usage, want[i])
		}
	}
	if first, last := &main.Rounds[0], &main.Rounds[1]; first.Reply.Len() != 0 || last.Reply.Len() != 2 ||
		first.Trigger != traces.TriggerPrompt || last.Trigger == traces.TriggerPrompt {
		t.Errorf("a pass replies with %d blocks to trigger %v, the last with %d to %v; want 0 to the prompt, and 2",
			first.Reply.Len(), first.Trigger, last.Reply.Len(), last.Trigger)
	}
	for i := range main.Events {
		t.Errorf("event %v: no context shrank", main.Events[i].Kind)
	}
	want1 := traces.AdviceCall{Round: 1, Model: "claude-fable-5", Usage: prompt.Usage{Uncached: 2, Write1h: 90_000, Output: 4000}}
	if len(all.Advice) != 1 || all.Advice[0] != want1 {
		t.Errorf("advice %+v, want %+v", all.Advice, want1)
	}
}

// A list of passes whose counts the top does not add up is no sum of these: here the list has its only pass twice. The call is
// read once, by the counts at the top, and told.
func TestPassThatIsHereTwice(t *testing.T) {
	s := newScript("S")
	s.prompt("go")
	usage := tokensOf(40_000)
	pass := tokensOf(40_000)
	pass["type"] = "message"
	usage["iterations"] = []fields{pass, pass}
	s.callUsage("m1", usage, text("one"))
	got := sessionOf(t, s)
	r := got.Threads[0].Rounds
	if len(r) != 1 || r[0].Usage.Input() != 40_000 || got.Quality.Uncounted != 1 {
		t.Errorf("%d rounds, %d calls told, want one of each with 40,000 tokens", len(r), got.Quality.Uncounted)
	}
}

// From 2.1.59 on the lines of a response have its stop reason. One that has none keeps its counts and is told, as its last line may be
// missing: recorded responses begin with at most 10 tokens of output. Before, responses have no reason, and outputs are derived.
func TestResponseWithoutItsLastLine(t *testing.T) {
	for version, want := range map[string]int{"2.1.58": 0, "2.1.59": 1} {
		s := newScript("S")
		s.version, s.stop = version, "end_turn"
		s.prompt("go")
		s.call("m1", 20_000, text("one"))
		s.stop = nil
		s.prompt("on")
		s.call("m2", 21_000, text("two"))
		if got := sessionOf(t, s); got.Quality.Uncounted != want || len(got.Problems) != want {
			t.Errorf("%s: %d calls told, problems %v, want %d", version, got.Quality.Uncounted, got.Problems, want)
		}
	}
}

// A response whose usage has the pass of another model and then a fallback is one call of the model that answered, and says so.
func TestFallbackBehindARefusal(t *testing.T) {
	usage := fields{"input_tokens": 2, "cache_read_input_tokens": 54_112, "cache_creation_input_tokens": 0, "output_tokens": 136}
	refused := fields{"type": "message", "model": "claude-fable-5", "input_tokens": 2, "cache_read_input_tokens": 32_238, "cache_creation_input_tokens": 21_874, "output_tokens": 2}
	again := fields{"type": "fallback_message", "model": "claude-opus-4-8"}
	for name, n := range usage {
		again[name] = n
	}
	usage["iterations"] = []fields{refused, again}
	s := newScript("S")
	s.prompt("go")
	s.callUsage("m1", usage, text("one"))
	rounds := sessionOf(t, s).Threads[0].Rounds
	if len(rounds) != 1 || rounds[0].Flags&signs.Fallback == 0 || rounds[0].Usage.Read != 54_112 {
		t.Errorf("rounds %+v, want one of 54,112 tokens read behind a refusal", rounds)
	}
}

// A pass whose count of output is impossible keeps its input, and its output is no final one.
func TestPassWithAnImpossibleOutput(t *testing.T) {
	pass := func(read, output int) fields {
		return fields{"type": "message", "input_tokens": 2, "cache_read_input_tokens": read, "cache_creation_input_tokens": 0, "output_tokens": output}
	}
	usage := pass(40_000, 500)
	usage["iterations"] = []fields{pass(20_000, -5), pass(20_000, 500)}
	s := newScript("S")
	s.prompt("go")
	s.callUsage("m1", usage, text("one"))
	got := sessionOf(t, s)
	r := got.Threads[0].Rounds
	if len(r) != 2 || r[0].Usage.Read != 20_000 || r[0].Flags&(signs.OutputDerived|signs.OutputUnknown) == 0 {
		t.Errorf("rounds %+v", r)
	}
	if p := got.Problems; len(p) != 1 || !strings.Contains(p[0].Text, "impossible token count") {
		t.Errorf("problems %v", p)
	}
}

// A document inside a tool result counts 2,000 by the client's estimate, as an image there
// does (001:1002-1016): the block says that it holds one of each.
func TestMediaInResults(t *testing.T) {
	s := newScript("s")
	s.prompt("go")
	s.call("m1", 9000, readFile("t1", "/home/dev/project/a.pdf"))
	media := fields{"type": "base64", "media_type": "application/pdf", "data": "QUJD"}
	s.add(fields{"type": "user", "message": fields{"role": "user", "content": []fields{{
		"type": "tool_result", "tool_use_id": "t1", "content": []fields{
			{"type": "text", "text": "two pages"}, {"type": "document", "source": media}, {"type": "image", "source": media},
		},
	}}}})
	s.call("m2", 15000, text("read"))
	session := sessionOf(t, s)
	r := &session.Threads[0].Rounds[1]
	if got := session.Blocks[r.Input.From].Flags.Images(); got != 2 {
		t.Errorf("the result holds %d images and documents, want 2", got)
	}
}

// The server compacts inside a call: the pass of type compaction is in none of the counts above it. It is a compaction
// with a logged summary call, and the next call continues from what stayed.
func TestCompactionByTheServer(t *testing.T) {
	pass := func(kind string, input, output int) fields {
		return fields{"type": kind, "input_tokens": input, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "output_tokens": output}
	}
	usage := pass("", 8000, 100)
	usage["iterations"] = []fields{pass("compaction", 150_000, 3000), pass("message", 8000, 100)}
	s := newScript("S")
	s.prompt("go")
	s.callUsage("m1", pass("", 6000, 90), text("one"))
	s.prompt("go on")
	s.callUsage("m2", usage, text("two"))
	got := sessionOf(t, s)
	main := got.Threads[0]
	if len(main.Rounds) != 2 || len(main.Events) != 1 || len(got.Summaries) != 1 {
		t.Fatalf("%d calls, %d events, %d summary calls; want 2, 1 and 1", len(main.Rounds), len(main.Events), len(got.Summaries))
	}
	ev, sum := &main.Events[0], &got.Summaries[0]
	if ev.Kind != traces.EventCompact || ev.Round != 1 || ev.PreTokens != 150_000 || sum.Usage != (prompt.Usage{Uncached: 150_000, Output: 3000}) {
		t.Errorf("event %+v, summary call %+v", ev, sum)
	}
	if u := main.Rounds[1].Usage; u.Input() != 8000 {
		t.Errorf("the call has %d tokens", u.Input())
	}
}
