package codex_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// child begins the rollout of a session made an hour after its parent's, with what its description says of that.
func child(id, more string) *rollout {
	r := &rollout{second: 3600}
	return r.line("session_meta", fmt.Sprintf(`{"id":%q,"cwd":"/repo","cli_version":"0.142.0"%s}`, id, more))
}

// copy writes lines of a parent, all at the time of the child's description or with the times they had.
func (r *rollout) copy(parent *rollout, restamp bool) *rollout {
	for _, line := range parent.lines {
		if restamp {
			_, rest, _ := strings.Cut(line, ",")
			line = `{"timestamp":"2026-06-01T11:00:00.001Z",` + rest
		}
		r.lines = append(r.lines, line)
	}
	return r.sum(parent.input, parent.cached, parent.output)
}

// without leaves out the lines that contain a text.
func (r *rollout) without(text string) *rollout {
	left := *r
	left.lines = nil
	for _, line := range r.lines {
		if !strings.Contains(line, text) {
			left.lines = append(left.lines, line)
		}
	}
	return &left
}

const (
	forked   = `,"forked_from_id":"p"`
	spawned  = `,"source":{"subagent":{"thread_spawn":{"parent_thread_id":"p","depth":1}}}`
	noReply  = `"role":"assistant"`
	noTurn   = `"turn_context"`
	noParent = `"session_meta"`
)

// A child's copies of its parent's calls are the parent's, whatever names the parent, whether or not items have ids,
// with old and with new time stamps, with all items or without the replies, and whether or not the parent is at hand.
// Parent: two calls of 8,000 and 8,200 tokens. Child: one of 8,400 tokens, of which 8,192 were read.
func TestCopiesOfAParent(t *testing.T) {
	for _, id := range []string{"", "msg_1"} {
		parent := new(rollout).begin("p", "gpt-5.5").user("one").assistant(id, "a").count(8000, 0, 20, 0)
		parent.user("two").assistant(strings.Replace(id, "1", "2", 1), "b").count(8200, 7936, 30, 0)
		for name, copied := range map[string]*rollout{
			"whole": parent, "without replies": parent.without(noReply), "without turns": parent.without(noTurn), "without its description": parent.without(noParent),
		} {
			for by, more := range map[string]string{"fork": forked, "agent": spawned, "copied description": ""} {
				if more == "" && name == "without its description" {
					continue // nothing says that it is a child
				}
				for _, restamp := range []bool{true, false} {
					for _, here := range []bool{true, false} {
						c := child("c", more).copy(copied, restamp).wait(5)
						c.line("turn_context", `{"model":"gpt-5.5"}`).user("three").wait(8).assistant("", "c").count(8400, 8192, 40, 0)
						files := map[string]string{"c.jsonl": c.text()}
						calls, repeated, inherited := 1, 0, 2
						if here {
							files["p.jsonl"] = parent.text()
							calls, repeated, inherited = 3, 2, 0
						}
						got := read(t, files)
						n := 0
						for _, s := range got.Sessions {
							n += s.NumCalls()
						}
						last := got.Sessions[len(got.Sessions)-1]
						rounds := last.Threads[0].Rounds
						want := prompt.Usage{Uncached: 208, Read: 8192, Output: 40}
						if n != calls || got.Repeated != repeated || got.Inherited != inherited || rounds[len(rounds)-1].Usage != want ||
							last.Quality.Uncounted != 0 || !last.Threads[0].MidContext {
							t.Errorf("%s, ids %q, %s, new stamps %v, parent here %v: %d calls, %d repeated, %d inherited, %d uncounted %v",
								name, id, by, restamp, here, n, got.Repeated, got.Inherited, last.Quality.Uncounted, last.Problems)
						}
					}
				}
			}
		}
	}
}

// Children of one parent that use as much as each other, and say the same, are two.
func TestEqualChildren(t *testing.T) {
	parent := new(rollout).begin("p", "gpt-5.5").user("one").tool("", "c1", "ls").count(8000, 0, 20, 0)
	files := map[string]string{"p.jsonl": parent.text()}
	for _, id := range []string{"b", "c"} {
		r := child(id, forked).copy(parent, true).wait(5).line("turn_context", `{"model":"gpt-5.5"}`).result("c1", "x")
		files[id+".jsonl"] = r.assistant("", "done").count(8400, 7936, 40, 0).text()
	}
	if c := read(t, files); len(c.Sessions) != 3 || c.Sessions[1].NumCalls() != 1 || c.Sessions[2].NumCalls() != 1 || c.Repeated != 2 {
		t.Errorf("%d sessions, %d calls repeated, want 3 and 2", len(c.Sessions), c.Repeated)
	}
}

// A child of a child repeats the calls of both, and a parent that was resumed describes itself again amid its calls.
func TestGrandchild(t *testing.T) {
	parent := new(rollout).begin("p", "gpt-5.5").user("one").assistant("", "a").count(8000, 0, 20, 0)
	parent.line("session_meta", `{"id":"p"}`).user("two").assistant("", "b").count(8200, 7936, 30, 0)
	b := child("b", forked).copy(parent, true).wait(5).user("three").wait(8).assistant("", "c").count(8400, 8192, 40, 0)
	c := &rollout{second: 7200}
	c.line("session_meta", `{"id":"c","cwd":"/repo","forked_from_id":"b"}`).copy(b, false).wait(5).
		line("turn_context", `{"model":"gpt-5.5"}`).user("four").wait(8).assistant("", "d").count(8600, 8320, 50, 0)
	for files, want := range map[string][3]int{"pbc": {4, 5, 0}, "bc": {2, 1, 4}, "c": {1, 0, 3}, "pc": {3, 2, 1}} {
		list := map[string]string{}
		for name, r := range map[string]*rollout{"p": parent, "b": b, "c": c} {
			if strings.Contains(files, name) {
				list[name+".jsonl"] = r.text()
			}
		}
		got := read(t, list)
		n := 0
		for _, s := range got.Sessions {
			n += s.NumCalls()
		}
		if have := [3]int{n, got.Repeated, got.Inherited}; have != want || got.BadLines != 0 {
			t.Errorf("%s: %v calls, repeated, inherited, want %v; %d bad lines", files, have, want, got.BadLines)
		}
	}
}

// A turn whose id is older than the session is the parent's, however long copying it takes, and one that is younger is the
// session's, however fast the model.
func TestTurnsWithTimes(t *testing.T) {
	id := func(second int) string { // 2026-06-01 10:00:00 is 1780308000 s
		ms := fmt.Sprintf("%012x", int64(1780308000+second)*1000)
		return ms[:8] + "-" + ms[8:] + "-7000-8000-000000000001"
	}
	turn := func(second int) string { return fmt.Sprintf(`{"model":"gpt-5.5","turn_id":%q}`, id(second)) }
	r := &rollout{second: 3600}
	r.line("session_meta", fmt.Sprintf(`{"id":%q,"timestamp":"2026-06-01T11:00:00.000Z","cwd":"/repo","forked_from_id":"p"}`, id(3600)))
	r.line("turn_context", turn(1)).wait(30).user("one").wait(30).assistant("", "a").count(8000, 0, 20, 0)
	r.line("event_msg", fmt.Sprintf(`{"type":"task_started","turn_id":%q}`, id(3605))).line("turn_context", turn(3605)).user("two")
	stamp := r.second
	r.second -= 2 // within the pause
	r.assistant("", "b").count(8200, 7936, 30, 0)
	r.second = stamp
	c := read(t, map[string]string{"c.jsonl": r.text()})
	if s := c.Sessions[0]; s.NumCalls() != 1 || s.Threads[0].Rounds[0].Usage.Read != 7936 || c.Inherited != 1 {
		t.Errorf("%d calls, %d inherited, want 1 and 1", s.NumCalls(), c.Inherited)
	}
}

// What a parent compacted ahead of a fork is no compaction of the child; what it left is input of the child's first call.
func TestCopiedCompaction(t *testing.T) {
	parent := new(rollout).begin("p", "gpt-5.5").user("one").assistant("", "a").count(90_000, 0, 20, 0)
	parent.line("compacted", `{"message":"sum","replacement_history":[{"type":"message","role":"user","content":[{"type":"input_text","text":"one"}]}]}`)
	parent.user("two").assistant("", "b").count(8200, 7936, 30, 0)
	r := child("c", forked).copy(parent, true).wait(5).line("turn_context", `{"model":"gpt-5.5"}`).user("three").wait(8).assistant("", "c").count(8400, 8192, 40, 0)
	s := readOne(t, r)
	th := &s.Threads[0]
	if got := kinds(s, th.Rounds[0].Input); len(th.Events) != 0 || got != "prompt summary prompt text prompt unseen" {
		t.Errorf("events %+v, input %s", th.Events, got)
	}
	if parent := readOne(t, parent); len(parent.Threads[0].Events) != 1 {
		t.Errorf("events of the parent %+v", parent.Threads[0].Events)
	}
}

// used writes a token_usage_record.
func (r *rollout) used(id string, input, cached, output int) *rollout {
	return r.line("token_usage_record", fmt.Sprintf(`{"response_id":%q,"usage":{"input_tokens":%d,"cached_input_tokens":%d,`+
		`"cache_write_input_tokens":0,"output_tokens":%d,"reasoning_output_tokens":0,"total_tokens":%d}}`, id, input, cached, output, input+output))
}

// A record and a token count tell one call, in either order; a record alone tells one too; and the
// record of a summary belongs to the compaction, wherever its token count stands.
func TestRecords(t *testing.T) {
	for name, summary := range map[string]func(r *rollout){
		"remote": func(r *rollout) { r.used("resp_c", 90_000, 80_000, 2500).line("compacted", `{"message":"sum"}`) },
		"local": func(r *rollout) {
			r.used("resp_c", 90_000, 80_000, 2500).count(90_000, 80_000, 2500, 0).line("compacted", `{"message":"sum"}`)
		},
		"counted later": func(r *rollout) {
			r.used("resp_c", 90_000, 80_000, 2500).line("compacted", `{"message":"sum"}`).count(90_000, 80_000, 2500, 0)
		},
		"named, with its text": func(r *rollout) {
			r.assistant("msg_s", "sum").used("resp_c", 90_000, 80_000, 2500).line("event_msg", `{"type":"item_completed"}`).
				line("compacted", `{"message":"sum","compaction_response_id":"resp_c"}`)
		},
	} {
		for _, counts := range []string{"behind", "ahead", "none"} {
			r := new(rollout).begin("s1", "gpt-5.5")
			call := func(i, input, cached int) {
				r.user("go").tool(fmt.Sprint("fc_", i), fmt.Sprint("c", i), "ls")
				switch id := fmt.Sprint("resp_", i); counts {
				case "behind":
					r.used(id, input, cached, 30+i).result(fmt.Sprint("c", i), "x").count(input, cached, 30+i, 0)
				case "ahead":
					r.count(input, cached, 30+i, 0).used(id, input, cached, 30+i).result(fmt.Sprint("c", i), "x")
				default:
					r.used(id, input, cached, 30+i).result(fmt.Sprint("c", i), "x")
				}
			}
			call(1, 8000, 0)
			call(2, 8300, 7936)
			summary(r)
			call(3, 7000, 4096)
			s := readOne(t, r)
			usage := s.Usage()
			if s.NumCalls() != 3 || usage.Input() != 23_300 || len(s.Summaries) != 1 || s.Quality.Uncounted != 0 || s.Quality.LostTokens != 0 {
				t.Fatalf("%s, token counts %s: %d calls of %d tokens, %d summaries, problems %v", name, counts, s.NumCalls(), usage.Input(), len(s.Summaries), s.Problems)
			}
			if u := s.Summaries[0]; u.Usage != (prompt.Usage{Uncached: 10_000, Read: 80_000, Output: 2500}) || u.Model != "gpt-5.5" {
				t.Errorf("%s: summary %+v", name, u)
			}
			if ev := s.Threads[0].Events; len(ev) != 1 || ev[0].Kind != traces.EventCompact || ev[0].Round != 2 {
				t.Errorf("%s: events %+v", name, ev)
			}
			if s.Threads[0].Rounds[1].Input.Len() == 0 || s.Blocks[s.Threads[0].Rounds[1].Input.From].Kind != prompt.KindToolResult {
				t.Errorf("%s: the result is not input of the next call", name)
			}
			for i := range s.Threads[0].Rounds { // a summary is no input, though its call answered with the text
				for k := s.Threads[0].Rounds[i].Input.From; k < s.Threads[0].Rounds[i].Input.To; k++ {
					if s.Blocks[k].Kind == prompt.KindText {
						t.Errorf("%s: an answer is input of call %d", name, i)
					}
				}
			}
		}
	}
}

// A record of another thread is that thread's, and a turn that is over ends the call whose record was read.
func TestRecordOfAnother(t *testing.T) {
	r := new(rollout).begin("s1", "gpt-5.5").user("one").assistant("msg_1", "a").used("resp_1", 8000, 0, 20)
	r.line("token_usage_record", `{"response_id":"resp_x","thread_id":"s9","usage":{"input_tokens":5000,"cached_input_tokens":0,"output_tokens":10}}`)
	r.user("two").assistant("msg_2", "b").used("resp_2", 8200, 7936, 30).line("event_msg", `{"type":"task_complete"}`)
	s := readOne(t, r)
	if s.NumCalls() != 2 || s.Quality.Uncounted != 0 {
		t.Errorf("%d calls, %d uncounted, problems %v", s.NumCalls(), s.Quality.Uncounted, s.Problems)
	}
}

// Records under another id than the session's are the session's where a token count repeats one of them: ids were replaced. The record
// of the summary, which nothing repeats, is then not lost. How much of an output is reasoning need not stand in both.
func TestThreadUnderAnotherID(t *testing.T) {
	as := func(r *rollout, input, cached, output int) {
		r.line("token_usage_record", fmt.Sprintf(`{"thread_id":"s9","usage":{"input_tokens":%d,"cached_input_tokens":%d,"output_tokens":%d}}`, input, cached, output))
	}
	r := new(rollout).begin("s1", "gpt-5.5").user("one").assistant("msg_1", "a")
	as(r, 8000, 0, 20)
	r.count(8000, 0, 20, 5).user("two").assistant("msg_2", "b")
	as(r, 8200, 7936, 30)
	r.count(8200, 7936, 30, 9)
	as(r, 90_000, 80_000, 2500)
	s := readOne(t, r.line("compacted", `{"message":""}`).user("three").assistant("msg_3", "c").count(7000, 4096, 40, 0))
	if usage := s.Usage(); s.NumCalls() != 3 || usage.Input() != 8000+8200+7000 || len(s.Summaries) != 1 || s.Summaries[0].Usage.Read != 80_000 {
		t.Errorf("%d calls of %d tokens, summaries %+v, problems %v", s.NumCalls(), usage.Input(), s.Summaries, s.Problems)
	}
}

// A copy of a rollout that ends behind a compaction does not bill its summary again: of 90,000 tokens there is one call.
func TestCopyBehindCompaction(t *testing.T) {
	r := new(rollout).begin("s1", "gpt-5.5").user("one").assistant("msg_1", "a").used("resp_1", 8000, 0, 20).count(8000, 0, 20, 0)
	r.used("resp_c", 90_000, 80_000, 2500).line("compacted", `{"message":""}`)
	copied := r.text()
	r.user("two").assistant("msg_2", "b").used("resp_2", 7000, 4096, 30).count(7000, 4096, 30, 0)
	n := 0
	for _, s := range read(t, map[string]string{"a.jsonl": r.text(), "a (copy).jsonl": copied}).Sessions {
		n += len(s.Summaries)
	}
	if n != 1 {
		t.Errorf("%d summaries, want 1", n)
	}
}
