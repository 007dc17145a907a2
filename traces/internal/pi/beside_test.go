package pi

import (
	"regexp"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// The counts of a compaction are of one call, or of two where it cuts a turn that messages precede (pi 1.6.0: the turn's
// beginning has a summary of its own). Writes for an hour are split from all other writes.
func TestCompactionUsage(t *testing.T) {
	const usage = `,"usage":{"input":700,"cacheRead":10,"cacheWrite":50,"cacheWrite1h":20,"output":90,"totalTokens":850}`
	for name, tc := range map[string]struct {
		kept  string
		calls int32
	}{
		"a turn is cut":          {"e7", 2},
		"ahead of a prompt":      {"e5", 1},
		"the first turn is cut":  {"e3", 1},
		"what stays is not told": {"", 1},
	} {
		s := newScript()
		s.add("message", `"message":{"role":"system","content":"","sections":{"tools":"<tools></tools>"}}`)
		s.user("one").answer(words("a"), 3, 0, 5000, 60).answer(words("b"), 3, 5000, 60, 60)
		s.user("two").answer(words("c"), 3, 5060, 90, 60).answer(words("d"), 3, 5150, 70, 60)
		s.add("compaction", `"summary":"S","tokensBefore":5300,"firstKeptEntryId":"`+tc.kept+`"`+usage)
		s.user("three").answer(words("e"), 3, 0, 4000, 9)
		got := readOne(t, s.text())
		if len(got.Summaries) != 1 || got.Summaries[0].Calls != tc.calls || got.Summaries[0].Model != "claude-opus-5" ||
			got.Summaries[0].Usage != (prompt.Usage{Uncached: 700, Read: 10, Write5m: 30, Write1h: 20, Output: 90}) {
			t.Errorf("%s: %+v, want %d calls", name, got.Summaries, tc.calls)
		}
		if got.NumCalls() != 5 || got.Blocks[got.Threads[0].Rounds[0].Input.From].Kind != prompt.KindPrompt {
			t.Errorf("%s: %d calls; the system prompt counts as what a person said", name, got.NumCalls())
		}
	}
}

// A version that splits writes by lifetime counts the calls of each compaction, unless an extension wrote the summary: where it does not,
// or where the counts do not add up to their sum, a call is in doubt.
func TestCompactionWithoutUsage(t *testing.T) {
	for name, tc := range map[string]struct {
		split  string
		fields string
		want   int
	}{
		"lost":              {`,"cacheWrite1h":0`, "", 1},
		"by an extension":   {`,"cacheWrite1h":0`, `,"fromHook":true`, 0},
		"earlier versions":  {"", "", 0},
		"a sum that is not": {"", `,"usage":{"input":700,"cacheRead":0,"cacheWrite":0,"output":40,"totalTokens":790}`, 1},
		"a sum that is":     {"", `,"usage":{"input":700,"cacheRead":0,"cacheWrite":0,"output":90,"totalTokens":790}`, 0},
	} {
		s := newScript().user("one").answer(words("a"), 3, 0, 5000, 60)
		s.add("compaction", `"summary":"S","tokensBefore":5300`+tc.fields)
		s.user("two").answer(words("b"), 3, 0, 4000, 9)
		got := readOne(t, strings.ReplaceAll(s.text(), `"cacheWrite":5000`, `"cacheWrite":5000`+tc.split))
		if got.Quality.Uncounted != tc.want || got.NumCalls() != 2 {
			t.Errorf("%s: %d calls in doubt of %d, want %d; problems %v", name, got.Quality.Uncounted, got.NumCalls(), tc.want, got.Problems)
		}
	}
}

// An answer stands below what was asked. One without a parent is a bad line and goes on with the line before.
func TestAnswerWithoutParent(t *testing.T) {
	text := newScript().user("one").answer(words("a"), 3, 0, 5000, 60).user("two").answer(words("b"), 3, 5000, 60, 9).text()
	lost := regexp.MustCompile(`"parentId":("[^"]*"|null)`).ReplaceAllString(text, `"parentId":null`)
	if s := readOne(t, lost); s.Quality.BadLines != 2 || s.NumCalls() != 2 {
		t.Errorf("%d bad lines, %d calls, problems %v", s.Quality.BadLines, s.NumCalls(), s.Problems)
	}
	if s := readOne(t, text); s.Quality.BadLines != 0 {
		t.Errorf("whole: problems %v", s.Problems)
	}
}

// A summary call of which the log says that it neither read nor wrote a cache is replayed as logged, 700 tokens in and 90 out;
// one that read is built anew on what it would have read.
func TestColdSummaryIsReplayedAsLogged(t *testing.T) {
	for usage, want := range map[string][2]int32{
		`{"input":700,"cacheRead":0,"cacheWrite":0,"output":90}`:  {700, 90},
		`{"input":700,"cacheRead":10,"cacheWrite":0,"output":90}`: {},
		`{"input":700,"cacheRead":0,"cacheWrite":50,"output":90}`: {},
	} {
		s := newScript().user("one").answer(words("a"), 3, 0, 5000, 60)
		s.add("compaction", `"summary":"S","tokensBefore":5300,"usage":`+usage)
		s.user("two").answer(words("b"), 3, 0, 4000, 9)
		if e := readOne(t, s.text()).Threads[0].Events; len(e) == 0 || [2]int32{e[0].Asked, e[0].Told} != want {
			t.Errorf("%s: %+v, want %v", usage, e, want)
		}
	}
}

// A failed answer that is taken out stays in the bill and is not sent again; calls that keep the cache warm, or that sum up
// a branch, are calls of their own.
func TestEditsAndCallsBeside(t *testing.T) {
	s := newScript().user("one").answer(words("a long answer that broke off"), 3, 0, 5000, 60)
	s.add("context_edit", `"targetId":"e2","replacement":null`)
	s.add("usage", `"kind":"cache_warm","model":"claude-opus-5","usage":{"input":1,"cacheRead":5000,"cacheWrite":0,"output":1}`)
	s.add("branch_summary", `"summary":"of a branch","usage":{"input":300,"cacheRead":0,"cacheWrite":0,"output":20}`)
	s.answer(words("b"), 3, 5000, 20, 60)
	got := readOne(t, s.text())
	main := &got.Threads[0]
	if n := main.Rounds[0].Reply.Len(); n != 0 || main.Rounds[0].Usage.Output != 60 || len(main.Rounds) != 2 || len(main.Events) != 0 {
		t.Errorf("the first answer has %d blocks and %d tokens, %d calls, events %+v", n, main.Rounds[0].Usage.Output, len(main.Rounds), main.Events)
	}
	if u := got.Usage(); got.NumCalls() != 4 || u != (prompt.Usage{Uncached: 307, Read: 10_000, Write5m: 5020, Output: 141}) {
		t.Errorf("%d calls of %+v", got.NumCalls(), u)
	}
	for _, th := range got.Threads[1:] {
		if th.Kind != traces.ThreadAgent {
			t.Errorf("a call beside the conversation is a thread of kind %s", th.Kind)
		}
	}
}
