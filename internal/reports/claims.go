package reports

import (
	"fmt"
	"io"
	"strings"

	"github.com/compactsim/compactsim/internal/document"
	"github.com/compactsim/compactsim/internal/studies"
)

// Claims reports whether the claims of the documents hold: for people a table,
// with the verdict where a narrow terminal still shows it, followed by the
// reasons. Each figure is shown with its value without the mechanism. CSV has a
// row for every figure.
func Claims(list []studies.Finding) *document.Document {
	t := &document.Table{Columns: document.Left("ID", "VERDICT", "CLAIM", "SIMULATED", "WITHOUT", "SOURCE")}
	var verdicts [studies.Reproduced + 1]int
	d := &document.Document{
		Sections: []document.Section{{Blocks: []document.Block{t}}},
		Data:     func() *document.Table { return claimData(list) },
		JSON:     func(w io.Writer) error { return claimsJSON(w, list) },
	}
	for i := range list {
		f := &list[i]
		verdicts[f.Verdict()]++
		var claimed, without []string
		var items document.List
		for j := range f.Figures {
			x := &f.Figures[j]
			if x.Claimed != "" { // the verdict rests on it
				claimed, without = append(claimed, x.Text()), append(without, x.WithoutText())
			}
			items = append(items, document.Item{Text: figureLine(x)})
		}
		t.Rows = append(t.Rows, []any{f.ID, f.Verdict().String(), f.Claim, strings.Join(claimed, "; "), strings.Join(without, "; "), f.Source})
		d.Sections = append(d.Sections, document.Section{
			Name: fmt.Sprintf("%s: %s", f.ID, f.Verdict()),
			Blocks: []document.Block{document.Text{Text: f.Reason},
				append(items,
					document.Item{Text: "without: " + strings.Join(f.Without, " ") + ": " + f.VerdictWithout().String()},
					document.Item{Text: "sim run " + f.Scenario})},
		})
	}
	d.Sections[0].Blocks = append(d.Sections[0].Blocks,
		document.Text{Text: fmt.Sprintf("%s: %d reproduced, %d partly, %d refuted",
			document.Count(len(list),
				"claim"), verdicts[studies.Reproduced], verdicts[studies.Partly], verdicts[studies.Refuted])})
	return d
}

// figureLine compares a figure with what is claimed and with the value
// calculated by hand.
func figureLine(x *studies.Figure) string {
	line := strings.ReplaceAll(x.Name, "_", " ") + ": " + x.Text() + against(x.Claimed, x.Holds)
	if x.Hand != "" {
		line += "; by hand " + x.Hand + " = " + x.HandText()
	}
	return line + "; without " + x.WithoutText() + against(x.Otherwise, x.OtherwiseHolds)
}

// against says whether a figure is what is claimed, "" when nothing is claimed.
func against(claimed string, holds bool) string {
	switch {
	case claimed == "":
		return ""
	case holds:
		return ", claimed to be " + claimed + ": it is"
	}
	return ", claimed to be " + claimed + ": it is not"
}

func claimData(list []studies.Finding) *document.Table {
	t := &document.Table{Columns: document.Columns(
		"id", "claim", "source", "scenario", "verdict", "figure", "value", "unit", "claimed", "holds", "hand", "by_hand", "reason",
		"without", "verdict_without", "value_without", "otherwise", "otherwise_holds")}
	for i := range list {
		f := &list[i]
		for j := range f.Figures {
			x := &f.Figures[j]
			var hand, without any
			if x.Without != nil {
				without = *x.Without
			}
			if x.Hand != "" {
				hand = x.ByHand
			}
			t.Rows = append(t.Rows, []any{
				f.ID, f.Claim, f.Source, f.Scenario, f.Verdict().String(), x.Name, x.Value, x.Unit, x.Claimed, x.Holds,
				x.Hand, hand, f.Reason,
				strings.Join(f.Without, " "), f.VerdictWithout().String(), without, x.Otherwise, x.OtherwiseHolds,
			})
		}
	}
	return t
}

// claimsJSON writes an array of all claims, one per line.
func claimsJSON(w io.Writer, list []studies.Finding) error {
	type row struct {
		studies.Finding
		Verdict        string `json:"verdict"`
		VerdictWithout string `json:"verdict_without"`
	}
	rows := make([]row, len(list))
	for i := range list {
		rows[i] = row{list[i], list[i].Verdict().String(), list[i].VerdictWithout().String()}
	}
	return document.Lines(w, "[", rows, "]")
}
