package reqlog

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/tools/tests/agenttest"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/signs"
)

// chat is a program that talks to OpenAI's interface and logs its calls. Every message has 100 tokens.
type chat struct {
	lines []string
	at    int
}

type message map[string]string

func turn(role string, n int) message {
	return message{"role": role, "content": fmt.Sprint(role, " ", n, strings.Repeat(" word", 80))}
}

// talk returns the messages of a conversation up to a prompt: prompt 0, answer 0, …, prompt n.
func talk(n int) (list []message) {
	for i := range n {
		list = append(list, turn("user", i), turn("assistant", i))
	}
	return append(list, turn("user", n))
}

// call logs a call with a system prompt.
func (c *chat) call(system string, messages []message, answer string) {
	all := append([]message{{"role": "system", "content": system + strings.Repeat(" be brief", 400)}}, messages...)
	body, _ := json.Marshal(map[string]any{"model": "gpt-5.1", "messages": all})
	reply, _ := json.Marshal(map[string]any{
		"id": fmt.Sprint("r", c.at), "object": "chat.completion", "model": "gpt-5.1",
		"choices": []any{map[string]any{"index": 0, "finish_reason": "stop", "message": message{"role": "assistant", "content": answer}}},
		"usage":   map[string]any{"prompt_tokens": 1200 + 100*len(messages), "completion_tokens": 90 + c.at, "prompt_tokens_details": map[string]int{"cached_tokens": 1024}},
	})
	c.lines = append(c.lines, fmt.Sprintf(`{"start":%d,"end":%d,"request":%s,"response":%s}`, start+20*c.at, start+20*c.at+5, body, reply))
	c.at++
}

// answer logs the call behind prompt n, with some messages.
func (c *chat) answer(n int, messages []message) {
	c.call("main", messages, turn("assistant", n)["content"])
}

func (c *chat) read(t *testing.T) *traces.Session {
	t.Helper()
	return agenttest.Read(t, Describe(), map[string]string{"a.jsonl": strings.Join(c.lines, "\n") + "\n"}).Sessions[0]
}

// events returns the kinds of events and their rounds.
func events(s *traces.Session) string {
	var list []string
	for _, ev := range s.Threads[0].Events {
		text := fmt.Sprint(ev.Kind, "@", ev.Round)
		if ev.Uncalled {
			text += " uncalled"
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

// A program that drops its oldest messages has one conversation and makes no call for it: what went is cleared.
func TestDroppedMessages(t *testing.T) {
	var once, each, first, answer chat
	for n := range 8 {
		all := talk(n)
		from := 0
		if n >= 5 {
			from = 6
		}
		once.answer(n, all[from:])
		each.answer(n, all[max(0, len(all)-6):])
		newest := all
		if n == 5 {
			newest = all[9:]
		}
		if n < 6 {
			answer.answer(n, newest)
		}
		head, tail := all[:min(1, len(all))], all[max(1, len(all)-6):]
		if len(all) > 7 {
			all = append(head[:1:1], tail...)
		}
		first.answer(n, all)
	}
	for name, test := range map[string]struct {
		*chat
		want string
	}{
		"once":             {&once, "microcompact@5"},
		"but the answer":   {&answer, "microcompact@5"},
		"in each request":  {&each, "microcompact@3, microcompact@4, microcompact@5, microcompact@6, microcompact@7"},
		"behind the first": {&first, "microcompact@4, microcompact@5, microcompact@6, microcompact@7"},
	} {
		s := test.read(t)
		if got := events(s); len(s.Threads) != 1 || len(s.Threads[0].Rounds) != len(test.lines) || got != test.want || len(s.Summaries) != 0 {
			t.Errorf("%s: %d threads, events %s, want %s", name, len(s.Threads), got, test.want)
		}
		for _, ev := range s.Threads[0].Events {
			if len(ev.Cleared) == 0 || ev.Saved == 0 {
				t.Errorf("%s: event %+v cleared nothing", name, ev)
			}
		}
	}
}

// A program that writes what it drops into its system prompt has one conversation, too: the prompt of 906 tokens by bytes grows by
// 225 tokens, 900 bytes, where it drops four messages, and by as much where it drops none.
func TestSystemPromptGrows(t *testing.T) {
	var c chat
	for n := range 6 {
		all, notes := talk(n), 0
		if n >= 3 {
			all, notes = all[4:], 1
		}
		if n >= 5 {
			notes = 2
		}
		c.call(strings.Repeat(strings.Repeat("noted ", 150), notes)+"main", all, turn("assistant", n)["content"])
	}
	s := c.read(t)
	if got := events(s); len(s.Threads) != 1 || got != "microcompact@3" {
		t.Fatalf("%d threads, events %s", len(s.Threads), got)
	}
	main := s.Blocks[s.Threads[0].Prefix.From]
	for i, r := range s.Threads[0].Rounds {
		var head []int32
		for _, b := range s.Blocks[r.Input.From:r.Input.To] {
			if b.Kind == prompt.KindSystem {
				head = append(head, b.Bytes)
				if want := 900 * main.Tokens / main.Bytes; i == 3 && b.Tokens != want { // as heavy as what it is added to
					t.Errorf("call %d: %d tokens, want %d", i, b.Tokens, want)
				}
			}
		}
		grown := i == 3 || i == 5
		if got := len(head) == 1 && head[0] == 900; got != grown || (r.Verdict == signs.VerdictSystem) != grown {
			t.Errorf("call %d: the system prompt grows by %v bytes, %v", i, head, r.Verdict)
		}
	}
}

// OpenHands V0 sends its system prompt twice, and once from its first cut on. Here that takes 3,600 of 10,800 bytes: the head weighs a third
// less from there on, within 1 %, and what is cut is what the messages lack.
func TestSystemPromptShrinks(t *testing.T) {
	var c chat
	for n := range 6 {
		all, times := talk(n), 2
		if n >= 3 {
			all, times = all[4:], 1
		}
		c.call(strings.Repeat(strings.Repeat("noted ", 600), times), all, turn("assistant", n)["content"])
	}
	s := c.read(t)
	if got := events(s); len(s.Threads) != 1 || got != "microcompact@3" {
		t.Fatalf("%d threads, events %s", len(s.Threads), got)
	}
	head := int64(0)
	for _, b := range s.Blocks[s.Threads[0].Prefix.From:s.Threads[0].Prefix.To] {
		if b.Kind.Level() != prompt.LevelMessages {
			head += int64(b.Tokens)
		}
	}
	for i, r := range s.Threads[0].Rounds {
		want := int64(0)
		if i == 3 {
			want = -head / 3
		}
		if off := int64(r.Tools) - want; max(off, -off) > -want/100 {
			t.Errorf("call %d: the head of %d tokens is heavier by %d, want %d", i, head, r.Tools, want)
		}
	}
}

// A message in another form is an edit in its place.
func TestMessageInAnotherForm(t *testing.T) {
	var c chat
	short := message{"role": "user", "content": "[cut]"}
	for n := range 6 {
		all := talk(n)
		for i := 0; i < len(all)-5; i += 2 {
			all[i] = short
		}
		c.answer(n, all)
	}
	s := c.read(t)
	if got := events(s); len(s.Threads) != 1 || got != "microcompact@3, microcompact@4, microcompact@5" {
		t.Errorf("%d threads, events %s", len(s.Threads), got)
	}
}

// A compaction keeps its first message, or only the newest ones, and its summary is a user's or an assistant's message. The
// call that wrote it is billed as that, and is no conversation of its own: also where it sent the messages themselves
// and an instruction. Without such a call in the log none was
// made, and the summary is another form of what it stands for.
func TestSummariesInTheLog(t *testing.T) {
	summary := "the summary:" + strings.Repeat(" sum", 200)
	for _, role := range []string{"user", "assistant"} {
		for _, kept := range []int{0, 1} {
			for _, by := range []string{"nobody", "another prompt", "the conversation"} {
				var c chat
				for n := range 5 {
					c.answer(n, talk(n))
				}
				all := talk(5)
				switch by {
				case "another prompt":
					c.call("summarise", []message{{"role": "user", "content": fmt.Sprint(all)}}, summary)
				case "the conversation":
					c.call("main", append(talk(4), turn("assistant", 4), message{"role": "user", "content": "summarise"}), summary)
				}
				left := append(append([]message{}, all[:kept]...), message{"role": role, "content": "So far, " + summary})
				for n := 5; n < 8; n++ {
					c.answer(n, append(left[:len(left):len(left)], talk(n)[8:]...))
				}
				s := c.read(t)
				want, calls := "compact@5", 1
				if by == "nobody" {
					want, calls = "microcompact@5", 0
				}
				if got := events(s); len(s.Threads) != 1 || len(s.Threads[0].Rounds) != 8 || got != want || len(s.Summaries) != calls {
					t.Errorf("summary of role %s, %d kept, written by %s: %d threads, %d calls, events %s, %d summary calls; want %s and %d",
						role, kept, by, len(s.Threads), len(s.Threads[0].Rounds), got, len(s.Summaries), want, calls)
				}
				if len(s.Problems) > 0 && strings.Contains(fmt.Sprint(s.Problems), "tool result") {
					t.Errorf("problems %v", s.Problems)
				}
			}
		}
	}
}

// The log has the call that wrote a summary, under a system prompt of 3,639 bytes that another call beside the conversation has as well: both
// have one block for it. It is a part of what the call sent, by bytes, though most of that was read from a cache.
func TestHeadOfASummaryCall(t *testing.T) {
	var c chat
	for n := range 5 {
		if n == 3 {
			c.call("summarise", []message{{"role": "user", "content": "notes" + strings.Repeat(" note", 200)}}, "noted")
		}
		c.answer(n, talk(n))
	}
	summary := "the summary:" + strings.Repeat(" sum", 200)
	c.call("summarise", []message{{"role": "user", "content": strings.Repeat("all", 469)}}, summary)
	for n := 5; n < 8; n++ {
		c.answer(n, append([]message{{"role": "user", "content": "So far, " + summary}}, talk(n)[8:]...))
	}
	s := c.read(t)
	if len(s.Threads) != 2 || len(s.Threads[0].Events) != 1 {
		t.Fatalf("%d threads, events %s", len(s.Threads), events(s))
	}
	e, beside := s.Threads[0].Events[0], s.Threads[1].Prefix
	if e.Asked != 1300 || !e.Cached || e.CallHead.Len() != 1 || beside.Len() != 1 {
		t.Fatalf("%+v, another call begins with %v", e, beside)
	}
	head, other := s.Blocks[e.CallHead.From], s.Blocks[beside.From]
	if want := int32(1300 * 909 / (909 + 351)); head.Digest != other.Digest || head.Kind != prompt.KindSystem || head.Tokens != want {
		t.Errorf("%+v, and not %d tokens of %+v", head, want, other)
	}
}

// Calls for summaries are no conversation of their own, and none of each other: where each sends the oldest messages themselves (as Strands
// does) or the summary before (Semantic Kernel), and where nothing but the newest answer stays behind a reminder (Mastra).
func TestCallsForSummariesInARow(t *testing.T) {
	ask, reminder := message{"role": "user", "content": "summarise the conversation"}, message{"role": "user", "content": "go on"}
	for name, ahead := range map[string]func(c *chat, n int, all []message) []message{
		"the oldest messages": func(c *chat, n int, all []message) []message {
			summary := turn("user", 100+n)
			c.call("summarise", append(slices.Clone(all[:4]), ask), summary["content"])
			return append([]message{summary}, all[4:]...)
		},
		"the summary before": func(c *chat, n int, all []message) []message {
			summary := turn("assistant", 100+n)
			c.call("summarise", slices.Clone(all[:1]), summary["content"])
			return append([]message{summary}, all[1:]...)
		},
		"but the answer": func(c *chat, n int, all []message) []message {
			c.call("observe", []message{{"role": "user", "content": fmt.Sprint(all)}}, turn("assistant", 100+n)["content"])
			return append([]message{reminder}, all[len(all)-2:]...)
		},
	} {
		var c chat
		var sent []message
		for n := range 9 {
			if n > 0 {
				sent = append(sent[:len(sent):len(sent)], turn("assistant", n-1))
			}
			sent = append(sent, turn("user", n))
			if n >= 4 && n%2 == 0 {
				sent = ahead(&c, n, sent)
			}
			c.answer(n, sent)
		}
		s := c.read(t)
		if got := events(s); len(s.Threads) != 1 || len(s.Threads[0].Rounds) != 9 || got != "compact@4, compact@6, compact@8" || len(s.Summaries) != 3 {
			t.Errorf("%s: %d threads, %d calls, events %s, %d summary calls; want 1, 9, at 4, 6 and 8, and 3", name, len(s.Threads), len(s.Threads[0].Rounds), got, len(s.Summaries))
		}
	}
}

// A summary that takes two calls, each of a half of the messages (as CrewAI makes one), has both: no sub-agent is among them, and the sizes add
// up. A request of n messages has 1,200 + 100 n tokens.
func TestSummaryInPieces(t *testing.T) {
	var c chat
	piece := func(n int) string { return fmt.Sprint("part ", n, strings.Repeat(" sum", 400)) }
	for n := range 5 {
		c.answer(n, talk(n))
	}
	for i, half := range [][]message{talk(5)[:6], talk(5)[6:]} {
		c.call("summarise", []message{{"role": "user", "content": fmt.Sprint(half)}}, piece(i))
	}
	for n := 5; n < 8; n++ {
		c.answer(n, append([]message{{"role": "user", "content": piece(0) + " " + piece(1)}}, talk(n)[10:]...))
	}
	s := c.read(t)
	if got := events(s); len(s.Threads) != 1 || got != "compact@5" || len(s.Summaries) != 1 || s.Summaries[0].Calls != 2 || s.Summaries[0].Usage.Input() != 2*1300 {
		t.Errorf("%d threads, events %s, summaries %+v", len(s.Threads), got, s.Summaries)
	}
}

// Usage of a cache without a marker in the requests: a gateway sets them. Where all calls hold as much, it marks what precedes the messages.
// Answers of one length have one count of tokens: no contradiction.
func TestMarkedByGateway(t *testing.T) {
	for cached, want := range map[int]int8{0: 0, 900: 1} {
		var lines []string
		var talk []message
		for n := range 12 {
			talk = append(talk, turn("user", n))
			reply := turn("assistant", n)["content"]
			request, _ := json.Marshal(map[string]any{"model": "claude-sonnet-4-5", "max_tokens": 1000, "system": strings.Repeat("brief ", 600), "messages": talk})
			response, _ := json.Marshal(map[string]any{
				"id": fmt.Sprint("m", n), "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "stop_reason": "end_turn",
				"content": []any{map[string]string{"type": "text", "text": reply}},
				"usage": map[string]int{
					"input_tokens": 1000 + 200*n - min(n, 1)*cached, "cache_read_input_tokens": min(n, 1) * cached, "cache_creation_input_tokens": 0, "output_tokens": 90,
				},
			})
			lines = append(lines, fmt.Sprintf(`{"start":%d,"end":%d,"request":%s,"response":%s}`, 1790000000+20*n, 1790000005+20*n, request, response))
			talk = append(talk, turn("assistant", n))
		}
		s := agenttest.Read(t, Describe(), map[string]string{"a.jsonl": strings.Join(lines, "\n") + "\n"}).Sessions[0]
		if len(s.Placements) != 1 || s.Placements[0].N != want || s.Placements[0].Messages() != 0 || s.Quality.Uncounted != 0 || len(s.Problems) != int(want) {
			t.Errorf("%d read: breakpoints %v, want %d; %d calls in doubt: %v", cached, s.Placements, want, s.Quality.Uncounted, s.Problems)
		}
	}
}

// A program that sends its newest messages alone, all of one length, sends and writes as much at every call: no contradiction.
func TestSlidingWindow(t *testing.T) {
	var lines []string
	var talk []any
	for n := range 20 {
		talk = append(talk, map[string]any{"role": "user", "content": fmt.Sprintf("prompt %02d %s", n, strings.Repeat("y", 2000))})
		talk = talk[max(0, len(talk)-9):]
		request, _ := json.Marshal(map[string]any{"model": "claude-sonnet-4-5", "system": strings.Repeat("brief ", 600), "messages": talk})
		answer := fmt.Sprintf("answer %02d %s", n, strings.Repeat("x", 300+n))
		in := 900 + 500*(len(talk)+1)/2 + 80*(len(talk)/2)
		lines = append(lines, fmt.Sprintf(`{"start":%d,"end":%d,"request":%s,"response":{"id":"m%d","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":%q}],"usage":{"input_tokens":%d,"cache_read_input_tokens":0,"cache_creation_input_tokens":0,"output_tokens":%d}}}`,
			1790000000+20*n, 1790000005+20*n, request, n, answer, in, 80+n))
		talk = append(talk, map[string]any{"role": "assistant", "content": answer})
	}
	s := agenttest.Read(t, Describe(), map[string]string{"a.jsonl": strings.Join(lines, "\n") + "\n"}).Sessions[0]
	if len(s.Threads) != 1 || len(s.Threads[0].Rounds) != 20 || s.Quality.Uncounted != 0 || len(s.Problems) > 0 {
		t.Errorf("%d threads, %d calls in doubt, %v", len(s.Threads), s.Quality.Uncounted, s.Problems)
	}
}

// A program that has results of tools shortened in their places, the newest one too, cleared these and nothing else: a later request reads
// what the shortened messages before them wrote.
func TestShortenedInPlace(t *testing.T) {
	var lines []string
	talk := []any{map[string]any{"role": "user", "content": "prompt " + strings.Repeat("y", 8000)}}
	for n := range 9 {
		if n > 0 {
			talk = append(talk, map[string]any{"role": "assistant", "content": []any{map[string]any{"type": "tool_use", "id": fmt.Sprint("t", n-1), "name": "look", "input": map[string]int{"n": n - 1}}}},
				map[string]any{"role": "user", "content": []any{map[string]any{"type": "tool_result", "tool_use_id": fmt.Sprint("t", n-1), "content": fmt.Sprint("result ", n, strings.Repeat(" word", 900))}}})
		}
		sent := slices.Clone(talk)
		if n%3 == 0 && n > 0 { // all results are short
			for i := 2; i < len(talk)-1; i += 2 {
				talk[i] = map[string]any{"role": "user", "content": []any{map[string]any{"type": "tool_result", "tool_use_id": fmt.Sprint("t", i/2-1), "content": fmt.Sprint("short ", i, strings.Repeat(" word", 100))}}}
			}
			sent = slices.Clone(talk)
		}
		request, _ := json.Marshal(map[string]any{"model": "claude-sonnet-4-5", "system": strings.Repeat("brief ", 2000), "messages": sent})
		body, _ := json.Marshal(sent)
		lines = append(lines, fmt.Sprintf(`{"start":%d,"end":%d,"request":%s,"response":{"id":"m%d","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"tool_use","id":"t%d","name":"look","input":{"n":%d}}],"usage":{"input_tokens":%d,"cache_read_input_tokens":0,"cache_creation_input_tokens":0,"output_tokens":%d}}}`,
			1790000000+20*n, 1790000005+20*n, request, n, n, n, 3000+len(body)/4, 20+n))
	}
	s := agenttest.Read(t, Describe(), map[string]string{"a.jsonl": strings.Join(lines, "\n") + "\n"}).Sessions[0]
	if len(s.Threads) != 1 || len(s.Threads[0].Rounds) != 9 || len(s.Threads[0].Events) != 2 {
		t.Fatalf("%d threads, events %v", len(s.Threads), s.Threads[0].Events)
	}
	for i, e := range s.Threads[0].Events {
		if want := []int{2, 3}[i]; e.Kind != traces.EventMicrocompact || len(e.Cleared) != want || e.Gone {
			t.Errorf("event %d: %v of %d blocks, want %d cleared", i, e.Kind, len(e.Cleared), want)
		}
	}
}

// A program that forgets all at each prompt has no call that wrote a summary: an answer to a tool ends a turn, though it is as long as the
// next prompt.
func TestBeginsAnew(t *testing.T) {
	var lines []string
	for n := range 12 {
		round := n % 6
		sent := []any{map[string]any{"role": "user", "content": fmt.Sprint("prompt ", n/6, strings.Repeat(" y", 100))}}
		for i := range round {
			sent = append(sent, map[string]any{"role": "assistant", "content": []any{map[string]any{"type": "tool_use", "id": fmt.Sprint("t", n/6, i), "name": "look", "input": map[string]int{"n": i}}}},
				map[string]any{"role": "user", "content": []any{map[string]any{"type": "tool_result", "tool_use_id": fmt.Sprint("t", n/6, i), "content": fmt.Sprint("result ", n/6, i, strings.Repeat(" word", 900))}}})
		}
		answer := fmt.Sprintf(`{"type":"tool_use","id":"t%d%d","name":"look","input":{"n":%d}}`, n/6, round, round)
		if round == 5 {
			answer = fmt.Sprintf(`{"type":"text","text":"answer %s"}`, strings.Repeat(" y", 90))
		}
		request, _ := json.Marshal(map[string]any{"model": "claude-sonnet-4-5", "system": strings.Repeat("brief ", 2000), "messages": sent})
		lines = append(lines, fmt.Sprintf(`{"start":%d,"end":%d,"request":%s,"response":{"id":"m%d","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[%s],"usage":{"input_tokens":%d,"cache_read_input_tokens":0,"cache_creation_input_tokens":0,"output_tokens":%d}}}`,
			1790000000+20*n, 1790000005+20*n, request, n, answer, len(request)/4, 20+n))
	}
	s := agenttest.Read(t, Describe(), map[string]string{"a.jsonl": strings.Join(lines, "\n") + "\n"}).Sessions[0]
	if th := s.Threads[0]; len(s.Threads) != 1 || len(th.Rounds) != 12 || len(s.Summaries) != 0 || len(th.Events) != 1 || !th.Events[0].Uncalled {
		t.Errorf("%d threads, %d calls, %d summary calls, events %+v", len(s.Threads), len(th.Rounds), len(s.Summaries), th.Events)
	}
}
