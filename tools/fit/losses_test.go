package main

import (
	"fmt"
	"testing"

	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/validate"
)

// lossCalls returns n calls of a session and a class at a gap, of which the first
// lost have lost their messages.
func lossCalls(session string, class validate.Class, seconds float64, n, lost int) []validate.Call {
	calls := make([]validate.Call, n)
	for i := range calls {
		calls[i] = validate.Call{Session: session, Class: class, Gap: int64(seconds * 1e9), Left: 50_000, Context: 60_000}
		if i >= lost {
			calls[i].Actual.Read = 50_000
		}
	}
	return calls
}

// Six sessions lose two prompts of 50 each within a minute, and as many later on.
// By hand: the class has (24 + 30·0.04)/(600 + 30) = 0.04; its first row
// (12 + 30·0.04)/(300 + 30) = 0.04 as well. Tool results that lose nothing have
// 30·0.0015/(600 + 30) ≈ 0.0001 in all. A row of such results has 30·0.0001/630 ≈ 0, one without
// calls what all have.
func TestLossesAreSharesByGap(t *testing.T) {
	var calls []validate.Call
	for i := range 6 {
		id := fmt.Sprint(i)
		calls = append(calls, lossCalls(id, validate.ClassPrompt, 30, 50, 2)...)
		calls = append(calls, lossCalls(id, validate.ClassPrompt, 100, 50, 2)...)
		calls = append(calls, lossCalls(id, validate.ClassToolResult, 1, 100, 0)...)
	}
	l := fitLosses(calls, &markedLosses)
	for i, want := range []float64{0.04, 0.04, 0.04} {
		if got := l.Prompt[i+1].Value; got != want {
			t.Errorf("prompts to %g s: %g, want %g", l.Prompt[i+1].Seconds, got, want)
		}
	}
	if l.Prompt[1].N != 300 || l.Prompt[3].N != 0 {
		t.Errorf("%d and %d prompts, want 300 and none", l.Prompt[1].N, l.Prompt[3].N)
	}
	for i, want := range []float64{0, 0.0001} {
		if got := l.ToolResult[i+1].Value; got != want {
			t.Errorf("tool results to %g s: %g, want %g", l.ToolResult[i+1].Seconds, got, want)
		}
	}
	if e := l.Prompt[1]; !(e.Low < e.Value && e.Value < e.High) {
		t.Errorf("%g lies outside %g…%g", e.Value, e.Low, e.High)
	}
}

// A session that loses forty prompts of fifty adds one loss to the losses of nobody
// else: (1 + 30·0.04)/(50 + 30) = 0.0275 of the class. Its row has
// (1 + 30·0.0275)/80 = 0.0228.
func TestLossesDoNotComeFromOneSession(t *testing.T) {
	l := fitLosses(lossCalls("only", validate.ClassPrompt, 30, 50, 40), &markedLosses)
	if got := l.Prompt[1].Value; got != 0.0228 {
		t.Errorf("%g of prompts are lost, want 0.0228", got)
	}
	if none := fitLosses(nil, &markedLosses); none.Prompt[0].Value != 0.04 || none.ToolResult[0].Value != 0.0015 {
		t.Errorf("without calls %+v, want the prior shares", none)
	}
}

// Sub-agents lean on tool results: without calls they lose as many, (3 + 30·0.0015)/3,030 = 0.001, and with 970 of their
// own that lose nothing (0 + 30·0.001)/1,000 = 0. Without calls they have no rows, and the rows of tool results apply.
func TestSubAgentsLeanOnToolResults(t *testing.T) {
	var calls []validate.Call
	for i := range 3 {
		calls = append(calls, lossCalls(fmt.Sprint(i), validate.ClassToolResult, 30, 1000, 1)...)
	}
	in := func(p profile.Places) float64 {
		l := profile.Losses{Marked: p}
		share, _ := l.Rate(&profile.Case{Agent: true, Gap: 30e9})
		return share
	}
	none, quiet := fitLosses(calls, &markedLosses), fitLosses(append(calls, lossCalls("4", validate.ClassSubAgent, 30, 970, 0)...), &markedLosses)
	if in(none) != 0.001 || in(quiet) != 0 {
		t.Errorf("sub-agents lose %g without calls and %g with those that lose nothing, want 0.001 and 0", in(none), in(quiet))
	}
	if len(none.Agent) > 0 || len(quiet.Agent) == 0 {
		t.Errorf("rows %+v without calls and %+v with, want none and some", none.Agent, quiet.Agent)
	}
}

// A thread's late calls have a share of their own: three sessions lose 3 of 300
// prompts early, and none of 270 late. By hand (3 + 30·0.04)/330 = 0.0127 of the class and
// (0 + 30·0.0127)/300 = 0.0013; the row of those early (3 + 30·0.0127)/330 = 0.0102.
func TestLateCallsLoseLess(t *testing.T) {
	var calls []validate.Call
	for i := range 3 {
		calls = append(calls, lossCalls(fmt.Sprint(i), validate.ClassPrompt, 30, 100, 1)...)
		late := lossCalls(fmt.Sprint(i), validate.ClassPrompt, 30, 90, 0)
		for k := range late {
			late[k].Round = markedLosses.late + k
		}
		calls = append(calls, late...)
	}
	l := profile.Losses{Marked: fitLosses(calls, &markedLosses)}
	for ordinal, want := range map[int]float64{0: 0.0102, markedLosses.late - 1: 0.0102, markedLosses.late: 0.0013, 500: 0.0013} {
		if got, _ := l.Rate(&profile.Case{Prompt: true, Gap: 30e9, Ordinal: ordinal}); got != want {
			t.Errorf("call %d: %g, want %g", ordinal, got, want)
		}
	}
}
