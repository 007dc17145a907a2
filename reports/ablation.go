package reports

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/sim/results"
)

// Ablation writes what each mechanism of some strategies is worth in a format of
// Formats: the figures of the strategy as it is, and what switching each
// mechanism makes of them, the largest difference in cost first.
func Ablation(w io.Writer, format string, a *results.Ablation) error {
	switch format {
	case "json":
		return ablationJSON(w, a)
	case "csv":
		return ablationCSV(w, a)
	}
	var b bytes.Buffer
	write := func(texts []string) {
		if format == "table" {
			writeLines(&b, texts)
			return
		}
		fmt.Fprintln(&b, strings.Join(texts, "\n"))
	}
	write(headLines(a.Run))
	for _, base := range a.Bases {
		if err := writeAblation(&b, format, a, base); err != nil {
			return err
		}
	}
	notes := []string{
		"DIFFERENCE is the cost with one mechanism switched less the cost as it is: what “without” takes away had saved a positive one, " +
			"what “with” adds costs it. Differences do not add up: mechanisms stand in for each other (--pairs).",
		"Any line again: sim run --strategy NAME --set PATH=VALUE.", ablationTrust(a),
	}
	b.WriteByte('\n')
	write(notes)
	return flush(w, &b)
}

// writeAblation writes one strategy for people.
func writeAblation(b *bytes.Buffer, format string, a *results.Ablation, base string) error {
	sheets := []*Sheet{ablationSheet(a, base)}
	if pairs := a.Differences(base, 2); len(pairs) > 0 {
		sheets = append(sheets, pairSheet(pairs))
	}
	for _, s := range sheets {
		b.WriteString("\n")
		if err := s.Write(b, format); err != nil {
			return err
		}
	}
	return nil
}

// ablationSheet lists a strategy as it is and its mechanisms.
func ablationSheet(a *results.Ablation, base string) *Sheet {
	right := func(title string) SheetColumn { return SheetColumn{Title: title, Right: true} }
	s := &Sheet{Fitted: true, Columns: []SheetColumn{
		{Title: Printable(base)}, right("COST"), right("DIFFERENCE"), right(""), right("READ"), right("WRITTEN"), right("UNCACHED"),
		right("HIT"), right("COMPACTIONS"), right("CLEARINGS"), right("WAIT"),
	}}
	s.Columns[3].Title = "%"
	i := slices.IndexFunc(a.Run.Cells, func(c results.Cell) bool { return c.Cell == base })
	if i < 0 {
		return s
	}
	t := &a.Run.Cells[i].Total
	list := a.Differences(base, 1)
	costs := []float64{t.CostUSD()}
	decimals := usdDecimals(costs)
	hit := ""
	if n := t.Usage.Input(); n > 0 {
		hit = percent(float64(t.Usage.Read) / float64(n))
	}
	s.Rows = append(s.Rows, []any{
		"as it is", usd(t.CostUSD(), decimals), "", "", tokens(float64(t.Usage.Read)), tokens(float64(t.Usage.Writes())),
		tokens(float64(t.Usage.Uncached)), hit, Grouped(float64(t.Compactions), 0), Grouped(float64(t.Microcompactions), 0), duration(t.AddedLatency),
	})
	var none []string
	for i := range list {
		d := &list[i]
		if d.None() {
			none = append(none, changeText(d.Change))
			continue
		}
		s.Rows = append(s.Rows, []any{
			changeText(d.Change), usd(t.CostUSD()+d.USD, decimals), differenceText(d, decimals), relativeText(d),
			signed(float64(d.Read), tokens), signed(float64(d.Written), tokens), signed(float64(d.Uncached), tokens), signed(d.Hit, points),
			signed(float64(d.Compactions), whole), signed(float64(d.Cleared), whole), signed(d.Latency, duration),
		})
	}
	s.Notes = ablationNotes(a, base, none)
	return s
}

// ablationNotes names what made no difference and what could not be switched.
func ablationNotes(a *results.Ablation, base string, none []string) []string {
	var notes []string
	if len(none) > 0 {
		slices.Sort(none)
		notes = append(notes, "no effect here: "+strings.Join(none, ", "))
	}
	for _, r := range a.Refused {
		if r.Base == base {
			notes = append(notes, "not by itself: "+r.Set+": "+Printable(r.Reason))
		}
	}
	return notes
}

// pairSheet lists the pairs that make more or less than their parts.
func pairSheet(pairs []results.Difference) *Sheet {
	right := func(title, unit string) SheetColumn { return SheetColumn{Title: title, Unit: unit, Right: true} }
	s := &Sheet{Columns: []SheetColumn{
		{Title: "TWO AT A TIME"}, right("DIFFERENCE", ""), right("%", ""), right("BEYOND THE PARTS", ""),
	}}
	slices.SortStableFunc(pairs, func(x, y results.Difference) int { return compareAbs(y.Extra, x.Extra) })
	amounts := make([]float64, len(pairs))
	for i := range pairs {
		amounts[i] = pairs[i].USD
	}
	decimals := usdDecimals(amounts)
	left := 0
	for i := range pairs {
		d := &pairs[i]
		extra := usd(d.Extra, decimals)
		if !strings.ContainsAny(extra, "123456789") || len(s.Rows) >= maxPairRows {
			left++
			continue
		}
		s.Rows = append(s.Rows, []any{changeText(d.Change), differenceText(d, decimals), relativeText(d), signed(d.Extra, func(v float64) string { return usd(v, decimals) })})
	}
	if left > 0 {
		s.Notes = append(s.Notes, CountOf(left, "pair")+" of less interest left out: the sum of its parts, or nearly")
	}
	return s
}

// maxPairRows is how many pairs a table for people lists.
const maxPairRows = 20

func compareAbs(a, b float64) int {
	if a < 0 {
		a = -a
	}
	if b < 0 {
		b = -b
	}
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// changeText words a change: with or without a mechanism, or a value.
func changeText(c *results.Change) string {
	parts := make([]string, len(c.Set))
	for i, set := range c.Set {
		switch value := strings.TrimPrefix(set, c.Paths[i]+"="); value {
		case "true":
			parts[i] = "with " + c.Paths[i]
		case "false":
			parts[i] = "without " + c.Paths[i]
		default:
			parts[i] = set
		}
	}
	return Printable(strings.Join(parts, " and "))
}

func differenceText(d *results.Difference, decimals int) string {
	text := signed(d.USD, func(v float64) string { return usd(v, decimals) })
	if d.Covered {
		return "~" + text
	}
	return text
}

func relativeText(d *results.Difference) string {
	if d.Relative == 0 {
		return ""
	}
	return signedPercent(d.Relative)
}

// signed writes a difference with its sign, nothing for none.
func signed(v float64, format func(float64) string) string {
	switch {
	case v == 0:
		return ""
	case v > 0:
		return "+" + format(v)
	}
	return minus + format(-v)
}

func whole(v float64) string { return Grouped(v, 0) }

// ablationTrust says how far the model is from the bill.
func ablationTrust(a *results.Ablation) string {
	line := errorLine(a.Run)
	for _, base := range a.Bases {
		for _, n := range []int{1, 2} {
			if slices.ContainsFunc(a.Differences(base, n), func(d results.Difference) bool { return d.Covered }) {
				return line + " and are marked ~"
			}
		}
	}
	return line
}
