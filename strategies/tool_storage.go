package strategies

import (
	"errors"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies/standard"
)

// toolStorageParams are the parameters of tool-storage. Sizes of results are
// bytes, taken for the client's characters; others are tokens.
type toolStorageParams struct {
	Switch      `yaml:",inline"`
	Limits      storageLimits `yaml:"limits" doc:"bytes above which a result goes to disk"`
	Never       toolNames     `yaml:"never" doc:"tools whose results never go to disk, by name or operation"`
	PerMessage  int32         `yaml:"per_message" doc:"bytes of all results of one message, including results of never; above it the largest go to disk; 0 for no limit" unit:"bytes" min:"0" off:"0"`
	Preview     int32         `yaml:"preview" doc:"bytes of a stored result that stay" unit:"bytes" min:"0"`
	Pointer     int32         `yaml:"pointer" doc:"tokens of the text around the preview (path and size); assumed" unit:"tokens" min:"0"`
	Freeze      bool          `yaml:"freeze" doc:"a decision about a result stays; off, every request decides about all results afresh"`
	Retune      retune        `yaml:"retune" doc:"limits changed by the server in the middle of a session"`
	StoreImages bool          `yaml:"store_images" doc:"results that hold an image go to disk too; assumed"`
	StoreErrors bool          `yaml:"store_errors" doc:"results of failed calls go to disk too; assumed"`
	Reread      reread        `yaml:"reread" doc:"stored results that the model reads back"`
}

// storageLimits are the sizes up to which results stay, bytes.
type storageLimits struct {
	Default int32 `yaml:"default" doc:"bytes for tools without a limit of their own" unit:"bytes" min:"0"`
	Bash    int32 `yaml:"bash" doc:"bytes for Bash" unit:"bytes" min:"0"`
	Grep    int32 `yaml:"grep" doc:"bytes for Grep" unit:"bytes" min:"0"`
	MCP     int32 `yaml:"mcp" doc:"bytes for tools of MCP servers" unit:"bytes" min:"0"`
	Cap     int32 `yaml:"cap" doc:"bytes no limit can pass" unit:"bytes" min:"0"`
	// Tools are the limits that the client's own table of tools sets, so the cap does not bound them.
	Tools map[string]int32 `yaml:"tools" doc:"bytes by the whole name of a tool (WebFetch, mcp__github__search); they win over the limits above, but not over never" unit:"bytes" min:"1"`
}

// retune is a change of all limits by the flag that sets them remotely (003,
// GrowthBook override).
type retune struct {
	Request int32   `yaml:"request" doc:"first request of the conversation with the changed limits, from 1; 0 for never" min:"0"`
	Scale   float64 `yaml:"scale" doc:"what all limits are multiplied by, above 0" above:"0" needs:"request"`
}

// reread says how often a stored result is read back. No recording of a client without storage can
// show it: the whole figure is assumed.
type reread struct {
	Share  float64 `yaml:"share" doc:"share of stored results that are read back, 0…1; assumed" min:"0" max:"1"`
	After  int32   `yaml:"after" doc:"requests later, from 1; assumed" unit:"requests" min:"0" needs:"share"`
	Output int32   `yaml:"output" doc:"tokens of the response that reads; assumed" unit:"tokens" min:"0" needs:"share"`
	Limit  int32   `yaml:"limit" doc:"tokens one read returns at most; assumed" unit:"tokens" min:"0" needs:"share"`
}

// Rules returns contradictions between the parameters.
func (p *toolStorageParams) Rules() []error {
	least := min(p.Limits.Default, p.Limits.Bash, p.Limits.Grep, p.Limits.MCP, p.Limits.Cap)
	for _, bytes := range p.Limits.Tools {
		least = min(least, bytes)
	}
	if p.Preview > least {
		return []error{spec.Wrong("preview", "%d is more than the limit %d", p.Preview, least)}
	}
	return nil
}

// Rules returns contradictions between the parameters.
func (p *reread) Rules() []error {
	if p.Share > 0 && min(p.After, p.Output, p.Limit) < 1 {
		return []error{errors.New("after, output and limit must be positive")}
	}
	return nil
}

func defaultToolStorage() toolStorageParams {
	return toolStorageParams{
		Switch: on,
		Limits: storageLimits{Default: 50000, Bash: 30000, Grep: 20000, MCP: 50000, Cap: 400000, Tools: map[string]int32{}},
		Never:  []string{"Read"}, PerMessage: 200000, Preview: 2000, Pointer: 60,
		Freeze: true, Retune: retune{Scale: 1},
		Reread: reread{After: 1, Output: 100, Limit: 25000},
	}
}

var toolStorageDefinition = Define(standard.ToolStorage,
	"writes large tool results to disk before they are sent and leaves a preview",
	defaultToolStorage(),
	func(p toolStorageParams) Layer {
		return &toolStorage{params: p, never: toolset{named: p.Never, mcp: true}}
	}).with(Traits{Draws: true, Clears: true})

// toolStorage is the state of the layer on one thread. The context, which branches
// and forks copy, shows what was decided.
type toolStorage struct {
	params  toolStorageParams
	never   toolset
	stored  []int32 // ids of the entries it has put to disk, for deciding again
	message []freshResult
	reads   readingBack
	request int32 // number of the request under way, from 1; a branch goes on counting
	acted   bool  // it changed the context before this request
}

var (
	_ BeforeRequest    = (*toolStorage)(nil)
	_ IntentResult     = (*toolStorage)(nil)
	_ AfterCompaction  = (*toolStorage)(nil)
	_ standard.Sparing = (*toolStorage)(nil)
)

// freshResult is a result of the message under decision.
type freshResult struct {
	at    int
	bytes int32
	limit int32 // bytes above which it goes to disk; 0 for never
	store bool
}

func (l *toolStorage) Name() string { return standard.ToolStorage }

func (l *toolStorage) Clone() Layer {
	return &toolStorage{
		params: l.params, never: toolset{named: l.never.named, mcp: true},
		stored: slices.Clone(l.stored), reads: l.reads.clone(), request: l.request,
	}
}

func (l *toolStorage) Copy() Layer {
	c := l.Clone().(*toolStorage)
	c.acted = l.acted
	return c
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

// finish returns the outcome for the request under way.
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
// returns the position after it. Results that another layer has cleared, and results that were
// read back from disk, are left alone.
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
	limit, name := p.Limits.Default, t.tool(b)
	switch {
	case len(p.Never) > 0 && l.never.has(t, b),
		b.Flags&prompt.FlagImage != 0 && !p.StoreImages,
		b.Flags&prompt.FlagError != 0 && !p.StoreErrors:
		return 0
	case p.Limits.Tools[name] > 0:
		return p.Limits.Tools[name]
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
		total += float64(l.bytesLeft(r))
	}
	for limit := float64(l.params.PerMessage) * scale; limit > 0 && total > limit; {
		r := l.largest()
		if r == nil {
			break
		}
		r.store, anyStored = true, true
		total -= float64(r.bytes - l.bytesLeft(r))
	}
	return anyStored
}

// bytesLeft is what stays of a result, bytes.
func (l *toolStorage) bytesLeft(r *freshResult) int32 {
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

func (l *toolStorage) Spares(largest []prompt.Block, tools []string) bool {
	p, t := &l.params, &Turn{Tools: tools}
	l.never.reset()
	return p.Retune.Request == 0 && p.PerMessage == 0 && !slices.ContainsFunc(largest, func(b prompt.Block) bool {
		limit := l.limit(t, &b)
		return limit > 0 && b.Bytes > limit
	})
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
	t.Count(measures.StoredResults, 1)
	t.Count(measures.StoredTokens, int64(b.Tokens-preview))
	if !l.params.Freeze {
		l.stored = append(l.stored, e.ID)
	}
	l.planRead(t, e.ID)
	return true
}

// sourceReread is the query source of a response that reads a stored result.
const sourceReread = "reread"

// readingBack is which stored results the model will read back, and what it has
// read so far.
type readingBack struct {
	due    []dueRead
	now    int32 // id of the stored result being read
	calls  int32 // reads so far: their tool calls are numbered −1, −2, …
	drawn  uint8 // draws made before the request under way
	answer prompt.Answer
}

// dueRead is a stored result that is read back before a request.
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
	u := t.Draw(standard.ToolStorage, r.drawn)
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
			return t.Call(prompt.Intent{Source: sourceReread, Known: &r.answer, Ordinal: uint8(r.calls)})
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

// appendRead appends to the context a Read of the file that a result is stored in, and
// its result: as much of the content as one read returns. A read is never stored, so it
// keeps its size.
func (l *toolStorage) appendRead(t *Turn, b *prompt.Block) {
	c, p := t.Context, &l.params.Reread
	l.reads.calls++
	before := int64(c.Tokens())
	call := prompt.Block{
		Kind: prompt.KindToolUse, Op: op.Read, Tool: uint16(max(0, slices.Index(t.Tools, "Read"))), Object: -1,
		Call: -l.reads.calls, Tokens: p.Output, Bytes: p.Output * bytesPerToken,
		Digest: b.Digest.ExtendInt(uint64(l.reads.calls)),
	}
	result := call
	result.Kind, result.Tokens = prompt.KindToolResult, min(b.Tokens, p.Limit)
	result.Bytes = int32(int64(b.Bytes) * int64(result.Tokens) / int64(max(1, b.Tokens)))
	result.Digest = call.Digest.Extend(b.Digest)
	c.Add(call)
	c.Add(result)
	t.Count(measures.RereadResults, 1)
	t.Compacted(Boundary{
		Kind: BoundaryStore, Before: before, After: int64(c.Tokens()),
		Uncounted: -int64(call.Bytes+result.Bytes) / bytesPerToken,
	})
}
