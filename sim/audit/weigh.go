package audit

import (
	"slices"

	"github.com/compactsim/compactsim/traces"
)

// scales weigh the things of a session in the contexts of its calls. A thing enters with the blocks
// that show it and leaves when they are cleared or compacted away.
type scales struct {
	session *traces.Session
	names   []string
	things  []int32 // by block: index into names, -1 for none
	now     []int64 // tokens by name in the context under way
	ends    map[readAt][]int64
	leaves  map[readAt]bool // rounds at which a branch leaves its thread
}

// newScales prepares the weighing of a session by what thing says of its blocks, "" for nothing.
func newScales(s *traces.Session, thing func(*traces.Session, int32) string) *scales {
	w := &scales{session: s, things: make([]int32, len(s.Blocks)), ends: map[readAt][]int64{}, leaves: map[readAt]bool{}}
	index := map[string]int32{}
	for b := range s.Blocks {
		name := thing(s, int32(b))
		i, ok := index[name]
		if !ok {
			if i = -1; name != "" {
				i, w.names = int32(len(w.names)), append(w.names, name)
			}
			index[name] = i
		}
		w.things[b] = i
	}
	for i := range s.Threads {
		if t := &s.Threads[i]; t.Kind == traces.ThreadBranch && t.Parent >= 0 {
			w.leaves[readAt{t.Parent, t.ParentRound}] = true
		}
	}
	return w
}

// thread replays the contexts of a thread and calls weigh for each of its first n rounds, when now
// holds the context of the round's request.
func (w *scales) thread(index int32, n int, weigh func(round int)) {
	t := &w.session.Threads[index]
	w.now = make([]int64, len(w.names))
	if t.Kind == traces.ThreadBranch && t.Parent >= 0 {
		copy(w.now, w.ends[readAt{t.Parent, t.ParentRound}])
	}
	w.add(t.Prefix)
	next := 0
	for i := range n {
		own := t.Rounds[i].Input
		for ; next < len(t.Events) && int(t.Events[next].Round) <= i; next++ {
			ev := &t.Events[next]
			if ev.Kind == traces.EventCompact {
				clear(w.now)
				own.From = t.Rounds[i].Input.From + ev.Absorbed
				w.add(ev.Summary)
				continue
			}
			for _, b := range ev.Cleared {
				if k := w.things[b]; k >= 0 {
					w.now[k] = max(0, w.now[k]-int64(w.session.Blocks[b].Tokens))
				}
			}
		}
		w.add(own)
		weigh(i)
		w.add(t.Rounds[i].Reply)
		if at := (readAt{index, int32(i)}); w.leaves[at] {
			w.ends[at] = slices.Clone(w.now)
		}
	}
}

func (w *scales) add(span traces.Span) {
	for b := span.From; b < span.To; b++ {
		if k := w.things[b]; k >= 0 {
			w.now[k] += int64(w.session.Blocks[b].Tokens)
		}
	}
}

// shares hands over what is in the context under way, with its share of the input of a request, tokens. Tokens
// of blocks are estimates: where they exceed the input, all shrink in proportion.
func (w *scales) shares(input int64, each func(name string, tokens int64, share float64)) {
	var held int64
	for _, n := range w.now {
		held += n
	}
	if whole := float64(max(held, input)); whole > 0 {
		for k, n := range w.now {
			if n > 0 {
				each(w.names[k], n, float64(n)/whole)
			}
		}
	}
}
