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

// forest is all spans of the files that are read together.
type forest struct {
	list []*span // in the order of the files
	of   map[prompt.Digest]*span
	// traces are the conversations that spans name, by trace.
	traces map[string]string
}

// newForest collects spans. One that arrives twice counts once.
func newForest(files []*file) *forest {
	fo := &forest{of: map[prompt.Digest]*span{}, traces: map[string]string{}}
	for _, f := range files {
		twice := 0
		for _, sp := range f.spans {
			o := fo.of[sp.key]
			if o == nil {
				fo.of[sp.key] = sp
				fo.list = append(fo.list, sp)
			} else if twice++; sp.richer(o) {
				*o = *sp
			}
			if sp.conversation != "" && fo.traces[sp.trace] == "" {
				fo.traces[sp.trace] = sp.conversation
			}
		}
		if f.spans = nil; twice > 0 {
			f.Problems.Add(f.Name, 0, "%d spans arrive a second time; each is counted once", twice)
		}
	}
	return fo
}

// richer reports whether a span says more than another one of its id.
func (sp *span) richer(o *span) bool {
	if sp.call != nil && o.call != nil {
		return sp.call.Usage.OK && !o.call.Usage.OK
	}
	return sp.call != nil || o.call == nil && sp.end > o.end
}

// above yields the spans above one, from the inside out, as far as they are known.
func (fo *forest) above(sp *span) func(yield func(*span) bool) {
	return func(yield func(*span) bool) {
		n := 0
		for up := fo.of[sp.up]; up != nil && up != sp && n < len(fo.list) && yield(up); up = fo.of[up.up] {
			n++
		}
	}
}

// innermost drops calls that hold another one, as several libraries make spans of
// one call. Of a call whose counts only an outer span has, that one stays. What the
// tools of a call do are other calls.
func (fo *forest) innermost() {
	outer := map[*span]bool{}
	for _, counted := range [...]bool{true, false} {
		for _, sp := range fo.list {
			if sp.call == nil || sp.call.Usage.OK != counted {
				continue
			}
			for up := range fo.above(sp) {
				if up.tool != nil {
					break
				}
				if up.call == nil {
					continue
				}
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

// name returns the conversation of a span: its own, that of a span above it, or of
// its trace.
func (fo *forest) name(sp *span) string {
	if sp.conversation != "" {
		return sp.conversation
	}
	for up := range fo.above(sp) {
		if up.conversation != "" {
			return up.conversation
		}
	}
	if name := cmp.Or(fo.traces[sp.trace], sp.trace); name != "" {
		return name
	}
	stem, _, _ := strings.Cut(path.Base(sp.file.Name), ".")
	return stem
}

// lane returns the tool that a span is below, nil for none.
func (fo *forest) lane(sp *span) *span {
	for up := range fo.above(sp) {
		if up.tool != nil {
			return up
		}
	}
	return nil
}

// dialogue is the spans of one conversation.
type dialogue struct {
	name         string
	calls, tools []*span
}

// sessions makes a session of each conversation.
func sessions(opts *traces.Options, files []*file) []*assembly.Session {
	for _, f := range files {
		if f.calls == 0 && len(f.spans) > 0 {
			f.Problems.Add(f.Name, 0, "none of its %d spans is a call of a model with token counts", len(f.spans))
		}
	}
	fo := newForest(files)
	fo.innermost()
	of := map[string]*dialogue{}
	var order []*dialogue
	for _, sp := range fo.list {
		if sp.call == nil && sp.tool == nil {
			continue
		}
		name := fo.name(sp)
		d := of[name]
		if d == nil {
			d = &dialogue{name: name}
			of[name], order = d, append(order, d)
		}
		if sp.call != nil {
			d.calls = append(d.calls, sp)
		} else {
			d.tools = append(d.tools, sp)
		}
	}
	var list []*assembly.Session
	for _, d := range order {
		if d.once(fo); len(d.calls) == 0 {
			continue
		}
		if s := d.session(opts, fo); s != nil {
			list = append(list, s)
		}
	}
	return list
}

// once sorts the calls, and drops those that are another one: at its time with its
// response, or around or inside it with the same counts where the span above is not
// known. Calls at different times cannot have one response, so their counts are in doubt.
func (d *dialogue) once(fo *forest) {
	slices.SortStableFunc(d.calls, func(a, b *span) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end))
	})
	seen := map[string]*span{}
	var kept []*span
	for _, sp := range d.calls {
		inside := func(o *span) bool {
			return o.trace == sp.trace && o.start <= sp.start && sp.end <= o.end && sp.start < sp.end &&
				(fo.of[o.up] == nil || fo.of[sp.up] == nil) && o.call.Usage == sp.call.Usage
		}
		again := false
		if o := seen[sp.call.ID]; o != nil && assembly.SameInput(&o.call.Usage, &sp.call.Usage) {
			again = sp.start <= o.end
			sp.call.Usage.Doubt = !again
		}
		if again || slices.ContainsFunc(kept[max(0, len(kept)-8):], inside) {
			sp.file.Problems.Add(sp.file.Name, sp.line, "the call of this span is that of another; it is counted once")
			continue
		}
		if kept = append(kept, sp); sp.call.ID != "" {
			seen[sp.call.ID] = sp
		}
	}
	d.calls = kept
}

// session makes the session of a conversation, nil if none of its calls is counted.
func (d *dialogue) session(opts *traces.Options, fo *forest) *assembly.Session {
	var all []*assembly.Request
	for _, sp := range d.calls {
		all = append(all, sp.call)
	}
	s := assembly.Draft(opts, &assembly.Format{Agent: Agent, Rates: opts.Rates, Exact: true}, d.name, all)
	if !s.Counted(opts, all) {
		return nil
	}
	lanes, turn := map[string][]*assembly.Request{}, map[string]string{}
	shown := false
	for _, sp := range d.calls {
		if t := fo.lane(sp); t != nil {
			sp.call.Lane, sp.call.Starter = t.name, t.tool[0].ID
		}
		// A trace is a turn, which a person began.
		shown, sp.call.Prompted = shown || sp.call.Messages != nil, len(lanes[sp.call.Lane]) == 0 || turn[sp.call.Lane] != sp.trace
		turn[sp.call.Lane] = sp.trace
		lanes[sp.call.Lane] = append(lanes[sp.call.Lane], sp.call)
		s.LoggedUSD += sp.usd
		s.Project = cmp.Or(s.Project, sp.service)
		if sp.version != "" && !slices.Contains(s.Versions, sp.version) {
			s.Versions = append(s.Versions, sp.version)
		}
	}
	s.OwnOnce()
	slices.SortStableFunc(d.tools, func(a, b *span) int { return cmp.Compare(a.start, b.start) })
	for _, t := range d.tools {
		name := ""
		if up := fo.lane(t); up != nil {
			name = up.name
		}
		use(lanes[name], t)
	}
	if !shown {
		s.Problems.Add(d.calls[0].file.Name, 0, "session %s shows no messages: its context has sizes and no content", d.name)
	}
	s.Threads = assembly.Conversations(d.name, all)
	return s
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
