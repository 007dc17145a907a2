package client

import (
	"cmp"
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/traces"
)

// recorded appends the breakpoints of the recorded request, placed over entries, to dst. One whose place the entries do not have is
// left out; of several at one place the last one counts. Where a request may carry one more, it is behind the first summary if summary is set.
func (m *Marks) recorded(dst []exchange.Marker, entries []prompt.Entry, summary bool) []exchange.Marker {
	from, messages := len(dst), 0
	for messages < len(entries) && entries[messages].Kind.Level() != prompt.LevelMessages {
		messages++
	}
	head := len(m.Head) > 0
	for _, k := range m.Head {
		k.TTL = m.TTL
		dst = append(dst, k)
	}
	for _, p := range m.Recorded.At[:m.Recorded.N] {
		k := exchange.Marker{TTL: m.TTL}
		if m.Lifetimes {
			k.TTL = p.TTL
		}
		switch {
		case p.Level != prompt.LevelMessages && head:
			continue
		case p.Level != prompt.LevelMessages:
			k.Position, k.Shift = inHead(entries[:messages], &p)
		case p.Start:
			k.Position = int32(markable(entries, min(len(entries), messages+int(p.Block))-1, messages))
		default:
			k.Position = int32(markable(entries, fromEnd(entries, messages, &p, m.SecondToLast), messages))
		}
		if k.Position < 0 || p.Level == prompt.LevelMessages && int(k.Position) < messages {
			continue
		}
		dst = append(dst, k)
	}
	if i := slices.IndexFunc(entries, isSummary); summary && i >= 0 && len(dst)-from < exchange.MaxMarkers {
		dst = slices.Insert(dst, from, exchange.Marker{Position: int32(i), TTL: m.TTL}) // of two at one place the recorded one counts
	}
	list := dst[from:]
	slices.SortStableFunc(list, func(a, b exchange.Marker) int { return cmp.Compare(a.Position, b.Position) })
	n := 0
	for i, k := range list {
		if i+1 < len(list) && list[i+1].Position == k.Position {
			continue
		}
		list[n] = k
		n++
	}
	over := max(0, n-exchange.MaxMarkers)
	return append(dst[:from], list[over:n]...)
}

// inHead returns the entry that a breakpoint in tools or system prompt is in or behind, -1 for none, and its place from the end of
// the entry, tokens.
func inHead(head []prompt.Entry, p *traces.Breakpoint) (position, shift int32) {
	first, n := 0, 0
	for n < len(head) && head[n].Kind.Level() <= p.Level {
		if head[n].Kind.Level() < p.Level {
			first = n + 1
		}
		n++
	}
	if p.Share >= 1 || first == n {
		return int32(n) - 1, 0
	}
	before := int32(0)
	if first > 0 {
		before = head[first-1].Cum
	}
	total := head[n-1].Cum - before
	at := before + int32(float64(total)*float64(p.Share))
	for i := first; i < n; i++ {
		if off := at - head[i].Cum; off <= total/nearEnd {
			if off >= -total/nearEnd {
				off = 0
			}
			return int32(i), off
		}
	}
	return int32(n) - 1, 0
}

// nearEnd is the part of tools or system prompt, one in so many tokens, by which a breakpoint may miss the end of an entry and
// still be taken to stand there: sizes are whole tokens by bytes.
const nearEnd = 100

// fromEnd returns the position of a breakpoint that is counted from the last message, or one message earlier; before the messages
// where they are too few.
func fromEnd(entries []prompt.Entry, messages int, p *traces.Breakpoint, earlier bool) int {
	i, left := len(entries)-1, int(p.Message)
	if earlier {
		left = max(left, 1)
	}
	for ; left > 0 && i >= messages; left-- {
		for said := entries[i].Kind.Assistant(); i >= messages && entries[i].Kind.Assistant() == said; {
			i--
		}
	}
	return i - int(p.Block)
}
