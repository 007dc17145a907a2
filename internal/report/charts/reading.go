package reports

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// Remark puts above the figures of a workload what was read of a corpus and chosen of it, and what was lost.
func Remark(w *results.Workload, c *traces.Corpus, chosen *traces.Selection) {
	add := func(format string, args ...any) { w.Remarks = append(w.Remarks, fmt.Sprintf(format, args...)) }
	w.Remarks = append(w.Remarks, Reading(c, chosen)...)
	if c.Unread > 0 && c.Inputs != nil {
		share := float64(c.Unread) / float64(max(c.Unread, len(c.Inputs.Files)))
		w.Quality = append(w.Quality, results.Share{Of: "files", What: "unread", Value: share})
	}
	for _, agent := range slices.Sorted(maps.Keys(c.Unsupported)) {
		add("%s of %s left out: its recordings are not supported", document.Count(c.Unsupported[agent], "file"), agent)
	}
	if c.Inputs != nil && c.Inputs.Dangling > 0 {
		add("%s left out: no file at the other end", document.Count(c.Inputs.Dangling, "link"))
	}
	if c.Repeated > 0 {
		add("%s repeated by resumed sessions counted once", document.Count(c.Repeated, "call"))
	}
}

// maxUnread is the largest number of unreadable files named above the figures.
const maxUnread = 3

// unreadFiles returns the problems that were kept of files that could not be read, or not to their end, by file.
func unreadFiles(c *traces.Corpus) []traces.Problem {
	list := slices.Clone(c.Problems)
	for _, s := range c.Sessions {
		list = append(list, s.Problems...)
	}
	list = slices.DeleteFunc(list, func(p traces.Problem) bool { return !p.Unread })
	slices.SortStableFunc(list, func(p, q traces.Problem) int { return cmp.Compare(p.File, q.File) })
	return list
}

// Uncounted returns how many calls have token counts that are missing, cannot be read or
// contradict each other, what to say of them, and the first session with such a call.
func Uncounted(c *traces.Corpus) (n int, text string, first *traces.Session) {
	calls, lost := 0, int64(0)
	for _, s := range c.Sessions {
		if n += s.Quality.Uncounted; first == nil && n > 0 {
			first = s
		}
		calls += s.NumCalls()
		lost += s.Quality.LostTokens
	}
	text = fmt.Sprintf("%s of %s have missing, unreadable or contradictory token counts", document.Whole(int64(n)), document.Count(calls, "call"))
	if n > calls { // counts are missing of calls that no line shows
		text = fmt.Sprintf("missing, unreadable or contradictory token counts in %s, besides %s that were read", document.Count(n, "place"), document.Count(calls, "call"))
	}
	if lost > 0 {
		text += fmt.Sprintf(", and sums in the logs have %s tokens more than the calls", document.Whole(lost))
	}
	return n, text, first
}

// spreadCalls returns the calls whose input is an estimated share of a total.
func spreadCalls(c *traces.Corpus) (n int) {
	for _, s := range c.Sessions {
		n += s.Quality.Spread
	}
	return n
}

// webSearches returns the searches of the web that providers bill by the thousand.
func webSearches(c *traces.Corpus) (n int) {
	for _, s := range c.Sessions {
		n += s.Quality.WebSearches
	}
	return n
}

// Reading says which sessions of a corpus passed the filter, and what could not be read.
func Reading(c *traces.Corpus, chosen *traces.Selection) []string {
	list := chosen.Remarks()
	var lost []string
	if c.BadLines > 0 {
		lost = append(lost, fmt.Sprintf("%s of %s could not be read, wholly or in part", document.Count(c.BadLines, "line"), document.Whole(c.Lines)))
	}
	uncounted, text, _ := Uncounted(c)
	if uncounted > 0 {
		list = append(list, text+"; the bill is wrong by these; -v lists them")
	}
	if spread := spreadCalls(c); spread > 0 {
		list = append(list, fmt.Sprintf("%s with estimated input: the log has only the total of several calls", document.Count(spread, "call")))
	}
	if searches := webSearches(c); searches > 0 {
		list = append(list, fmt.Sprintf("not in the bill: web searches by the server (%s), for which the price table has no rate", document.Whole(int64(searches))))
	}
	told := c.BadLines + c.Unread + uncounted
	if c.Inputs != nil {
		told += c.Inputs.Dangling // links that were left out
	}
	if others := c.NumProblems - told; others > 0 {
		lost = append(lost, document.Count(others, "problem")+" while reading")
	}
	if len(lost) > 0 {
		list = append(list, strings.Join(lost, ", ")+"; -v lists them")
	}
	if c.Unread > 0 {
		text := fmt.Sprintf("%s could not be read to the end; what is missing is not in the figures", document.Count(c.Unread, "file"))
		unread := unreadFiles(c)
		for _, p := range unread[:min(len(unread), maxUnread)] {
			text += "; " + p.String()
		}
		list = append(list, text)
	}
	return list
}
