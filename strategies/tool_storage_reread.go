package strategies

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
)

// sourceReread is the query source of a response that reads a stored result.
const sourceReread = "reread"

// readingBack is which stored results the model will read back, and what it has
// read so far.
type readingBack struct {
	due    []dueRead
	now    int32 // id of the stored result being read
	calls  int32 // reads so far: their tool calls are numbered −1, −2, …
	drawn  uint8 // draws made ahead of the request under way
	answer prompt.Answer
}

// dueRead is a stored result that is read back ahead of a request.
type dueRead struct{ id, request int32 }

func (r *readingBack) clone() readingBack {
	c := *r
	c.due = slices.Clone(r.due)
	return c
}

func (r *readingBack) reset() { *r = readingBack{due: r.due[:0]} }

// planRead draws whether a result that goes to disk will be read back.
func (l *toolStorage) planRead(t *Turn, id int32) {
	r, p := &l.reads, &l.params.Reread
	if p.Share == 0 {
		return
	}
	u := t.Draw(ToolStorageName, r.drawn)
	r.drawn++
	if u < p.Share {
		r.due = append(r.due, dueRead{id, l.request + p.After})
	}
}

// readBack makes the call of the next read that is due: a response that the
// recording does not have, on the conversation's own prefix. Without one it
// answers for the request.
func (l *toolStorage) readBack(t *Turn) Outcome {
	r := &l.reads
	for len(r.due) > 0 && r.due[0].request <= l.request {
		id := r.due[0].id
		r.due = slices.Delete(r.due, 0, 1)
		if i := t.Context.Index(id); i >= 0 && t.Context.At(i).Form == prompt.FormRange {
			r.now = id
			r.answer = prompt.Answer{Output: l.params.Reread.Output}
			return t.Call(prompt.Intent{Source: sourceReread, Prefix: prompt.PrefixShared, Known: &r.answer, Ordinal: uint8(r.calls)})
		}
	}
	return l.finish()
}

// IntentResult appends the call that reads and what it returned.
func (l *toolStorage) IntentResult(t *Turn, a *prompt.Result) Outcome {
	if i := t.Context.Index(l.reads.now); i >= 0 && a.Failed == "" {
		l.appendRead(t, t.Context.BlockAt(i))
		l.acted = true
	}
	return l.readBack(t)
}

// appendRead puts a call of Read on the file a result is stored in behind the
// context, and its result: the content as far as one read returns it. A read is
// never stored, so it is as large as it is.
func (l *toolStorage) appendRead(t *Turn, b *prompt.Block) {
	c, p := t.Context, &l.params.Reread
	l.reads.calls++
	before := int64(c.Tokens())
	call := prompt.Block{
		Kind: prompt.KindToolUse, Op: prompt.OpRead, Tool: uint16(max(0, slices.Index(t.Tools, "Read"))), Object: -1,
		Call: -l.reads.calls, Tokens: p.Output, Bytes: p.Output * bytesPerToken,
		Digest: b.Digest.ExtendInt(uint64(l.reads.calls)),
	}
	result := call
	result.Kind, result.Tokens = prompt.KindToolResult, min(b.Tokens, p.Limit)
	result.Bytes = int32(int64(b.Bytes) * int64(result.Tokens) / int64(max(1, b.Tokens)))
	result.Digest = call.Digest.Extend(b.Digest)
	c.Add(call)
	c.Add(result)
	t.Count(results.CountReread, 1)
	t.Compacted(Boundary{
		Kind: BoundaryStore, Before: before, After: int64(c.Tokens()),
		Uncounted: -int64(call.Bytes+result.Bytes) / bytesPerToken,
	})
}
