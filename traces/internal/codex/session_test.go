package codex_test

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/signs"
)

// kinds lists the blocks of a span as "kind:tokens".
func kinds(s *traces.Session, p traces.Span) string {
	var b strings.Builder
	for i := p.From; i < p.To; i++ {
		bl := &s.Blocks[i]
		if i > p.From {
			b.WriteByte(' ')
		}
		b.WriteString(bl.Kind.String())
	}
	return b.String()
}

// A turn of two calls. The input counts of the API include what was cached, a
// repeated token count is no call, and the results of a call belong to the
// next, whatever stands first in the file.
func TestTurn(t *testing.T) {
	r := new(rollout).begin("s1", "gpt-5.5").user("# AGENTS.md instructions for /repo").user("fix it").
		reason("rs_1").tool("fc_1", "c1", "ls").result("c1", "Process exited with code 1\nnone").count(8000, 5376, 100, 60)
	r.event(`{"input_tokens":8000}`) // totals repeat the call before
	r.wait(3).assistant("msg_2", "done").count(8150, 7936, 20, 0)
	s := readOne(t, r)
	th := &s.Threads[0]
	if s.ID != "s1" || s.Agent != "codex" || s.Project != "/repo" || s.Version() != "0.142.0" || len(th.Rounds) != 2 {
		t.Fatalf("session %s of %s %s in %s with %d calls", s.ID, s.Agent, s.Version(), s.Project, len(th.Rounds))
	}
	a, b := &th.Rounds[0], &th.Rounds[1]
	if want := (prompt.Usage{Uncached: 2624, Read: 5376, Output: 100}); a.Usage != want {
		t.Errorf("usage %+v, want %+v", a.Usage, want)
	}
	if a.ID != "rs_1" || b.ID != "msg_2" {
		t.Errorf("calls %s and %s, want the ids of their first items", a.ID, b.ID)
	}
	for got, want := range map[string]string{
		kinds(s, th.Prefix): "tools", kinds(s, a.Input): "attachment prompt unseen", kinds(s, a.Reply): "thinking tool_use",
		kinds(s, b.Input): "tool_result unseen", kinds(s, b.Reply): "text",
	} {
		if got != want {
			t.Errorf("blocks %s, want %s", got, want)
		}
	}
	if th, use := s.Blocks[a.Reply.From].Tokens, s.Blocks[a.Reply.From+1].Tokens; th != 60 || use != 40 {
		t.Errorf("reasoning of %d and a call of %d tokens, the usage says 60 and 40", th, use)
	}
	result := s.Blocks[b.Input.From]
	if result.Call != s.Blocks[a.Reply.From+1].Call || result.Call == 0 || result.Op != op.Exec || result.Flags&prompt.FlagError == 0 {
		t.Errorf("result %+v does not belong to its call or did not fail", result)
	}
	if a.Trigger != traces.TriggerPrompt || b.Trigger != traces.TriggerToolResult {
		t.Errorf("calls answer %v and %v", a.Trigger, b.Trigger)
	}
	// Lines: meta 0 s, context 1, messages 2 and 3, reasoning 4, call 5, result 6,
	// counts 7 and 8, three seconds, answer 12.
	if a.Wait != int64(3*time.Second) || a.First != int64(time.Second) || a.Stream != int64(2*time.Second) || b.Wait != int64(time.Second) || b.First != int64(6*time.Second) {
		t.Errorf("intervals %d %d %d, %d %d", a.Wait, a.First, a.Stream, b.Wait, b.First)
	}
}

// Models through gpt-5.5 leave reasoning out at the next prompt: the recorded
// total falls by just that, and the event names the blocks.
func TestForget(t *testing.T) {
	r := new(rollout).begin("s1", "gpt-5.5").user("one").reason("rs_1").assistant("msg_1", "yes").count(8000, 0, 600, 500)
	r.user("two").assistant("msg_2", "no").count(8000+100+10, 7936, 5, 0)
	s := readOne(t, r)
	events := s.Threads[0].Events
	if len(events) != 1 || events[0].Kind != traces.EventForget || events[0].Saved != 500 || events[0].Round != 1 {
		t.Fatalf("events %+v, want 500 tokens forgotten at round 1", events)
	}
	if c := events[0].Cleared; len(c) != 1 || s.Blocks[c[0]].Kind != prompt.KindThinking || s.Blocks[c[0]].Tokens != 500 {
		t.Errorf("cleared %v", c)
	}
	// gpt-5.6 keeps it: 8,000 + 600 + the prompt.
	r = new(rollout).begin("s2", "gpt-5.6-sol").user("one").reason("rs_1").assistant("msg_1", "yes").count(8000, 0, 600, 500)
	r.user("two").assistant("msg_2", "no").count(8610, 7936, 5, 0)
	if events := readOne(t, r).Threads[0].Events; len(events) != 0 {
		t.Errorf("events %+v, want none", events)
	}
}

// What a prompt has kept is not forgotten by a later one: of three turns with 500 tokens of reasoning each, whose second prompt
// lacks nothing and whose third lacks 500, the third forgets the reasoning of the second turn alone.
func TestForgetTheLastTurn(t *testing.T) {
	r := new(rollout).begin("s1", "gpt-5.5").user("one").reason("rs_1").assistant("msg_1", "yes").count(8000, 0, 600, 500)
	r.user("two").reason("rs_2").assistant("msg_2", "no").count(8000+600+10, 7936, 600, 500)
	r.user("three").assistant("msg_3", "no").count(8610+100+10, 8448, 5, 0)
	s := readOne(t, r)
	events := s.Threads[0].Events
	if len(events) != 1 || events[0].Kind != traces.EventForget || events[0].Round != 2 {
		t.Fatalf("events %+v, want one at round 2", events)
	}
	if c := events[0].Cleared; len(c) != 1 || c[0] != s.Threads[0].Rounds[1].Reply.From {
		t.Errorf("cleared %v, want the reasoning of the second turn, %d", c, s.Threads[0].Rounds[1].Reply.From)
	}
}

// What searches found stays with the provider while the client goes on from its last response. Where a call sends the conversation
// anew amid a turn, it is gone, whatever the strategy: the second call's 9,000 tokens have 2,900 that the provider found, less a
// result, the third keeps them, and the fourth has 2,000 less than the third and its reply.
func TestSearchIsLostLater(t *testing.T) {
	r := new(rollout).begin("s1", "gpt-5.5").user("one").tool("fc_1", "c1", "ls").count(6000, 0, 100, 0)
	r.result("c1", "a file").item(`{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"q"}}`)
	r.tool("fc_2", "c2", "ls").count(9000, 5888, 100, 0)
	r.result("c2", "a file").tool("fc_3", "c3", "ls").count(9200, 8960, 100, 0)
	r.result("c3", "a file").assistant("msg_1", "done").count(7300, 4992, 10, 0)
	s := readOne(t, r)
	th := &s.Threads[0]
	if len(th.Events) != 1 || th.Events[0].Kind != traces.EventForget || th.Events[0].Round != 3 || len(th.Events[0].Cleared) != 1 {
		t.Fatalf("events %+v, want what the provider forgot at the last round", th.Events)
	}
	ev := th.Events[0]
	found, result := s.Blocks[ev.Cleared[0]], s.Blocks[th.Rounds[3].Input.From]
	if last := th.Rounds[1].Input.To - 1; ev.Cleared[0] != last || found.Kind != prompt.KindUnseen {
		t.Errorf("block %d of kind %v left the context, want the last of the input that searched, %d", ev.Cleared[0], found.Kind, last)
	}
	if found.Tokens != ev.Saved || ev.Saved != 2000+result.Tokens || result.Tokens == 0 {
		t.Errorf("%d tokens left, %d of them found, want 2,000 and the result's %d", ev.Saved, found.Tokens, result.Tokens)
	}
}

// A call that searched the web counts what the provider found as its input, and the
// next one does not hold it: of 9,000 tokens the next call's total of 8,500, with 100
// of output and a result between them, lacks more than 600.
func TestSearchLeavesTheContext(t *testing.T) {
	r := new(rollout).begin("s1", "gpt-5.4").user("one").tool("fc_1", "c1", "ls").count(6000, 0, 100, 0)
	r.result("c1", "a file").item(`{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"q"}}`)
	r.tool("fc_2", "c2", "ls").count(9000, 5888, 100, 0)
	r.result("c2", "a file").assistant("msg_1", "done").count(8500, 8320, 10, 0)
	s := readOne(t, r)
	th := &s.Threads[0]
	if len(th.Events) != 1 || th.Events[0].Kind != traces.EventForget || th.Events[0].Round != 2 || len(th.Events[0].Cleared) != 1 {
		t.Fatalf("events %+v", th.Events)
	}
	ev := th.Events[0]
	found, result := s.Blocks[ev.Cleared[0]], s.Blocks[th.Rounds[2].Input.From]
	if last := th.Rounds[1].Input.To - 1; ev.Cleared[0] != last || found.Kind != prompt.KindUnseen {
		t.Errorf("block %d of kind %v left the context, want the last of the input that searched, %d", ev.Cleared[0], found.Kind, last)
	}
	if found.Tokens != ev.Saved || ev.Saved != 600+result.Tokens || result.Tokens == 0 {
		t.Errorf("%d of %d tokens left beside a result of %d", ev.Saved, found.Tokens, result.Tokens)
	}
}

// What no log shows leaves ahead of a result: of 25,025 tokens behind the first call the result has
// its 20,000 × 0.25 + 25, and what was found is of the rest.
func TestSearchLeavesResultsAlone(t *testing.T) {
	r := new(rollout).begin("s1", "gpt-5.4").user("one").tool("fc_1", "c1", "ls").count(6000, 0, 100, 0)
	r.result("c1", strings.Repeat("x", 20_000)).item(`{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"q"}}`)
	r.tool("fc_2", "c2", "ls").count(31_125, 5888, 100, 0)
	r.result("c2", "a file").assistant("msg_1", "done").count(15_000, 8320, 10, 0)
	s := readOne(t, r)
	th := &s.Threads[0]
	if result := s.Blocks[th.Rounds[1].Input.From]; result.Kind != prompt.KindToolResult || result.Tokens != 5025 {
		t.Errorf("%v of %d tokens, want a result of 5,025", result.Kind, result.Tokens)
	}
	if last := s.Blocks[th.Rounds[1].Input.To-1]; len(th.Events) != 1 || last.Tokens != th.Events[0].Saved || last.Tokens < 16_000 {
		t.Errorf("%d tokens at the end, events %+v", last.Tokens, th.Events)
	}
}

// After a compaction the context is the static prefix, what was kept and what
// is new. The prefix is 5,300 tokens of tools here (no instructions), so of
// 9,000 tokens 3,700 were kept, less nothing new.
func TestCompaction(t *testing.T) {
	r := new(rollout).begin("s1", "gpt-5.5").user("one").tool("fc_1", "c1", "ls").result("c1", "out").count(200_000, 0, 50, 0)
	r.wait(30).line("compacted", `{"message":"","replacement_history":[`+
		`{"type":"message","role":"user","content":[{"type":"input_text","text":"one"}]},{"type":"compaction","id":"cmp_1","encrypted_content":"REDACTED"}]}`)
	r.assistant("msg_2", "on").count(9000, 4992, 10, 0)
	s := readOne(t, r)
	events := s.Threads[0].Events
	if len(events) != 1 || events[0].Kind != traces.EventCompact {
		t.Fatalf("events %+v, want a compaction", events)
	}
	ev := events[0]
	if ev.Round != 1 || ev.Absorbed != 1 || ev.Kept != 3700 || ev.Summary.Len() != 1 {
		t.Errorf("compaction %+v", ev)
	}
	if sum := s.Tokens(ev.Summary); sum <= 3600 || sum > 3700 {
		t.Errorf("summary of %d tokens, want what the kept prompt leaves of 3,700", sum)
	}
	if ev.Wait < int64(30*time.Second) || ev.Wait > int64(32*time.Second) {
		t.Errorf("the compaction took %v, want about 31 s", time.Duration(ev.Wait))
	}
	if got := s.Threads[0].Rounds[1].Wait; got > int64(time.Second) {
		t.Errorf("the wait for the compaction is counted twice: %v", time.Duration(got))
	}
}

// A fork begins with its parent's history: its calls are the parent's and count
// once; their text is input of the first call of its own.
func TestFork(t *testing.T) {
	parent := new(rollout).begin("s1", "gpt-5.5").user("one").assistant("msg_1", "a").count(8000, 0, 20, 0)
	fork := new(rollout).begin("s2", "gpt-5.5")
	fork.wait(60).user("one").assistant("msg_1", "a").count(8000, 0, 20, 0).user("two").assistant("msg_2", "b").count(8100, 7936, 5, 0)
	c := read(t, map[string]string{"b.jsonl": fork.text(), "a.jsonl": parent.text()})
	if len(c.Sessions) != 2 || c.Repeated != 1 {
		t.Fatalf("%d sessions, %d repeated calls, want 2 and 1", len(c.Sessions), c.Repeated)
	}
	s := c.Sessions[1]
	th := &s.Threads[0]
	if s.ID != "s2" || !th.MidContext || len(th.Rounds) != 1 || s.Quality.Repeated != 1 {
		t.Errorf("session %s with %d calls, mid-context %v", s.ID, len(th.Rounds), th.MidContext)
	}
	if got := kinds(s, th.Rounds[0].Input); got != "prompt text prompt unseen" {
		t.Errorf("input %s, want the parent's text in front", got)
	}
}

// A turn that was interrupted has no token count: its text is input of the next
// call. What stands behind the last call is withText.
func TestInterrupted(t *testing.T) {
	r := new(rollout).begin("s1", "gpt-5.5").user("one").reason("rs_1").assistant("msg_1", "half").
		user("stop, two").assistant("msg_2", "b").count(8000, 0, 20, 0).user("three")
	s := readOne(t, r)
	rd := s.Threads[0].Rounds
	if len(rd) != 1 || rd[0].ID != "msg_2" || kinds(s, rd[0].Input) != "prompt thinking text prompt unseen" {
		t.Fatalf("%d calls; input %s", len(rd), kinds(s, rd[0].Input))
	}
	if len(s.Problems) != 1 || !strings.HasSuffix(s.Problems[0].String(), "a.jsonl:9: 1 block after the last counted call belongs to no call") {
		t.Errorf("problems %v", s.Problems)
	}
}

// Neither the order of paths nor the number of workers shows.
func TestOrderDoesNotShow(t *testing.T) {
	files := map[string]string{
		"a.jsonl": good().text(), "b.jsonl": new(rollout).wait(5).begin("s2", "gpt-5.5").user("x").assistant("msg_7", "y").count(7000, 0, 9, 0).text(),
		"c.jsonl": good().user("two").assistant("msg_2", "b").count(8100, 7936, 5, 0).text(),
	}
	dir := write(t, files)
	var first []*traces.Session
	for _, names := range [][]string{{"a.jsonl", "b.jsonl", "c.jsonl"}, {"c.jsonl", "a.jsonl", "b.jsonl"}} {
		var paths []string
		for _, n := range names {
			paths = append(paths, filepath.Join(dir, n))
		}
		for _, workers := range []int{1, 3} {
			c, err := readPaths(traces.Options{Workers: workers}, paths...)
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = c.Sessions
			}
			if !reflect.DeepEqual(first, c.Sessions) {
				t.Errorf("%v with %d workers gives other sessions", names, workers)
			}
		}
	}
}

// A turn with another effort than the turn before, and a session that goes on in another process, stand ahead of the next call.
func TestSignsOfRollouts(t *testing.T) {
	r := new(rollout).begin("s1", "gpt-5.5")
	for i, lines := range [][2]string{
		{"turn_context", `{"model":"gpt-5.5","effort":"high"}`}, {"turn_context", `{"model":"gpt-5.5","effort":"low"}`},
		{"session_meta", `{"id":"s1","cwd":"/repo","cli_version":"0.142.0"}`}, {"turn_context", `{"model":"gpt-5.5","effort":"low"}`},
	} {
		r.line(lines[0], lines[1]).user("go").assistant(fmt.Sprintf("m%d", i), "done").count(8000+100*i, 0, 30, 0)
	}
	for i, want := range []signs.Set{0, signs.Effort, signs.Resume, 0} {
		if got := readOne(t, r).Threads[0].Rounds[i].Signs; got != want {
			t.Errorf("call %d: signs %020b, want %020b", i+1, got, want)
		}
	}
}
