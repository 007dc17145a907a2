package gemini

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/tools/tests/agenttest"
	"github.com/compactsim/compactsim/traces"
)

// maskedScript is a session of two calls and a result, with the copies of its messages in which the result is masked, by line and joined.
func maskedScript() (s *script, lines []string, all string) {
	const call = `{"functionCall":{"id":"t1","name":"read_file","args":{"file_path":"/a.go"}}}`
	masked := `[{"functionResponse":{"id":"t1","name":"read_file","response":{"output":"<tool_output_masked>\n12,000 characters\n</tool_output_masked>"}}}]`
	s = newScript().user("u1", "one").answer("m1", "a", 8000, 0, 10, tool)
	s.add(`{"id":"r1","timestamp":"$AT","type":"user","content":[{"functionResponse":{"id":"t1","name":"read_file","response":{"output":"package a"}}}]}`)
	s.answer("m2", "b", 8100, 8000, 10, "")
	lines = []string{
		`{"id":"c1","timestamp":"$AT","type":"user","content":[{"text":"one"}]}`,
		`{"id":"c2","timestamp":"$AT","type":"gemini","content":[{"text":"a"},` + call + `]}`,
		`{"id":"c3","timestamp":"$AT","type":"user","content":` + masked + `}`,
		`{"id":"c4","timestamp":"$AT","type":"gemini","content":[{"text":"b"}]}`,
	}
	return s, lines, strings.Join(lines, ",")
}

// The Gemini CLI 0.61.0 masks old results: it writes each message anew, under a new id and without counts, and sets them all
// (2026-11-29). That is no compaction, and no message lacks its counts; the bill is what the calls say.
func TestMaskedResults(t *testing.T) {
	s, lines, all := maskedScript()
	for _, l := range lines {
		s.add(l)
	}
	s.add(`{"$set":{"messages":[` + all + `],"lastUpdated":"$AT"}}`)
	s.user("u2", "two").answer("m3", "c", 8120, 8000, 10, "")
	// A process that goes on gives the masked history with its newest calls, which have counts.
	s.add(`{"$set":{"messages":[` + all + `,{"id":"u2","timestamp":"$AT","type":"user","content":[{"text":"two"}]},` +
		`{"id":"m3","timestamp":"$AT","type":"gemini","content":"c","model":"gemini-3-flash-preview","tokens":{"input":8120,"output":10,"cached":8000,"thoughts":5,"tool":0,"total":8135}}]}}`)
	got := read(t, s.user("u3", "three").answer("m4", "d", 8140, 8000, 10, "").text())
	th := &got.Threads[0]
	if len(got.Threads) != 1 || len(th.Rounds) != 4 || len(got.Problems) != 0 || got.Quality.Uncounted != 0 {
		t.Fatalf("%d threads, %d calls, problems %v", len(got.Threads), len(th.Rounds), got.Problems)
	}
	if len(th.Events) != 1 || th.Events[0].Kind != traces.EventMicrocompact || th.Events[0].Round != 2 || len(th.Events[0].Cleared) != 1 {
		t.Errorf("events %+v, want one clearing of one result ahead of call 2", th.Events)
	}
}

// The masked messages may be set after a further prompt and its answer, with the answer's counts or without, and be in no line ahead of the
// set. The answer was billed (8,120 tokens), so that there are four calls, and no copy is input of another.
func TestMaskedBehindACall(t *testing.T) {
	for _, written := range []bool{false, true} {
		for _, counts := range []string{"", `,"model":"gemini-3-flash-preview","tokens":{"input":8120,"output":10,"cached":8000,"thoughts":5,"tool":0,"total":8135}`} {
			t.Run(fmt.Sprintf("written %v, counted %v", written, counts != ""), func(t *testing.T) {
				s, lines, all := maskedScript()
				for i := 0; i < len(lines) && written; i++ {
					s.add(lines[i])
				}
				s.user("u2", "two").answer("m3", "c", 8120, 8000, 10, "")
				s.add(`{"$set":{"messages":[` + all + `,{"id":"u2","timestamp":"$AT","type":"user","content":[{"text":"two"}]},` +
					`{"id":"m3","timestamp":"$AT","type":"gemini","content":"c"` + counts + `}]}}`)
				got := read(t, s.user("u3", "three").answer("m4", "d", 8140, 8000, 10, "").text())
				th := &got.Threads[0]
				if len(th.Rounds) != 4 || len(got.Problems) != 0 || got.Quality.Uncounted != 0 {
					t.Fatalf("%d calls, want 4; problems %v", len(th.Rounds), got.Problems)
				}
				for i, input := range []int{8000, 8100, 8120, 8140} {
					if u := &th.Rounds[i].Usage; int(u.Uncached+u.Read) != input {
						t.Errorf("call %d of %d tokens, want %d", i, u.Uncached+u.Read, input)
					}
				}
				for i := 2; i < 4; i++ {
					if kinds := agenttest.Kinds(got, th.Rounds[i].Input); !slices.Equal(kinds, []string{"prompt", "unseen"}) {
						t.Errorf("input of call %d: %v, want one prompt", i, kinds)
					}
				}
				if len(th.Events) != 1 || th.Events[0].Kind != traces.EventMicrocompact || len(th.Events[0].Cleared) != 1 {
					t.Errorf("events %+v, want one clearing of one result", th.Events)
				}
			})
		}
	}
}
