package copilot

import (
	"fmt"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces/signs"
)

// record writes the record of a call (1.0.102): input with what was read and written.
func (s *script) record(id string, input, read, write, output int) *script {
	return s.add("session.usage_record", fmt.Sprintf(`"usage":{"apiCallId":%q,"model":"claude-opus-5","inputTokens":%d,"outputTokens":%d,"cacheReadTokens":%d,"cacheWriteTokens":%d}`,
		id, input, output, read, write))
}

// A call with a record has its own counts, whether the record stands before its message or behind it; the remaining calls share what
// the shutdown has beyond.
func TestUsageRecords(t *testing.T) {
	first, second := prompt.Usage{Uncached: 3, Write5m: 9000, Output: 40}, prompt.Usage{Uncached: 4, Read: 9000, Write5m: 300, Output: 50}
	third := prompt.Usage{Uncached: 2, Read: 9300, Write5m: 500, Output: 60}
	for name, s := range map[string]*script{
		"ahead": newScript().user("go").record("r1", 9003, 0, 9000, 40).answer("r1", "one", 0, "").
			user("on").record("r2", 9304, 9000, 300, 50).answer("r2", "two", 0, ""),
		"behind": newScript().user("go").answer("r1", "one", 0, "").record("r1", 9003, 0, 9000, 40).
			user("on").answer("r2", "two", 0, "").record("r2", 9304, 9000, 300, 50),
	} {
		s.user("more").answer("r3", "three", 60, "").shutdown(totalsOf("claude-opus-5", 9003+9304+9802, 18300, 9800, 150))
		got := read(t, s.text())
		rounds := got.Threads[0].Rounds
		if len(rounds) != 3 || rounds[0].Usage != first || rounds[1].Usage != second || rounds[2].Usage != third || got.Quality.LostTokens != 0 {
			t.Fatalf("%s: %d calls, %+v, problems %v", name, len(rounds), got.Usage(), got.Problems)
		}
		for i, spread := range []bool{true, true, false} {
			if rounds[i].Counted() != spread {
				t.Errorf("%s: call %d counted by itself: %v", name, i, rounds[i].Counted())
			}
		}
	}
	got := read(t, newScript().user("go").record("r1", 9003, 0, 9000, 40).answer("r1", "one", 0, "").record("r1", 9304, 9000, 300, 50).
		shutdown(totalsOf("claude-opus-5", 9003, 0, 9000, 40)).text())
	if got.Quality.BadLines != 1 || got.Usage() != first {
		t.Errorf("a second record of a call: %d bad lines, %+v", got.Quality.BadLines, got.Usage())
	}
	got = read(t, newScript().user("go").record("r1", 5, 9, 9, 40).answer("r1", "one", 40, "").shutdown(totalsOf("claude-opus-5", 9003, 0, 9000, 40)).text())
	if got.Quality.BadLines != 1 || got.Usage() != first {
		t.Errorf("an impossible record: %d bad lines, %+v", got.Quality.BadLines, got.Usage())
	}
}

// Since 1.0.102 a shutdown has the totals of the whole session, over resumes, and says so by a snapshot of its accounting: the
// second one counts 9,003 + 9,304 tokens of input, of which the records of both calls tell.
func TestTotalsOverResumes(t *testing.T) {
	whole := func(s *script, input, read, write, output int) *script {
		return s.add("session.shutdown", `"accountingSnapshot":{},"modelMetrics":{`+totalsOf("claude-opus-5", input, read, write, output)+`}`)
	}
	s := whole(newScript().user("go").record("r1", 9003, 0, 9000, 40).answer("r1", "one", 0, ""), 9003, 0, 9000, 40)
	s.add("session.resume", `"context":{"cwd":"/repo"}`).user("on").record("r2", 9304, 9000, 300, 50).answer("r2", "two", 0, "")
	got := read(t, whole(s, 9003+9304, 9000, 9300, 90).text())
	if want := (prompt.Usage{Uncached: 7, Read: 9000, Write5m: 9300, Output: 90}); got.Usage() != want || got.Quality.LostTokens != 0 || len(got.Problems) != 0 {
		t.Errorf("%+v, want %+v; %d tokens lost, problems %v", got.Usage(), want, got.Quality.LostTokens, got.Problems)
	}
	s.user("more").answer("r3", "three", 60, "") // a call without a record has what the totals gained
	got = read(t, whole(s, 9003+9304+9802, 18300, 9800, 150).text())
	if r := got.Threads[0].Rounds; len(r) != 3 || r[2].Usage != (prompt.Usage{Uncached: 2, Read: 9300, Write5m: 500, Output: 60}) {
		t.Errorf("%d calls, %+v", len(r), got.Usage())
	}
}

// The window is the most tokens of a prompt that records name, in tokens of the model: a compaction that began by the client's count at
// 105,000 when 100,000 tokens had been billed, and 5,000 more said, says that both count alike; at 210,000 that the model has half as
// many. A resumed process that sends another system prompt parts from the cache behind the tools.
func TestLimitAndSystemPrompt(t *testing.T) {
	for counted, want := range map[int]int64{105_000: 128_000, 210_000: 64_000} {
		s := newScript().add("system.message", `"content":"one"`).user("go").add("session.usage_record",
			`"usage":{"apiCallId":"r1","model":"claude-opus-5","inputTokens":100000,"outputTokens":0,"cacheReadTokens":0,"cacheWriteTokens":0,"maxPromptTokens":128000}`)
		s.by("a1", "session.usage_record", `"usage":{"apiCallId":"r0","model":"claude-haiku-4-5","inputTokens":9,"outputTokens":0,"cacheReadTokens":0,"cacheWriteTokens":0,"maxPromptTokens":9000}`)
		s.answer("r1", "one", 0, tool).add("tool.execution_complete", `"toolCallId":"t1","success":true,"result":{"content":"`+strings.Repeat("word ", 3200)+`"}`)
		s.add("session.compaction_start", fmt.Sprintf(`"currentTokens":%d,"tokenLimit":128000`, counted))
		s.add("system.message", `"content":"another"`).record("r2", 9304, 9000, 300, 50).answer("r2", "two", 0, "")
		got := read(t, s.text())
		if share := float64(got.Window) / float64(want); share < 0.97 || share > 1.03 {
			t.Errorf("counted %d: window %d, want about %d", counted, got.Window, want)
		}
		if r := got.Threads[0].Rounds; len(r) != 2 || r[0].Verdict != signs.VerdictNone || r[1].Verdict != signs.VerdictSystem || r[1].Parted != 1 {
			t.Errorf("%+v", r)
		}
	}
}

// Logs that are joined in one file, as a merged copy beside them, are told: the second start is of another session.
func TestJoinedLogs(t *testing.T) {
	text := newScript().user("go").answer("r1", "one", 40, "").shutdown(totalsOf("claude-opus-5", 9003, 0, 9000, 40)).text()
	first, _, _ := strings.Cut(text, "\n")
	for id, want := range map[string]int{"other": 1, "": 0} {
		again := strings.Replace(strings.Replace(first, `"id":"`, `"id":"again-`, 1), `"sessionId":"`, `"sessionId":"`+id, 1)
		if got := read(t, text+again+"\n"); got.Quality.BadLines != want || got.NumCalls() != 1 {
			t.Errorf("%s: %d bad lines, %d calls, want %d and 1; %v", id, got.Quality.BadLines, got.NumCalls(), want, got.Problems)
		}
	}
}
