package needs

import (
	"slices"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/sim/results/recall"
	"github.com/compactsim/compactsim/tools/tests/needstest"
	"github.com/compactsim/compactsim/traces"
)

// desk is a context of a thread and its judge.
type desk struct {
	c     prompt.Context
	arena prompt.Arena
	j     Judge
	x     *Index
	s     *traces.Session
	row   recall.Needs
}

// ahead returns the desk just before the call of a round, with all there is of the session in the context.
func ahead(t *testing.T, talk *needstest.Talk, round int) *desk {
	t.Helper()
	x, s := build(t, talk)
	d := &desk{x: x, s: s}
	d.c.Reset(s.Blocks, &d.arena)
	keeps := Published()
	d.j.Reset(x, s.Blocks, 0, true, &keeps, nil)
	add := func(span traces.Span) {
		for b := span.From; b < span.To; b++ {
			d.c.Append(prompt.Ref(b))
		}
	}
	main := &s.Threads[0]
	add(main.Prefix)
	for r := range round {
		add(main.Rounds[r].Input)
		add(main.Rounds[r].Reply)
	}
	add(main.Rounds[round].Input)
	d.j.Look(&d.c, int32(round), &d.row)
	return d
}

// call returns the figures of the call of a round.
func (d *desk) call(round int32) *recall.Needs {
	d.j.Look(&d.c, round, &d.row)
	d.row = recall.Needs{}
	d.j.Call(round, &d.row, nil)
	row := d.row
	return &row
}

// at returns the position of the first entry of a kind and an operation.
func (d *desk) at(t *testing.T, kind prompt.Kind, op op.Op) int {
	t.Helper()
	for i := range d.c.Len() {
		if b := d.c.BlockAt(i); b.Kind == kind && b.Op == op {
			return i
		}
	}
	t.Fatalf("no %s that does %s", kind, op)
	return 0
}

// editing is a conversation in whose round 13 an edit uses the result of a read; changed makes another edit of the
// file lie between.
func editing(changed bool) *needstest.Talk {
	var talk needstest.Talk
	talk.Person("Always fix the sum first.")
	talk.Call("Read", `{"file_path":"/p/sum.go"}`, "1→func sum(a, b int) int {\n2→\treturn a - b // wrong\n3→}\n")
	if changed {
		talk.Call("Edit", `{"file_path":"/p/sum.go","old_string":"return a - b // wrong","new_string":"x"}`, "done")
		other(&talk, 11)
	} else {
		other(&talk, 12)
	}
	talk.Call("Bash", `{"command":"grep \"func sum(a, b int) int {\""}`, "ok")
	talk.Call("Edit", `{"file_path":"/p/sum.go","old_string":"func sum(a, b int) int {","new_string":"x"}`, "done")
	return &talk
}

// A cleared result of a file can be fetched as long as nobody changed it; for an edit that went well the file had the
// text in any case.
func TestClearedResults(t *testing.T) {
	for changed, want := range map[bool]State{false: Recoverable, true: Recoverable} {
		d := ahead(t, editing(changed), 14)
		if n := d.call(14).Kind(recall.NeedEdit); n[recall.Count] != 1 || n[recall.Verbatim] != n[recall.Weight] {
			t.Fatalf("changed %v: %+v, want one verbatim", changed, n)
		}
		for i := range d.c.Len() {
			if d.c.BlockAt(i).Kind.Level() == prompt.LevelMessages && d.c.BlockAt(i).Kind != prompt.KindPrompt {
				d.c.SetForm(i, prompt.FormCleared, 5, prompt.CauseEdit)
			}
		}
		n := d.call(14).Kind(recall.NeedEdit)
		if n[recall.Recoverable] != n[recall.Weight] || want != Recoverable {
			t.Errorf("changed %v: %+v, want all recoverable", changed, n)
		}
	}
	var talk needstest.Talk
	talk.Person("go on")
	talk.Call("Bash", `{"command":"make"}`, "undefined: frobnicateAll")
	other(&talk, 8)
	talk.Call("Bash", `{"command":"grep frobnicateAll"}`, "ok")
	d := ahead(t, &talk, 9)
	d.c.SetForm(d.at(t, prompt.KindToolResult, op.Exec), prompt.FormCleared, 5, prompt.CauseEdit)
	if n := d.call(9).Kind(recall.NeedName); n[recall.Count] != 1 || n[recall.Verbatim]+n[recall.Recoverable]+n[recall.Summarized] != 0 {
		t.Errorf("output of a command: %+v, want it gone", n)
	}
	d.c.SetForm(d.at(t, prompt.KindToolResult, op.Exec), prompt.FormPointer, 5, prompt.CauseEdit)
	if n := d.call(9).Kind(recall.NeedName); n[recall.Recoverable] != n[recall.Weight] {
		t.Errorf("a pointer: %+v, want it recoverable", n)
	}
}

// compact puts a summary in the place of all messages.
func (d *desk) compact(b prompt.Block) {
	from := d.c.Messages()
	d.c.Replace(from, d.c.Len(), []prompt.Ref{d.arena.Add(b)}, prompt.CauseCompaction)
}

// A modelled summary keeps 82 % of strings, of two in a row 67 %; at most what has room in it. A person's directive is
// word for word no more.
func TestModelledSummary(t *testing.T) {
	var talk needstest.Talk
	talk.Person("Never touch frobnicateAll please.")
	other(&talk, 8)
	talk.Call("Bash", `{"command":"grep frobnicateAll"}`, "ok")
	for _, tt := range []struct {
		bytes            int32
		summaries        int
		summarized, most float64
	}{
		{1000, 1, 820, 1000}, {1000, 2, 672, 1000}, {5, 1, 820, 0},
	} {
		d := ahead(t, &talk, 8)
		n := d.call(8)
		if *n.Portion(recall.Instructions, 0) != (recall.Portion{1, 1}) || n.Kind(recall.NeedName)[recall.Verbatim] != 1000 {
			t.Fatalf("ahead of it: %+v", n)
		}
		for i := range tt.summaries {
			d.compact(prompt.Block{
				Kind: prompt.KindSummary, Tokens: tt.bytes / 4, Bytes: tt.bytes,
				Digest: prompt.DigestString(string(rune('a' + i))),
			})
			d.j.Look(&d.c, 8, &d.row)
		}
		got := d.call(8)
		k := got.Kind(recall.NeedName)
		if k[recall.Weight] != 1000 || k[recall.Verbatim] != 0 || k[recall.Summarized] != tt.summarized || k[recall.Most] != tt.most {
			t.Errorf("%d summaries of %d bytes: %+v, want %g expected and %g at most",
				tt.summaries, tt.bytes, k, tt.summarized, tt.most)
		}
		if *got.Portion(recall.Instructions, tt.summaries) != (recall.Portion{0, 1}) || got[recall.Directed] != 1 {
			t.Errorf("%+v and %g summarised, want one directive, gone but for the summary", *got.Portion(recall.Instructions,
				tt.summaries), got[recall.Directed])
		}
	}
}

// A recorded summary is looked into: what it says is there, what it does not say is gone, and
// nothing is a matter of expectation.
func TestRecordedSummary(t *testing.T) {
	var talk needstest.Talk
	talk.Person("go on")
	talk.Call("Bash", `{"command":"make"}`, "undefined: frobnicateAll and unfrobnicateAny")
	other(&talk, 8)
	talk.Compacts("The build says undefined: frobnicateAll.")
	talk.Person("continue")
	talk.Call("Bash", `{"command":"grep frobnicateAll"}`, "ok")
	talk.Call("Bash", `{"command":"grep unfrobnicateAny"}`, "ok")
	d := ahead(t, &talk, 9)
	e := &d.s.Threads[0].Events[0]
	var digest prompt.Digest
	for b := e.Summary.From; b < e.Summary.To; b++ {
		digest = digest.Extend(d.s.Blocks[b].Digest)
	}
	d.compact(prompt.Block{Kind: prompt.KindSummary, Tokens: 100, Bytes: 400, Digest: digest})
	if n := d.call(9).Kind(recall.NeedName); n[recall.Count] != 1 || n[recall.Verbatim] != n[recall.Weight] {
		t.Errorf("%+v, want what the summary says", n)
	}
	if n := d.call(10).Kind(recall.NeedName); n[recall.Count] != 1 ||
		n[recall.Verbatim]+n[recall.Recoverable]+n[recall.Summarized]+n[recall.Most] != 0 {
		t.Errorf("%+v, want what the summary does not say gone", n)
	}
}

// A summary whose words are known is looked into as a recorded one is; one whose words are not is modelled.
func TestWrittenSummary(t *testing.T) {
	var talk needstest.Talk
	talk.Person("go on")
	talk.Call("Bash", `{"command":"make"}`, "undefined: frobnicateAll and unfrobnicateAny")
	other(&talk, 8)
	talk.Call("Bash", `{"command":"grep frobnicateAll"}`, "ok")
	talk.Call("Bash", `{"command":"grep unfrobnicateAny"}`, "ok")
	for _, tt := range []struct {
		words            string
		first, second    float64 // weight that is there word for word
		expected, atMost float64 // of the second in a summary
	}{
		{"The build says undefined: `frobnicateAll`.", 1000, 0, 0, 0},
		{"", 0, 0, 820, 1000},
	} {
		d := ahead(t, &talk, 9)
		d.j.words = func(b *prompt.Block) string {
			if b.Digest != prompt.DigestString("s") {
				t.Errorf("the words of %v are asked for", b.Digest)
			}
			return tt.words
		}
		d.compact(prompt.Block{Kind: prompt.KindSummary, Tokens: 100, Bytes: 400, Digest: prompt.DigestString("s")})
		if n := d.call(9).Kind(recall.NeedName); n[recall.Weight] != 1000 || n[recall.Verbatim] != tt.first {
			t.Errorf("%q: %+v, want %g verbatim", tt.words, n, tt.first)
		}
		n := d.call(10).Kind(recall.NeedName)
		if n[recall.Verbatim] != tt.second || n[recall.Summarized] != tt.expected || n[recall.Most] != tt.atMost {
			t.Errorf("%q: %+v, want %g verbatim, %g expected and %g at most", tt.words, n, tt.second, tt.expected, tt.atMost)
		}
	}
}

// Of two directives a summary has one, in quotes and at another width: it is there word for word, in a recorded summary
// as in one that was written.
func TestDirectivesInSummaries(t *testing.T) {
	const summary = "1. Said by the user:\n - \"Never push to the  main branch!\"\nIt must be said that work was done."
	var talk needstest.Talk
	talk.Person("Never push to the main branch. Always run all of the tests.")
	other(&talk, 8)
	talk.Compacts(summary)
	talk.Person("continue")
	talk.Call("Bash", `{"command":"ls"}`, "ok")
	for name, words := range map[string]string{"recorded": "", "written": summary} {
		d := ahead(t, &talk, 8)
		if n := d.call(8); *n.Portion(recall.Instructions, 0) != (recall.Portion{2, 2}) {
			t.Fatalf("ahead of it: %+v", n.Sum(recall.Instructions))
		}
		b := prompt.Block{Kind: prompt.KindSummary, Tokens: 100, Bytes: 400}
		if words == "" {
			e := &d.s.Threads[0].Events[0]
			for k := e.Summary.From; k < e.Summary.To; k++ {
				b.Digest = b.Digest.Extend(d.s.Blocks[k].Digest)
			}
		} else {
			b.Digest = prompt.DigestString(words)
			d.j.words = func(*prompt.Block) string { return words }
		}
		d.compact(b)
		if n := d.call(8); *n.Portion(recall.Instructions, 1) != (recall.Portion{1, 2}) || n[recall.Directed] != 0 {
			t.Errorf("%s: %+v, %g in a summary without words; want one of two", name, *n.Portion(recall.Instructions, 1), n[recall.Directed])
		}
	}
}

// A restored file stands for what was read from it, and keeps its path.
func TestRestoredFile(t *testing.T) {
	d := ahead(t, editing(false), 14)
	object := d.c.BlockAt(d.at(t, prompt.KindToolResult, op.Read)).Object
	d.compact(prompt.Block{Kind: prompt.KindSummary, Tokens: 10, Bytes: 40, Digest: prompt.DigestString("s")})
	d.c.Add(prompt.Block{
		Kind: prompt.KindAttachment, Object: object, Tokens: 50, Bytes: 200, Digest: prompt.DigestString("f"),
	})
	if n := d.call(14).Kind(recall.NeedEdit); n[recall.Count] != 1 || n[recall.Verbatim] != n[recall.Weight] {
		t.Errorf("%+v, want the file's text there", n)
	}
}

// Of three artifacts behind a compaction that keeps one result: the file that was read is there, the commands are not.
func TestArtifacts(t *testing.T) {
	d := ahead(t, editing(false), 14)
	read := *d.c.At(d.at(t, prompt.KindToolResult, op.Read))
	d.compact(prompt.Block{Kind: prompt.KindSummary, Tokens: 10, Bytes: 40, Digest: prompt.DigestString("s")})
	d.c.AppendEntry(read)
	d.row = recall.Needs{}
	d.j.Look(&d.c, 14, &d.row)
	file, run := d.row.Portion(recall.Artifacts, int(recall.ArtifactRead)), d.row.Portion(recall.Artifacts, int(recall.ArtifactCommand))
	if *file != (recall.Portion{1, 1}) || *run != (recall.Portion{0, 13}) {
		t.Errorf("%v and %v, want the file there and 13 commands gone", *file, *run)
	}
}

// Counting lists 700 needs by block in the order in which comparing would. Blocks are numbered up to 9, 3,000 and 5 million, which takes
// one, two and three rounds of counting.
func TestNeedsByBlock(t *testing.T) {
	for _, most := range []uint64{9, 3000, 5_000_000} {
		var u using
		for i := range uint64(700) {
			u.list = append(u.list, (i*i*7919%most)<<32|i)
		}
		want := slices.Sorted(slices.Values(u.list))
		if u.sort(); !slices.Equal(u.list, want) {
			t.Errorf("blocks up to %d are not in order", most)
		}
	}
}
