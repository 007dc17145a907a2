package synthetic

import (
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/traces"
)

// maxUses is the number of tool uses that a call has at most.
const maxUses = 8

// failedBytes is the length of the result of a call that failed.
const failedBytes = 120

// use plans the tool calls of a response, one and then more with probability
// Workload.Parallel each. The tool stays an index into the mix until the session
// is laid out.
func (w *pen) use() {
	p, t := w.p, w.track()
	for i := range maxUses {
		at := p.at(place(w.t, w.n, 3+i))
		if i > 0 && !at.hit(forParallel, p.g.w.Parallel) {
			return
		}
		k := w.tools.choice.at(at.unit(forTool))
		tool := &w.tools.tools[k]
		b := p.add(t, prompt.KindToolUse, int32(tool.overhead), 0)
		t.uses++
		b.Call, b.Tool, b.Op, b.Flags = t.uses, uint16(k), tool.op, tool.flags
		w.fill(b, tool, at)
		b.Tokens = int32(p.g.rates.Tokens(prompt.KindToolUse, int(b.Bytes)))
	}
}

// fill plans the input of a tool use.
func (w *pen) fill(b *prompt.Block, tool *genTool, at spot) {
	p := w.p
	g := p.g
	switch {
	case tool.files:
		b.Object = w.pickFile(tool.Name, at)
	case tool.op == op.Search && tool.Name != toolGlob:
		b.Object = int32(len(g.paths) - 1)
	}
	if b.Object >= 0 {
		b.Bytes += g.lengths[b.Object]
	}
	if tool.read {
		w.readRange(b, at)
		return
	}
	free := int32(max(minFree, at.draw(&tool.Input, forToolInput)/g.rates.PerByte[prompt.KindToolUse]+0.5))
	b.Bytes += free
	switch tool.op {
	case op.Edit:
		b.RangeLen = free - 2*replaced(free)
	case op.Write:
		b.RangeLen = free
	}
}

// replaced returns how much of an edit's free text is the text it replaces, bytes.
func replaced(free int32) int32 { return free * 2 / 5 }

// minFree is the least length of free text in a tool's input, bytes.
const minFree = 8

// pickFile chooses the file a call works on. Edits go to a file used lately.
func (w *pen) pickFile(tool string, at spot) int32 {
	g := w.p.g
	if w.files > 0 && (tool == toolEdit || at.hit(forFilePick, g.w.Reread)) {
		return w.recent[at.below(forFileEdit, w.files)]
	}
	return int32(at.below(forFileEdit, g.w.Files))
}

// fileTokens returns the size of a file of the session.
func (p *plan) fileTokens(f int32) float64 {
	return max(1, p.at(forFiles|uint64(f)).draw(&p.g.w.FileSize, forFileSize))
}

// lineBytes is the typical length of a line of a file with its number.
const lineBytes = 36

// readRange plans which part of its file a Read asks for: the whole file, or one of
// equal windows.
func (w *pen) readRange(b *prompt.Block, at spot) {
	p := w.p
	tokens := p.fileTokens(b.Object)
	n := p.windows(tokens)
	if n == 1 {
		return
	}
	lines := int32(tokens/float64(n)/p.g.rates.PerByte[prompt.KindToolResult])/lineBytes + 1
	b.RangeFrom = 1 + lines*int32(at.below(forFileRange, n))
	b.RangeLen = lines
	b.Bytes += int32(len(`,"offset":,"limit":`) + digits(b.RangeFrom) + digits(b.RangeLen))
}

// windows returns the number of parts in which a file of a size is read.
func (p *plan) windows(tokens float64) int {
	limit := p.g.w.ReadLimit
	return (int(tokens) + limit - 1) / limit
}

func digits(n int32) int {
	k := 1
	for ; n >= 10; n /= 10 {
		k++
	}
	return k
}

// results plans the results of the last call's tools. They go with the next
// request, once the slowest is there.
func (w *pen) results() {
	p := w.p
	t := w.track()
	span := t.rounds[len(t.rounds)-1].Reply
	reply := t.blocks[span.From:span.To] // stays as it is when the track grows
	w.at = w.before + 2*millisecond
	for i := range reply {
		use := &reply[i]
		if use.Kind != prompt.KindToolUse {
			continue
		}
		at := p.at(place(w.t, w.n, i))
		tool := &w.tools.tools[use.Tool]
		var b *prompt.Block
		end := w.before
		if tool.task {
			var bytes int32
			bytes, end = p.agent(w.t, use.Bytes-int32(tool.overhead), w.before+taskDelay, w.model)
			b = w.push(prompt.KindToolResult, bytes, int32(p.g.rates.Tokens(prompt.KindToolResult, int(bytes))))
		} else {
			b = w.result(use, tool, at)
			end += seconds(at.draw(&tool.Time, forToolTime))
		}
		b.Call, b.Tool, b.Op, b.Object = use.Call, use.Tool, use.Op, use.Object
		b.RangeFrom, b.RangeLen = use.RangeFrom, use.RangeLen
		b.Flags |= use.Flags & prompt.FlagMCP
		w.at = max(w.at, end+2*millisecond)
	}
	w.trigger = traces.TriggerToolResult
}

// result plans the result of a tool use that starts no agent.
func (w *pen) result(use *prompt.Block, tool *genTool, at spot) *prompt.Block {
	p := w.p
	g := p.g
	if use.Object >= 0 && tool.files {
		w.touch(use.Object)
	}
	if at.hit(forToolError, tool.Errors) {
		b := w.push(prompt.KindToolResult, failedBytes, int32(g.rates.Tokens(prompt.KindToolResult, failedBytes)))
		b.Flags = prompt.FlagError
		return b
	}
	var tokens float64
	if tool.read {
		size := p.fileTokens(use.Object)
		tokens = size / float64(p.windows(size))
	} else {
		tokens = at.draw(&tool.Result, forToolResult)
	}
	bytes, exact := g.size(prompt.KindToolResult, tokens)
	return w.push(prompt.KindToolResult, bytes, exact)
}

// touch puts a file in front of those used last.
func (w *pen) touch(f int32) {
	i := 0
	for i < w.files && w.recent[i] != f {
		i++
	}
	if i == w.files && w.files < len(w.recent) {
		w.files++
	}
	i = min(i, len(w.recent)-1)
	copy(w.recent[1:i+1], w.recent[:i])
	w.recent[0] = f
}
