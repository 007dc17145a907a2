package sim

import (
	"math"
	"testing"

	"github.com/compactsim/compactsim/sim/needs"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/results/recall"
)

// What an agent did behind the compactions of its recording moves the share of the profile: up for one that read again
// all it used, down for one that read nothing, and not without compactions. At the most likely value, the reads less
// those expected are what the spread allows: Σ (read − all · share) = lean/1.3².
func TestLean(t *testing.T) {
	p := &profile.Profile{Refetch: map[string]profile.Estimate{"all": {Value: 0.2}, "edit": {Value: 0.6}, "path": {}}}
	for _, tc := range []struct {
		what       string
		edit, name needs.Fate
		low, high  float64 // share of names
	}{
		{"no compaction", needs.Fate{}, needs.Fate{}, 0.2, 0.2},
		{"reads all again", needs.Fate{Read: 4}, needs.Fate{Read: 5}, 0.7, 0.9},
		{"reads nothing again", needs.Fate{Used: 1}, needs.Fate{Used: 42}, 0, 0.05},
		{"as others do", needs.Fate{Read: 3, Used: 2}, needs.Fate{Read: 2, Used: 8}, 0.199, 0.201},
	} {
		did := needs.Fates{}
		did.Others[recall.NeedEdit], did.Outputs[recall.NeedName], did.Others[recall.NeedPath] = tc.edit, tc.name, needs.Fate{Used: 9}
		lean := leanOf(p, &did)
		share := RefetchFitted.share(p, "name", true, lean)
		if share < tc.low || share > tc.high || RefetchFitted.share(p, "path", false, lean) != 0 {
			t.Errorf("%s: names with %g, paths with %g; want %g to %g and 0", tc.what, share, RefetchFitted.share(p, "path", false, lean), tc.low, tc.high)
		}
		left := float64(tc.edit.Read) - float64(tc.edit.Read+tc.edit.Used)*leaning(0.6, lean) +
			float64(tc.name.Read) - float64(tc.name.Read+tc.name.Used)*leaning(0.2, lean) - lean/(leanSpread*leanSpread)
		if math.Abs(left) > 1e-6 {
			t.Errorf("%s: %g is not the most likely lean: %g left", tc.what, lean, left)
		}
	}
	if leanOf(nil, &needs.Fates{}) != 0 {
		t.Error("no profile, no lean")
	}
}
