package main

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/validate"
	"github.com/compactsim/compactsim/tools/tests/validatetest"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
)

// The reads of six calls tell how a client is served: of 30,000 + 1,000·n tokens
// and responses of 300, reads of 0.118 are 51 in front of the response's end, cut to 128; reads of
// 0.142 are 384 modulo 512.
func TestServedIsFitted(t *testing.T) {
	replies := [][3]int64{{30000, 2432, 0}}
	steps := replies
	for n := range int64(6) {
		total := 30000 + 1000*n
		replies = append(replies, [3]int64{total + 1000, (total + 300 - 51) / 128 * 128, 1})
		steps = append(steps, [3]int64{total + 1000, (total-384)/512*512 + 384, 1})
	}
	rows := fitServed([]*traces.Session{
		validatetest.Rollout("gpt-5.4", "0.142.0", steps...), validatetest.Rollout("gpt-5.4", "0.118.0", replies...), validatetest.Rollout("gpt-5.4", "0.119.0", replies...),
	})
	want := []profile.Served{
		{Agent: facts.Codex, Model: "gpt-5.4", Version: "0.118.0", Step: 128, Lag: 51, Replies: true},
		{Agent: facts.Codex, Model: "gpt-5.4", Version: "0.142.0", Step: 512, Offset: 384},
	}
	if len(rows) != len(want) {
		t.Fatalf("rows %+v, want %d", rows, len(want))
	}
	for i, w := range want {
		r := rows[i]
		if n := 6 * (2 - i); r.Exact.N != n || r.Exact.Value != 1 {
			t.Errorf("row %d: %g of %d calls are exact, want all %d", i, r.Exact.Value, r.Exact.N, n)
		}
		r.Exact, r.Retention = w.Exact, w.Retention
		if r != w {
			t.Errorf("row %d: %+v, want %+v", i, r, w)
		}
	}
	if rows := fitServed([]*traces.Session{validatetest.Rollout("gpt-5.4", "0.118.0", replies[:5]...)}); len(rows) != 0 {
		t.Errorf("four calls make a row: %+v", rows)
	}
}

// Of six gaps up to 500 s all are read, of six from 700 s none: an hour has six on
// its wrong side, 500 s none. One call does not move the edge.
func TestRetentionIsFitted(t *testing.T) {
	calls := [][3]int64{{30000, 2432, 0}}
	for n := range int64(6) {
		calls = append(calls, [3]int64{30000, 29568, 450 + 10*n}, [3]int64{30000, 2432, 700 + 10*n})
	}
	all := func(string, string, string) bool { return true }
	e := fitRetention([]*traces.Session{validatetest.Rollout("m", "1", calls...)}, 3600, all)
	if e.Value != 500 || e.Low > 490 || e.High < 700 || e.High > 710 || e.N != 12 {
		t.Errorf("retention %+v, want 500 s in about 490…700 of 12 gaps", e)
	}
	e = fitRetention([]*traces.Session{validatetest.Rollout("m", "1", calls[0], calls[2])}, 3600, all)
	if e.Value != 3600 || e.N != 1 {
		t.Errorf("retention %+v of one gap, want 3,600 s", e)
	}
}

// Share and kept part of a row give the tokens that its calls lost: of 200 calls of four sessions that would read
// 10,000, twelve read 4,000 less. By hand, drawn towards the prior 0.05, of which 0.4 is lost: all have (12 + 30·0.05)/230
// = 0.0587 and lose (48,000 + 30·10,000·0.02)/2,300,000 = 0.02348; their row, drawn to that,
// (12 + 30·0.0587)/230 = 0.0598 and (48,000 + 300,000·0.02348)/2,300,000 = 0.02393, so 0.5998 is kept.
func TestLossesGiveWhatWasLost(t *testing.T) {
	var calls []validate.Call
	for session := range 4 {
		for i := range 50 {
			c := validate.Call{Session: fmt.Sprint(session), Agent: facts.Codex, Round: 5, Class: validate.ClassToolResult}
			c.Predicted.Read, c.Actual.Read = 10000, 10000
			if i < 3 {
				c.Actual.Read = 6000
			}
			calls = append(calls, c)
		}
	}
	l := profile.Losses{Automatic: fitLosses(calls, &automaticLosses)}
	share, kept := l.Rate(&profile.Case{Automatic: true, Ordinal: 5})
	if share != 0.0598 || math.Abs(kept-0.5998) > 1e-3 {
		t.Errorf("%g lose all but %g, want 0.0598 and 0.5998", share, kept)
	}
	if late, _ := l.Rate(&profile.Case{Automatic: true, Ordinal: 11}); late != 0.0587 {
		t.Errorf("%g of late calls, of which there are none, want what all lose, 0.0587", late)
	}
}

// Where the recording's calls stand when their losses are counted: after a pause, a clearing or another model,
// calls of an automatic cache by what they answer, calls of marked caches not at all.
func TestPlacesOfLosses(t *testing.T) {
	prompted := validate.Call{Class: validate.ClassExpiry}
	prompted.Prompted = true
	for _, tc := range []struct {
		c                 validate.Call
		automatic, marked validate.Class
	}{
		{validate.Call{Class: validate.ClassFirst}, validate.ClassFirst, validate.ClassFirst},
		{validate.Call{Class: validate.ClassOther}, validate.ClassPrompt, validate.ClassPrompt},
		{validate.Call{Class: validate.ClassSubAgent}, validate.ClassSubAgent, validate.ClassSubAgent},
		{prompted, validate.ClassPrompt, validate.ClassFirst},
		{validate.Call{Class: validate.ClassExpiry}, validate.ClassToolResult, validate.ClassFirst},
		{validate.Call{Class: validate.ClassModel, Kind: traces.ThreadAgent}, validate.ClassSubAgent, validate.ClassFirst},
	} {
		if a, m := automaticLosses.place(&tc.c), markedLosses.place(&tc.c); a != tc.automatic || m != tc.marked {
			t.Errorf("%s: %s and %s, want %s and %s", tc.c.Class, a, m, tc.automatic, tc.marked)
		}
	}
}

// A model that a folder does not show keeps what the profile knew about it.
func TestUnseenModelsKeepTheirRows(t *testing.T) {
	base := profile.Codex{
		Switches: profile.CodexSwitches{Served: true},
		Served:   []profile.Served{{Model: "gpt-5.5", Version: "0.140.0", Step: 512, Offset: 384}},
		First:    []profile.FirstRead{{Session: "x", Model: "gpt-5.5", Read: 2432}},
	}
	c := fittedCodex(t, base, validatetest.Rollout("gpt-5.4", "0.118.0", [3]int64{30000, 3456, 0}))
	if len(c.Served) != 1 || c.Served[0] != base.Served[0] || !c.Switches.Served {
		t.Errorf("served %+v, want the base's", c.Served)
	}
	if len(c.First) != 1 || c.First[0].Read != 3456 {
		t.Errorf("first reads %+v, want the folder's 3,456 alone", c.First)
	}
	if c := fittedCodex(t, base); len(c.First) != 1 || c.First[0] != base.First[0] {
		t.Errorf("first reads %+v of no sessions, want the base's", c.First)
	}
}

// fittedCodex returns what sessions show beyond a profile.
func fittedCodex(t *testing.T, base profile.Codex, sessions ...*traces.Session) profile.Codex {
	t.Helper()
	first, err := profile.OpeningsOf(sessions)
	if err != nil {
		t.Fatal(err)
	}
	return fitCodex(base, sessions, first.Codex)
}

// Of calls 20 s after the last response those are lost whose response took 300 s: the lifetime of three minutes counts from its start, and
// no other explains more.
func TestRetentionFromTheStart(t *testing.T) {
	th := traces.Thread{Rounds: []traces.Round{{}}}
	for i := range 8 {
		before := &th.Rounds[i]
		before.Stream = int64(10+290*(i%2)) * int64(time.Second)
		th.Rounds = append(th.Rounds, traces.Round{Wait: int64(20+i%2) * int64(time.Second), Usage: prompt.Usage{Read: 9000 * int64(1-i%2)}})
	}
	s := &traces.Session{Models: []string{"gpt-5.6-luna"}, Threads: []traces.Thread{th}}
	if e := fitRetention([]*traces.Session{s}, 180, func(string, string, string) bool { return true }); e.Value != 180 || e.N != 8 {
		t.Errorf("%+v, want 180 s of 8 calls", e)
	}
}
