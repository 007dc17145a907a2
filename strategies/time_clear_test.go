package strategies

import (
	"slices"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
)

// A gap of an hour clears all but the newest five (E6; 002:34-38), and at least
// one stays (003, layer 2 a). It is the gap alone that decides: under a lifetime
// of an hour the cache is then still warm.
func TestTimeClearing(t *testing.T) {
	const p = 12
	for name, tc := range map[string]struct {
		text string
		idle int64
		life int64
		want []int32
	}{
		"a minute less":               {"{}", 59 * minutes, 5 * minutes, []int32{100, 101, 102, 103, 104, 105, 106}},
		"an hour to the nanosecond":   {"{}", 60 * minutes, 5 * minutes, []int32{100, 101, 102, 103, 104, 105, 106}}, // 002:41: gap > 60
		"more than an hour":           {"{}", 60*minutes + 1, 5 * minutes, []int32{p, p, 102, 103, 104, 105, 106}},
		"an hour in a cache of one":   {"{}", 60*minutes + 1, 60 * minutes, []int32{p, p, 102, 103, 104, 105, 106}},
		"only when cold: warm":        {"{cold_only: true, gap_minutes: 50}", 60 * minutes, 60 * minutes, []int32{100, 101, 102, 103, 104, 105, 106}},
		"only when cold: cold":        {"{cold_only: true}", 61 * minutes, 60 * minutes, []int32{p, p, 102, 103, 104, 105, 106}},
		"another gap, warm":           {"{gap_minutes: 3}", 3*minutes + 1, 5 * minutes, []int32{p, p, 102, 103, 104, 105, 106}},
		"none kept: the floor is one": {"{keep_recent: 0}", 60*minutes + 1, 5 * minutes, []int32{p, p, p, p, p, p, 106}},
		"one kept":                    {"{keep_recent: 1}", 60*minutes + 1, 5 * minutes, []int32{p, p, p, p, p, p, 106}},
		"another placeholder":         {"{placeholder: 99, keep_recent: 6}", 60*minutes + 1, 5 * minutes, []int32{99, 101, 102, 103, 104, 105, 106}},
		"only some tools":             {"{keep_recent: 1, tools: [Bash]}", 60*minutes + 1, 5 * minutes, []int32{100, p, 102, p, 104, 105, 106}},
	} {
		k, _ := hosted()
		for i := range int32(7) {
			k.round([]string{"Read", "Bash"}[i%2], "", 100+i)
		}
		k.Idle, k.Life, k.Reading.Values[MeasureIdle] = tc.idle, tc.life, tc.idle
		out := asked(t, layer(t, "time-microcompact: "+tc.text), k)
		if !slices.Equal(k.results(), tc.want) || (out.Verdict == Done) != (tc.want[0] < 100 || tc.want[1] == p) {
			t.Errorf("%s: %v (%+v), want %v", name, k.results(), out, tc.want)
		}
	}
}

// What it reports, and when it has nothing to do: no response so far, nothing
// but what stays (counted as a refusal), a sub-agent where those do not.
func TestTimeClearingReports(t *testing.T) {
	k, h := hosted()
	k.Idle, k.Reading.Values[MeasureIdle] = 90*minutes, 90*minutes
	l := layer(t, "time-microcompact: {}")
	for range 6 {
		k.round("Read", "", 1000)
	}
	k.Usage = prompt.Usage{}
	if out := asked(t, l, k); out.Reason != "no response so far" {
		t.Errorf("%+v", out)
	}
	k.Usage = prompt.Usage{Read: 1}
	if out := asked(t, l, k); out.Verdict != Done {
		t.Errorf("%+v", out)
	}
	if b := k.Boundary(); b.Kind != BoundaryMicro || b.Cleared != 1 || b.Before-b.After != 988 || b.Uncounted != 1000 {
		t.Errorf("boundary %+v", b)
	}
	if out := asked(t, l, k); out.Verdict != Declined || !slices.Equal(h.refused, []string{"nothing old enough to clear"}) {
		t.Errorf("%+v, refusals %v", out, h.refused)
	}
	k.round("Read", "", 1000)
	asked(t, layer(t, "time-microcompact: {count_pending_clears: false}"), k)
	if b := k.Boundary(); b.Cleared != 1 || b.Uncounted != 0 {
		t.Errorf("not counted at once: %+v", b)
	}
	k.round("Read", "", 1000)
	k.Kind = agentKind
	if out := asked(t, layer(t, "time-microcompact: {subagents: false}"), k); out.Verdict != Declined {
		t.Errorf("sub-agent: %+v", out)
	}
	if out := asked(t, l.Clone(), k); out.Verdict != Done {
		t.Errorf("sub-agent: %+v", out)
	}
}
