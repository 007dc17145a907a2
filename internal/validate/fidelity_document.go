package validate

import (
	"fmt"

	"github.com/compactsim/compactsim/internal/document"
	"github.com/compactsim/compactsim/internal/profile"
)

// Document reports what agents did behind recorded compactions. CSV is the table by kind; JSON is all of it.
func (f *Fidelity) Document() *document.Document {
	d := &document.Document{JSON: document.Indented(f)}
	for _, t := range []*document.Table{f.kinds(), f.behind()} {
		d.Sections = append(d.Sections, document.Section{Blocks: []document.Block{t}})
	}
	return d
}

// kinds is one line for each kind of use.
func (f *Fidelity) kinds() *document.Table {
	t := &document.Table{Columns: document.Left("KNOWN AHEAD, USED BEHIND")}
	t.Columns = append(t.Columns, document.Right("", "USES", "KEPT", "LOST", "FETCHED FIRST", "FROM OTHER SESSIONS",
		"WITHOUT COMPACTION")...)
	for _, k := range f.Kinds {
		kept := float64(k.Kept) / float64(k.Uses)
		predicted := document.Dash
		if k.Fetched.N > 0 {
			predicted = document.Percent(k.Predicted)
		}
		t.Rows = append(t.Rows, []any{
			k.Kind, k.Uses, document.Percent(kept), k.Fetched.N, estimated(k.Fetched), predicted, estimated(k.Without),
		})
	}
	t.Notes = []string{
		fmt.Sprintf("%d compactions with a summary, %d points of the same size without one. "+
			"KEPT: word for word in the summary or in what came back with it.", len(f.Compactions), len(f.Matched)),
		"FETCHED FIRST: a result showed what was lost again before it was used; the 95 % interval behind it.",
		fmt.Sprintf("Brier score of predictions from other sessions: %.3f by kind, %.3f with one share for all.",
			f.Brier, f.BrierOne),
	}
	return t
}

// estimated writes a share with its interval.
func estimated(e profile.Estimate) string {
	if e.N == 0 {
		return document.Dash
	}
	return fmt.Sprintf("%s (%s … %s)", document.Percent(e.Value), document.Percent(e.Low), document.Percent(e.High))
}

// behind is one line for each number of rounds behind a point.
func (f *Fidelity) behind() *document.Table {
	t := &document.Table{Columns: document.Left("ROUNDS BEHIND")}
	t.Columns = append(t.Columns, document.Right("",
		"USES", "LOST", "FETCHED FIRST", "LOOKS IN 100 ROUNDS", "AT MATCHED POINTS",
		"RANK, SHARE", "RANK, NUMBER", "N")...)
	for w, name := range windowNames {
		var sum Behind
		var matched float64
		n := 0
		for i := range f.Compactions {
			m := &f.Compactions[i]
			sum.add(&m.Windows[w])
			if m.Points > 0 {
				matched += m.Matched[w]
				n++
			}
		}
		share, number := document.Dash, document.Dash
		if r := f.Rank[w]; r.N >= 3 {
			share, number = fmt.Sprintf("%+.2f", r.Share), fmt.Sprintf("%+.2f", r.Number)
		}
		t.Rows = append(t.Rows, []any{name, sum.Uses, sum.Lost, sum.Fetched, fmt.Sprintf("%.1f", sum.looked()),
			fmt.Sprintf("%.1f", matched/float64(max(1, n))), share, number, f.Rank[w].N})
	}
	t.Notes = []string{"LOOKS: reads of files read before, searches, and edits that fail. " +
		"RANK: correlation (Spearman), over compactions, of the share or the number lost with the looks beyond those at matched points."}
	return t
}
