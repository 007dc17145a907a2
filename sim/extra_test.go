package sim

import (
	"testing"

	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// fetching is a profile of how often agents fetch what they lack, of whatever kind.
func fetching(low, fitted, high float64) *profile.Profile {
	return &profile.Profile{Refetch: map[string]profile.Estimate{"all": {Low: low, Value: fitted, High: high}}}
}

// What is fetched is what the profile says, at the end that is asked for.
func TestFetchesByTheProfile(t *testing.T) {
	for _, tc := range []struct {
		what    string
		how     Refetch
		profile *profile.Profile
		fetches int
	}{
		{"never", RefetchNever, fetching(1, 1, 1), 0},
		{"always, by whoever", RefetchAlways, nil, 1},
		{"always", RefetchAlways, fetching(0, 0, 0), 1},
		{"fitted, nobody fetches", RefetchFitted, fetching(0, 0, 0), 0},
		{"fitted, the high end does", RefetchFitted, fetching(0, 0, 1), 0},
		{"fitted, all but the low end do", RefetchFitted, fetching(0, 1, 1), 1},
		{"fitted, all do", RefetchFitted, fetching(1, 1, 1), 1},
		{"low, nobody there", RefetchLow, fetching(0, 1, 1), 0},
		{"high", RefetchHigh, fetching(0, 0, 1), 1},
	} {
		c, s := withNeeds(t, written(t, "  - time-microcompact: {gap_minutes: 60, keep_recent: 5}\n"), editLater())
		c.Agent.Refetch, c.Profile = tc.how, tc.profile
		row, _ := run(t, c, s)
		if got := row.CallsBy(measures.SourceReread); got != tc.fetches {
			t.Errorf("%s: %d fetches, want %d", tc.what, got, tc.fetches)
		}
	}
}

// Each further round weighs what the recorded round before it answered and the round behind it
// brings, is a call of the conversation that no recording has, and counts as a request since
// the last compaction. What it adds is of no file and of three bytes a token.
func TestFurtherRounds(t *testing.T) {
	s := newSession("s").turns(60, second, 1500).session()
	rounds := s.Threads[0].Rounds
	for i := range rounds {
		rounds[i].Usage.Output = int64(200 + i)
	}
	c := written(t, "  - full-compact: {trigger: {measure: rounds, fixed: 20}}\n")
	plain, _ := run(t, c, s)
	c.Agent.Elongation = 1
	var calls []results.CallRecord
	c.Record = func(r *results.CallRecord) { calls = append(calls, *r) }
	l := NewLoop(c)
	row, err := l.Run(s)
	if err != nil {
		t.Fatal(err)
	}
	n, first := 0, -1
	for i := range calls {
		switch r := &calls[i]; {
		case r.Source == measures.SourceCompact && first < 0:
			first = i
		case r.Source == measures.SourceReread:
			n++
			next := &calls[i+1]
			if next.Source == measures.SourceCompact {
				continue
			}
			if want := rounds[next.Round-1].Usage.Output; r.Usage.Output != want || next.Context != r.Context+want+1500 || r.Round != -1 {
				t.Errorf("ahead of round %d: %d tokens of output, %d more in the context; want %d, and 1,500 of results",
					next.Round, r.Usage.Output, next.Context-r.Context, want)
			}
		}
	}
	if n != 60-first || row.N(measures.LaterCalls) != 60+n-1 {
		t.Errorf("%d further rounds behind %d of 60, %d later calls", n, first, row.N(measures.LaterCalls))
	}
	if plain.N(measures.Compactions) != 2 || row.N(measures.Compactions) < 4 {
		t.Errorf("%d compactions, %d with twice the requests between them", plain.N(measures.Compactions), row.N(measures.Compactions))
	}
	seen := 0
	for i := range l.threads[0].Context.Len() {
		if b := l.threads[0].Context.BlockAt(i); b.Call <= -1<<24 {
			seen++
			if b.Object >= 0 || b.Bytes != 3*b.Tokens {
				t.Errorf("%+v", b)
			}
		}
	}
	if seen == 0 {
		t.Error("no further round is left in the context")
	}
}
