package strategies

import (
	"slices"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// clearHost serves a turn without a loop: it keeps what layers count and delete.
type clearHost struct {
	counts  [measures.NumFigures]int64
	refused []string
	deleted []int32
	draws   []float64
}

func (h *clearHost) Count(id measures.ID, n int64) { h.counts[id] += n }
func (h *clearHost) Refuse(_, reason string) Outcome {
	h.refused = append(h.refused, reason)
	return Outcome{Declined, reason}
}
func (h *clearHost) Delete(id int32)                      { h.deleted = append(h.deleted, id) }
func (h *clearHost) IsDeleted(id int32) bool              { return slices.Contains(h.deleted, id) }
func (h *clearHost) SetMemory(int32, prompt.Digest)       {}
func (h *clearHost) Post(Message)                         {}
func (h *clearHost) Draw(_ string, ordinal uint8) float64 { return h.draws[ordinal] }
func (h *clearHost) Undelete(id int32) {
	h.deleted = slices.DeleteFunc(h.deleted, func(d int32) bool { return d == id })
}

// hosted returns a talk in a warm cache whose layers are served.
func hosted() (*talk, *clearHost) {
	k, h := newTalk(), &clearHost{}
	k.Host = h
	k.Usage = prompt.Usage{Read: 1000}
	k.Life = 5 * minutes
	return k, h
}

const minutes = int64(60e9)

// parallel adds one response that calls a tool several times, and the results as
// the round's input.
func (k *talk) parallel(tool string, results ...int32) []*prompt.Block {
	var uses []prompt.Block
	for range results {
		uses = append(uses, *k.use(tool, "", 100))
	}
	at := k.Context.Len()
	for i, tokens := range results {
		r, u := k.add(prompt.KindToolResult, tokens), &uses[i]
		r.Call, r.Op, r.Tool, r.Object, r.Flags = u.Call, u.Op, u.Tool, u.Object, u.Flags
	}
	k.InputAt = at
	var blocks []*prompt.Block
	for i := at; i < k.Context.Len(); i++ {
		blocks = append(blocks, k.Context.BlockAt(i))
	}
	return blocks
}

// A list that takes calls in step by step lists what it would list at once, whatever was cleared,
// and its sums are right.
func TestClearablesIncremental(t *testing.T) {
	k := newTalk()
	step := newClearables([]string{"Read", "Bash"})
	for i := range int32(10) {
		k.round([]string{"Read", "Bash", "Task", "mcp__db__query"}[i%4], "", 100+i)
		step.update(&k.Turn)
	}
	k.use("Read", "", 100) // no result yet
	step.update(&k.Turn)
	whole := newClearables([]string{"Read", "Bash"})
	whole.relist(&k.Turn)
	if !slices.Equal(step.list, whole.list) || len(whole.list) != 7 || whole.paired != 6 {
		t.Errorf("step by step %+v, at once %+v", step.list, whole.list)
	}
	if whole.tokens != 100+101+104+105+108+109 || whole.estimate != whole.tokens || whole.inputs != 7*100 {
		t.Errorf("sums %d, %d, %d", whole.tokens, whole.estimate, whole.inputs)
	}
	first := whole.list[0].use
	whole.drop(func(u clearable) bool { return u.use == first })
	if len(whole.list) != 6 || whole.paired != 5 || whole.tokens != 527 || whole.estimate != 527 || whole.inputs != 6*100 {
		t.Errorf("without the first: %+v", whole)
	}
	if whole.refresh(&k.Turn) || len(whole.list) != 6 {
		t.Error("listed anew though nothing has changed")
	}
	whole.relist(&k.Turn)
	k.Context.SetForm(whole.list[0].at, prompt.FormCleared, 12, prompt.CauseEdit)
	k.Context.SetForm(whole.list[1].at, prompt.FormPointer, 40, prompt.CauseEdit)
	k.Context.SetForm(whole.list[2].at, prompt.FormRange, 52, prompt.CauseEdit)
	if !whole.refresh(&k.Turn) || len(whole.list) != 5 || whole.tokens != 52+105+108+109 || whole.estimate != whole.tokens || whole.inputs != 5*100 {
		t.Errorf("a preview can be cleared, what was cleared cannot: %+v", whole)
	}
}

// What an entry shows of a block's bytes is its share of the tokens; of a block without
// tokens it is all.
func TestShownBytes(t *testing.T) {
	for want, tc := range map[int32]struct {
		form   prompt.Form
		shown  int32
		tokens int32
	}{100: {prompt.FormVerbatim, 50, 50}, 30: {prompt.FormRange, 15, 50}, 99: {prompt.FormCleared, 0, 0}} {
		b := prompt.Block{Tokens: tc.tokens, Bytes: 100}
		if want == 99 {
			b.Bytes = 99
		}
		if got := shownBytes(&prompt.Entry{Form: tc.form, Tokens: tc.shown}, &b); got != want {
			t.Errorf("%+v: %d bytes, want %d", tc, got, want)
		}
	}
}

// The text of a skill is all that the client injects behind the result, up to what stays.
func TestTextOfASkill(t *testing.T) {
	k := newTalk()
	k.round("Skill", "", 10)
	at := k.Context.Len() - 1
	k.add(prompt.KindAttachment, 300)
	k.add(prompt.KindAttachment, 400)
	k.add(prompt.KindText, 50)
	for to, want := range map[int]int32{at + 4: 700, at + 3: 700, at + 2: 300, at + 1: 10} {
		if got := skillAt(&k.Turn, at, to).tokens; got != want {
			t.Errorf("up to %d: %d tokens, want %d", to-at, got, want)
		}
	}
}

// A tool that a session does not name belongs to no set, and no entry stands behind the last.
func TestBeyondWhatIsThere(t *testing.T) {
	k, set := newTalk(), new(toolset)
	for tool, want := range map[uint16]bool{uint16(len(k.Tools) - 1): true, uint16(len(k.Tools)): false} {
		if got := set.has(&k.Turn, &prompt.Block{Tool: tool}); got != want {
			t.Errorf("tool %d of %d: %v", tool, len(k.Tools), got)
		}
	}
	if n := k.Context.Len(); !standsAt(k.Context, n-1, int32(n-1), 500) || standsAt(k.Context, n, int32(n), 500) {
		t.Error("the last entry is not there, or one behind it is")
	}
}
