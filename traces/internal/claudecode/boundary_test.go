package claudecode

import (
	"testing"
	"time"

	"github.com/compactsim/compactsim/traces"
)

// Claude Code 2.1.204 and later log how many messages a compaction kept, and how
// long it took: that time is taken, not the 90 s since the result before it.
func TestBoundaryOfNewerClients(t *testing.T) {
	s := newScript("S")
	s.prompt(words(1000))
	s.call("m1", 160_000, text("one"))
	s.clock = s.clock.Add(89 * time.Second)
	logical := s.head
	s.head = ""
	s.system("compact_boundary", fields{"logicalParentUuid": logical, "compactMetadata": fields{
		"trigger": "auto", "preTokens": 166_900, "postTokens": 12_324, "durationMs": 67_441,
		"cumulativeDroppedTokens": 154_576, "preCompactDiscoveredTools": []string{"WebFetch"},
		"preservedMessages": fields{"anchorUuid": "a", "uuids": []string{"b", "c", "d"}, "allUuids": []string{"b"}},
	}})
	s.add(fields{"type": "user", "isCompactSummary": true, "message": fields{"role": "user", "content": words(100)}})
	s.call("m2", 32_000, text("on"))
	ev := sessionOf(t, s).Threads[0].Events[0]
	if ev.Kind != traces.EventCompact || ev.PreTokens != 166_900 || ev.Preserved != 3 {
		t.Errorf("event %+v", ev)
	}
	if want := 67_441 * time.Millisecond; time.Duration(ev.Wait) != want {
		t.Errorf("it took %v, want %v", time.Duration(ev.Wait), want)
	}
}
