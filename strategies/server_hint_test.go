package strategies

import (
	"slices"
	"testing"
)

// E7: on the server's hint the oldest results go to disk until 75,000 tokens are
// saved, the newest five stay, and a saving below 20,000 is not worth it.
func TestServerHint(t *testing.T) {
	const p = 40
	for name, tc := range map[string]struct {
		text    string
		results []int32
		want    []int32
	}{
		"down to the target":     {"{}", []int32{40000, 30000, 5160, 9, 1, 2, 3, 4, 5}, []int32{p, p, p, 9, 1, 2, 3, 4, 5}}, // 75,160 − 3 × 40 = 75,040
		"one more for one token": {"{}", []int32{40000, 30000, 5119, 9, 1, 2, 3, 4, 5}, []int32{p, p, p, p, 1, 2, 3, 4, 5}},
		"exactly the floor":      {"{}", []int32{20040, 1, 2, 3, 4, 5}, []int32{p, 1, 2, 3, 4, 5}},
		"below the floor":        {"{}", []int32{20039, 1, 2, 3, 4, 5}, []int32{20039, 1, 2, 3, 4, 5}},
		"five stay":              {"{}", []int32{90000, 90000, 3, 4, 5}, []int32{90000, 90000, 3, 4, 5}},
		"one stays":              {"{keep_recent: 1}", []int32{90000, 90000}, []int32{p, 90000}},
		"another target":         {"{target_tokens_saved: 30000}", []int32{31000, 31000, 1, 2, 3, 4, 5}, []int32{p, 31000, 1, 2, 3, 4, 5}},
		"another floor":          {"{floor: 30000}", []int32{30000, 1, 2, 3, 4, 5}, []int32{30000, 1, 2, 3, 4, 5}},
		"another pointer":        {"{pointer: 100}", []int32{20100, 1, 2, 3, 4, 5}, []int32{100, 1, 2, 3, 4, 5}},
		"other tools":            {"{tools: [Bash]}", []int32{90000, 1, 2, 3, 4, 5}, []int32{90000, 1, 2, 3, 4, 5}},
	} {
		k, h := hosted()
		for _, r := range tc.results {
			k.round("Read", "", r)
		}
		out := layer(t, "server-hint: "+tc.text).(ServerHint).ServerHint(&k.Turn)
		if !slices.Equal(k.results(), tc.want) {
			t.Errorf("%s: %v (%+v), want %v", name, k.results(), out, tc.want)
		}
		if acts := !slices.Equal(tc.results, tc.want); acts != (out.Verdict == Done) || acts != (len(h.refused) == 0) {
			t.Errorf("%s: %+v, refusals %v", name, out, h.refused)
		}
	}
}

// A clearing counts at once or not; sub-agents take the hint or not.
func TestServerHintSwitches(t *testing.T) {
	for text, want := range map[string]int64{"{}": 30000, "{count_pending_clears: false}": 0} {
		k, _ := hosted()
		for _, r := range []int32{30000, 1, 2, 3, 4, 5} {
			k.round("Read", "", r)
		}
		layer(t, "server-hint: "+text).(ServerHint).ServerHint(&k.Turn)
		if b := k.Boundary(); b.Kind != BoundaryMicro || b.Cleared != 1 || b.Uncounted != want {
			t.Errorf("%s: boundary %+v", text, b)
		}
	}
	for text, want := range map[string]Verdict{"{}": Done, "{subagents: false}": Declined} {
		k, _ := hosted()
		k.Kind = agentKind
		for _, r := range []int32{30000, 1, 2, 3, 4, 5} {
			k.round("Read", "", r)
		}
		if out := layer(t, "server-hint: "+text).(ServerHint).ServerHint(&k.Turn); out.Verdict != want {
			t.Errorf("%s: %+v", text, out)
		}
	}
}
