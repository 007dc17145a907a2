package synthetic

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
)

// use plans a call of tool t; ordinal pairs it with its result.
func (w *walk) use(t int, id uint64, ordinal int) block {
	d, tool := w.pl.s.dice, &w.thread().tools[t]
	b := block{kind: prompt.KindToolUse, tool: t, call: ordinal, words: id, object: -1}
	if worksOnFiles(tool.Name) {
		b.object = w.pickFile(tool.Name, id)
		b.version = w.pl.s.files[b.object].edits
	}
	var body float64 // tokens of the input
	switch tool.Name {
	case toolRead:
		w.readRange(&b, id)
		body = rateToolUse * float64(40+len(w.pl.s.files[b.object].path))
	default:
		body = max(8, d.from(tool.Input, forToolInput, id))
		b.bytes = w.pl.bytes(prompt.KindToolUse, body, id)
	}
	b.tokens = fixedToolUse + int(body+0.5)
	return b
}

// pickFile chooses the file a call works on. Edits go to a file read lately.
func (w *walk) pickFile(tool string, id uint64) int {
	d := w.pl.s.dice
	if len(w.recent) > 0 && (tool == toolEdit || d.hit(forFilePick, id, w.pl.p.Reread)) {
		return w.recent[len(w.recent)-1-d.below(forFilePick, ^id, min(5, len(w.recent)))]
	}
	return d.below(forFilePick, ^id, len(w.pl.s.files))
}

// wholeFile is the size in tokens up to which a file is read whole; of a larger
// one a window is read.
const wholeFile = 6000

// lineBytes is the typical length of a line of a file with its number.
const lineBytes = 36

// readRange plans what a Read returns. A file that is read again unedited in
// the same window returns the same text.
func (w *walk) readRange(b *block, id uint64) {
	f := &w.pl.s.files[b.object]
	b.bytes, b.from = f.bytes, 1
	if f.tokens > wholeFile {
		windows := (f.tokens + wholeFile - 1) / wholeFile
		b.bytes = f.bytes / windows
		b.from = 1 + b.bytes/lineBytes*w.pl.s.dice.below(forFileRange, id, windows)
		// Lines differ in length: the bytes end the window, not its limit.
		b.limit = b.bytes * 3 / 2 / lineBytes
	}
}

// result plans the result of a tool use.
func (w *walk) result(use *block) block {
	d, tool := w.pl.s.dice, &w.thread().tools[use.tool]
	id := use.words
	if tool.Name == toolTask {
		return w.report(use)
	}
	b := *use
	b.kind = prompt.KindToolResult
	b.failed = d.hit(forToolError, id, tool.Errors)
	b.at = use.at + max(2*millisecond, seconds(d.from(tool.Time, forToolTime, id)))
	switch {
	case b.failed:
		b.bytes, b.tokens = 120, 40
	case tool.Name == toolRead:
		f := &w.pl.s.files[use.object]
		b.tokens = max(1, int(float64(f.tokens)*float64(b.bytes)/float64(f.bytes)+0.5))
		w.touch(use.object)
	default:
		b.tokens = max(1, int(d.from(tool.Result, forToolResult, id)+0.5))
		b.bytes = w.pl.bytes(prompt.KindToolResult, float64(b.tokens), ^id)
		if use.object >= 0 {
			w.pl.s.files[use.object].edits++
			w.touch(use.object)
		}
	}
	return b
}

// report plans the agent a Task starts and returns its report as the result.
func (w *walk) report(use *block) block {
	index, end := w.pl.agent(*use, use.at+100*millisecond)
	use.agent = index
	calls := w.pl.s.threads[index].calls
	answer := calls[len(calls)-1].reply
	b := *use
	b.kind = prompt.KindToolResult
	b.at = end + 50*millisecond
	b.bytes = answer[len(answer)-1].bytes
	b.words = answer[len(answer)-1].words
	// The client adds a line with the agent's id and usage.
	b.tokens = answer[len(answer)-1].tokens + 50
	return b
}

// touch makes a file the one used last.
func (w *walk) touch(f int) {
	if i := slices.Index(w.recent, f); i >= 0 {
		w.recent = slices.Delete(w.recent, i, i+1)
	}
	w.recent = append(w.recent, f)
}
