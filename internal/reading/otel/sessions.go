package otel

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/reading/assembly"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// span is what is kept of a span.
type span struct {
	key, up      prompt.Digest // up is zero for none
	trace        string
	conversation string // its own, then that of the spans above
	name         string // of a tool: the id of its call
	file         *file
	line         int
	start, end   int64            // unix ns
	tool         []assembly.Block // of a tool: its call and its result
	call         *assembly.Request

	below *span   // the tool that it is below, nil for none
	over  []*span // calls that hold it, from the inside out
}

// sessions makes a session of each conversation.
func sessions(opts *traces.Options, files []*file) []*assembly.Session {
	list, of := collect(files)
	climb(list, of)
	innermost(list)
	var calls, tools []*span
	for _, sp := range list {
		if sp.call != nil {
			calls = append(calls, sp)
		} else if sp.tool != nil {
			tools = append(tools, sp)
		}
	}
	var all []*assembly.Request
	lanes, turn := map[[2]string][]*assembly.Request{}, map[[2]string]string{}
	for _, sp := range once(calls, of) {
		r, lane := sp.call, sp.lane()
		if r.Session, r.Lane = lane[0], lane[1]; sp.below != nil {
			r.Starter = sp.below.tool[0].ID
		}
		// A trace is a turn, which a person began.
		r.Prompted = len(lanes[lane]) == 0 || turn[lane] != sp.trace
		turn[lane], lanes[lane] = sp.trace, append(lanes[lane], r)
		all = append(all, r)
	}
	slices.SortStableFunc(tools, func(a, b *span) int { return cmp.Compare(a.start, b.start) })
	for _, t := range tools {
		use(lanes[t.lane()], t)
	}
	return assembly.Sessions(opts, Agent, all)
}

// lane returns the conversation of a span, and the tool whose sub-agent speaks there.
func (sp *span) lane() [2]string {
	if sp.below != nil {
		return [2]string{sp.conversation, sp.below.name}
	}
	return [2]string{sp.conversation, ""}
}

// collect returns the spans of all files. One that arrives twice counts once.
func collect(files []*file) (list []*span, of map[prompt.Digest]*span) {
	of = map[prompt.Digest]*span{}
	for _, f := range files {
		if f.calls == 0 && len(f.spans) > 0 {
			f.Problems.Add(f.Name, 0, "none of its %d spans is a call of a model with token counts", len(f.spans))
		}
		twice := 0
		for _, sp := range f.spans {
			o := of[sp.key]
			if o == nil {
				of[sp.key] = sp
				list = append(list, sp)
			} else if twice++; sp.richer(o) {
				*o = *sp
			}
		}
		if f.spans = nil; twice > 0 {
			f.Problems.Add(f.Name, 0, "%d spans arrive a second time; each is counted once", twice)
		}
	}
	return list, of
}

// richer reports whether a span says more than another one of its id.
func (sp *span) richer(o *span) bool {
	if sp.call != nil && o.call != nil {
		return sp.call.Usage.OK && !o.call.Usage.OK
	}
	return sp.call != nil || o.call == nil && sp.end > o.end
}

// maxOver is how many spans of one call are told apart.
const maxOver = 64

// climb finds what is above each span, as far as that is known. What the tools of a call do are other calls. A span is of
// the conversation that it names, that the first one above it names, or its trace.
func climb(list []*span, of map[prompt.Digest]*span) {
	named, own := map[string]string{}, make([]string, len(list))
	for i, sp := range list {
		if own[i] = sp.conversation; named[sp.trace] == "" {
			named[sp.trace] = sp.conversation
		}
	}
	for i, sp := range list {
		n := 0
		for up := of[sp.up]; up != nil && up != sp && n < len(list); up = of[up.up] {
			n++
			own[i] = cmp.Or(own[i], up.conversation)
			switch {
			case sp.below != nil:
			case up.tool != nil:
				sp.below = up
			case up.call != nil && len(sp.over) < maxOver:
				sp.over = append(sp.over, up)
			}
		}
	}
	for i, sp := range list {
		stem, _, _ := strings.Cut(path.Base(sp.file.Name), ".")
		sp.conversation = cmp.Or(own[i], named[sp.trace], sp.trace, stem)
	}
}

// innermost drops calls that hold another one, as several libraries make spans of
// one call. Of a call whose counts only an outer span has, that one stays.
func innermost(list []*span) {
	outer := map[*span]bool{}
	for _, counted := range [...]bool{true, false} {
		for _, sp := range list {
			if sp.call == nil || sp.call.Usage.OK != counted {
				continue
			}
			for _, up := range sp.over {
				if up.call.Usage.OK && !counted {
					outer[sp] = outer[sp] || !outer[up]
					break
				}
				outer[up] = true
			}
		}
	}
	for sp := range outer {
		sp.call = nil
	}
}

// once sorts calls, and drops those inside another one with the same counts where the span above is not known.
func once(calls []*span, of map[prompt.Digest]*span) (kept []*span) {
	slices.SortStableFunc(calls, func(a, b *span) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end))
	})
	traced := map[string][]*span{}
	for _, sp := range calls {
		before := traced[sp.trace]
		if slices.ContainsFunc(before[max(0, len(before)-8):], func(o *span) bool {
			return sp.end <= o.end && sp.start < sp.end && (of[o.up] == nil || of[sp.up] == nil) && o.call.Usage == sp.call.Usage
		}) {
			sp.file.Problems.Add(sp.file.Name, sp.line, "the call of this span is that of another; it is counted once")
			continue
		}
		kept, traced[sp.trace] = append(kept, sp), append(before, sp)
	}
	return kept
}

// use gives a tool to the call that asked for it, the last one that began before it.
// The response had ended by then, even if the span had not. Where no messages are
// shown, the tool is part of the response, and its result of the next request.
func use(calls []*assembly.Request, t *span) {
	i, _ := slices.BinarySearchFunc(calls, t.start, func(r *assembly.Request, at int64) int {
		return cmp.Or(cmp.Compare(r.Start, at), -1)
	})
	if i == 0 || t.start == 0 {
		return
	}
	r := calls[i-1]
	r.End, r.First = min(r.End, t.start), min(r.First, t.start)
	if r.Messages != nil || i < len(calls) && calls[i].Messages != nil {
		return
	}
	r.Reply = append(r.Reply, t.tool[0])
	if i < len(calls) {
		calls[i].Results = append(calls[i].Results, t.tool[1])
	}
}
