package strategies

import (
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
)

// A limit is reached by what is as large (E5: sections of 2,000, a memory of 12,000): then the
// update is reminded of the limit, and nothing is cut off yet. The template is part of the memory,
// of 500 tokens at most. Here both sections hold half a token for each token that is summarised.
func TestMemoryAtItsLimits(t *testing.T) {
	m := sessionMemoryFile{Template: 300, Sections: 2, Section: 100, Total: 500, Share: 1, Largest: 0.5, Condense: true, Reminder: 40, Marker: 25}
	grown := m
	grown.Condense = false
	for _, tc := range []struct{ summarised, reminders, cut int64 }{
		{100, 0, 300 + 100}, {198, 0, 300 + 198}, {200, 3 * 40, 300 + 200}, {202, 3 * 40, 300 + 2*125},
	} {
		if got := m.reminders(tc.summarised); got != tc.reminders {
			t.Errorf("%d summarised: reminders of %d tokens, want %d", tc.summarised, got, tc.reminders)
		}
		if got := grown.summary(tc.summarised); got != tc.cut {
			t.Errorf("%d summarised: %d tokens in the place of messages, want %d", tc.summarised, got, tc.cut)
		}
	}
}

// The call of an update holds the instruction, the reminders and the memory as it is. Its
// responses take the time given, and a share of none fails none.
func TestWhatAnUpdateAsks(t *testing.T) {
	l, k := layer(t, notesOnly+", extract: {seconds: 4, failure: 0}}"), newTalk()
	compactionHosted(k).draw = 0
	k.add(prompt.KindPrompt, 199_400)
	in, _ := reply(l, k, 0)
	if in.Known.Total != 4e9 || in.Known.First != 4e9 || in.Known.Failed != "" {
		t.Errorf("responses of 4 s: %+v", in.Known)
	}
	l.(BackgroundResult).BackgroundResult(&k.Turn, &prompt.Result{})
	k.add(prompt.KindPrompt, 9000)
	// 200,000 summarised tokens: the largest section is full (TestMemoryFileSizes).
	if in, _ = reply(l, k, 0); in.Instruction != 1000+40+300+2000+9*777 {
		t.Errorf("instruction, reminder and memory of %d tokens", in.Instruction)
	}
}

// Growth of the count alone is nothing new to take notes of.
func TestNoUpdateOfNothing(t *testing.T) {
	l, k := layer(t, notesOnly+"}"), rounds(10, 900)
	compactionHosted(k)
	reply(l, k, 0)
	l.(BackgroundResult).BackgroundResult(&k.Turn, &prompt.Result{})
	k.Reading.Values[MeasureClientTokens] += 20_000
	if out := l.(AfterResponse).AfterResponse(&k.Turn); out.Reason != "nothing new is answered" || len(k.TakeBackground()) > 0 {
		t.Errorf("%+v", out)
	}
}

// An update within an update begins from a growth of 5,000 tokens on: the memory of
// 828 and 900 of responses and results leave 3,272 for the instruction.
func TestUpdateOfAnUpdateAtItsGrowth(t *testing.T) {
	for instruction, more := range map[string]int{"3271": 0, "3272": 1} {
		l, k := layer(t, notesOnly+", extract: {guard: false, instruction: "+instruction+"}}"), rounds(10, 900)
		compactionHosted(k)
		reply(l, k, 0)
		l.(BackgroundResult).BackgroundResult(&k.Turn, &prompt.Result{})
		if got := len(k.TakeBackground()); got != more {
			t.Errorf("instruction of %s: %d further updates, want %d", instruction, got, more)
		}
	}
}

// An update is stale by its own age, not by the session's age (N97: 60 s).
func TestWaitForAnUpdateLateInASession(t *testing.T) {
	l, k, _ := remembered(t, notesOnly+"}", 10, 12)
	k.Now = 3600e9
	reply(l, k, 0)
	k.Now += 50e9
	if out := l.(BeforeRequest).BeforeRequest(&k.Turn); out.Verdict != Waiting {
		t.Errorf("an update of 50 s: %+v, want to wait for it", out)
	}
}

// Messages stay until both minima hold, or the limit is reached: each bound holds with
// just as much. The prompt and two rounds that the memory does not cover are 2,200 tokens and
// three messages with text, however many texts one holds.
func TestKeepRangeIsReached(t *testing.T) {
	for name, text := range map[string]string{
		"tokens": "{min_tokens: 2200, min_texts: 0}",
		"texts":  "{min_tokens: 0, min_texts: 3}",
		"limit":  "{min_tokens: 2200, max_tokens: 2200, min_texts: 9}",
	} {
		l, k, _ := remembered(t, notesOnly+", keep: "+text+"}", 10, 2)
		if got := l.(*sessionMemory).keepFrom(k.Context, k.Context.Len()-7); got != k.Context.Len()-7 {
			t.Errorf("%s: %d entries stay, want 7", name, k.Context.Len()-got)
		}
	}
	l, k := layer(t, notesOnly+", keep: {min_tokens: 0, min_texts: 2}}").(*sessionMemory), newTalk()
	for range 3 {
		k.add(prompt.KindText, 50)
		k.add(prompt.KindText, 50)
		k.round("Bash", "", 900) // of the same response
	}
	if got := l.keepFrom(k.Context, k.Context.Len()); got != k.Context.Len()-8 {
		t.Errorf("%d entries stay for two messages with text, want 8", k.Context.Len()-got)
	}
	if got := l.keepFrom(k.Context, k.Context.Len()-4); got != k.Context.Len()-8 {
		t.Errorf("%d entries stay for a message with two texts and one more, want 8", k.Context.Len()-got)
	}
}

// A result that reaches the trigger is refused (002:239): 828 tokens of memory and 12,200
// that stay behind 18,000 of tools, system prompt and reminders make 31,028, here in true tokens.
func TestSessionMemoryGuardAtTheTrigger(t *testing.T) {
	for fixed, want := range map[int64]Verdict{31_028: Declined, 31_029: Done} {
		l, k, _ := remembered(t, notesOnly+"}", 10, 12)
		l.(*sessionMemory).params.Trigger.Fixed = fixed
		if out := l.(BeforeRequest).BeforeRequest(&k.Turn); out.Verdict != want {
			t.Errorf("trigger at %d: %+v", fixed, out)
		}
	}
}

// What the client counts of a message set is padded by a third as everywhere (002:22), but
// for what is cleared, of which the placeholder is known; in true tokens it is as it is.
func TestSessionMemoryCounts(t *testing.T) {
	for way, want := range map[string][2]int64{"estimate": {134, 12}, "true": {100, 12}} {
		l, k := layer(t, "session-memory: {trigger: {fixed: 15000}, count: "+way+"}").(*sessionMemory), newTalk()
		if got := l.measure(&prompt.Block{Kind: prompt.KindSummary, Tokens: 100, Bytes: 400}).tokens(); got != want[0] {
			t.Errorf("%s: %d of a memory of 100 tokens, want %d", way, got, want[0])
		}
		k.round("Read", "", 100)
		last := k.Context.Len() - 1
		if got := l.count(k.Context, last).tokens(); got != want[0] {
			t.Errorf("%s: %d of a result of 100 tokens, want %d", way, got, want[0])
		}
		k.Context.SetForm(last, prompt.FormCleared, 12, prompt.CauseEdit)
		if got := l.count(k.Context, last).tokens(); got != want[1] {
			t.Errorf("%s: %d of a cleared result, want %d", way, got, want[1])
		}
	}
}

// When nothing stays, the memory is all there is behind the head, no segment is preserved,
// and the input begins behind the memory. It is text of four bytes a token, and of no file.
func TestMemoryInThePlaceOfAll(t *testing.T) {
	l, k, _ := remembered(t, notesOnly+", keep: {min_tokens: 0, min_texts: 0}}", 10, 0)
	l.(*sessionMemory).params.Trigger.Fixed = 19_000          // 18,000 of the head and 828 of the memory are below it
	k.Context.Truncate(k.Context.Len()-1, prompt.CauseRewind) // the prompt behind the notes
	k.InputAt = k.Context.Len() - 5
	if out := l.(BeforeRequest).BeforeRequest(&k.Turn); out.Verdict != Done {
		t.Fatalf("%+v", out)
	}
	if b := k.Boundary(); k.Context.Len() != 4 || b.PreservedFrom != 0 || b.PreservedTo != 0 || k.InputAt != 4 {
		t.Errorf("%d entries, input at %d, boundary %+v", k.Context.Len(), k.InputAt, b)
	}
	if b := k.Context.BlockAt(3); b.Tokens != 828 || b.Bytes != 4*828 || b.Object >= 0 {
		t.Errorf("memory %+v", b)
	}
}
