package codex_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/internal/codex"
	"github.com/compactsim/compactsim/traces/signs"
)

// good is a session of one call, three lines in front of the reply.
func good() *rollout {
	return new(rollout).begin("s1", "gpt-5.5").user("one").assistant("msg_1", "a").count(8000, 0, 20, 0)
}

// Every defect is withText with its place and counted, and the rest is read.
func TestBadLines(t *testing.T) {
	for _, tt := range []struct {
		name, line string
		bad        int
		want       string
	}{
		{"binary", "\x00\x01\x02", 1, "a.jsonl:6: "},
		{"truncated last line", `{"timestamp":"2026-06-01T10:00:09.000Z","type":"respon`, 1, "a.jsonl:6: last line is cut off: "},
		{"no record", `{"a":1}`, 1, "a.jsonl:6: line is no record of a rollout: it has no type"},
		{"wrong type of a member", `{"type":"response_item","payload":{"type":5}}`, 1, "a.jsonl:6: found '5' where a string is expected at byte 42"},
		{"no payload", `{"type":"response_item"}`, 1, "a.jsonl:6: text ends where an object is expected"},
		{"no context", `{"type":"turn_context"}`, 1, "a.jsonl:6: text ends where an object is expected"},
		{"no event", `{"type":"event_msg"}`, 1, "a.jsonl:6: text ends where an object is expected"},
		{"two types", `{"type":"world_state","payload":[],"type":"response_item"}`, 1, "a.jsonl:6: a second member of one name at byte 42"},
		{"two payloads", `{"type":"world_state","payload":{},"payload":5,"type":"response_item"}`, 1, "a.jsonl:6: a second member of one name at byte 45"},
		{"wrong payload", `{"type":"session_meta","payload":[]}`, 1, "a.jsonl:6: session_meta: "},
		{"wrong history", `{"type":"compacted","payload":{"replacement_history":5}}`, 1, "a.jsonl:6: compacted: "},
		{"deep nesting", `{"type":"x","payload":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`, 1, "a.jsonl:6: "},
		{"invalid UTF-8", "{\"type\":\"world_state\",\"payload\":\"\xff\"}", 1, "a.jsonl:6: line holds bytes that are not UTF-8"},
		{"number of an earlier line", `{"timestamp":"2026-06-01T10:00:09.000Z","ordinal":6,"type":"world_state","payload":[]}` + "\n" +
			`{"timestamp":"2026-06-01T10:00:09.000Z","ordinal":5,"type":"world_state","payload":[]}`, 1, "a.jsonl:7: the number of the line is not above"},
		{"unknown types", `{"type":"new_thing","payload":{}}`, 0, ""},
	} {
		text := good().text() + tt.line
		if tt.name != "truncated last line" {
			text += "\n"
		}
		c := read(t, map[string]string{"a.jsonl": text})
		s := c.Sessions[0]
		if c.BadLines != tt.bad || s.NumCalls() != 1 || s.Quality.BadLines != tt.bad {
			t.Errorf("%s: %d bad lines, %d calls", tt.name, c.BadLines, s.NumCalls())
		}
		if tt.want == "" {
			if c.Unknown["new_thing"] != 1 || c.NumProblems != 0 {
				t.Errorf("%s: unknown %v, problems %v", tt.name, c.Unknown, s.Problems)
			}
			continue
		}
		if len(s.Problems) != 1 || !strings.Contains(s.Problems[0].String(), tt.want) {
			t.Errorf("%s: problems %v, want %q", tt.name, s.Problems, tt.want)
		}
		dir := write(t, map[string]string{"a.jsonl": text})
		if _, err := readPaths(traces.Options{Strict: true}, dir); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: strict reading says %v, want %q", tt.name, err, tt.want)
		}
	}
}

// Items of unknown types are counted wherever they are, also in a new history.
func TestUnknownItems(t *testing.T) {
	r := good().item(`{"type":"hologram"}`).item(`{"type":"ghost_snapshot"}`)
	r.line("compacted", `{"message":"sum","replacement_history":[{"type":"hologram"},{"type":"riddle"},{"type":"ghost_snapshot"}]}`)
	r.user("two").assistant("msg_2", "b").count(9000, 0, 20, 0)
	c := read(t, map[string]string{"a.jsonl": r.text()})
	if n := c.Unknown; len(n) != 2 || n["response_item/hologram"] != 2 || n["response_item/riddle"] != 1 {
		t.Errorf("unknown %v", n)
	}
}

// Of rollouts of one id the later get ids that no other has.
func TestEqualIDs(t *testing.T) {
	files := map[string]string{}
	for i, id := range []string{"s", "s", "s-2"} {
		name := string(rune('a' + i))
		files[name+".jsonl"] = new(rollout).begin(id, "gpt-5.5").user("one").assistant("msg_"+name, "a").count(8000, 0, 20, 0).text()
	}
	seen := map[string]bool{}
	for _, s := range read(t, files).Sessions {
		seen[s.ID] = true
	}
	if len(seen) != 3 {
		t.Errorf("ids %v", seen)
	}
}

// Counts that cannot be are not believed: the call is sized by its text.
func TestBadCounts(t *testing.T) {
	for name, last := range map[string]string{
		"negative":                 `{"input_tokens":-1,"output_tokens":5}`,
		"absurd":                   `{"input_tokens":900000000000,"output_tokens":5}`,
		"more cached than sent":    `{"input_tokens":10,"cached_input_tokens":20,"output_tokens":5}`,
		"no input":                 `{"output_tokens":5}`,
		"more reasoning than said": `{"input_tokens":10,"output_tokens":5,"reasoning_output_tokens":6}`,
	} {
		r := good().user("two").assistant("msg_2", "b")
		s := readOne(t, r.sum(10, 0, 5).event(last))
		rd := s.Threads[0].Rounds
		if len(rd) != 2 || rd[1].Usage.Input() != 0 || rd[1].Flags&signs.OutputDerived == 0 {
			t.Errorf("%s: %d calls, the last with %+v", name, len(rd), rd[len(rd)-1].Usage)
		}
		if len(s.Problems) != 1 || !strings.Contains(s.Problems[0].Text, "no usable token counts") {
			t.Errorf("%s: problems %v", name, s.Problems)
		}
	}
}

func TestLongLine(t *testing.T) {
	dir := write(t, map[string]string{"a.jsonl": good().user(strings.Repeat("x", 5000)).text()})
	c, err := readPaths(traces.Options{MaxLine: 4096}, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if s := c.Sessions[0]; s.Quality.BadLines != 1 || !strings.Contains(s.Problems[0].String(), "a.jsonl:6: line is longer than 4096 bytes") {
		t.Errorf("problems %v", s.Problems)
	}
}

func TestNoCalls(t *testing.T) {
	for name, text := range map[string]string{
		"empty file": "", "no calls": new(rollout).begin("s1", "gpt-5.5").user("one").text(), "junk": "junk\n",
	} {
		c, err := readPaths(traces.Options{}, write(t, map[string]string{"a.jsonl": text}))
		if !errors.Is(err, traces.ErrNoSessions) || c == nil || c.NumProblems == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A file without session_meta is named after the file; a second file of the same
// session gets a name of its own, and its repeated calls count once.
func TestNames(t *testing.T) {
	loose := good()
	loose.lines = append(loose.lines[1:2:2], loose.user("x").assistant("msg_9", "y").count(9000, 0, 5, 0).lines[5:]...)
	again := good().user("two").assistant("msg_2", "b").count(8100, 7936, 5, 0)
	c := read(t, map[string]string{"a.jsonl": good().text(), "b.jsonl": again.text(), "rollout-7.jsonl": loose.text()})
	var ids []string
	for _, s := range c.Sessions {
		ids = append(ids, s.ID)
	}
	if got := strings.Join(ids, " "); got != "s1 s1-2 rollout-7" || c.Repeated != 1 {
		t.Errorf("sessions %s, %d repeated calls", got, c.Repeated)
	}
}

// Whatever the bytes, reading ends without a crash, and what it gives is sound.
func FuzzRead(f *testing.F) {
	f.Add([]byte(good().text()))
	f.Add([]byte(good().tool("fc_1", "c1", "ls").result("c1", "x").reason("rs").count(9000, 100, 50, 20).text()))
	f.Add([]byte(good().line("compacted", `{"message":"sum","replacement_history":[]}`).user("a").assistant("m", "b").count(6000, 0, 5, 0).text()))
	f.Fuzz(func(t *testing.T, text []byte) {
		inputs, err := traces.FindFS(fstest.MapFS{"a.jsonl": {Data: text}})
		if err != nil {
			t.Fatal(err)
		}
		c, err := codex.ReadInputs(context.Background(), traces.Options{MaxLine: 1 << 20, Workers: 1}, inputs, "fuzz")
		if err != nil && !errors.Is(err, traces.ErrNoSessions) {
			t.Fatal(err)
		}
		defer c.Close()
		for _, s := range c.Sessions {
			if err := s.Check(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A call with a count that cannot be read, in its own counts or in the totals, is a
// call of its own, and a line that repeats it is none.
func TestUncounted(t *testing.T) {
	for _, bad := range []string{`"12"`, `null`, `1.5`} {
		r := good().user("two").assistant("msg_2", "b")
		r.sum(9000, 0, 20).event(`{"input_tokens":9000,"cached_input_tokens":` + bad + `,"output_tokens":20,"total_tokens":9020}`)
		for id := range 2 {
			r.user("three").assistant(fmt.Sprint("msg_", 3+id), "c")
			for range 2 {
				r.line("event_msg", fmt.Sprintf(`{"type":"token_count","info":{"total_token_usage":{"input_tokens":%[1]s,"total_tokens":%[2]d},`+
					`"last_token_usage":{"input_tokens":%[1]s}}}`, bad, id))
			}
		}
		c := read(t, map[string]string{"a.jsonl": r.text()})
		s := c.Sessions[0]
		if c.BadLines != 0 || s.NumCalls() != 4 || s.Quality.Uncounted != 3 || s.Quality.Problems != 3 {
			t.Errorf("%s: %d calls, %d of them not counted, problems %v", bad, s.NumCalls(), s.Quality.Uncounted, s.Problems)
		}
	}
}

// Totals say what token counts that are missing had: here 8,300 tokens of input and 20 of output.
func TestLostCounts(t *testing.T) {
	r := good().user("two").assistant("msg_2", "b").count(8300, 7936, 20, 0)
	r.lines = r.lines[:len(r.lines)-1]
	r.user("three").assistant("msg_3", "c").count(8500, 7936, 20, 0).assistant("msg_4", "d").count(8800, 8192, 25, 0)
	s := readOne(t, r)
	if q := s.Quality; q.LostTokens != 8320 || q.Uncounted != 1 {
		t.Errorf("%d tokens lost at %d places, want 8,320 at 1; problems %v", q.LostTokens, q.Uncounted, s.Problems)
	}
}

// One id for all items, as in recordings that were sanitised, leaves calls that have their own counts.
func TestOneIDForAll(t *testing.T) {
	files := map[string]string{}
	for i := range 2 {
		r := new(rollout).begin(fmt.Sprint("s", i), "gpt-5.5").user("one").assistant("REDACTED", "a").count(8000+i, 0, 20, 0)
		r.user("two").assistant("REDACTED", "b").count(8300+i, 7936, 30, 0)
		files[fmt.Sprint(i, ".jsonl")] = r.text()
	}
	c := read(t, files)
	if len(c.Sessions) != 2 || c.Sessions[0].NumCalls() != 2 || c.Sessions[1].NumCalls() != 2 || c.Repeated != 0 {
		t.Errorf("%d sessions, %d repeated calls, want two of two calls each", len(c.Sessions), c.Repeated)
	}
}

// Two rollouts in one file are one session, and the file says so: its totals begin again.
func TestJoinedRollouts(t *testing.T) {
	one := func(id string, input int) string {
		return new(rollout).begin(id, "gpt-5.5").user("one").assistant("msg_"+id, "a").count(input, 0, 20, 0).text()
	}
	c := read(t, map[string]string{"a.jsonl": one("s1", 8000) + one("s2", 9000)})
	s := c.Sessions[0]
	usage := s.Usage()
	if len(c.Sessions) != 1 || usage.Input() != 17_000 || c.BadLines != 1 || s.Quality.Uncounted != 0 ||
		!strings.Contains(s.Problems[0].Text, "another session begins here") {
		t.Errorf("%d sessions, %d tokens, problems %v", len(c.Sessions), usage.Input(), s.Problems)
	}
}

// A turn that is over and whose last answer no token count followed has a call without counts, and a token count that lost its
// type or its counts is a bad line.
func TestLastCountLost(t *testing.T) {
	over := good().user("two").assistant("msg_2", "b")
	over.line("event_msg", `{"type":"task_complete"}`)
	s := readOne(t, over)
	if q := s.Quality; q.Uncounted != 1 || !strings.Contains(fmt.Sprint(s.Problems), "its last answer has no token counts") {
		t.Errorf("%d calls not counted, problems %v", q.Uncounted, s.Problems)
	}
	for _, line := range [][2]string{
		{"event_msg", `{}`}, {"event_msg", `null`}, {"event_msg", `{"type":"token_count"}`}, {"event_msg", `{"type":"REDACTED","info":{}}`}, {"event_msg", `{"type":"token_count","info":[]}`},
		{"REDACTED", `{"type":"token_count","info":{}}`},
	} {
		r := good().user("two").assistant("msg_2", "b")
		r.line(line[0], line[1])
		if s := readOne(t, r); s.Quality.BadLines != 1 || !strings.Contains(fmt.Sprint(s.Problems), "without counts that can be read") {
			t.Errorf("%v: %d bad lines, problems %v", line, s.Quality.BadLines, s.Problems)
		}
	}
	r := good()
	r.line("event_msg", `{"type":"token_count","info":null}`) // rate limits only
	if s := readOne(t, r); s.Quality.BadLines != 0 || s.Quality.Uncounted != 0 {
		t.Errorf("a token count without counts: problems %v", s.Problems)
	}
}

// Settings of a turn that did not begin are of another session, or the beginning is lost: strict reading ends there. In recordings all 652
// that name a turn name the one that an event began.
func TestSettingsOfAnotherTurn(t *testing.T) {
	turns := func(settings string) *rollout {
		r := new(rollout).begin("s", "gpt-5.5").line("event_msg", `{"type":"task_started","turn_id":"a"}`)
		r.line("turn_context", fmt.Sprintf(`{"turn_id":%q,"model":"gpt-5.4"}`, settings))
		return r.user("hi").assistant("m", "yes").count(20_000, 0, 10, 0)
	}
	for turn, bad := range map[string]int{"a": 0, "b": 1} {
		dir := write(t, map[string]string{"a.jsonl": turns(turn).text()})
		c, err := readPaths(traces.Options{}, dir)
		if err != nil || c.BadLines != bad || c.Sessions[0].NumCalls() != 1 {
			t.Fatalf("turn %s: %v, %d bad lines", turn, err, c.BadLines)
		}
		if _, err := readPaths(traces.Options{Strict: true}, dir); (err != nil) != (bad > 0) {
			t.Errorf("turn %s: strict reading says %v", turn, err)
		}
	}
}
