package check

import (
	"slices"
	"strings"
	"testing"
)

// Of three sessions billed $10, $30 and $60, the last lost 6 of its 10 calls and $45: 45 % of what the baseline was billed. It breaks the
// check, as recordings only grow, and is suspect where another version counts. Gone altogether it breaks the check too, for nothing stands in
// its place. With a session that the baseline lacks, $51 of $100 that are gone beyond it are suspect and $50 are not. Other sessions alone
// say nothing, and a session that went on is whole. Without a price the two of three that are gone are 20 of 30 calls, and as many of the tokens.
func TestMissingSessions(t *testing.T) {
	bills := func(calls map[string]int, usd map[string]float64) *Input {
		var rows []tally
		for _, id := range []string{"a", "b", "c", "new"} {
			if calls[id] > 0 {
				rows = append(rows, tally{session: id, calls: calls[id], read: int64(1000 * calls[id]), usd: usd[id]})
			}
		}
		in := input(one("billed", rows...))
		in.Sessions = map[string]Session{}
		for _, row := range rows {
			in.Sessions[row.session] = Session{Project: "web"}
		}
		return in
	}
	all, cost := map[string]int{"a": 10, "b": 10, "c": 10}, map[string]float64{"a": 10, "b": 30, "c": 60}
	f := parsed(t, weekly)
	for _, c := range []struct { // usd nil: without a price
		calls  map[string]int
		usd    map[string]float64
		status Status
		says   string
	}{
		{all, cost, "", ""},
		{map[string]int{"a": 10, "b": 10, "c": 4}, map[string]float64{"a": 10, "b": 30, "c": 15}, Breach, "c (4 of 10 calls); 45.0 % of the baseline's bill is missing"},
		{map[string]int{"a": 10, "b": 10}, cost, Breach, "1 session of the baseline is not here, though all sessions here are the baseline's: c (0 of 10 calls); 60.0 % of the baseline's bill is missing"},
		{map[string]int{"a": 10, "b": 10, "new": 10}, map[string]float64{"a": 10, "b": 30, "new": 10}, "", ""},
		{map[string]int{"a": 10, "b": 10, "new": 10}, map[string]float64{"a": 10, "b": 30, "new": 9}, Suspect, "1 session of the baseline is not here, and 1 new session is far less: c (0 of 10 calls); 60.0 %"},
		{map[string]int{"new": 1}, map[string]float64{"new": 1}, "", ""},
		{map[string]int{"a": 10, "b": 10, "c": 12}, map[string]float64{"a": 10, "b": 30, "c": 80}, "", ""},
		{map[string]int{"a": 10}, nil, Breach, "2 sessions of the baseline are not here, though all sessions here are the baseline's: b (0 of 10 calls), c (0 of 10 calls); 66.7 % of the baseline's tokens are missing"},
	} {
		was := bills(all, cost)
		if c.usd == nil {
			was = bills(all, nil)
		}
		now := bills(c.calls, c.usd)
		r := against(t, f, was, now)
		var found *Result
		for i := range r.Results {
			if r.Results[i].Metric == missingMetric {
				found = &r.Results[i]
			}
		}
		switch {
		case c.status == "":
			if found != nil {
				t.Errorf("%v: %+v, want nothing missing", c.calls, found)
			}
		case found == nil || found.Status != c.status || !strings.Contains(found.Message, c.says):
			t.Errorf("%v: %+v, want %s: %s", c.calls, found, c.status, c.says)
		case r.OK != (c.status == Suspect):
			t.Errorf("%v: OK %t with %s", c.calls, r.OK, c.status)
		}
	}
}

// A session that is there and has no call left is gone: half of what two sessions were billed.
func TestMissingCallsOfASession(t *testing.T) {
	f := parsed(t, weekly)
	was := input(one("billed", tally{session: "a", usd: 1, read: 100}, tally{session: "b", usd: 1, read: 100}))
	now := input(one("billed", tally{session: "a", usd: 1, read: 100}))
	r := against(t, f, was, now)
	if !slices.ContainsFunc(r.Results, func(s Result) bool {
		return s.Metric == missingMetric && s.Status == Breach && strings.Contains(s.Message, "b (0 of 10 calls); 50.0 % of the baseline's bill")
	}) {
		t.Errorf("%+v", r.Results)
	}
}

// Sessions of calls without a bill and tokens leave the weight to sessions that have some: of $4, $3 of session b are gone.
func TestMissingBesideEmptySessions(t *testing.T) {
	f := parsed(t, weekly)
	list := []tally{{session: "a", usd: 1, read: 100}, {session: "b", usd: 3, read: 100}, {session: "uncounted"}, {session: "too", calls: 2}}
	r := against(t, f, input(one("billed", list...)), input(one("billed", list[0])))
	if !slices.ContainsFunc(r.Results, func(s Result) bool {
		return s.Metric == missingMetric && s.Status == Breach && strings.Contains(s.Message, "75.0 % of the baseline's bill is missing")
	}) {
		t.Errorf("%+v", r.Results)
	}
}
