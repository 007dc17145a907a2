package charts

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
)

// maxModels is the number of models that a head names.
const maxModels = 3

// headLines says what was replayed: one line of facts, then the remarks.
// Unknown facts are left out.
func headLines(run *results.Run) []string {
	w := &run.Workload
	facts := []string{document.Count(w.Sessions, "session"), document.Count(w.Calls, "call")}
	if len(w.Models) > 0 {
		facts = append(facts, modelNames(w.Models))
	}
	switch {
	case w.First != "" && w.Last != "" && w.First != w.Last:
		facts = append(facts, w.First+" … "+w.Last)
	case w.First != "" || w.Last != "":
		facts = append(facts, max(w.First, w.Last))
	}
	if w.PricesAt != "" {
		facts = append(facts, "prices at "+w.PricesAt)
	}
	if len(w.Quality) > 0 {
		facts = append(facts, "data quality: "+qualityText(w.Quality))
	}
	return append([]string{document.Printable(strings.Join(facts, " · "))}, w.Remarks...)
}

func modelNames(models []string) string {
	if len(models) <= maxModels {
		return strings.Join(models, ", ")
	}
	return strings.Join(models[:maxModels], ", ") + ", …"
}

func qualityText(shares []results.Share) string {
	texts := make([]string, len(shares))
	for i, s := range shares {
		p := 100 * s.Value
		n := strconv.FormatFloat(p, 'f', 0, 64)
		if p > 0 && p < 0.5 {
			n = "< 1"
		}
		texts[i] = n + " % of " + s.Of + " " + s.What
	}
	return strings.Join(texts, ", ")
}

// selectCells returns run with at most limit of its cells for a table, and a line
// that says which are left out. It keeps the references in their place and, by
// cost, the cheapest half and the most expensive half of the remaining cells. All cells
// stay when they fit or limit is 0.
func selectCells(run *results.Run, limit int) (*results.Run, string) {
	if limit <= 0 || len(run.Cells) <= limit {
		return run, ""
	}
	var references, others []results.Cell
	for _, c := range run.Cells {
		if first := run.Reference(c.Strategy); isReference(&c) && first != nil && first.Cell == c.Cell {
			references = append(references, c)
		} else {
			others = append(others, c)
		}
	}
	slices.SortStableFunc(others,
		func(a, b results.Cell) int { return cmp.Compare(run.RankUSD(&a), run.RankUSD(&b)) })
	room := max(2, limit-len(references))
	cheap, dear := (room+1)/2, room/2
	left := len(others) - cheap - dear
	if left <= 0 {
		return run, ""
	}
	view := *run
	view.Cells = append(append(references, others[:cheap]...), others[len(others)-dear:]...)
	view.Notes = slices.DeleteFunc(slices.Clone(run.Notes), func(n results.Note) bool {
		return n.Cell != "" && !slices.ContainsFunc(view.Cells, func(c results.Cell) bool { return c.Cell == n.Cell })
	})
	return &view, fmt.Sprintf(
		"The %d cheapest and the %d dearest of %d cells, by cost; %d between them are left out: "+
			"--all, --format csv or --out DIR have every cell.",
		cheap, dear, len(others), left)
}

// sweptNames returns the parameters in which cells of one strategy differ: the
// columns that a table needs besides the strategy.
func sweptNames(run *results.Run) []string {
	names := map[string]bool{}
	first := map[string]*results.Cell{}
	for i := range run.Cells {
		c := &run.Cells[i]
		f, ok := first[c.Strategy]
		if !ok {
			first[c.Strategy] = c
			continue
		}
		for k, v := range c.Params {
			if f.Params[k] != v {
				names[k] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// chanceMark and fewMark precede differences that are not shown for other sessions.
var chanceMark, fewMark = stats.Chance.Mark(), stats.TooFew.Mark()

// vsRecorded returns the cost of a cell relative to the recorded one, for people, and its mark, with which the text begins.
func vsRecorded(run *results.Run, c *results.Cell) (text, mark string) {
	if ref := run.Reference(measures.StrategyRecorded); ref != nil && ref.Cell == c.Cell {
		return document.Dash, ""
	}
	d, ok := run.VsRecorded(c)
	if !ok {
		return "", ""
	}
	return d.Mark() + document.SignedPercent(d.Relative), d.Mark()
}

// errorLine says how far the model is from the bill.
func errorLine(run *results.Run) string {
	which := "these sessions"
	if n := run.ModelError.Sessions; run.Workload.Unfinished > 0 && n > 0 && n < run.Workload.Sessions {
		which = fmt.Sprintf("%d of %s", n, document.Count(run.Workload.Sessions, "session"))
	}
	return "model error on " + which + ": " + run.ModelError.String()
}

// explained says what the marks in a text mean, behind a line on the model's error.
func explained(text string) (line string) {
	if strings.Contains(text, chanceMark) {
		line = "; " + chanceMark + ": chance or model error can explain the difference"
	}
	if strings.Contains(text, fewMark) {
		line += fmt.Sprintf("; %s: fewer than %d sessions differ, too few to say anything of other sessions", fewMark, stats.PairsNeeded(stats.DefaultLevel))
	}
	return line
}

// trustLine is errorLine, with the marks explained that differences of costs have.
func trustLine(run *results.Run) string { return errorLine(run) + explained(marksOf(run)) }

// chartTrust explains the brackets that a chart draws in place of marks, and then tells the model error. The brackets come first, because
// the end of a long line may be cut.
func chartTrust(run *results.Run, marks string) string {
	if marks == "" {
		return errorLine(run)
	}
	return "in brackets: " + uncertain + " · " + errorLine(run)
}

// uncertain is what the marks say in words.
const uncertain = "not certain for other sessions"

// bracket puts a difference with a mark into brackets, as charts have it.
func bracket(text, mark string) string {
	if mark == "" {
		return text
	}
	return "(" + strings.TrimPrefix(text, mark) + ")"
}

// marksOf returns the marks of all differences of costs.
func marksOf(run *results.Run) (marks string) {
	for i := range run.Cells {
		_, mark := vsRecorded(run, &run.Cells[i])
		marks += mark
	}
	return marks
}

// Remark puts above the figures of a workload what was read and chosen of a corpus, and what was lost, which verbose lists.
func Remark(w *results.Workload, c *traces.Corpus, chosen *traces.Selection, verbose string) {
	add := func(format string, args ...any) { w.Remarks = append(w.Remarks, fmt.Sprintf(format, args...)) }
	w.Remarks = append(w.Remarks, Reading(c, chosen, verbose)...)
	if c.Unread > 0 && c.Inputs != nil {
		share := float64(c.Unread) / float64(max(c.Unread, len(c.Inputs.Files)))
		w.Quality = append(w.Quality, results.Share{Of: "files", What: "unread", Value: share})
	}
	if c.Inputs != nil && c.Inputs.Dangling > 0 {
		add("%s left out: no file at the other end", document.Count(c.Inputs.Dangling, "link"))
	}
	if c.Inputs != nil && c.Inputs.PassedText() != "" {
		add("%s", c.Inputs.PassedText())
	}
	if c.Repeated > 0 {
		add("%s repeated by resumed sessions counted once", document.Count(c.Repeated, "call"))
	}
	if n := bareCompactions(c); n > 0 {
		add("%s in no figure: ahead of a session's first call, or behind its last", document.Count(n, "compaction"))
	}
	if c.Inherited > 0 {
		add("%s left out: copies from a parent session that is not here", document.Count(c.Inherited, "call"))
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
	return slices.CompactFunc(list, func(p, q traces.Problem) bool { return p.String() == q.String() }) // sessions of one file have the same
}

// Uncounted returns how many calls have token counts that are missing, cannot be read or
// contradict each other, what to say about them, and the first session with such a call.
func Uncounted(c *traces.Corpus) (n int, text string, first *traces.Session) {
	calls, lost := 0, int64(0)
	for _, s := range c.Sessions {
		if n += s.Quality.Uncounted; first == nil && n > 0 {
			first = s
		}
		calls += s.NumCalls()
		lost += s.Quality.LostTokens
	}
	have := "have"
	if n == 1 {
		have = "has"
	}
	text = fmt.Sprintf("%s of %s %s missing, unreadable, contradictory or unfinished token counts", document.Whole(int64(n)), document.Count(calls, "call"), have)
	if n > calls { // counts are missing of calls that no line shows
		text = fmt.Sprintf("missing, unreadable, contradictory or unfinished token counts in %s, besides %s that were read", document.Count(n, "place"), document.Count(calls, "call"))
	}
	if lost > 0 {
		text += fmt.Sprintf(", and sums in the logs have %s tokens more than the calls", document.Whole(lost))
	}
	return n, text, first
}

// spreadCalls returns the calls whose input is an estimated share of a total, and how many sessions have some.
func spreadCalls(c *traces.Corpus) (calls, sessions int) {
	for _, s := range c.Sessions {
		if s.Quality.Spread > 0 {
			calls, sessions = calls+s.Quality.Spread, sessions+1
		}
	}
	return calls, sessions
}

// unshown says which calls of the bill no line of a recording shows, by model, "" for none.
func unshown(c *traces.Corpus) string {
	byModel := map[string]traces.Unshown{}
	for _, s := range c.Sessions {
		for _, u := range s.Quality.Unshown {
			all := byModel[u.Model]
			byModel[u.Model] = traces.Unshown{Summaries: all.Summaries + u.Summaries, Cut: all.Cut + u.Cut, Others: all.Others + u.Others}
		}
	}
	var parts []string
	for _, model := range slices.Sorted(maps.Keys(byModel)) {
		u := byModel[model]
		var kinds []string
		add := func(n int, what string) {
			if n > 0 {
				kinds = append(kinds, document.Count(n, what))
			}
		}
		add(u.Summaries, "summary call")
		add(u.Cut, "cut stream")
		add(u.Others, "other call")
		parts = append(parts, strings.Join(kinds, " and ")+" of "+model)
	}
	if parts == nil {
		return ""
	}
	return "the bill has " + strings.Join(parts, ", and ") + " that no line shows: the clients' own sums have their tokens"
}

// bareCompactions returns the compactions that no call of the recording shows.
func bareCompactions(c *traces.Corpus) (n int) {
	for _, s := range c.Sessions {
		n += s.Quality.Bare
	}
	return n
}

// Reading says which sessions of a corpus passed the filter, and what could not be read.
func Reading(c *traces.Corpus, chosen *traces.Selection, verbose string) []string {
	list := chosen.Remarks()
	var lost []string
	if c.BadLines > 0 {
		lost = append(lost, fmt.Sprintf("%s of %s could not be read, wholly or in part", document.Count(c.BadLines, "line"), document.Whole(c.Lines)))
	}
	uncounted, text, _ := Uncounted(c)
	if uncounted > 0 {
		list = append(list, text+"; the bill is wrong by these, and simulated rows estimate them; "+verbose+" lists them")
	}
	if text := unshown(c); text != "" {
		list = append(list, text)
	}
	if spread, sessions := spreadCalls(c); spread > 0 {
		list = append(list, fmt.Sprintf("%s with estimated input, in %s compared by sums alone: the log has only the total of several calls",
			document.Count(spread, "call"), document.Count(sessions, "session")))
	}
	told := c.BadLines + c.Unread + uncounted
	if c.Inputs != nil {
		told += c.Inputs.Dangling // links that were left out
	}
	for _, agent := range slices.Sorted(maps.Keys(c.Unsupported)) {
		n := c.Unsupported[agent]
		told += n
		text := fmt.Sprintf("%s of %s left out: its recordings are not supported", document.Count(n, "file"), agent)
		if agent == "" {
			text = fmt.Sprintf("%s left out: no reader knows what looks like a recording; %s lists it", document.Count(n, "file"), verbose)
		}
		list = append(list, text)
	}
	if c.NumProblems > told {
		text := document.Count(c.NumProblems, "problem") + " while reading"
		if told > 0 {
			which := "one"
			if told > 1 {
				which = document.Whole(told)
			}
			text += ", the " + which + " told in these lines among them"
		}
		lost = append(lost, text)
	}
	if len(lost) > 0 {
		list = append(list, strings.Join(lost, "; ")+"; "+verbose+" lists them")
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
