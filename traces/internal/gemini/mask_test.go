package gemini

import (
	"testing"

	"github.com/compactsim/compactsim/traces"
)

// The Gemini CLI 0.61.0 masks old results: it writes each message anew, under a new id and without counts, and sets them all
// (2026-11-29). That is no compaction, and no message lacks its counts; the bill is what the calls say.
func TestMaskedResults(t *testing.T) {
	const call = `{"functionCall":{"id":"t1","name":"read_file","args":{"file_path":"/a.go"}}}`
	masked := `[{"functionResponse":{"id":"t1","name":"read_file","response":{"output":"<tool_output_masked>\n12,000 characters\n</tool_output_masked>"}}}]`
	s := newScript().user("u1", "one").answer("m1", "a", 8000, 0, 10, tool)
	s.add(`{"id":"r1","timestamp":"$AT","type":"user","content":[{"functionResponse":{"id":"t1","name":"read_file","response":{"output":"package a"}}}]}`)
	s.answer("m2", "b", 8100, 8000, 10, "")
	lines := []string{
		`{"id":"c1","timestamp":"$AT","type":"user","content":[{"text":"one"}]}`,
		`{"id":"c2","timestamp":"$AT","type":"gemini","content":[{"text":"a"},` + call + `]}`,
		`{"id":"c3","timestamp":"$AT","type":"user","content":` + masked + `}`,
		`{"id":"c4","timestamp":"$AT","type":"gemini","content":[{"text":"b"}]}`,
	}
	all := ""
	for i, l := range lines {
		s.add(l)
		if all += l; i < len(lines)-1 {
			all += ","
		}
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
