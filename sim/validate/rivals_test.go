package validate

import (
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/tools/tests/validatetest"
	"github.com/compactsim/compactsim/traces"
)

// seen returns the recorded sessions of an agent in a folder beside the module: all of
// the first set, and of others the half that rules and numbers were chosen on. It skips without.
func seen(t testing.TB, set, agent string) (list []*traces.Session) {
	t.Helper()
	return slices.DeleteFunc(recordedBy(t, set, agent), func(s *traces.Session) bool {
		return set != "traces" && sha256.Sum256([]byte(s.ID))[0] >= 0x80
	})
}

// never stands for a recorded compaction at which a preset has none.
const never = -1

// replayed is a compaction as recorded, and the one of the preset that continues from its own,
// in order: the call of the thread before which it comes, and the context behind it, tokens.
type replayed struct {
	recorded, call int32
	after, behind  int64
}

// String returns the calls and the error of the size in per cent, to the next five.
func (x replayed) String() string {
	if x.call == never {
		return fmt.Sprintf("%d never", x.recorded)
	}
	share := float64(x.behind-x.after) / float64(x.after)
	return fmt.Sprintf("%d at %d, %+.0f %%", x.recorded, x.call, 5*math.Round(20*share))
}

// pairs compares the compactions of a session's threads with a preset's.
func pairs(t *testing.T, preset *strategies.Strategy, s *traces.Session) (list []replayed, unmatched int) {
	t.Helper()
	fired, context, err := drive(validatetest.Unverified(t).WithProfile(middling(fitted(t))), preset, s, false)
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Threads {
		th := &s.Threads[i]
		own := slices.DeleteFunc(slices.Clone(fired), func(p place) bool { return p.thread != int32(i) })
		for _, ev := range th.Events {
			if ev.Kind != traces.EventCompact || ev.Round == 0 || int(ev.Round) >= len(th.Rounds) {
				continue
			}
			x := replayed{recorded: ev.Round, call: never, after: th.Rounds[ev.Round].Usage.Input()}
			if len(own) > 0 {
				x.call, x.behind = own[0].round, context[own[0]]
				own = own[1:]
			}
			list = append(list, x)
		}
		unmatched += len(own)
	}
	return list, unmatched
}

// The presets of clients whose compactions are recorded, replayed from the start, compact within
// one call of the recording, with a size like the recorded one behind it. Where they differ, the
// recording is right: differs says by how much, and the doc of the preset tells it. Recordings of
// OpenCode and Oh-My-Pi have no compaction, and neither have the presets.
func TestRecordedCompactionsAreReplayed(t *testing.T) {
	registry, err := strategies.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		set, agent, preset string
		sessions           int
		want               map[string]string // by the begin of a session's id
		differs            int               // compactions more than one call off
		told               string            // by the doc of the preset
	}{
		{"traces", "codex", "codex/2026-08", 28, map[string]string{
			"019ed893": "56 at 56, -0 %", "019eecb9": "67 at 67, -5 %", "019efc87": "118 at 118, -0 %",
			"019f03e0": "54 at 54, +5 %; 115 at 115, +5 %", "019f1111": "110 at 110, -0 %", "019f1fdd": "61 at 60, -0 %",
			"019f201a": "58 at 58, -0 %", "019f3a7f": "55 at 55, -0 %", "019f422c": "52 at 52, +0 %",
			"019f5ccd": "144 never", "019f6bcb": "142 at 143, -0 %",
		}, 1, "within one call of 15 of 16"},
		{"traces-2", "codex", "codex/2026-08", 8, map[string]string{"019f3c90": "83 at 83, -5 %; 189 at 189, -5 %"}, 0, ""},
		{"traces-3", "codex", "codex/2026-08", 13, map[string]string{"019d7372": "94 at 94, -5 %", "019d7e8e": "124 at 125, -5 %"}, 0, "0.119 client leave twice as much"},
		{"traces", "pi", "pi/2026-11", 1, map[string]string{"ffae836b": "171 at 175, +40 %; 294 at 313, +25 %"}, 2, "175,004"},
		{"traces", "opencode", "opencode/2026-03", 7, nil, 0, ""},
		{"traces-3", "opencode", "opencode/2026-03", 2, nil, 0, ""},
		{"traces-3", "oh-my-pi", "oh-my-pi", 3, nil, 0, "are left out"},
	} {
		t.Run(tc.set+"/"+tc.agent, func(t *testing.T) {
			preset, err := registry.Strategy(tc.preset)
			if err != nil {
				t.Fatal(err)
			}
			sessions, got, off := seen(t, tc.set, tc.agent), map[string]string{}, 0
			for _, s := range sessions {
				list, unmatched := pairs(t, preset, s)
				for _, x := range list {
					id := s.ID[:8]
					got[id] = strings.TrimPrefix(got[id]+"; "+x.String(), "; ")
					off += index(x.call == never || max(x.call-x.recorded, x.recorded-x.call) > 1)
				}
				if unmatched > 0 {
					t.Errorf("%s: %d compactions that the recording does not have", s.ID, unmatched)
				}
			}
			for _, id := range sortedKeys(got) {
				if got[id] != tc.want[id] {
					t.Errorf("%q: %q,", id, got[id])
				}
			}
			if len(sessions) != tc.sessions || len(got) != len(tc.want) || off != tc.differs {
				t.Errorf("%d sessions, %d with compactions, %d calls off; want %d, %d, %d", len(sessions), len(got), off, tc.sessions, len(tc.want), tc.differs)
			}
			if doc := strings.Join(strings.Fields(preset.Doc), " "); !strings.Contains(doc, tc.told) {
				t.Errorf("%s does not tell %q: %s", tc.preset, tc.told, doc)
			}
		})
	}
}
