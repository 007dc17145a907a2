package reports

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/compactsim/compactsim/internal/document"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
)

// maxTracked is how many calls of a cell a page follows one by one: of more, those of the longest
// sessions. A call takes some 40 bytes of the page.
const maxTracked = 8_000

// Tracks returns what each call of the conversations of some cells read, wrote, sent uncached and answered,
// session by session, and a note when some sessions are left out. paths are the files of sessions by id, for
// the command that explains a call, none for the samples; chosen are the arguments that choose a cell there, by its name.
func Tracks(calls []results.CellCalls, paths map[string][]string, chosen map[string]string) (*document.Tracks, string) {
	t := &document.Tracks{Step: "call", Parts: []string{"read", "written", "uncached", "output"}}
	kept, left := tracked(calls)
	for i := range calls {
		bySession := map[string][]*results.CallRecord{}
		for j := range calls[i].Calls {
			c := &calls[i].Calls[j]
			bySession[c.Session] = append(bySession[c.Session], c)
		}
		for _, id := range kept {
			if list := bySession[id]; len(list) > 0 {
				track := trackOf(list)
				track.Group, track.Variant = document.Printable(id), calls[i].Cell
				if files, ok := paths[id]; ok && chosen[calls[i].Cell] != "" {
					how := chosen[calls[i].Cell]
					track.Look = document.Printable(strings.TrimSpace(fmt.Sprintf("sim explain %s {n} %s %s", Quoted(id), how, Quoted(files...))))
				}
				t.List = append(t.List, track)
			}
		}
	}
	if left == 0 {
		return t, ""
	}
	return t, fmt.Sprintf("The %d sessions with the most calls; %d others are left out.", len(kept), left)
}

// Quoted writes arguments as a shell takes them.
func Quoted(args ...string) string {
	list := slices.Clone(args)
	for i, arg := range list {
		if arg == "" || strings.ContainsFunc(arg, func(r rune) bool {
			return unicode.IsSpace(r) || strings.ContainsRune("'\"\\$&|;<>()*?[]{}`#~!^%", r)
		}) {
			list[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
	}
	return strings.Join(list, " ")
}

// tracked returns the sessions to follow, by most calls, and how many are left out.
func tracked(calls []results.CellCalls) (kept []string, left int) {
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
			return kept[:i], len(kept) - i
		}
	}
	return kept, 0
}

// trackOf lays out the calls of one session by their start.
func trackOf(calls []*results.CallRecord) document.Track {
	slices.SortStableFunc(calls, func(a, b *results.CallRecord) int { return cmp.Compare(a.Start, b.Start) })
	t := document.Track{Stack: make([][]int64, 4), Notes: map[int]string{}}
	for i, c := range calls {
		u := c.Usage
		for k, n := range []int64{u.Read, u.Write5m + u.Write1h + u.WriteOther, u.Uncached, u.Output} {
			t.Stack[k] = append(t.Stack[k], n)
		}
		t.When = append(t.When, (c.Start-calls[0].Start)/int64(time.Second))
		t.USD = append(t.USD, math.Round(c.Cost.Total()*1e4)/1e4)
		if note := callNote(c); note != "" {
			t.Notes[i] = note
		}
	}
	return t
}

// callNote says what happened at a call, "" for nothing.
func callNote(c *results.CallRecord) string {
	switch {
	case isMiss(c) && c.Miss != prompt.MissCompaction:
		return fmt.Sprintf("miss (%s): of %s tokens that the best prefix held, %s were read",
			c.Miss, document.Whole(c.Expected), document.Whole(c.Usage.Read))
	case c.Source == results.SourceCompact:
		return fmt.Sprintf("compaction: a summary of %s tokens in", document.Whole(c.Usage.Input()))
	case isMiss(c):
		return "first call behind a compaction"
	case c.Round < 0:
		return "a call of the client: " + c.Source.String()
	}
	return ""
}
