package reports

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/compactsim/compactsim/sim/results"
)

// Claims writes what became of the claims of the documents in a format of
// Formats: for people a table, and behind it the reasons.
func Claims(w io.Writer, format string, list []results.Finding) error {
	switch format {
	case "json":
		return claimsJSON(w, list)
	case "csv":
		return claimsCSV(w, list)
	}
	var b bytes.Buffer
	if err := claimSheet(list).Write(&b, format); err != nil {
		return err
	}
	fmt.Fprintf(&b, "\n%s\n", claimTotals(list))
	for i := range list {
		writeReason(&b, format, &list[i])
	}
	return flush(w, &b)
}

// claimSheet lays out a claim on a line, the verdict where a narrow terminal
// still shows it.
func claimSheet(list []results.Finding) *Sheet {
	s := &Sheet{Columns: []SheetColumn{{Title: "ID"}, {Title: "VERDICT"}, {Title: "CLAIM"}, {Title: "SIMULATED"}, {Title: "SOURCE"}}}
	for i := range list {
		f := &list[i]
		s.Rows = append(s.Rows, []any{f.ID, f.Verdict().String(), f.Claim, strings.Join(claimFigures(f), "; "), f.Source})
	}
	return s
}

// claimFigures returns the figures that the verdict rests on.
func claimFigures(f *results.Finding) []string {
	var texts []string
	for i := range f.Figures {
		if x := &f.Figures[i]; x.Claimed != "" {
			texts = append(texts, x.Text())
		}
	}
	return texts
}

// claimTotals counts the verdicts.
func claimTotals(list []results.Finding) string {
	var n [results.Reproduced + 1]int
	for i := range list {
		n[list[i].Verdict()]++
	}
	return fmt.Sprintf("%s: %d reproduced, %d partly, %d refuted",
		CountOf(len(list), "claim"), n[results.Reproduced], n[results.Partly], n[results.Refuted])
}

// writeReason writes why a verdict is what it is: the sentence, each figure
// against what is claimed, and what was worked out by hand.
func writeReason(b *bytes.Buffer, format string, f *results.Finding) {
	item, text, quote := "  ", Printable, ""
	if format == "markdown" {
		item, text, quote = "- ", escapeMarkdown, "`"
		fmt.Fprintf(b, "\n### %s: %s\n\n%s\n\n", text(f.ID), f.Verdict(), text(f.Reason))
	} else {
		fmt.Fprintf(b, "\n%s (%s): %s\n", text(f.ID), f.Verdict(), text(f.Reason))
	}
	for i := range f.Figures {
		fmt.Fprintf(b, "%s%s\n", item, text(figureLine(&f.Figures[i])))
	}
	fmt.Fprintf(b, "%s%ssim run %s%s\n", item, quote, Printable(f.Scenario), quote)
}

func figureLine(x *results.Figure) string {
	line := strings.ReplaceAll(x.Name, "_", " ") + ": " + x.Text()
	if x.Claimed != "" {
		holds := "it is not"
		if x.Holds {
			holds = "it is"
		}
		line += ", claimed to be " + x.Claimed + ": " + holds
	}
	if x.Hand != "" {
		line += "; by hand " + x.Hand + " = " + x.HandText()
	}
	return line
}

// claimsCSV writes a row for every figure.
func claimsCSV(w io.Writer, list []results.Finding) error {
	s := &Sheet{}
	for _, name := range []string{
		"id", "claim", "source", "scenario", "verdict", "figure", "value", "unit", "claimed", "holds", "hand", "by_hand", "reason",
	} {
		s.Columns = append(s.Columns, SheetColumn{Name: name})
	}
	for i := range list {
		f := &list[i]
		for j := range f.Figures {
			x := &f.Figures[j]
			var hand any = ""
			if x.Hand != "" {
				hand = x.ByHand
			}
			s.Rows = append(s.Rows, []any{
				f.ID, f.Claim, f.Source, f.Scenario, f.Verdict().String(), x.Name, x.Value, x.Unit, x.Claimed, x.Holds, x.Hand, hand, f.Reason,
			})
		}
	}
	return s.Write(w, "csv")
}

// claimsJSON writes an array of all claims, one on a line.
func claimsJSON(w io.Writer, list []results.Finding) error {
	var b bytes.Buffer
	b.WriteString("[")
	for i := range list {
		row := struct {
			results.Finding
			Verdict string `json:"verdict"`
		}{list[i], list[i].Verdict().String()}
		text, err := json.Marshal(row, json.Deterministic(true))
		if err != nil {
			return fmt.Errorf("encoding claim %s: %w", list[i].ID, err)
		}
		b.WriteString(separator(i))
		b.Write(text)
	}
	b.WriteString("\n]\n")
	return flush(w, &b)
}
