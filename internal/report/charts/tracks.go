package reports

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/serving/calls"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
)

// maxTracked is how many calls of a cell a page follows one by one; of more,
// those of the longest sessions. A call takes about 40 bytes of the page.
const maxTracked = 8_000

// Tracks returns what each call of the conversations of some cells read, wrote, sent uncached and
// answered, session by session, for the sessions with the most calls. labels and chosen are those
// of PageParts.
func Tracks(calls []results.CellCalls, labels, chosen map[string]string) *document.Tracks {
	t := &document.Tracks{Step: "call", Parts: []string{"read", "written", "uncached", "output"}}
	kept := tracked(calls)
	if len(labels) > 0 {
		t.Commands = map[string]string{}
		for cell, how := range chosen {
			t.Commands[cell] = document.Printable("sim explain {id} {n} " + how)
		}
	}
	for i := range calls {
		bySession := map[string][]*results.CallRecord{}
		for j := range calls[i].Calls {
			c := &calls[i].Calls[j]
			if c.Round < 0 && c.Source == results.SourceOther {
				continue // no log shows it, and sim explain has no number for it
			}
			bySession[c.Session] = append(bySession[c.Session], c)
		}
		for _, id := range kept {
			if list := bySession[id]; len(list) > 0 {
				track := trackOf(list)
				track.Group, track.Variant = document.Printable(id), calls[i].Cell
				if label, ok := labels[id]; ok {
					track.Label = document.Printable(label + " · " + id[:min(8, len(id))])
				}
				t.List = append(t.List, track)
			}
		}
	}
	return t
}

// tracked returns the sessions to follow, most calls first.
func tracked(calls []results.CellCalls) (kept []string) {
	count := map[string]int{}
	for i := range calls {
		for j := range calls[i].Calls {
			count[calls[i].Calls[j].Session]++
		}
	}
	for id := range count {
		kept = append(kept, id)
	}
	slices.SortFunc(kept, func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	})
	total := 0
	for i, id := range kept {
		if total += count[id]; i > 0 && total > maxTracked*len(calls) {
			return kept[:i]
		}
	}
	return kept
}

// trackOf lays out the calls of one session by their start.
func trackOf(calls []*results.CallRecord) document.Track {
	slices.SortStableFunc(calls, func(a, b *results.CallRecord) int { return cmp.Compare(a.Start, b.Start) })
	t := document.Track{Stack: make([][]int64, 4), Notes: map[int]string{}}
	last := map[int32]int64{} // context of the previous call, by thread
	for i, c := range calls {
		u := c.Usage
		for k, n := range []int64{u.Read, u.Write5m + u.Write1h + u.WriteOther, u.Uncached, u.Output} {
			t.Stack[k] = append(t.Stack[k], n)
		}
		t.When = append(t.When, (c.Start-calls[0].Start)/int64(time.Second))
		t.USD = append(t.USD, math.Round(c.Cost.Total()*1e4)/1e4)
		if note := callNote(c, last[c.Thread]); note != "" {
			t.Notes[i] = note
		}
		if c.Round >= 0 {
			last[c.Thread] = c.Context
		} else {
			t.Beside++
		}
	}
	return t
}

// callNote says what happened at a call, given the context of the previous call in tokens; "" for nothing.
func callNote(c *results.CallRecord, before int64) string {
	fell := ""
	if c.Round >= 0 && c.Context < before {
		fell = fmt.Sprintf("context %s → %s tokens", document.Tokens(float64(before)), document.Tokens(float64(c.Context)))
	}
	switch {
	case isMiss(c) && c.Miss != prompt.MissCompaction:
		return fmt.Sprintf("miss (%s): of %s tokens that were left in the cache, %s were read%s",
			calls.Word(c.Miss.String()), document.Tokens(float64(c.Expected)), document.Tokens(float64(c.Usage.Read)), strings.TrimSuffix("; "+fell, "; "))
	case c.Source == results.SourceCompact:
		return "compaction: summarised " + document.Tokens(float64(c.Usage.Input())) + " tokens"
	case isMiss(c):
		return "first call after a compaction: " + fell
	case c.Round < 0:
		return "a call of the client: " + strings.ReplaceAll(c.Source.String(), "_", " ")
	case fell != "":
		return "cleared: " + fell
	}
	return ""
}
