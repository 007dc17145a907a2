package sim

import (
	"slices"
	"testing"

	"github.com/compactsim/compactsim/internal/kit/draws"
	"github.com/compactsim/compactsim/sim/internal/side"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/ask"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// A call sends the conversation's prefix, or a head of its own; what stands for messages that
// are cut off; the messages asked for; and its instruction. What it does not ask for is not there.
func TestWhatACallSends(t *testing.T) {
	l := laid(t, testConfig(t, "none"), newSession("s").turns(2, 0, 1000).session())
	th := l.threads[0]
	head, first, second := []int32{12_000, 4000, 2000}, []int32{300, 40, 60, 100}, []int32{1000, 40, 60, 100}
	n := int32(th.Context.Len())
	for name, tc := range map[string]struct {
		in   prompt.Intent
		want []int32
	}{
		"all":                   {prompt.Intent{}, slices.Concat(head, first, second)},
		"with an instruction":   {prompt.Intent{Instruction: 50}, slices.Concat(head, first, second, []int32{50})},
		"the first messages":    {prompt.Intent{To: 7}, slices.Concat(head, first)},
		"more than there is":    {prompt.Intent{To: n + 5}, slices.Concat(head, first, second)},
		"up to the end":         {prompt.Intent{To: n}, slices.Concat(head, first, second)},
		"the last messages":     {prompt.Intent{From: 7, Lead: 20, Instruction: 50}, slices.Concat(head, []int32{20}, second, []int32{50})},
		"the last, no lead":     {prompt.Intent{From: 7}, slices.Concat(head, second)},
		"a head of its own":     {prompt.Intent{Own: true, Head: 700, Instruction: 50}, slices.Concat([]int32{700}, first, second, []int32{50})},
		"no head":               {prompt.Intent{Own: true, From: 7}, second},
		"the newest":            {prompt.Intent{Own: true, Newest: 1400}, slices.Concat(first[1:], second)},
		"the newest that fit":   {prompt.Intent{Own: true, Newest: 1399}, second[1:]},
		"text alone":            {prompt.Intent{Own: true, Strip: ask.StripThinking | ask.StripTools}, []int32{300, 60, 60}},
		"answers alone":         {prompt.Intent{Own: true, Strip: ask.StripThinking | ask.StripTools | ask.StripCalling}, []int32{300}}, // both responses call a tool
		"without thinking":      {prompt.Intent{Strip: ask.StripThinking}, slices.Concat(head, []int32{300, 60, 100}, []int32{1000, 60, 100})},
		"without, up to a call": {prompt.Intent{Strip: ask.StripThinking, To: 7, Instruction: 1}, slices.Concat(head, []int32{300, 60, 100, 1})},
	} {
		var sent prompt.Context
		side.Build(&sent, th.replay.session.Blocks, &th.Context, &th.head, &tc.in)
		var got []int32
		for i := range sent.Len() {
			got = append(got, sent.At(i).Tokens)
			if b := sent.BlockAt(i); b.Object < -1 || i >= sent.Len()-1 && tc.in.Instruction > 0 && (b.Object >= 0 || b.Flags&prompt.FlagMeta == 0) {
				t.Errorf("%s: entry %d is %+v", name, i, b)
			}
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// busy is a summariser whose server takes seven seconds to refuse.
type busy struct{}

func (busy) Summarize(*prompt.Intent, draws.Source, uint64, prompt.Digest) prompt.Answer {
	return prompt.Answer{Failed: ask.FailAPI, First: second, Total: 7 * second}
}

// A refused call takes its time, reads nothing and costs nothing.
func TestRefusedCallTakesItsTime(t *testing.T) {
	c := testConfig(t, "none")
	c.Summarizer = busy{}
	s := newSession("s").turns(2, 0, 1000).session()
	row, calls, failed := inquired(t, c, inquirer{instruction: 100}, s)
	if !slices.Equal(failed, []string{ask.FailAPI, ask.FailAPI}) || len(calls) != 2 || !near(row.Figures[measures.AddedLatency], 14) {
		t.Errorf("%q, %d calls, %g s of waiting; want two refusals of 7 s", failed, len(calls), row.Figures[measures.AddedLatency])
	}
	none, _ := run(t, testConfig(t, "none"), s)
	if row.CostUSD() != none.CostUSD() {
		t.Errorf("$%g, without the calls $%g", row.CostUSD(), none.CostUSD())
	}
}

// placed notes where a thread is at each of its requests.
type placed struct {
	served
	points []Point
}

func (p *placed) Served(at Point, _ string, _ *exchange.Request, _ *exchange.Outcome) {
	p.points = append(p.points, at)
}

// An observer is told the time of the session, and how long the thread has been idle: a
// result comes a second behind a response of five.
func TestWhereAThreadIs(t *testing.T) {
	c := testConfig(t, "none")
	var o placed
	c.Observer = &o
	run(t, c, newSession("s").turns(3, 0, 1000).session())
	for i, p := range o.points {
		idle := min(int64(i), 1) * second
		if p.Round != int32(i) || p.Now != int64(i)*6*second || p.Idle != idle {
			t.Errorf("call %d: %+v, want it at %d s, idle for %d s", i, p, 6*i, idle/second)
		}
	}
}

// What a real server wrote of every lifetime is added up.
func TestMeasuredWritesAddUp(t *testing.T) {
	var s replay
	writes := prompt.Usage{Write5m: 1, Write1h: 2, WriteOther: 4}
	s.measure(nil)
	s.measure(&prompt.Measured{Usage: writes})
	if n := &s.book.Row.Figures; n[measures.LiveCalls] != 1 || n[measures.LiveWriteTokens] != 7 {
		t.Errorf("%g calls wrote %g; want 1 and 7", n[measures.LiveCalls], n[measures.LiveWriteTokens])
	}
}
