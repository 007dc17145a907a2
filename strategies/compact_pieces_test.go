package strategies

import (
	"slices"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// piecesTalk returns a layer that summarises in pieces of 6,000 tokens and acts at 30,000, and a function that adds a round of a call of 100
// tokens and its result. What calls ahead of the trigger read of the conversation, and of summaries, is collected.
func piecesTalk(t *testing.T, more string) (l *compact, k *talk, round func(result int32) Outcome, reads *[][2]int32) {
	l, k = layer(t, "full-compact: {trigger: {measure: since, fixed: 30000}, call: [streaming], instruction: 0, keep: {tokens: 6000}, "+
		"beside: {enabled: true, every: 6000, share: 0.07"+more+"}, summary: {header: 70, pointer: 0, continuation: 0}, "+
		"attachments: {files: {count: 0}, plan: false, plan_mode: 0, agent_status: 0}}").(*compact), newTalk()
	k.Trigger = traces.TriggerToolResult
	reads = new([][2]int32)
	round = func(result int32) Outcome {
		k.round("Bash", "", result)
		out := l.BeforeRequest(&k.Turn)
		for _, in := range slices.Clone(k.TakeBackground()) {
			if in.Recorded != int32(0.07*float64(in.Summarised)) {
				t.Errorf("a summary of %d tokens has %d", in.Summarised, in.Recorded)
			}
			*reads = append(*reads, [2]int32{int32(tokensBetween(k.Context, int(in.From), int(in.To))), in.Instruction})
			l.BackgroundResult(&k.Turn, &prompt.Result{Answer: prompt.Answer{Summary: 400}})
		}
		return out
	}
	return l, k, round, reads
}

// A prompt of 500 and rounds of 6,000. A call is due at 6,500, 12,500, 18,500 and, within 1.1 steps of the trigger, at 24,500 tokens, and reads
// what is new beside the summaries before it. At 30,500 the pieces of 6,500, 6,000 and 6,000 go, of the 24,500 that the request before had all
// but 6,000. The fourth stays ready: the next call reads the two rounds behind it. At 30,000 the pieces of 6,000 and 12,000 go, of 24,000.
func TestPiecesAheadOfTheTrigger(t *testing.T) {
	_, k, round, reads := piecesTalk(t, "")
	var done []int
	for i := range 8 {
		if round(5900).Verdict == Done {
			done = append(done, 1+i)
			if b := k.Boundary(); b.Calls != len(done)%2+2 {
				t.Errorf("round %d: a compaction of %d calls", 1+i, b.Calls)
			}
		}
	}
	if want := []int{5, 8}; !slices.Equal(done, want) {
		t.Errorf("rounds %v compact, want %v", done, want)
	}
	if want := [][2]int32{{6500, 0}, {6000, 400}, {6000, 800}, {6000, 1200}, {12000, 1600}, {6000, 2000}}; !slices.Equal(*reads, want) {
		t.Errorf("calls read %v, want %v", *reads, want)
	}
	if got, want := k.sizes(3), []int32{1270, 800, 100, 5900, 100, 5900}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Calls are due at 6,600 and 12,000 tokens, and the next one at 18,000. With a prompt the size of the piece that was read last, 5,400, counts in
// place of 12,000, and one is due at 12,200: it would read 200 tokens, and is not made.
func TestPiecesCountFromThePieceWithAPrompt(t *testing.T) {
	_, k, round, reads := piecesTalk(t, "")
	round(6000)
	round(5300)
	if out := round(0); out.Reason != "below the trigger" {
		t.Errorf("%+v", out)
	}
	if want := [][2]int32{{6600, 0}, {5400, 400}}; !slices.Equal(*reads, want) {
		t.Fatalf("calls read %v, want %v", *reads, want)
	}
	k.Trigger = traces.TriggerPrompt
	if out := round(0); out.Reason != "too little is new" {
		t.Errorf("%+v", out)
	}
}

// Where nothing is ready at the trigger the conversation waits for a call that reads all, and the request under way shows it once more: less than
// 6,000 tokens would be left.
func TestPiecesOfOneRound(t *testing.T) {
	l, k, round, _ := piecesTalk(t, "")
	if out := round(31_000); out.Verdict != Pending {
		t.Fatalf("%+v", out)
	}
	if in, _ := k.Intent(); in.Summarised != 31_600 {
		t.Errorf("the call reads %d tokens", in.Summarised)
	}
	l.IntentResult(&k.Turn, &prompt.Result{Answer: prompt.Answer{Summary: 400}})
	if got, want := k.sizes(3), []int32{470, 500, 100, 31_000}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if out := round(900); out.Verdict != Declined {
		t.Errorf("%+v", out)
	}
	if got, want := k.sizes(3), []int32{470, 100, 900}; !slices.Equal(got, want) || k.InputAt != k.Context.Len() {
		t.Errorf("%v, want %v; the input begins at %d", got, want, k.InputAt)
	}
}

// Two summaries of 1,270 and 800 tokens are folded into one of 400 where 2,000 are enough.
func TestPiecesFold(t *testing.T) {
	l, k, round, _ := piecesTalk(t, ", fold: 2000")
	for range 8 {
		round(5900)
	}
	if out := round(100); out.Verdict != Pending {
		t.Fatalf("%+v", out)
	}
	if in, _ := k.Intent(); in.Summarised != 2070 || in.Instruction != 0 || in.Recorded != 0 {
		t.Errorf("the call reads %d and %d tokens", in.Summarised, in.Instruction)
	}
	l.IntentResult(&k.Turn, &prompt.Result{Answer: prompt.Answer{Summary: 400}})
	if got, want := k.sizes(3), []int32{470, 100, 5900, 100, 5900, 100, 100}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Of three summaries of 1,270, 800 and 800 tokens the first two are folded where 2,500 are enough: the third would go beyond half of that.
func TestPiecesFoldTheOldest(t *testing.T) {
	l, k, round, _ := piecesTalk(t, ", fold: 2500")
	for range 11 {
		if out := round(5900); out.Verdict == Pending {
			t.Fatalf("%+v of %v", out, k.sizes(3))
		}
	}
	if out := round(100); out.Verdict != Pending {
		t.Fatalf("%+v of %v", out, k.sizes(3))
	}
	if in, _ := k.Intent(); in.Summarised != 2070 || in.Recorded != 0 {
		t.Errorf("the call reads %d tokens", in.Summarised)
	}
	l.IntentResult(&k.Turn, &prompt.Result{Answer: prompt.Answer{Summary: 400}})
	if got, want := k.sizes(3)[:3], []int32{470, 800, 100}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Where the one summary of 2,470 tokens that is left is itself above what is folded, it is not folded again with each request.
func TestPiecesFoldOneSummaryOnce(t *testing.T) {
	l, k, round, _ := piecesTalk(t, ", fold: 2000")
	for range 8 {
		round(5900)
	}
	round(100)
	l.IntentResult(&k.Turn, &prompt.Result{Answer: prompt.Answer{Summary: 2400}})
	if out := round(100); out.Verdict != Declined {
		t.Errorf("%+v", out)
	}
	if got, want := k.sizes(3), []int32{2470, 100, 5900, 100, 5900, 100, 100, 100, 100}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Of four pieces of 6,500, 6,000, 6,000 and 6,000 tokens another layer takes out the last message of the second. Its summary is thrown away: the
// other three go, with summaries of 400 tokens each behind the header of 70.
func TestPieceThatAnotherLayerTookOut(t *testing.T) {
	l, k, round, _ := piecesTalk(t, "")
	for range 4 {
		round(5900)
	}
	at := k.Context.Index(l.beside.ready[1].last)
	k.Context.Replace(at-1, at+1, nil, prompt.CauseEdit)
	round(5900)
	out := round(5900)
	if b := k.Boundary(); out.Verdict != Done || b.Calls != 3 {
		t.Fatalf("%+v: a compaction of %d calls", out, b.Calls)
	}
	if got, want := k.sizes(3), []int32{1270, 100, 5900, 100, 5900}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Pieces are made while the conversation waits for the trigger, and none is placed twice in a copy of the thread.
func TestPiecesAreCopied(t *testing.T) {
	l, k, round, _ := piecesTalk(t, "")
	for range 4 {
		round(5900)
	}
	c := l.Copy().(*compact)
	round(5900)
	if len(c.beside.ready) != 4 || c.beside.before != 24_524 || len(l.beside.ready) != 1 {
		t.Errorf("%d summaries are ready in the copy, %d in the thread; the request before had %d tokens", len(c.beside.ready), len(l.beside.ready), c.beside.before)
	}
	if l := l.Clone().(*compact); l.beside.ready != nil || l.beside.pieces != (pieces{}) {
		t.Errorf("a branch takes over %+v", l.beside)
	}
	if _, ok := k.Intent(); ok {
		t.Error("a call is asked for that the conversation waits for")
	}
}

// A step of one token has no half: near the trigger, too, a call is due at each token.
func TestPiecesOfOneToken(t *testing.T) {
	l, _, round, reads := piecesTalk(t, "")
	l.params.Beside.Every = 1
	if out := round(29_399); out.Reason != "a compaction has begun beside the conversation" || len(*reads) != 1 {
		t.Errorf("%+v, calls read %v", out, *reads)
	}
}
