package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/results/studies"
	"github.com/compactsim/compactsim/sim/results"
)

// Ablation reports what each mechanism of some strategies is worth: the figures
// of the strategy as it is, and those with each mechanism switched, largest
// difference in cost first. CSV has a row for every change and metric.
func Ablation(a *studies.Ablation) *document.Document {
	d := &document.Document{
		Head: headLines(a.Run),
		Notes: []string{
			"DIFFERENCE is the cost with one mechanism switched minus the cost as it is: if positive, a mechanism taken away " +
				"(“without”) had saved that much, and one added (“with”) costs it. Differences do not add up, because " +
				"mechanisms replace each other.",
			"To repeat a line: sim run --strategy NAME --set PATH=VALUE.", ablationTrust(a),
		},
		Data: func() *document.Table { return ablationData(a) },
		JSON: func(w io.Writer) error { return ablationJSON(w, a) },
	}
	for _, base := range a.Bases {
		d.Sections = append(d.Sections, document.Section{Blocks: []document.Block{ablationTable(a, base)}})
	}
	return d
}

// ablationTable lists a strategy as it is and its mechanisms. Notes below name
// those without a difference and those that cannot be switched.
func ablationTable(a *studies.Ablation, base string) *document.Table {
	t := &document.Table{Columns: slices.Concat(document.Left(base), document.Right("",
		"COST", "DIFFERENCE", "%", "READ", "WRITTEN", "UNCACHED", "HIT", "COMPACTIONS", "CLEARINGS", "WAIT"))}
	cell := cellOf(a.Run, base)
	if cell == nil {
		return t
	}
	was := &cell.Total
	tokens := was.Usage()
	money := document.Amounts(was.CostUSD())
	hit := ""
	if n := tokens.Input(); n > 0 {
		hit = document.Percent(float64(tokens.Read) / float64(n))
	}
	t.Rows = append(t.Rows, []any{
		"as it is", money(was.CostUSD()), "", "", document.Tokens(tokens.Read), document.Tokens(tokens.Writes()),
		document.Tokens(tokens.Uncached), hit, was.N(results.Compactions), was.N(results.Microcompactions),
		document.Seconds(was.Figures[results.AddedLatency]),
	})
	var none []string
	list := a.Differences(base)
	for i := range list {
		d := &list[i]
		if d.None() {
			none = append(none, changeText(d.Change))
			continue
		}
		t.Rows = append(t.Rows, []any{
			changeText(d.Change), money(was.CostUSD() + d.USD), differenceText(d, money), relativeText(d),
			document.Signed(d.Read, document.Tokens), document.Signed(d.Written, document.Tokens),
			document.Signed(d.Uncached, document.Tokens),
			document.Signed(d.Hit, document.Points), document.Signed(d.Compactions, document.Whole),
			document.Signed(d.Cleared, document.Whole),
			document.Signed(d.Latency, document.Seconds),
		})
	}
	if slices.Sort(none); len(none) > 0 {
		t.Notes = append(t.Notes, "no effect here: "+strings.Join(none, ", "))
	}
	for _, r := range a.Refused {
		if r.Base == base {
			t.Notes = append(t.Notes, "cannot be switched alone: "+r.Set+": "+r.Reason)
		}
	}
	return t
}

// changeText describes a change: with or without a mechanism, or with a value.
func changeText(c *studies.Change) string {
	text := c.Set
	switch strings.TrimPrefix(c.Set, c.Path+"=") {
	case "true":
		text = "with " + c.Path
	case "false":
		text = "without " + c.Path
	}
	return document.Printable(text)
}

func differenceText(d *studies.Difference, money func(float64) string) string {
	text := document.Signed(d.USD, money)
	if d.Cut {
		return "sessions end"
	}
	if d.Covered {
		return chanceMark + text
	}
	return text
}

func relativeText(d *studies.Difference) string {
	if d.Relative == 0 || d.Cut {
		return ""
	}
	return document.SignedPercent(d.Relative)
}

// ablationTrust says how far the model is from the bill.
func ablationTrust(a *studies.Ablation) string {
	line := errorLine(a.Run)
	for _, base := range a.Bases {
		if slices.ContainsFunc(a.Differences(base), func(d studies.Difference) bool { return d.Covered }) {
			return line + "; " + chanceLine
		}
	}
	return line
}

// ablationData has a row for every change and each metric that is not part of
// another and that both cells have: the figures of the strategy as it is and of
// the change, and the difference.
func ablationData(a *studies.Ablation) *document.Table {
	t := &document.Table{Columns: document.Columns("strategy", "set", "in_force", "metric", "unit", "better",
		"baseline_value", "value",
		"difference", "relative", "within_model_error")}
	for _, base := range a.Bases {
		for _, d := range a.Differences(base) {
			for _, m := range results.Metrics() {
				was, ok := cellOf(a.Run, base).Value(m)
				is, both := cellOf(a.Run, d.Change.Cell).Value(m)
				if !ok || !both || m.Of != "" || m.Group != "" {
					continue
				}
				var covered any
				if m.Name == results.NameCost {
					covered = d.Covered
				}
				t.Rows = append(t.Rows, []any{
					d.Change.Base, d.Change.Set, d.Change.On, m.Name, m.Unit, m.Better.String(),
					document.Plain(was), document.Plain(is),
					document.Plain(is - was), given(was != 0, (is-was)/was), covered,
				})
			}
		}
	}
	return t
}

// ablationJSON writes a document with one strategy per line.
func ablationJSON(w io.Writer, a *studies.Ablation) error {
	begin, err := beginning(a.Run, notesOf(a.Run, false), "strategies")
	if err != nil {
		return fmt.Errorf("an ablation: %w", err)
	}
	type ablated struct {
		Strategy string               `json:"strategy"`
		Metrics  map[string]float64   `json:"metrics"`
		Changes  []studies.Difference `json:"changes"` // their figures minus those of the strategy as it is
		Refused  []studies.Refusal    `json:"refused,omitempty"`
	}
	list := make([]ablated, len(a.Bases))
	for i, base := range a.Bases {
		list[i] = ablated{base, map[string]float64{}, a.Differences(base),
			slices.DeleteFunc(slices.Clone(a.Refused), func(r studies.Refusal) bool { return r.Base != base })}
		if c := cellOf(a.Run, base); c != nil {
			for _, m := range results.Metrics() {
				if v, ok := c.Value(m); ok {
					list[i].Metrics[m.Name] = v
				}
			}
		}
	}
	return document.Lines(w, begin, list, "]}")
}
