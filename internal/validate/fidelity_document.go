package validate

import (
	"fmt"

	"github.com/compactsim/compactsim/internal/document"
	"github.com/compactsim/compactsim/internal/profile"
)

// Document reports what agents did after recorded compactions and clearings,
// and what summaries keep. CSV is the table by kind; JSON is all of it.
func (f *Fidelity) Document() *document.Document {
	d := &document.Document{JSON: document.Indented(f)}
	for _, t := range []*document.Table{f.kinds(), f.behind(), f.survivals()} {
		d.Sections = append(d.Sections, document.Section{Blocks: []document.Block{t}})
	}
	return d
}

const compaction, clearing = "compaction", "clearing"

// kinds has one line for each kind of use.
func (f *Fidelity) kinds() *document.Table {
	t := &document.Table{Columns: document.Left("BEHIND", "USED")}
	t.Columns = append(t.Columns, document.Right("", "N", "IN SUMMARY", "LOST", "FETCHED FIRST", "FROM OTHER SESSIONS",
		"WITHOUT A LOSS")...)
	row := func(behind string, k *kindFate) {
		share, predicted := document.Dash, document.Dash
		if behind == compaction && k.Summary.N > 0 {
			share = document.Percent(k.Summary.Value)
		}
		if k.Predicted > 0 {
			predicted = document.Percent(k.Predicted)
		}
		t.Rows = append(t.Rows, []any{
			behind, k.Kind, k.Uses, share, k.Lost, estimated(k.Fetched), predicted, estimated(k.Without),
		})
	}
	for i := range f.Kinds {
		row(compaction, &f.Kinds[i])
	}
	if f.Cleared.Uses > 0 {
		row(clearing, &f.Cleared)
	}
	t.Notes = []string{
		fmt.Sprintf("%d compactions with a summary, %d clearings, %d points of the same size without a loss. USED: strings "+
			"known ahead and used behind. IN SUMMARY: word for word, of those that are not in what stayed or came back.",
			len(f.Compactions), len(f.Clearings), f.Matched),
		"FETCHED FIRST: a result showed what was lost again before it was used; the 95 % interval behind it.",
		fmt.Sprintf("Brier score of predictions from other sessions: %.3f by kind, %.3f with one share for all.",
			f.Brier, f.BrierOne),
	}
	return t
}

// estimated formats a share with its interval.
func estimated(e profile.Estimate) string {
	if e.N == 0 {
		return document.Dash
	}
	return fmt.Sprintf("%s (%s … %s)", document.Percent(e.Value), document.Percent(e.Low), document.Percent(e.High))
}

// behind has one line for each number of rounds after compactions, and after clearings.
func (f *Fidelity) behind() *document.Table {
	t := &document.Table{Columns: append(document.Left("BEHIND"), document.Right("", "ROUNDS", "USES", "LOST",
		"FETCHED FIRST", "LOOKS IN 100 ROUNDS", "AT MATCHED POINTS", "RANK, SHARE", "RANK, NUMBER", "N")...)}
	row := func(name string, list []moment, w int, r ranked) {
		var sum stretch
		var matched float64
		n := 0
		for i := range list {
			m := &list[i]
			sum.add(&m.Windows[w])
			if m.Points > 0 {
				matched += m.Matched[w]
				n++
			}
		}
		share, number := document.Dash, document.Dash
		if r.N >= leastRanked {
			share, number = fmt.Sprintf("%+.2f", r.Share), fmt.Sprintf("%+.2f", r.Number)
		}
		t.Rows = append(t.Rows, []any{name, windowNames[w], sum.Uses, sum.Lost, sum.Fetched,
			fmt.Sprintf("%.1f", sum.looked()), fmt.Sprintf("%.1f", matched/float64(max(1, n))), share, number, n})
	}
	for w := range windows {
		row(compaction, f.Compactions, w, f.Rank[w])
	}
	for w := range windows {
		if len(f.Clearings) > 0 {
			row(clearing, f.Clearings, w, ranked{})
		}
	}
	t.Notes = []string{"LOOKS: reads of files read before, searches, and edits that fail. RANK: correlation (Spearman), " +
		"over compactions, of the share or the number lost with the looks beyond those at matched points."}
	return t
}

// survivals has one line for each kind of thing worth keeping.
func (f *Fidelity) survivals() *document.Table {
	t := &document.Table{Columns: append(document.Left("IN WHAT WAS SUMMARISED"), document.Right("", "N", "IN THE SUMMARY")...)}
	for _, s := range f.Summaries {
		t.Rows = append(t.Rows, []any{s.Kind, s.Kept.N, estimated(s.Kept)})
	}
	t.Notes = []string{"Word for word, white space and the folder of the project aside, as for summaries of live runs. " +
		"A direction is a sentence of a person with a word like must, never or use."}
	return t
}
