package strategies

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
)

// ToolStorageName is the registry's name of the layer.
const ToolStorageName = "tool-storage"

var toolStorageDefinition = Define(ToolStorageName,
	"puts large tool results to disk before they are sent, and leaves a preview",
	defaultToolStorage(),
	func(p ToolStorageParams) Layer {
		return &toolStorage{params: p, never: toolset{named: p.Never, mcp: true}}
	})

// toolStorage is the state of the layer on one thread. What was decided shows
// in the context, which branches and forks copy.
type toolStorage struct {
	params  ToolStorageParams
	never   toolset
	stored  []int32 // ids of the entries it has put to disk, for deciding anew
	message []freshResult
	reads   readingBack
	request int32 // number of the request under way, from 1; a branch goes on counting
	acted   bool  // ahead of it
}

// freshResult is a result of the message that is decided about.
type freshResult struct {
	at    int
	bytes int32
	limit int32 // bytes above which it goes to disk; 0 for never
	store bool
}

func (l *toolStorage) Name() string { return ToolStorageName }

func (l *toolStorage) Clone() Layer {
	return &toolStorage{
		params: l.params, never: toolset{named: l.never.named, mcp: true},
		stored: slices.Clone(l.stored), reads: l.reads.clone(), request: l.request,
	}
}

func (l *toolStorage) Reset() {
	l.never.reset()
	l.stored, l.message, l.request = l.stored[:0], l.message[:0], 0
	l.reads.reset()
}

// AfterCompaction forgets what the model would have read back: what points to
// it is gone.
func (l *toolStorage) AfterCompaction(*Turn) {
	l.stored = l.stored[:0]
	l.reads.due = l.reads.due[:0]
}

func (l *toolStorage) BeforeRequest(t *Turn) Outcome {
	from := t.InputAt
	if !l.params.Freeze {
		from = Body(t.Context)
	}
	l.request++
	l.reads.drawn = 0
	l.acted = l.decide(t, from)
	return l.readBack(t)
}

// finish answers for the request under way.
func (l *toolStorage) finish() Outcome {
	if l.acted {
		return Outcome{Verdict: Done}
	}
	return Outcome{Declined, "no result over its limit"}
}

// decide goes through the messages of results from a position on, and reports
// whether anything went to disk or came back.
func (l *toolStorage) decide(t *Turn, from int) bool {
	c := t.Context
	b := Boundary{Kind: BoundaryStore}
	changed := false
	for i := from; i < c.Len(); {
		if c.At(i).Kind != prompt.KindToolResult {
			i++
			continue
		}
		i = l.gather(t, i)
		if !l.choose(l.scale()) && l.params.Freeze {
			continue
		}
		for _, r := range l.message {
			if l.apply(t, r, &b) {
				changed = true
			}
		}
	}
	if changed {
		b.After = int64(c.Tokens())
		t.Compacted(b)
	}
	return changed
}

// gather collects the results of the message that begins at position i, and
// returns the position behind it. Results that another layer has cleared, and
// those that were read back from disk, are left alone.
func (l *toolStorage) gather(t *Turn, i int) int {
	c := t.Context
	l.message = l.message[:0]
	for ; i < c.Len() && !c.At(i).Kind.Assistant(); i++ {
		e := c.At(i)
		if e.Kind != prompt.KindToolResult || e.Form != prompt.FormVerbatim && !slices.Contains(l.stored, e.ID) {
			continue
		}
		if b := c.Block(e.Block); b.Call > 0 && e.Form != prompt.FormCleared && e.Form != prompt.FormPointer {
			l.message = append(l.message, freshResult{at: i, bytes: b.Bytes, limit: l.limit(t, b)})
		}
	}
	return i
}

// limit returns the size up to which a result stays, bytes; 0 for any size.
func (l *toolStorage) limit(t *Turn, b *prompt.Block) int32 {
	p := &l.params
	limit := p.Limits.Default
	switch name := t.tool(b); {
	case len(p.Never) > 0 && l.never.has(t, b),
		b.Flags&prompt.FlagImage != 0 && !p.StoreImages,
		b.Flags&prompt.FlagError != 0 && !p.StoreErrors:
		return 0
	case b.Flags&prompt.FlagMCP != 0:
		limit = p.Limits.MCP
	case name == "Bash":
		limit = p.Limits.Bash
	case name == "Grep":
		limit = p.Limits.Grep
	}
	return min(limit, p.Limits.Cap)
}

// scale is what limits are multiplied by in this request.
func (l *toolStorage) scale() float64 {
	if r := l.params.Retune; r.Request > 0 && l.request >= r.Request {
		return r.Scale
	}
	return 1
}

// choose marks the results of a message that go to disk: those over their own
// limit, then the largest while the message is over its own (ARK; E4). It
// reports whether there are any.
func (l *toolStorage) choose(scale float64) bool {
	var total float64
	anyStored := false
	for i := range l.message {
		r := &l.message[i]
		r.store = r.limit > 0 && float64(r.bytes) > float64(r.limit)*scale
		anyStored = anyStored || r.store
		total += float64(l.shown(r))
	}
	for limit := float64(l.params.PerMessage) * scale; limit > 0 && total > limit; {
		r := l.largest()
		if r == nil {
			break
		}
		r.store, anyStored = true, true
		total -= float64(r.bytes - l.shown(r))
	}
	return anyStored
}

// shown is what stays of a result, bytes.
func (l *toolStorage) shown(r *freshResult) int32 {
	if r.store {
		return min(r.bytes, l.params.Preview)
	}
	return r.bytes
}

// largest returns the largest result that stays and that storing makes
// smaller, nil for none.
func (l *toolStorage) largest() *freshResult {
	var most *freshResult
	for i := range l.message {
		r := &l.message[i]
		if !r.store && r.limit > 0 && r.bytes > l.params.Preview && (most == nil || r.bytes > most.bytes) {
			most = r
		}
	}
	return most
}

// apply makes the context show a result as decided, and reports whether that
// changes it.
func (l *toolStorage) apply(t *Turn, r freshResult, sum *Boundary) bool {
	c := t.Context
	e, b := c.At(r.at), c.BlockAt(r.at)
	preview := int32(int64(b.Tokens)*int64(min(l.params.Preview, b.Bytes))/int64(max(1, b.Bytes))) + l.params.Pointer
	was := e.Form != prompt.FormVerbatim
	if r.store == was || r.store && preview >= b.Tokens {
		return false
	}
	if sum.Before == 0 {
		sum.Before = int64(c.Tokens())
	}
	saved := int64(b.Bytes-min(l.params.Preview, b.Bytes)) / bytesPerToken
	if !r.store {
		c.SetForm(r.at, prompt.FormVerbatim, b.Tokens, prompt.CauseEdit)
		l.stored = slices.DeleteFunc(l.stored, func(id int32) bool { return id == e.ID })
		sum.Uncounted -= saved
		return true
	}
	c.SetForm(r.at, prompt.FormRange, preview, prompt.CauseEdit)
	sum.Uncounted += saved
	t.Count(results.CountStored, 1)
	t.Count(results.CountStoredTokens, int64(b.Tokens-preview))
	if !l.params.Freeze {
		l.stored = append(l.stored, e.ID)
	}
	l.planRead(t, e.ID)
	return true
}
