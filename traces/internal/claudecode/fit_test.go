package claudecode

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/signs"
)

// twoCalls is a session of two calls with 1,000 bytes of reply (260 tokens by
// rate) and 1,000 bytes of prompt (310) between totals of 20,000 and 20,000 +
// growth.
func twoCalls(t *testing.T, growth int, change func(*script)) *traces.Session {
	s := newScript("S")
	if change != nil {
		change(s)
	}
	s.prompt("go")
	s.call("m1", 20_000, text(words(1000)))
	s.prompt(words(1000))
	s.call("m2", 20_000+growth, text("ok"))
	return sessionOf(t, s)
}

func TestGrowth(t *testing.T) {
	tests := []struct {
		name         string
		growth       int
		reply, input string
		saved        int32
	}{
		{"rest is unseen", 1000, "text:260", "prompt:310 unseen:430", 0},
		{"estimates fit", 570, "text:260", "prompt:310", 0},
		// 285 of 570: half of each.
		{"estimates are too high", 285, "text:130", "prompt:155", 0},
		{"no growth", 0, "text:0", "prompt:0", 0},
		// 20,000 + 570 − 19,000.
		{"the context shrank", -1000, "text:260", "prompt:310", 1570},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := twoCalls(t, tt.growth, nil)
			th := got.Threads[0]
			want(t, "reply", blocks(got, th.Rounds[0].Reply), tt.reply)
			want(t, "input", blocks(got, th.Rounds[1].Input), tt.input)
			switch {
			case tt.saved == 0 && len(th.Events) > 0:
				t.Errorf("events %v", th.Events)
			case tt.saved > 0 && (len(th.Events) != 1 || th.Events[0].Kind != traces.EventShrink || th.Events[0].Saved != tt.saved || th.Events[0].Round != 1):
				t.Errorf("events %+v, want a shrink of %d", th.Events, tt.saved)
			}
		})
	}
}

func TestOutput(t *testing.T) {
	final := func(s *script) { s.version = "2.1.59" }
	got := twoCalls(t, 1000, nil).Threads[0].Rounds
	if got[0].Usage.Output != 260 || got[0].Logged != 1 || got[0].Flags&signs.OutputDerived == 0 {
		t.Errorf("before 2.1.59: output %d logged %d flags %b, want the derived 260", got[0].Usage.Output, got[0].Logged, got[0].Flags)
	}
	if got[1].Usage.Output != 1 || got[1].Flags&signs.OutputDerived == 0 {
		t.Errorf("last call: output %d flags %b, want its estimate of 1", got[1].Usage.Output, got[1].Flags)
	}
	s := twoCalls(t, 1000, final)
	got = s.Threads[0].Rounds
	if got[0].Usage.Output != 1 || got[0].Flags&signs.OutputDerived != 0 {
		t.Errorf("2.1.59: output %d flags %b, want the logged 1", got[0].Usage.Output, got[0].Flags)
	}
	want(t, "a reply weighs its final output", blocks(s, got[0].Reply), "text:1")
	want(t, "rest", blocks(s, got[1].Input), "prompt:310 unseen:689")
}

func TestStopReasonMakesOutputFinal(t *testing.T) {
	s := newScript("S")
	s.prompt("go")
	u := tokensOf(20_000)
	u["output_tokens"] = 300
	s.add(fields{"type": "assistant", "message": fields{"id": "m1", "model": "m", "content": []fields{text(words(1000))}, "usage": u, "stop_reason": "end_turn"}})
	s.prompt("more")
	s.call("m2", 20_400, text("ok"))
	got := sessionOf(t, s)
	want(t, "reply", blocks(got, got.Threads[0].Rounds[0].Reply), "text:300")
}

func TestPrefix(t *testing.T) {
	first := func(usage fields, chars int) *traces.Session {
		s := newScript("S")
		s.prompt(words(chars))
		s.callUsage("m1", usage, text("ok"))
		return sessionOf(t, s)
	}
	usage := func(read, write int) fields {
		return fields{"input_tokens": 3, "cache_read_input_tokens": read, "cache_creation_input_tokens": write, "output_tokens": 1}
	}
	tests := []struct {
		name  string
		s     *traces.Session
		want  string
		start bool
	}{
		// Static part is the read; the rest less 310 for the prompt and 3 for the
		// uncached tail is reminders.
		{"read on the first call", first(usage(10_000, 9_997), 1000), "tools:7000 system:3000 reminder:9687", false},
		// 2.1.40 without a read: 28,204 by the table.
		{"cold first call", first(usage(0, 39_997), 1000), "tools:19742 system:8462 reminder:11483", false},
		// A cold call smaller than the table's prefix.
		{"small cold first call", first(usage(0, 9_997), 1000), "tools:6780 system:2907", false},
		{"read of nearly everything", first(usage(19_900, 97), 1000), "tools:13930 system:5970", false},
		{"starts amid a conversation", first(usage(0, 99_997), 1000), "tools:19742 system:8462 unseen:71483", true},
		{"starts amid a conversation, warm", first(usage(90_000, 9_997), 1000), "tools:19742 system:8462 unseen:71483", true},
		{"a first prompt that is large itself", first(usage(0, 99_997), 200_000), "tools:19742 system:8462 reminder:9793", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			th := tt.s.Threads[0]
			want(t, "prefix", blocks(tt.s, th.Prefix), tt.want)
			if th.MidContext != tt.start {
				t.Errorf("mid-context is %v", th.MidContext)
			}
		})
	}
}

func TestCompaction(t *testing.T) {
	s := newScript("S")
	s.prompt("go")
	u := tokensOf(30_000)
	u["cache_read_input_tokens"], u["cache_creation_input_tokens"] = 16_000, 13_997
	s.callUsage("m1", u, text("one"))
	s.prompt(words(1000))
	s.call("m2", 160_000, readFile("t1", "/a"))
	s.result("t1", words(1000))
	s.clock = s.clock.Add(59 * time.Second)
	s.compact("auto", 160_400, words(10_000))
	s.call("m3", 32_000, text("on"))
	s.compact("manual", 32_100, words(100))
	got := sessionOf(t, s)
	want(t, "threads", shape(got), "main: m1 m2 m3")
	th := got.Threads[0]
	if len(th.Events) != 2 {
		t.Fatalf("events %+v", th.Events)
	}
	// 32,000 − 3 of tail − 16,000 static; the result that was pending went into
	// the summary.
	ev := th.Events[0]
	if ev.Kind != traces.EventCompact || ev.Manual || ev.Round != 2 || ev.Kept != 15_997 || ev.Absorbed != 1 || ev.PreTokens != 160_400 {
		t.Errorf("event %+v", ev)
	}
	want(t, "summary", blocks(got, ev.Summary), "summary:2600")
	want(t, "input", blocks(got, th.Rounds[2].Input), "tool_result:330")
	// Boundary 60 s after the result; the round itself waited 1 s for its tool.
	if w := time.Duration(ev.Wait); w != 60*time.Second {
		t.Errorf("compaction took %v, want 1m0s", w)
	}
	if w := time.Duration(th.Rounds[2].Wait); w != 2*time.Second {
		t.Errorf("round waited %v, want 2s: tool and the summary's line, the compaction taken out", w)
	}
	if last := th.Events[1]; last.Round != 3 || !last.Manual || last.Kept != 26 {
		t.Errorf("event behind the last round: %+v", last)
	}
}

func TestCompactionLeavesLessThanItsInput(t *testing.T) {
	// 16,100 after the compaction, 16,000 static tokens and 3 tail: the prompt of
	// 310 tokens by rate can be 97 at most, and the summary nothing. What was
	// absorbed is not touched.
	s := newScript("S")
	s.prompt("go")
	u := tokensOf(30_000)
	u["cache_read_input_tokens"], u["cache_creation_input_tokens"] = 16_000, 13_997
	s.callUsage("m1", u, readFile("t1", "/a"))
	s.result("t1", words(1000))
	s.compact("auto", 30_400, words(1000))
	s.prompt(words(1000))
	s.call("m2", 16_100, text("on"))
	got := sessionOf(t, s)
	th := got.Threads[0]
	want(t, "input", blocks(got, th.Rounds[1].Input), "tool_result:330 prompt:97")
	want(t, "summary", blocks(got, th.Events[0].Summary), "summary:0")
}

func TestFileBeginsWithSummary(t *testing.T) {
	s := newScript("S")
	s.compact("auto", 167_000, words(10_000))
	s.prompt(words(1000))
	s.call("m1", 40_000, text("on"))
	got := sessionOf(t, s)
	th := got.Threads[0]
	if !th.MidContext || len(th.Events) != 0 {
		t.Errorf("mid-context %v events %v", th.MidContext, th.Events)
	}
	// 39,997 less 28,204 static (2.1.40), 2,600 of summary and 310 of prompt.
	want(t, "prefix", blocks(got, th.Prefix), "tools:19742 system:8462 reminder:8883 summary:2600")
}

func TestMicrocompaction(t *testing.T) {
	s := newScript("S")
	s.prompt("go")
	s.call("m1", 20_000, readFile("t1", "/a"), readFile("t2", "/b"))
	s.result("t1", words(10_000))
	s.result("t2", words(1000))
	s.call("m2", 23_748, text(words(1000)))
	s.system("microcompact_boundary", fields{"microcompactMetadata": fields{"trigger": "auto", "preTokens": 24_000, "tokensSaved": 3300, "compactedToolIds": []string{"t1", "gone"}}})
	s.prompt(words(1000))
	s.call("m3", 21_000, text("on"))
	got := sessionOf(t, s)
	th := got.Threads[0]
	// 23,748 + 260 + 310 − 21,000; the client's own count of 3,300 is not used.
	if len(th.Events) != 1 || th.Events[0].Kind != traces.EventMicrocompact || th.Events[0].Saved != 3318 {
		t.Fatalf("events %+v", th.Events)
	}
	if c := th.Events[0].Cleared; len(c) != 1 || got.Blocks[c[0]].Kind != prompt.KindToolResult || got.Blocks[c[0]].Tokens != 3300 {
		t.Errorf("cleared %v", c)
	}
}

func TestClock(t *testing.T) {
	s := newScript("S")
	s.prompt("go") // 12:00:01
	s.clock = s.clock.Add(9 * time.Second)
	s.call("m1", 20_000, text("a"), text("b")) // :11 and :12
	s.clock = s.clock.Add(59 * time.Second)
	s.prompt("more") // 12:01:12
	s.call("m2", 20_010, text("c"))
	got := sessionOf(t, s)
	r := got.Threads[0].Rounds
	for i, w := range []struct{ wait, first, stream time.Duration }{
		{0, 10 * time.Second, 11 * time.Second},
		{60 * time.Second, time.Second, time.Second},
	} {
		if time.Duration(r[i].Wait) != w.wait || time.Duration(r[i].First) != w.first || time.Duration(r[i].Stream) != w.stream {
			t.Errorf("round %d: %v %v %v, want %v", i, time.Duration(r[i].Wait), time.Duration(r[i].First), time.Duration(r[i].Stream), w)
		}
	}
}

func TestClockThatRunsBack(t *testing.T) {
	s := newScript("S")
	s.prompt("go")
	s.call("m1", 20_000, text("a"))
	s.clock = s.clock.Add(-time.Hour)
	s.prompt("more")
	s.call("m2", 20_010, text("c"))
	got := sessionOf(t, s)
	if r := got.Threads[0].Rounds[1]; r.Wait != 0 {
		t.Errorf("waited %v", time.Duration(r.Wait))
	}
	if p := got.Problems; len(p) != 2 || !strings.Contains(p[0].Text, "time runs back") || !strings.Contains(p[1].Text, "1 of its calls") {
		t.Errorf("problems %v", got.Problems)
	}
}

// A response that is lost is reported where only a line of the client's own follows it.
func TestLostResponse(t *testing.T) {
	s := newScript("S")
	s.prompt("go")
	s.call("m1", 20_000, text("a"))
	s.head = "lost"
	s.add(fields{"type": "system", "subtype": "turn_duration", "durationMs": 900})
	s.prompt("more")
	s.call("m2", 20_010, text("c"))
	if p := sessionOf(t, s).Problems; len(p) != 1 || !strings.Contains(p[0].Text, "parent is not in the recording") {
		t.Errorf("problems %v", p)
	}
}

// A request logged hours later than its response has the response's time.
func TestRequestFromTheFuture(t *testing.T) {
	s := newScript("S")
	s.prompt("go")
	s.call("m1", 20_000, text("a"))
	s.clock = s.clock.Add(2 * time.Hour)
	s.prompt("more")
	s.clock = s.clock.Add(time.Minute - 2*time.Hour)
	s.call("m2", 20_010, text("c"))
	got := sessionOf(t, s)
	if wait := time.Duration(got.Threads[0].Rounds[1].Wait); wait < time.Minute || wait > 2*time.Minute {
		t.Errorf("waited %v", wait)
	}
	if p := got.Problems; len(p) != 1 || !strings.Contains(p[0].Text, "older than its request") {
		t.Errorf("problems %v", p)
	}
}

// A line without a time that can be read is told, an empty time too.
func TestEmptyTime(t *testing.T) {
	for stamp, bad := range map[any]int{"": 1, "yesterday": 1, nil: 0} {
		s := newScript("S")
		s.add(fields{"type": "user", "message": fields{"role": "user", "content": "go"}, "timestamp": stamp})
		s.call("m1", 20_000, text("a"))
		if c := corpusOf(t, traces.Options{}, map[string][]byte{"s.jsonl": s.bytes()}); c.BadLines != bad {
			t.Errorf("%v: %d bad lines, want %d", stamp, c.BadLines, bad)
		}
	}
}

// An impossible output leaves the counts of the input as they are, on whatever line of the call it is.
func TestImpossibleOutput(t *testing.T) {
	for _, output := range []any{-5, 1e300, "12", 99999999999} {
		s := newScript("S")
		s.prompt("go")
		s.callUsage("m1", fields{"input_tokens": 3, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 20_000, "output_tokens": output}, text("a"))
		got := sessionOf(t, s)
		r := &got.Threads[0].Rounds[0]
		if r.Usage.Input() != 20_003 || r.Flags&signs.OutputDerived == 0 {
			t.Errorf("%v: %+v, flags %b", output, r.Usage, r.Flags)
		}
		if p := got.Problems; len(p) != 1 || !strings.Contains(p[0].Text, "impossible token count") {
			t.Errorf("%v: problems %v", output, p)
		}
	}
}

func TestTiers(t *testing.T) {
	s := newScript("S")
	s.prompt("go")
	s.callUsage("m1", fields{"input_tokens": 3, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 20_000, "output_tokens": 1}, text("a"))
	s.prompt("more")
	s.callUsage("m2", fields{"input_tokens": 3, "cache_read_input_tokens": 20_000, "cache_creation_input_tokens": 50,
		"cache_creation": fields{"ephemeral_1h_input_tokens": 50}, "output_tokens": 1}, text("b"))
	got := sessionOf(t, s)
	r := got.Threads[0].Rounds
	if r[0].Usage.Write5m != 20_000 || r[0].Flags&signs.TierAssumed == 0 || got.Quality.AssumedTiers != 1 {
		t.Errorf("writes without a split: %+v flags %b, want 5m, assumed", r[0].Usage, r[0].Flags)
	}
	if r[1].Usage.Write1h != 50 || r[1].Usage.Write5m != 0 || r[1].Flags&signs.TierAssumed != 0 {
		t.Errorf("writes with a split: %+v flags %b", r[1].Usage, r[1].Flags)
	}
}

func TestSynthetic(t *testing.T) {
	s := newScript("S")
	s.prompt("go")
	s.call("m1", 20_000, text("a"))
	s.add(fields{"type": "assistant", "message": fields{"id": "x", "model": "<synthetic>", "content": []fields{text("No response requested.")}, "usage": tokensOf(0)}})
	s.add(fields{"type": "assistant", "isApiErrorMessage": true, "message": fields{"id": "y", "model": "claude-opus-4-6", "content": []fields{text("API Error: 529")}}})
	s.prompt("more")
	s.call("m2", 20_010, text("c"))
	got := sessionOf(t, s)
	want(t, "threads", shape(got), "main: m1 m2")
	if got.Quality.Synthetic != 2 {
		t.Errorf("%d synthetic lines, want 2", got.Quality.Synthetic)
	}
	want(t, "input", blocks(got, got.Threads[0].Rounds[1].Input), "prompt:1 unseen:8")
}

// Lines that only people see are not sent (001, isVisibleInTranscriptOnly).
func TestHiddenLines(t *testing.T) {
	s := newScript("S")
	s.prompt("go")
	s.call("m1", 20_000, text("a"))
	s.add(fields{"type": "user", "isVisibleInTranscriptOnly": true, "message": fields{"role": "user", "content": words(400)}})
	s.prompt("more")
	s.call("m2", 20_010, text("c"))
	got := sessionOf(t, s)
	want(t, "input", blocks(got, got.Threads[0].Rounds[1].Input), "prompt:1 unseen:8")
}

func TestAttachments(t *testing.T) {
	s := newScript("S")
	s.prompt("go")
	s.call("m1", 20_000, text("a"))
	s.add(fields{"type": "attachment", "attachment": fields{"type": "nested_memory", "path": "/m", "content": fields{"content": "not this"}}, "rendered": words(1000)})
	s.add(fields{"type": "attachment", "attachment": fields{"type": "hook_additional_context", "content": []string{words(500), words(500)}}})
	s.add(fields{"type": "attachment", "attachment": fields{"type": "hook_success", "content": words(1000)}})
	s.add(fields{"type": "attachment", "attachment": fields{"type": "queued_command", "prompt": words(1000)}})
	s.call("m2", 21_000, text("b"))
	got := sessionOf(t, s)
	want(t, "input", blocks(got, got.Threads[0].Rounds[1].Input), "attachment:310 attachment:310 prompt:310 unseen:69")
}

// A file that an attachment holds is the object of reads of it, by the path beside its text; one that it names alone is its object too, and was not read.
func TestAttachedFiles(t *testing.T) {
	attach := func(f fields) fields { return fields{"type": "attachment", "attachment": f} }
	s := newScript("S")
	s.prompt("go")
	s.call("m1", 20_000, readFile("t1", "/p/a.go"))
	s.result("t1", words(10))
	s.add(attach(fields{"type": "file", "filename": "a.go", "content": fields{"type": "text", "file": fields{"filePath": "/p/a.go", "content": words(10)}}}))
	s.add(attach(fields{"type": "compact_file_reference", "filename": "/p/a.go", "content": "named"}))
	s.call("m2", 21_000, text("b"))
	got := sessionOf(t, s)
	var held, named *prompt.Block
	in := got.Threads[0].Rounds[1].Input
	for i := in.From; i < in.To; i++ {
		if b := &got.Blocks[i]; b.Kind == prompt.KindAttachment {
			held, named = named, b
		}
	}
	if held == nil || held.Op != op.Read || got.Objects[held.Object] != "/p/a.go" || named.Op != op.None || named.Object != held.Object {
		t.Errorf("attachments %+v and %+v; want a read of /p/a.go, and its name", held, named)
	}
}

// What a client announces ahead of its first response (tools loaded later, kinds of agents,
// instructions of servers, output of SessionStart hooks) opens the conversation; with 0.31
// tokens a byte. Later ones stay in what no line shows.
func TestAnnouncements(t *testing.T) {
	attach := func(f fields) fields { return fields{"type": "attachment", "attachment": f} }
	hook := func(event string) fields {
		return attach(fields{"type": "hook_success", "hookEvent": event, "hookName": event, "content": words(100)})
	}
	announce := func(s *script) {
		s.add(attach(fields{"type": "deferred_tools_delta", "addedNames": []string{"A"}, "addedLines": []string{strings.Repeat("x", 99), strings.Repeat("y", 99)}}))
		s.add(attach(fields{"type": "agent_listing_delta", "addedTypes": []string{"A"}, "addedLines": []string{strings.Repeat("x", 999)}}))
		s.add(attach(fields{"type": "mcp_instructions_delta", "addedNames": []string{"A"}, "addedBlocks": []string{strings.Repeat("x", 299)}}))
	}
	s := newScript("S")
	s.prompt("go")
	s.add(hook("SessionStart"))
	s.add(hook("SessionStart"))
	s.add(hook("PreToolUse"))
	announce(s)
	s.call("m1", 20_000, text("a"))
	announce(s)
	s.prompt("more")
	s.call("m2", 20_100, text("b"))
	got := sessionOf(t, s)
	if want := (signs.Announced{62, 310, 93, 62}); got.Announced != want {
		t.Errorf("announced %v, want %v", got.Announced, want)
	}
	rounds := got.Threads[0].Rounds
	want(t, "opening", blocks(got, rounds[0].Input), "prompt:1 attachment:31 attachment:31 attachment:62 attachment:310 attachment:93")
	want(t, "later", blocks(got, rounds[1].Input), "prompt:1 unseen:98")
}

// Calls without a message id, or with one id for all, are told apart by their counts of input,
// which all lines of a response share. A missing id is a bad line.
func TestMessageIDs(t *testing.T) {
	for name, tt := range map[string]struct {
		id  any
		bad int
	}{"missing": {nil, 4}, "a number": {7, 4}, "one for all": {"REDACTED", 0}} {
		s := newScript("S")
		for i := range 2 {
			s.prompt("go")
			for k := range 2 { // two lines of a response
				message := fields{
					"role": "assistant", "model": "claude-opus-4-6", "content": []fields{text(fmt.Sprint("block ", i, k))},
					"usage": tokensOf(20_000 + 500*i), "stop_reason": "end_turn",
				}
				if tt.id != nil {
					message["id"] = tt.id
				}
				s.add(fields{"type": "assistant", "message": message})
			}
		}
		c := corpusOf(t, traces.Options{}, map[string][]byte{"s.jsonl": s.bytes()})
		got := c.Sessions[0]
		usage := got.Usage()
		if got.NumCalls() != 2 || usage.Input() != 40_500 || c.BadLines != tt.bad {
			t.Errorf("%s: %d calls with %d tokens, %d bad lines; want 2 with 40,500, %d", name, got.NumCalls(), usage.Input(), c.BadLines, tt.bad)
		}
	}
}

// A count that the client always writes and that is not there leaves its call uncounted.
func TestMissingCounts(t *testing.T) {
	for _, gone := range []string{"input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"} {
		usage := tokensOf(20_000)
		delete(usage, "cache_creation")
		delete(usage, gone)
		s := newScript("S")
		s.prompt("go")
		s.callUsage("m1", usage, text("a"))
		if got := sessionOf(t, s); got.Quality.Uncounted != 1 {
			t.Errorf("without %s %d calls are uncounted, want 1", gone, got.Quality.Uncounted)
		}
	}
}

// Terms of service are in the name of the model, as they change its price; searches of the web are counted.
func TestTermsOfService(t *testing.T) {
	s := newScript("S")
	for i, terms := range []fields{
		{"speed": "fast", "inference_geo": "us", "server_tool_use": fields{"web_search_requests": 3}},
		{"speed": "standard", "inference_geo": "not_available", "service_tier": "standard"},
		{"speed": nil, "inference_geo": "", "service_tier": "batch"},
	} {
		usage := tokensOf(20_000 + 100*i)
		for k, v := range terms {
			usage[k] = v
		}
		s.prompt("go")
		s.callUsage(fmt.Sprint("m", i), usage, text("a"), text("b"))
	}
	got := sessionOf(t, s)
	var names []string
	for _, r := range got.Threads[0].Rounds {
		names = append(names, strings.TrimPrefix(got.Models[r.Model], got.Models[1]))
	}
	if strings.Join(names, " ") != "[fast][us]  [batch]" || got.Quality.WebSearches != 3 {
		t.Errorf("terms %q, %d searches", names, got.Quality.WebSearches)
	}
}
