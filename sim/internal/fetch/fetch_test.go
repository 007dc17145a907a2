package fetch

import (
	"math"
	"testing"

	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/internal/course"
	"github.com/compactsim/compactsim/sim/needs"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/recall"
	"github.com/compactsim/compactsim/traces"
)

// What an agent did behind the compactions of its recording moves the share of the profile: up for one that read again
// all it used, down for one that read nothing, and not without compactions. At the most likely values, the reads less
// those expected are what the spreads allow: Σ (read − all · share) = lean/1.3² over kinds, and read − all · share = lean/0.5² for each kind.
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
		lean := leanOf(p, &did, 1, 0)
		share, paths := Fitted.share(p, recall.NeedName, true, 1, &lean), Fitted.share(p, recall.NeedPath, false, 1, &lean)
		if share < tc.low || share > tc.high || paths != 0 {
			t.Errorf("%s: names with %g, paths with %g; want %g to %g and 0", tc.what, share, paths, tc.low, tc.high)
		}
		edits := float64(tc.edit.Read) - float64(tc.edit.Read+tc.edit.Used)*Fitted.share(p, recall.NeedEdit, false, 1, &lean)
		names := float64(tc.name.Read) - float64(tc.name.Read+tc.name.Used)*share
		for what, left := range map[string]float64{
			"lean": edits + names - lean.all/(1.3*1.3), "lean of edits": edits - lean.others[recall.NeedEdit]/(0.5*0.5), "lean of names": names - lean.outputs[recall.NeedName]/(0.5*0.5),
		} {
			if math.Abs(left) > 1e-6 {
				t.Errorf("%s: %+v: not the most likely %s: %g left", tc.what, lean, what, left)
			}
		}
	}
	// Of an agent that repeats what it has lost half as often as others do, the odds are half: 0.6 of edits are 1.5 to 1, and 0.75 to 1.
	lean := leanOf(p, &needs.Fates{}, 1, math.Log(0.5))
	if got := Fitted.share(p, recall.NeedEdit, false, 1, &lean); math.Abs(got-0.75/1.75) > 1e-9 {
		t.Errorf("edits with %g by the habit, want 0.43", got)
	}
	// Names that an agent knows anyway are fetched less: by half where it learned a quarter of them, half of what agents do.
	for learns, want := range map[float64]float64{0: 0, 0.25: 0.1, 0.5: 0.2, 0.9: 0.2} {
		if got := Fitted.share(p, recall.NeedName, false, learns, &leans{}); math.Abs(got-want) > 1e-9 || Fitted.share(p, recall.NeedEdit, false, learns, &leans{}) != 0.6 {
			t.Errorf("an agent that learned %g of its names fetches %g, want %g", learns, got, want)
		}
	}
	if leanOf(nil, &needs.Fates{}, 1, 0) != (leans{}) {
		t.Error("no profile, no lean")
	}
}

// An agent that repeats what it has as it repeats what it has lost is like others, and leaves out the profile's share; one that repeats only
// what it lost reads again by rule. Of 20 repeats at even odds, another agent's are of lost things with 2/3 for a share of a half, and a
// ruled agent's with 20/21: for 20 of 20 the odds are 3/97 · (10/7)^20 = 38.8, for 10 of 20 3/97 · (10/7)^10 · (1/7)^10 = 4e-9. What the
// agent did not use says nothing. A share of 1 is a rule that a profile was told.
func TestRuled(t *testing.T) {
	habit := func(list ...[3]float64) func(func(lost, all, even float64)) {
		return func(do func(lost, all, even float64)) {
			for _, l := range list {
				do(l[0], l[1], l[2])
			}
		}
	}
	for _, tc := range []struct{ got, want float64 }{
		{ruledOf(0.5, habit()), 0.03},
		{ruledOf(0.5, habit([3]float64{20, 20, 1})), 38.8 / 39.8},
		{ruledOf(0.5, habit([3]float64{10, 20, 1})), 0},
		{Fitted.rereadShare(&profile.Profile{Reread: &profile.Estimate{Value: 0.5}}, &needs.Index{}), 1 - 0.97*0.5 - 0.03/20},
		{Fitted.rereadShare(&profile.Profile{Reread: &profile.Estimate{Value: 1, Low: 1, High: 1}}, &needs.Index{}), 1},
	} {
		if math.Abs(tc.got-tc.want) > 2e-4 {
			t.Errorf("%.4f, want %.4f", tc.got, tc.want)
		}
	}
}

// What is fetched is a file as it was, else the first result that showed it; what nobody can
// bring again, what summaries keep, and what has been fetched is not.
func TestWhatIsFetched(t *testing.T) {
	for _, tc := range []struct {
		what    string
		missing []missing
		tokens  [2]int32 // of two blocks
		want    Extra
	}{
		{"a file", []missing{{Need: needs.Need{Fetch: 2, Found: -1}}}, [2]int32{700, 50}, Extra{Output: 80, Result: 700}},
		{"a file that was shown before", []missing{{Need: needs.Need{Fetch: 2, Found: 3}}}, [2]int32{700, 50}, Extra{Output: 80, Result: 700}},
		{"a result", []missing{{Need: needs.Need{Fetch: -1, Found: 3}}}, [2]int32{700, 50}, Extra{Output: 80, Result: 50}},
		{"what a person said", []missing{{Need: needs.Need{Fetch: -1, Found: -1}}}, [2]int32{700, 50}, Extra{}},
		{"what a summary keeps", []missing{{Need: needs.Need{Fetch: 2, Found: -1}, kept: 1}}, [2]int32{700, 50}, Extra{}},
		{"two in one round", []missing{{Need: needs.Need{Fetch: 2}}, {Need: needs.Need{Fetch: -1, Found: 3}}}, [2]int32{700, 50}, Extra{Output: 160, Result: 750}},
		{"the same twice", []missing{{Need: needs.Need{Fetch: 2}}, {Need: needs.Need{Fetch: 2}}}, [2]int32{700, 50}, Extra{Output: 80, Result: 700}},
		{"more than there can be", []missing{{Need: needs.Need{Fetch: 2}}, {Need: needs.Need{Fetch: 3}}},
			[2]int32{math.MaxInt32 / 2, 5}, Extra{Output: 160, Result: math.MaxInt32 / 2}},
	} {
		s := &traces.Session{Blocks: make([]prompt.Block, 4)}
		s.Blocks[2].Tokens, s.Blocks[3].Tokens = tc.tokens[0], tc.tokens[1]
		of := &Session{Agent: Agent{Refetch: Always}, Row: &results.Row{}}
		of.Begin(s, &needs.Index{}, nil)
		th := &Thread{}
		th.Begin(of, &course.Course{Session: s, Trace: &traces.Thread{}}, nil)
		th.missing = tc.missing
		if got := th.fetch(); got != tc.want || len(th.missing) > 0 {
			t.Errorf("%s: %+v, %d still missing; want %+v", tc.what, got, len(th.missing), tc.want)
		}
	}
}

// Two files that calls had written are read in two rounds: each call has an id of its own, which its result shares. The later file was written
// in the earlier block.
func TestInventedCallsHaveIDsOfTheirOwn(t *testing.T) {
	s := &traces.Session{Blocks: make([]prompt.Block, 4)}
	arena := &prompt.Arena{}
	of := &Session{Agent: Agent{Refetch: Always}, Row: &results.Row{}}
	of.Begin(s, &needs.Index{}, arena)
	tally := &client.Tally{}
	tally.Bind(&client.Counter{})
	th := &Thread{}
	th.Begin(of, &course.Course{Session: s, Trace: &traces.Thread{}}, tally)
	th.Context.Reset(s.Blocks, arena)
	for _, block := range []int32{3, 2} {
		th.missing = []missing{{Need: needs.Need{Fetch: block, Found: -1}}}
		th.Bring(th.fetch())
	}
	ids := map[int32]int{}
	for i := range th.Context.Len() {
		ids[th.Context.BlockAt(i).Call]++
	}
	if len(ids) != 2 || th.Context.Len() != 4 {
		t.Errorf("%d entries with ids %v, want two calls and their results", th.Context.Len(), ids)
	}
}
