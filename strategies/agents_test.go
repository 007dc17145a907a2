package strategies

import (
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
)

// forkOf returns the talk of a fork: its parent's context, whose last response
// has a thought, a text and three calls that wait for their results.
func forkOf(thread int32) *talk {
	k, _ := besideTalk()
	k.round("Read", "/a", 500)
	k.add(prompt.KindThinking, 40)
	k.add(prompt.KindText, 60)
	for range 3 {
		k.use("Task", "", 100)
	}
	k.Forked, k.Thread, k.Parent = true, thread, 0
	return k
}

// Behind the whole last response stand a placeholder for every call, in order,
// and the boilerplate; the task follows with the thread's input (003:2551).
func TestForkContext(t *testing.T) {
	k := forkOf(1)
	before := k.Context.Len()
	layer(t, "agents: {placeholder: 9, boilerplate: 250}").(ThreadStart).ThreadStart(&k.Turn)
	for i, want := range []struct {
		kind   prompt.Kind
		tokens int32
		call   int32
	}{
		{prompt.KindToolResult, 9, 2}, {prompt.KindToolResult, 9, 3}, {prompt.KindToolResult, 9, 4}, {prompt.KindAttachment, 250, 0},
	} {
		e, b := k.Context.At(before+i), k.Context.BlockAt(before+i)
		if e.Kind != want.kind || e.Tokens != want.tokens || b.Call != want.call {
			t.Errorf("entry %d: %v of %d tokens for call %d, want %+v", i, e.Kind, e.Tokens, b.Call, want)
		}
	}
	if got := k.Context.Len(); got != before+4 {
		t.Errorf("%d entries added, want 4", got-before)
	}
	k = forkOf(1)
	k.Forked = false
	layer(t, "agents: {}").(ThreadStart).ThreadStart(&k.Turn)
	if got := k.Context.Len(); got != before {
		t.Errorf("a sub-agent with a prefix of its own got %d entries", got-before)
	}
}

// Sibling forks are the same up to their tasks; with placeholders that differ
// they part right behind the parent's last response.
func TestForkSiblings(t *testing.T) {
	for text, same := range map[string]bool{"agents: {}": true, "agents: {identical_placeholders: false}": false} {
		var ends, heads []prompt.Digest
		for thread := range int32(2) {
			k := forkOf(thread + 1)
			parents := k.Context.Len()
			layer(t, text).(ThreadStart).ThreadStart(&k.Turn)
			entries := k.Context.Seal()
			heads, ends = append(heads, entries[parents-1].Chain), append(ends, entries[len(entries)-1].Chain)
		}
		if heads[0] != heads[1] || (ends[0] == ends[1]) != same {
			t.Errorf("%s: the siblings share their parent's context %v and the rest %v", text, heads[0] == heads[1], ends[0] == ends[1])
		}
	}
}

// Which sub-agents are forks: no child of a fork (003:2547) unless recursive, and a share of all
// other sub-agents, by draws of a half.
func TestForkWhich(t *testing.T) {
	for _, tc := range []struct {
		layer  string
		parent bool // is a fork
		want   bool
	}{
		{"agents: {}", false, true},
		{"agents: {}", true, false},
		{"agents: {recursive: true}", true, true},
		{"agents: {share: 0.5}", false, false},
		{"agents: {share: 0.6}", false, true},
	} {
		k, _ := besideTalk()
		k.Forked = tc.parent
		if got := layer(t, tc.layer).(Fork).Fork(&k.Turn); got != tc.want {
			t.Errorf("%s, parent a fork %v: %v", tc.layer, tc.parent, got)
		}
	}
}

// A placeholder holds four bytes a token. Without boilerplate nothing follows the
// placeholders, and without calls in the last response nothing comes at all.
func TestForkWithoutBoilerplate(t *testing.T) {
	k := forkOf(1)
	before := k.Context.Len()
	layer(t, "agents: {placeholder: 9, boilerplate: 0}").(ThreadStart).ThreadStart(&k.Turn)
	if got := k.Context.Len() - before; got != 3 || k.Context.BlockAt(before).Bytes != 36 {
		t.Errorf("%d entries, the first of %d bytes; want three placeholders of 36", got, k.Context.BlockAt(before).Bytes)
	}
	k, _ = besideTalk()
	k.add(prompt.KindText, 60)
	k.Forked, k.Thread = true, 1
	before = k.Context.Len()
	layer(t, "agents: {boilerplate: 0}").(ThreadStart).ThreadStart(&k.Turn)
	if got := k.Context.Len() - before; got != 0 {
		t.Errorf("%d entries behind a response without calls, want none", got)
	}
}
