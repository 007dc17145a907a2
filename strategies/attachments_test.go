package strategies

import (
	"slices"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
)

// file is a restored file by path and tokens.
type file struct {
	path   string
	tokens int32
}

// half is the density of files of half a token a byte.
func half(int32) float64 { return 0.5 }

func restored(k *talk, b fileBudget, kept ...int32) []file {
	var got []file
	k.disk.look(&k.Turn)
	for _, r := range b.restore(&k.Turn, Body(k.Context), k.Context.Len(), kept, &k.disk) {
		block := k.Context.Block(r)
		got = append(got, file{k.object(block), block.Tokens})
	}
	return got
}

// Restored files: the five last accessed, newest first, each cut to its budget,
// failed reads left out (001:734-766; 002:158: 5 files, 5,000 tokens each,
// 50,000 in all). Five times 5,000 never reaches 50,000: the total is tested by
// lowering it. Over it, version 1 skips a file and goes on, 2.1 stops (004,
// step 5c).
func TestRestoredFiles(t *testing.T) {
	k := newTalk()
	k.round("Read", "/a", 900)
	k.round("Read", "/b", 8000)
	k.round("Read", "/c", 700)
	k.round("Read", "/failed", 600).Flags = prompt.FlagError
	k.round("Read", "/e", 150)
	k.round("Read", "/a", 800)
	k.round("Read", "/f", 200)
	k.round("Read", "/g", 100)
	for name, tc := range map[string]struct {
		budget fileBudget
		want   []file
	}{
		"count":         {fileBudget{Count: 5, Each: 5000, Total: 50000}, []file{{"/g", 100}, {"/f", 200}, {"/a", 800}, {"/e", 150}, {"/c", 700}}},
		"cut":           {fileBudget{Count: 6, Each: 5000, Total: 50000}, []file{{"/g", 100}, {"/f", 200}, {"/a", 800}, {"/e", 150}, {"/c", 700}, {"/b", 5000}}},
		"named":         {fileBudget{Count: 6, Each: 5000, Total: 50000, OverEach: overEachName}, []file{{"/g", 100}, {"/f", 200}, {"/a", 800}, {"/e", 150}, {"/c", 700}, {"/b", 60}}},
		"total, skip":   {fileBudget{Count: 6, Each: 600, Total: 700}, []file{{"/g", 100}, {"/f", 200}, {"/e", 150}}},
		"total, stop":   {fileBudget{Count: 6, Each: 600, Total: 700, OverBudget: overBudgetStop}, []file{{"/g", 100}, {"/f", 200}}},
		"skipped count": {fileBudget{Count: 3, Each: 600, Total: 700}, []file{{"/g", 100}, {"/f", 200}}},
		"no files":      {fileBudget{Count: 0, Each: 5000, Total: 50000}, nil},
	} {
		if got := restored(k, tc.budget); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// The last part of a file that was read tells the file's length: 1,000 tokens for lines 401 to
// 500 are 5,000 for 500 lines and 6,000 for lines 501 to 600. 2.1.7 cuts what is larger,
// 2.1.17 names it. Of a smaller one comes back what was seen.
func TestLargeFilesByVersion(t *testing.T) {
	k := newTalk()
	part := func(path string, from int32) {
		b := k.round("Read", path, 1000)
		b.RangeFrom, b.RangeLen = from, 100
	}
	part("/fits", 401)
	part("/large", 501)
	budget := fileBudget{Count: 5, Each: 5000, Total: 50000, OverEach: overEachVersion}
	for version, want := range map[string][]file{
		"2.1.7":  {{"/large", 1000}, {"/fits", 1000}},
		"2.1.17": {{"/large", 60}, {"/fits", 1000}},
		"":       {{"/large", 60}, {"/fits", 1000}},
	} {
		k.Turn.Version = version
		if got := restored(k, budget); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", version, got, want)
		}
	}
}

// Qwen Code 0.24.4 embeds a file of up to 20,000 characters and names a larger one, whatever its tokens; it looks at the calls in its
// history: what the newest round shows comes back too, what an earlier compaction put back does not. A talk has four bytes a token.
func TestFilesByCalls(t *testing.T) {
	k := newTalk()
	k.add(prompt.KindAttachment, 700).Object = k.path("/restored")
	k.Context.BlockAt(k.Context.Len()-1).Op, k.Context.BlockAt(k.Context.Len()-1).Flags = op.Read, prompt.FlagMeta
	k.round("Read", "/larger", 5001)
	k.round("Read", "/fits", 5000)
	k.round("Read", "/kept", 800)
	budget := fileBudget{Count: 5, Each: 10_000, Largest: 20_000, Total: 50_000, OverEach: overEachName}
	if got, want := restored(k, budget, k.path("/kept")), []file{{"/fits", 5000}, {"/larger", 60}, {"/restored", 700}}; !slices.Equal(got, want) {
		t.Errorf("by messages: %v, want %v", got, want)
	}
	budget.Calls = true
	if got, want := restored(k, budget, k.path("/kept")), []file{{"/kept", 800}, {"/fits", 5000}, {"/larger", 60}}; !slices.Equal(got, want) {
		t.Errorf("by calls: %v, want %v", got, want)
	}
	k.Files.PerByte = half // 3,200 and 20,000 bytes
	if got, want := restored(k, budget, k.path("/kept")), []file{{"/kept", 1600}, {"/fits", 10_000}, {"/larger", 60}}; !slices.Equal(got, want) {
		t.Errorf("by calls, at half a token a byte: %v, want %v", got, want)
	}
}

// Not restored: plan, transcript, CLAUDE.md (004, U97), files in kept messages, what
// was searched only. A stub that says a file is unchanged stands for the file.
func TestFilesLeftOut(t *testing.T) {
	budget := fileBudget{Count: 5, Each: 5000, Total: 50000}
	k := newTalk()
	k.round("Read", "/src/a.go", 2000)
	for _, path := range []string{"/p/CLAUDE.md", "/home/u/.claude/plans/x.md", "/home/u/.claude/projects/p/s.jsonl"} {
		k.round("Read", path, 1000)
	}
	k.round("Grep", "/src", 50)
	k.round("Read", "/src/kept.go", 400)
	k.round("Read", "/src/a.go", 30) // unchanged
	if got, want := restored(k, budget, k.path("/src/kept.go")), []file{{"/src/a.go", 2000}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// 002:159: kept messages are scanned for reads, and a file whose read answered with the
// stub is skipped as well.
func TestKeptStubIsARead(t *testing.T) {
	k := newTalk()
	k.round("Read", "/src/a.go", 2000)
	cut := k.Context.Len()
	k.round("Read", "/src/a.go", 30) // unchanged
	k.round("Edit", "/src/b.go", 30)
	if got, want := keptFiles(&k.Turn, cut, k.Context.Len(), nil), []int32{k.path("/src/a.go")}; !slices.Equal(got, want) {
		t.Errorf("kept messages show %v, want %v", got, want)
	}
}

// 000:475-478: behind the compaction stand auth.ts, which was edited, and auth.test.ts,
// which the agent wrote and never read. They stand in the order of their last access (002:158,
// "most recently accessed"), the size is what the file has now (002:160): what was read, and
// what later edits and writes added or took away. A talk has four bytes a token.
func TestRestoredFilesAreAsTheyAreNow(t *testing.T) {
	grows := func(b *prompt.Block, bytes int32) *prompt.Block { b.RangeLen = bytes; return b }
	k := newTalk()
	k.round("Read", "/src/edited.ts", 1000)
	k.round("Read", "/src/old.ts", 500)
	grows(k.round("Write", "/src/auth.test.ts", 10), 1200)                       // never read: 300 tokens
	grows(k.round("Edit", "/src/edited.ts", 10), 400)                            // +100
	grows(k.round("Edit", "/src/edited.ts", 10), -1200)                          // −300
	grows(k.round("Edit", "/src/edited.ts", 10), 4000).Flags |= prompt.FlagError // changed nothing
	grows(k.round("Write", "/src/over.ts", 10), 8000)                            // 2,000 …
	grows(k.round("Write", "/src/over.ts", 10), 80)                              // … and written over: 20
	k.round("Read", "/src/part.ts", 600).RangeFrom = 1                           // lines of the file
	grows(k.round("Edit", "/src/part.ts", 10), 40)                               // +10
	grows(k.round("Edit", "/src/never.ts", 10), -40)                             // nobody has seen it
	k.round("Read", "/src/edited.ts", 20)                                        // unchanged, says the stub
	want := []file{{"/src/edited.ts", 800}, {"/src/part.ts", 610}, {"/src/over.ts", 20}, {"/src/auth.test.ts", 300}, {"/src/old.ts", 500}}
	if got := restored(k, fileBudget{Count: 5, Each: 5000, Total: 50000}); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// The content of a restored file is what it is now: an edit since the read
// gives it another identity.
func TestRestoredContentIsFresh(t *testing.T) {
	digest := func(edit bool) prompt.Digest {
		k := newTalk()
		k.round("Read", "/src/a.go", 2000)
		if edit {
			k.round("Edit", "/src/a.go", 50)
		}
		b := fileBudget{Count: 5, Each: 5000, Total: 50000}
		k.disk.look(&k.Turn)
		return k.Context.Block(b.restore(&k.Turn, Body(k.Context), k.Context.Len(), nil, &k.disk)[0]).Digest
	}
	if digest(false) == digest(true) {
		t.Error("an edited file came back as it was")
	}
	if digest(false) != digest(false) {
		t.Error("an unchanged file came back with another identity")
	}
}

// compacted runs one compaction with the attachments of the 2026-03 preset and
// todos, and returns what stands behind the summary.
func compacted(t *testing.T, l Layer, k *talk) []int32 {
	t.Helper()
	begin(t, l, k)
	answer(l, k, "", 0)
	k.Boundary()
	return k.sizes(4)
}

const restoring = "full-compact: {trigger: {fixed: 1}, attachments: {todos: true, files: {count: 0}}}"

// Skills: newest first, 5,000 each, 25,000 in all (002:161), sized by the text
// the client injects behind the call; invoked twice, once restored.
func TestSkills(t *testing.T) {
	k := newTalk()
	skill := func(text uint64, tokens int32) {
		k.round("Skill", "", 10)
		b := k.add(prompt.KindPrompt, tokens)
		b.Flags, b.Digest = prompt.FlagMeta, prompt.Digest{Hi: text}
		k.add(prompt.KindText, 50)
	}
	for i, tokens := range []int32{4000, 9000, 4500, 5000, 5000, 4999} {
		skill(uint64(i+1), tokens)
	}
	skill(2, 9000)
	k.round("Skill", "", 10).Flags = prompt.FlagError
	// Newest first: 9,000 → 5,000, 4,999, 5,000, 5,000, 4,500; 501 are left of
	// 25,000 and the first skill's 4,000 do not fit.
	want := []int32{5000, 4999, 5000, 5000, 4500}
	l := layer(t, restoring)
	if got := compacted(t, l, k); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	// They outlive the messages: a second compaction restores them again.
	k.round("Bash", "", 100)
	if got := compacted(t, l, k); !slices.Equal(got, want) {
		t.Errorf("second compaction: %v, want %v", got, want)
	}
	// A clone has a list of its own, and a new session none.
	clone := l.Clone()
	clone.(*compact).carried.skills[0].tokens = 1
	if l.(*compact).carried.skills[0].tokens == 1 {
		t.Error("a clone shares the skills")
	}
	l.Reset()
	if got := compacted(t, l, rounds(3, 100)); len(got) != 0 {
		t.Errorf("a new session restores %v", got)
	}
}

// The plan comes back whole, plan mode while it lasts, todos as last written,
// sub-agents that still run (002:162-164; 001:785; 004: C97). An edit of the plan file
// changes the plan's size: 7,000 tokens and 400 bytes more.
func TestPlanTodosAgents(t *testing.T) {
	for name, tc := range map[string]struct {
		talk func(k *talk)
		want []int32
	}{
		"nothing":         {func(*talk) {}, nil},
		"todos, the last": {func(k *talk) { k.use("TodoWrite", "", 300); k.use("TodoWrite", "", 200) }, []int32{200}},
		"plan mode":       {func(k *talk) { k.use("EnterPlanMode", "", 60) }, []int32{300}},
		"plan":            {func(k *talk) { k.use("EnterPlanMode", "", 60); k.use("ExitPlanMode", "", 9000) }, []int32{9000}},
		"plan file":       {func(k *talk) { k.use("Write", "/home/u/.claude/plans/x.md", 7000) }, []int32{7000}},
		"plan edited": {func(k *talk) {
			k.use("Write", "/home/u/.claude/plans/x.md", 7000)
			k.use("Edit", "/home/u/.claude/plans/x.md", 90).RangeLen = 400
		}, []int32{7100}},
		"agents at work":   {func(k *talk) { k.round("Task", "", 80); k.round("Task", "", 80); k.Running = 2 }, []int32{300}},
		"agents that told": {func(k *talk) { k.round("Task", "", 900) }, nil},
		"todos, then plan": {func(k *talk) { k.use("ExitPlanMode", "", 6000); k.use("TodoWrite", "", 200) }, []int32{200, 6000}},
	} {
		k := newTalk()
		tc.talk(k)
		if got := compacted(t, layer(t, restoring), k); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// The listing of skills weighs about 4,000 tokens; it is not sent again by
// default (002:179), and with the switch it is, marked so that the next summary
// call can leave it out (002:76).
func TestSkillListing(t *testing.T) {
	if got := compacted(t, layer(t, restoring), rounds(3, 100)); len(got) != 0 {
		t.Errorf("%v, want nothing", got)
	}
	k := rounds(3, 100)
	got := compacted(t, layer(t, "full-compact: {trigger: {fixed: 1}, attachments: {resend_skill_listing: true}}"), k)
	if !slices.Equal(got, []int32{4000}) || k.Context.BlockAt(4).Flags&prompt.FlagListing == 0 {
		t.Errorf("%v with flags %b", got, k.Context.BlockAt(4).Flags)
	}
}

// A result of 500 bytes may say that a file is unchanged, and leaves its size; one of more
// gives the size anew.
func TestStubLeavesTheSize(t *testing.T) {
	for tokens, want := range map[int32]int32{125: 900, 126: 126} {
		k := newTalk()
		k.round("Read", "/a", 900)
		k.round("Read", "/a", tokens)
		if got := restored(k, fileBudget{Count: 5, Each: 5000, Total: 50000}); len(got) != 1 || got[0].tokens != want {
			t.Errorf("behind a read of %d tokens %v, want %d", tokens, got, want)
		}
	}
}

// The files of Claude Code 2.1.332: first the files that were changed last, then the files that were read or shown by
// cat last. A file has the tokens of its bytes and of 200 bytes of the client's words, half a token each here, and cat leaves
// out line numbers, 9 % of its bytes; above 5,000 it is named, and counts.
func TestRestoredFilesByChange(t *testing.T) {
	k := newTalk()
	k.Files.PerByte = half
	k.round("Edit", "/changed", 10)
	k.round("Read", "/changed", 400)
	k.round("Write", "/large", 10).RangeLen = 20_000
	k.round("Read", "/read", 300)
	shown := k.round("Bash", "/shown", 250)
	shown.Op, shown.Object = op.Exec, k.path("/shown")
	b := byChange
	if b.Shown = false; len(restored(k, b)) != 3 {
		t.Error("what a command showed comes back without being asked for")
	}
	b.Shown = true
	want := []file{{"", 60}, {"/changed", (1600 + 200) / 2}, {"/shown", (1000 + 90 + 200) / 2}, {"/read", (1200 + 200) / 2}}
	if got := restored(k, b); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

var byChange = fileBudget{Count: 5, Each: 5000, Total: 50_000, OverEach: overEachName, Bytes: true, Changed: true, Shown: true}

// restoredBefore adds a file that an earlier compaction restored, of which the messages show no more.
func (k *talk) restoredBefore(path string, tokens int32) {
	b := k.add(prompt.KindAttachment, tokens)
	b.Op, b.Object, b.Flags = op.Read, k.path(path), prompt.FlagMeta
}

// A file is as large as it is now, whatever messages have shown the whole of it: 1,600 bytes were restored, 40 came by an
// edit, and 60 by one behind a compaction that did not restore it. Lines that nobody counted have numbers of 9 % of their text.
func TestFilesOutliveTheirMessages(t *testing.T) {
	k := newTalk()
	k.Files.PerByte = half
	k.restoredBefore("/edited", 400)
	k.round("Edit", "/edited", 10).RangeLen = 40
	want := func(bytes, tokens int32) {
		t.Helper()
		k.disk.look(&k.Turn)
		block := k.Context.Block(byChange.restore(&k.Turn, Body(k.Context), k.Context.Len(), nil, &k.disk)[0])
		if k.object(block) != "/edited" || block.Tokens != tokens || block.Bytes != bytes {
			t.Errorf("%s of %d tokens and %d bytes comes first, want /edited of %d tokens and %d bytes", k.object(block), block.Tokens, block.Bytes, tokens, bytes)
		}
	}
	want(1640, (1640+4+200)/2)
	k.Context.Replace(Body(k.Context), k.Context.Len(), nil, prompt.CauseCompaction)
	k.round("Edit", "/edited", 10).RangeLen = 60
	want(1700, (1700+9+200+1)/2)
}

// The limit of a file counts its text alone, and so does its length: 9,990 bytes of text in ten lines are 4,995 tokens, and with
// the lines' numbers, 21 bytes, and 200 of the client's words 5,106; 20 bytes more of text are named alone. An edit of three
// lines makes it 13 lines, 30 bytes of numbers.
func TestLinesAreNoText(t *testing.T) {
	for _, tc := range []struct {
		text, want int32
		edited     bool
	}{{9990, 5106, false}, {10_010, 60, false}, {9000, 4630, true}} {
		k := newTalk()
		k.Files.PerByte = half
		b := k.round("Read", "/a", 300)
		b.Bytes, b.RangeLen = tc.text+21, 10
		if tc.edited {
			e := k.round("Edit", "/a", 10)
			e.RangeFrom, e.RangeLen = 3, 30
		}
		if got := restored(k, byChange); len(got) != 1 || got[0].tokens != tc.want {
			t.Errorf("a text of %d bytes comes back as %v, want %d tokens", tc.text, got, tc.want)
		}
	}
}

// Another process of claude -p knows files by their messages: what they read last has the time of the message and comes before
// what was changed earlier, and what a command alone has shown is forgotten; a file read anew has its time on disk again.
func TestAnotherProcessKnowsMessages(t *testing.T) {
	for _, tc := range []struct {
		entry, again string
		want         []string
	}{
		{"sdk-cli", "", []string{"/read", "/edited"}},
		{"sdk-cli", "/read", []string{"/edited", "/read"}},
		{"cli", "", []string{"/edited", "/shown", "/read"}},
	} {
		k := newTalk()
		k.Files.PerByte, k.Entry = half, tc.entry
		k.round("Edit", "/edited", 10).RangeLen = 400
		k.round("Read", "/read", 300)
		shown := k.round("Bash", "/shown", 250)
		shown.Op, shown.Object = op.Exec, k.path("/shown")
		k.add(prompt.KindPrompt, 20)
		if tc.again != "" {
			k.round("Read", tc.again, 300)
		}
		k.disk.look(&k.Turn)
		var got []string
		for _, r := range byChange.restore(&k.Turn, Body(k.Context), k.Context.Len(), nil, &k.disk) {
			got = append(got, k.object(k.Context.Block(r)))
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s, %q read again: %v, want %v", tc.entry, tc.again, got, tc.want)
		}
	}
}

// What a compaction restored comes back behind the next one, touched or not, unless another process of the client came
// between: claude -p starts one for each prompt, and that process knows what the messages show. 500 tokens are 2,000 bytes.
func TestRestoredFilesComeBack(t *testing.T) {
	for _, tc := range []struct {
		entry  string
		prompt bool
		want   []file
	}{
		{"sdk-cli", false, []file{{"/read", 700}, {"/back", 1100}}},
		{"sdk-cli", true, []file{{"/read", 700}}},
		{"cli", true, []file{{"/read", 700}, {"/back", 1100}}},
	} {
		k := newTalk()
		k.Files.PerByte, k.Entry = half, tc.entry
		k.round("Read", "/back", 500)
		restored(k, byChange)
		k.Context.Replace(Body(k.Context), k.Context.Len(), nil, prompt.CauseCompaction)
		if tc.prompt {
			k.add(prompt.KindPrompt, 20)
		}
		k.round("Read", "/read", 300)
		if got := restored(k, byChange); !slices.Equal(got, tc.want) {
			t.Errorf("%s, a prompt between %v: %v, want %v", tc.entry, tc.prompt, got, tc.want)
		}
	}
}

// Of files in the order of their last access, none stands ahead of one that the recording shows to be newer, each stands once, and
// compactions that contradict each other leave the order: by hand.
func TestNewerFilesComeFirst(t *testing.T) {
	for _, tc := range []struct {
		newer      [][2]int32
		list, want []int32
	}{
		{nil, []int32{5, 4, 5, 3}, []int32{5, 4, 3}},
		{[][2]int32{{3, 5}, {2, 4}}, []int32{5, 4, 5, 3, 2}, []int32{3, 5, 2, 4}},
		{[][2]int32{{3, 4}, {4, 3}}, []int32{4, 3, 5}, []int32{5, 4, 3}},
	} {
		var list []access
		for _, object := range tc.list {
			list = append(list, access{object: object})
		}
		var got []int32
		for _, a := range byAge(list, func(x, y int32) bool { return slices.Contains(tc.newer, [2]int32{x, y}) }) {
			got = append(got, a.object)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%v newer: %v become %v, want %v", tc.newer, tc.list, got, tc.want)
		}
	}
}
