package pi

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/tools/tests/agenttest"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/signs"
)

// script writes a session of version 3, one second an entry.
type script struct {
	lines  []string
	second int
	parent string
}

func newScript() *script {
	s := &script{}
	s.lines = append(s.lines, `{"type":"session","version":3,"id":"p1","timestamp":"2026-06-01T10:00:00.000Z","cwd":"/repo"}`)
	return s
}

// add writes an entry below the last one.
func (s *script) add(typ, fields string) *script {
	s.second++
	id := fmt.Sprintf("e%d", len(s.lines))
	parent := "null"
	if s.parent != "" {
		parent = `"` + s.parent + `"`
	}
	s.lines = append(s.lines, fmt.Sprintf(`{"type":%q,"id":%q,"parentId":%s,"timestamp":"2026-06-01T10:00:%02d.000Z",%s}`, typ, id, parent, s.second, fields))
	s.parent = id
	return s
}

func (s *script) user(text string) *script {
	return s.add("message", fmt.Sprintf(`"message":{"role":"user","content":[{"type":"text","text":%q}]}`, text))
}

// answer writes what the model said in a request that began a second earlier.
func (s *script) answer(content string, input, read, write, output int) *script {
	begun := time.Date(2026, 6, 1, 10, 0, s.second, 0, time.UTC).UnixMilli()
	return s.add("message", fmt.Sprintf(`"message":{"role":"assistant","content":[%s],"model":"claude-opus-5","timestamp":%d,"stopReason":"stop",`+
		`"usage":{"input":%d,"cacheRead":%d,"cacheWrite":%d,"output":%d}}`, content, begun, input, read, write, output))
}

func (s *script) text() string { return strings.Join(s.lines, "\n") + "\n" }

func words(text string) string { return fmt.Sprintf(`{"type":"text","text":%q}`, text) }

func readOne(t *testing.T, text string) *traces.Session {
	t.Helper()
	c := agenttest.Read(t, Describe(), map[string]string{"a.jsonl": text})
	if len(c.Sessions) != 1 {
		t.Fatalf("%d sessions, problems %v", len(c.Sessions), c.Problems)
	}
	return c.Sessions[0]
}

func TestTurn(t *testing.T) {
	s := newScript().user("fix it").
		answer(`{"type":"thinking","thinking":"hm"},{"type":"toolCall","id":"t1","name":"read","arguments":{"path":"/a.go"}}`, 3, 5000, 3000, 60)
	s.add("message", `"message":{"role":"toolResult","toolCallId":"t1","isError":true,"content":[{"type":"text","text":"no such file"}]}`)
	s.answer(words("done"), 2, 8003, 90, 10)
	got := readOne(t, s.text())
	th := &got.Threads[0]
	if got.ID != "p1" || got.Agent != "pi" || got.Project != "/repo" || len(th.Rounds) != 2 || got.Models[0] != "claude-opus-5" {
		t.Fatalf("session %s of %s in %s with %d calls of %v", got.ID, got.Agent, got.Project, len(th.Rounds), got.Models)
	}
	a, b := &th.Rounds[0], &th.Rounds[1]
	if want := (prompt.Usage{Uncached: 3, Read: 5000, Write5m: 3000, Output: 60}); a.Usage != want {
		t.Errorf("usage %+v, want %+v", a.Usage, want)
	}
	for what, v := range map[string][2][]string{
		"prefix": {agenttest.Kinds(got, th.Prefix), {"tools", "system", "reminder"}}, "input": {agenttest.Kinds(got, a.Input), {"prompt"}},
		"reply": {agenttest.Kinds(got, a.Reply), {"thinking", "tool_use"}}, "next input": {agenttest.Kinds(got, b.Input), {"tool_result", "unseen"}},
	} {
		if !slices.Equal(v[0], v[1]) {
			t.Errorf("%s: %v, want %v", what, v[0], v[1])
		}
	}
	result := got.Blocks[b.Input.From]
	if result.Op != op.Read || got.Objects[result.Object] != "/a.go" || result.Flags&prompt.FlagError == 0 || result.Call == 0 {
		t.Errorf("result %+v does not belong to its call", result)
	}
	// The prompt at :01, the request of the answer at :01, its end at :02.
	if a.First != int64(time.Second) || a.Stream != int64(time.Second) || b.Trigger != traces.TriggerToolResult {
		t.Errorf("intervals %d %d, trigger %v", a.First, a.Stream, b.Trigger)
	}
}

// Going back to an entry leaves a branch, which was billed.
func TestBranch(t *testing.T) {
	s := newScript().user("one").answer(words("a"), 8000, 0, 0, 10)
	back := s.parent
	s.user("left").answer(words("b"), 20, 8000, 0, 10)
	s.parent = back
	s.user("taken").answer(words("c"), 30, 8000, 0, 10)
	got := readOne(t, s.text())
	if len(got.Threads) != 2 || len(got.Threads[0].Rounds) != 2 {
		t.Fatalf("%d threads", len(got.Threads))
	}
	b := got.Threads[1]
	if b.Kind != traces.ThreadBranch || b.Parent != 0 || b.ParentRound != 0 || b.Rounds[0].Usage.Uncached != 20 {
		t.Errorf("branch %+v", b)
	}
}

func TestCompaction(t *testing.T) {
	s := newScript().user("one").answer(words("a"), 3, 6000, 150_000, 10)
	s.add("compaction", `"summary":"what was done","firstKeptEntryId":"e2","tokensBefore":156013`)
	s.user("two").answer(words("b"), 3, 6000, 4000, 10)
	got := readOne(t, s.text())
	events := got.Threads[0].Events
	if len(events) != 1 || events[0].Kind != traces.EventCompact || events[0].Round != 1 || events[0].PreTokens != 156013 {
		t.Fatalf("events %+v", events)
	}
	// Ten thousand and three less the static prefix that the first call read and
	// the prompt.
	if kept := int64(events[0].Kept); kept != 4003-got.Tokens(got.Threads[0].Rounds[1].Input) {
		t.Errorf("kept %d tokens", kept)
	}
}

// A failed request is no call; a fork's copied calls are its parent's.
func TestFailedAndForked(t *testing.T) {
	s := newScript().user("one").answer(words("a"), 8000, 0, 0, 10)
	s.add("message", `"message":{"role":"assistant","content":[],"stopReason":"error","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0}}`)
	fork := strings.Replace(s.text(), `"p1"`, `"p2"`, 1)
	rest := (&script{lines: s.lines, second: 40, parent: s.parent}).user("two").answer(words("b"), 30, 8000, 0, 10)
	fork += strings.Join(rest.lines[len(s.lines):], "\n") + "\n"
	c := agenttest.Read(t, Describe(), map[string]string{"a.jsonl": s.text(), "b.jsonl": fork})
	if len(c.Sessions) != 2 || c.Repeated != 1 || c.Sessions[0].NumCalls() != 1 || c.Sessions[1].NumCalls() != 1 {
		t.Errorf("%d sessions, %d repeated calls", len(c.Sessions), c.Repeated)
	}
}

func TestBadLines(t *testing.T) {
	good := newScript().user("one").answer(words("a"), 8000, 0, 0, 10)
	for line, want := range map[string]string{
		`{"type":`:                       "a.jsonl:4: ",
		`{"a":1}`:                        "a.jsonl:4: not a line of a session: it has no type",
		`{"type":"message","message":5}`: "a.jsonl:4: ",
		"{\"type\":\"label\",\"label\":\"\xff\"}": "a.jsonl:4: line holds bytes that are not UTF-8",
	} {
		s := readOne(t, good.text()+line+"\n")
		if s.Quality.BadLines != 1 || len(s.Problems) != 1 || !strings.Contains(s.Problems[0].String(), want) {
			t.Errorf("%s: %d bad lines, %v", line, s.Quality.BadLines, s.Problems)
		}
	}
}

// Calls without counts are sized by what they show, and a context never exceeds
// what is believed, whatever the number of images.
func TestHugeContext(t *testing.T) {
	images := func(n int) string {
		return fmt.Sprintf(`"message":{"role":"user","content":[%s]}`,
			strings.Repeat(`{"type":"image"},`, n-1)+`{"type":"image"}`)
	}
	uncounted := `"message":{"role":"assistant","content":[{"type":"text","text":"a"}],"model":"claude-opus-5"}`
	for name, s := range map[string]*script{
		"one message":  newScript().add("message", images(100_000)).add("message", uncounted),
		"two messages": newScript().add("message", images(40_000)).add("message", uncounted).add("message", images(40_000)).add("message", uncounted),
		"behind a count": newScript().user("x").answer(words("a"), 90_000_000, 0, 0, 90_000_000).
			add("message", images(40_000)).add("message", uncounted),
		"behind a compaction": newScript().user("x").answer(words("a"), 50_000_000, 0, 0, 10).
			add("compaction", `"summary":"s"`).add("message", images(60_000)).add("message", uncounted),
	} {
		got := readOne(t, s.text())
		totals := contexts(got)
		cut := false
		for _, p := range got.Problems {
			cut = cut || strings.Contains(p.Text, "is cut to that")
		}
		if !cut || slices.Max(totals) > 100_000_000 {
			t.Errorf("%s: contexts of %v tokens, problems %v", name, totals, got.Problems)
		}
	}
}

// contexts replays the main thread of a session and returns the input of its calls.
func contexts(s *traces.Session) (list []int64) {
	th := &s.Threads[0]
	var static int64
	for i := th.Prefix.From; i < th.Prefix.To; i++ {
		if s.Blocks[i].Kind.Level() != prompt.LevelMessages {
			static += int64(s.Blocks[i].Tokens)
		}
	}
	total, next := s.Tokens(th.Prefix), 0
	for r := range th.Rounds {
		for ; next < len(th.Events) && int(th.Events[next].Round) <= r; next++ {
			if ev := &th.Events[next]; ev.Kind == traces.EventCompact {
				total = static + int64(ev.Kept)
			} else {
				total -= int64(ev.Saved)
			}
		}
		total += s.Tokens(th.Rounds[r].Input)
		list = append(list, total)
		total += s.Tokens(th.Rounds[r].Reply)
	}
	return list
}

// Sessions of one id get ids of their own that no other has.
func TestEqualIDs(t *testing.T) {
	files := map[string]string{}
	for i, id := range []string{"s", "s", "s-2"} {
		text := newScript().user("one").answer(words("a"), 8000+i, 0, 0, 10).text()
		text = strings.ReplaceAll(text, `"p1"`, `"`+id+`"`)
		files[fmt.Sprintf("%d.jsonl", i)] = strings.ReplaceAll(text, `"id":"e`, fmt.Sprintf(`"id":"%d-e`, i))
	}
	seen := map[string]bool{}
	for _, s := range agenttest.Read(t, Describe(), files).Sessions {
		seen[s.ID] = true
	}
	if len(seen) != 3 {
		t.Errorf("ids %v", seen)
	}
}

// Costs and times that cannot be are left out.
func TestAbsurdFigures(t *testing.T) {
	s := newScript().user("one").answer(words("a"), 8000, 0, 0, 10)
	for i := range 3 {
		s.add("message", `"message":{"role":"assistant","content":[],"timestamp":9223372036854775,"ttft":5,`+
			fmt.Sprintf(`"usage":{"input":%d,"output":1,"cacheRead":0,"cacheWrite":0,"cost":{"total":1e308}}}`, 8100+i*i*70))
	}
	got := readOne(t, s.text())
	if got.LoggedUSD != 0 || len(got.Problems) != 3 {
		t.Errorf("cost %v, problems %v", got.LoggedUSD, got.Problems)
	}
	for _, r := range got.Threads[0].Rounds {
		if r.Wait > int64(time.Minute) || r.Stream > int64(time.Minute) {
			t.Errorf("line %d waits %v and streams %v", r.Line, time.Duration(r.Wait), time.Duration(r.Stream))
		}
	}
}

// Content of unknown types is counted, and so is an entry whose parent is missing.
func TestUnknown(t *testing.T) {
	s := newScript().add("message", `"message":{"role":"user","content":[{"type":"hologram"},{"type":"text","text":"x"}]}`)
	s.answer(words("a")+`,{"type":"riddle"}`, 8000, 0, 0, 10)
	s.add("message", `"message":{"role":"toolResult","toolCallId":"t1","content":[{"type":"hologram"}]}`)
	s.parent = "gone"
	s.user("two").answer(words("b"), 30, 8000, 0, 10)
	c := agenttest.Read(t, Describe(), map[string]string{"a.jsonl": s.text()})
	if c.Unknown["message/hologram"] != 2 || c.Unknown["message/riddle"] != 1 {
		t.Errorf("unknown %v", c.Unknown)
	}
	if p := c.Sessions[0].Problems; len(p) != 2 || !strings.Contains(p[0].String(), `a.jsonl:5: parent "gone" is not in the file`) || c.BadLines != 1 ||
		!strings.Contains(p[1].String(), "a.jsonl:4: tool result without its call") {
		t.Errorf("problems %v", p)
	}
}

// What pi itself made of every call's tokens, at the prices it knew.
func TestRecorded(t *testing.T) {
	c := agenttest.Recordings(t, Describe(), "traces/pi", "traces-3/oh-my-pi")
	var unseen, input int64
	if usd := c.Sessions[0].LoggedUSD; math.Abs(usd-42.5959) > 1e-4 { // the sum of the file's own figures
		t.Errorf("logged cost %v", usd)
	}
	for _, s := range c.Sessions {
		unseen, input = unseen+s.Quality.UnseenTokens, input+s.Quality.InputTokens
		for i := range s.Threads {
			for _, r := range s.Threads[i].Rounds {
				if r.Flags&signs.NoTime != 0 || r.Stream <= 0 || r.Stream > int64(2*time.Hour) {
					t.Errorf("%s line %d: a call of %v", s.ID, r.Line, time.Duration(r.Stream))
				}
			}
		}
	}
	if share := float64(unseen) / float64(input); math.IsNaN(share) || share > 0.1 {
		t.Errorf("%.1f %% of tokens are unseen", 100*share)
	}
}

func FuzzRead(f *testing.F) {
	agenttest.Fuzz(f, Describe(), newScript().user("one").answer(words("a"), 8000, 0, 0, 10).
		add("compaction", `"summary":"s"`).user("two").answer(words("b"), 3, 6000, 4000, 10).text(),
		`{"type":"message","message":{"role":"user","content":"x"}}`+"\n"+`{"type":"session","cwd":"/"}`+"\n")
}

// A call with a count that cannot be read has no counts, and what it said is read; also
// one that was aborted, for which none would be no call.
func TestUncounted(t *testing.T) {
	for _, bad := range []string{`"input":null`, `"input":"12"`, `"input":-5`} {
		for _, reason := range []string{"stop", "aborted"} {
			s := newScript().user("one").answer(words("a"), 1, 5000, 10, 20).user("two").answer(words("b"), 77, 5011, 10, 20)
			text := strings.Replace(s.text(), `"input":77`, bad, 1)
			at := strings.LastIndex(text, `"stop"`)
			got := readOne(t, text[:at]+`"`+reason+`"`+text[at+len(`"stop"`):])
			if got.NumCalls() != 2 || got.Quality.Uncounted != 1 || got.Quality.BadLines != 0 || got.Threads[0].Rounds[1].Usage.Input() != 0 {
				t.Errorf("%s: %d calls, %d of them not counted, problems %v", bad, got.NumCalls(), got.Quality.Uncounted, got.Problems)
			}
		}
	}
}

// A message whose role or type was lost is a bad line if it has the counts of a call.
func TestRoleLost(t *testing.T) {
	for old, new := range map[string]string{`"role":"assistant"`: `"x":1`, `"role": "assistant"`: `"role":"REDACTED"`, `"type":"message"`: `"type":"REDACTED"`} {
		s := newScript().user("one").answer(words("a"), 1, 5000, 10, 20).user("two").answer(words("b"), 77, 5011, 10, 20)
		text := s.text()
		old = strings.ReplaceAll(old, " ", "")
		at := strings.LastIndex(text, old)
		if at < 0 {
			t.Fatalf("%s has no %s", text, old)
		}
		c := agenttest.Read(t, Describe(), map[string]string{"a.jsonl": text[:at] + new + text[at+len(old):]})
		if c.BadLines != 1 || c.Sessions[0].NumCalls() != 1 {
			t.Errorf("%s: %d bad lines, %d calls; problems %v", new, c.BadLines, c.Sessions[0].NumCalls(), c.Sessions[0].Problems)
		}
	}
}

// An entry that was written a second time is a bad line, and its call is billed once.
func TestEntryTwice(t *testing.T) {
	text := newScript().user("one").answer(words("a"), 1, 5000, 10, 20).text()
	lines := strings.SplitAfter(text, "\n")
	c := agenttest.Read(t, Describe(), map[string]string{"a.jsonl": text + lines[len(lines)-2]})
	if c.BadLines != 1 || c.Sessions[0].NumCalls() != 1 {
		t.Errorf("%d bad lines, %d calls; problems %v", c.BadLines, c.Sessions[0].NumCalls(), c.Sessions[0].Problems)
	}
}

// Oh-My-Pi writes pi's form, and lines that pi does not.
func TestOhMyPi(t *testing.T) {
	for fields, want := range map[string]string{
		`"provider":"anthropic","modelId":"claude-opus-5"`: "",
		`"model":"anthropic/claude-opus-5"`:                facts.VariantOhMyPi,
	} {
		got := readOne(t, newScript().add("model_change", fields).user("go").answer(words("done"), 3, 5000, 3000, 60).text())
		if got.Variant != want {
			t.Errorf("%s: variant %q, want %q", fields, got.Variant, want)
		}
		if shares := Describe().SummaryShares("", got.Variant); shares != (want != "") {
			t.Errorf("%s: the summary call shares the prefix: %v", fields, shares)
		}
	}
}
