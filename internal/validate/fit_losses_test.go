package validate

import (
	"fmt"
	"testing"
)

// lossCalls returns n calls of a session and a class at a gap, of which the first
// lost have lost their messages.
func lossCalls(session string, class Class, seconds float64, n, lost int) []Call {
	calls := make([]Call, n)
	for i := range calls {
		calls[i] = Call{Session: session, Class: class, Gap: int64(seconds * 1e9), Left: 50_000, Context: 60_000}
		if i >= lost {
			calls[i].Actual.Read = 50_000
		}
	}
	return calls
}

// Six sessions lose two prompts of 50 each within a minute, and as many later on.
// By hand: the class has (24 + 30·0.04)/(600 + 30) = 0.04; its first row
// (12 + 30·0.04)/(300 + 30) = 0.04 as well. Tool results that lose nothing have
// 30·0.0015/(600 + 30) ≈ 0.0001 in all. A row of them has 30·0.0001/630 ≈ 0, one
// without calls what all have.
func TestLossesAreSharesByGap(t *testing.T) {
	var calls []Call
	for i := range 6 {
		id := fmt.Sprint(i)
		calls = append(calls, lossCalls(id, ClassPrompt, 30, 50, 2)...)
		calls = append(calls, lossCalls(id, ClassPrompt, 100, 50, 2)...)
		calls = append(calls, lossCalls(id, ClassToolResult, 1, 100, 0)...)
	}
	l := fitLosses(calls)
	for i, want := range []float64{0.04, 0.04, 0.04} {
		if got := l.Prompt[i].Value; got != want {
			t.Errorf("prompts to %g s: %g, want %g", l.Prompt[i].Seconds, got, want)
		}
	}
	if l.Prompt[0].N != 300 || l.Prompt[2].N != 0 {
		t.Errorf("%d and %d prompts, want 300 and none", l.Prompt[0].N, l.Prompt[2].N)
	}
	for i, want := range []float64{0, 0.0001} {
		if got := l.ToolResult[i].Value; got != want {
			t.Errorf("tool results to %g s: %g, want %g", l.ToolResult[i].Seconds, got, want)
		}
	}
	if e := l.Prompt[0]; !(e.Low < e.Value && e.Value < e.High) {
		t.Errorf("%g lies outside %g…%g", e.Value, e.Low, e.High)
	}
}

// A session that loses forty prompts of fifty adds one loss to those of nobody
// else: (1 + 30·0.04)/(50 + 30) = 0.0275 of the class. Its row has
// (1 + 30·0.0275)/80 = 0.0228.
func TestLossesDoNotComeFromOneSession(t *testing.T) {
	l := fitLosses(lossCalls("only", ClassPrompt, 30, 50, 40))
	if got := l.Prompt[0].Value; got != 0.0228 {
		t.Errorf("%g of prompts are lost, want 0.0228", got)
	}
	if none := fitLosses(nil); none.Prompt[0].Value != lossPrompt || none.ToolResult[0].Value != lossTool {
		t.Errorf("without calls %+v, want the prior shares", none)
	}
}
