package reports

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/sim/results"
)

// ablationCSV writes a row for every change and metric: the figure of the strategy
// as it is, that of the change, and the difference.
func ablationCSV(w io.Writer, a *results.Ablation) error {
	s := &Sheet{}
	for _, name := range []string{
		"strategy", "set", "in_force", "metric", "unit", "better", "baseline_value", "value", "difference", "relative", "within_model_error",
		"beyond_parts",
	} {
		s.Columns = append(s.Columns, SheetColumn{Name: name})
	}
	cells := map[string]*results.Cell{}
	for i := range a.Run.Cells {
		cells[a.Run.Cells[i].Cell] = &a.Run.Cells[i]
	}
	for _, base := range a.Bases {
		for n := 1; n <= 2; n++ {
			list := a.Differences(base, n)
			for i := range list {
				s.change(&list[i], cells[base], cells[list[i].Change.Cell])
			}
		}
	}
	return s.Write(w, "csv")
}

// change adds the rows of a change of a strategy: one for each metric that is no
// part of another and that both cells have.
func (s *Sheet) change(d *results.Difference, base, changed *results.Cell) {
	for _, m := range results.Metrics() {
		was, ok := base.Value(m)
		is, both := changed.Value(m)
		if !ok || !both || m.Of != "" || m.Group != "" {
			continue
		}
		var relative, covered, beyond any = "", "", ""
		if was != 0 {
			relative = plainly((is - was) / was)
		}
		if m.Name == "cost_usd" {
			covered = d.Covered
			if len(d.Change.Paths) > 1 {
				beyond = plainly(d.Extra)
			}
		}
		s.Rows = append(s.Rows, []any{
			d.Change.Base, strings.Join(d.Change.Set, " "), d.Change.On, m.Name, m.Unit, m.Better.String(), plainly(was), plainly(is), plainly(is - was), relative,
			covered, beyond,
		})
	}
}

// plainly writes a figure without an exponent, as the other lists of metrics do.
func plainly(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// ablatedCell is a strategy in a document.
type ablatedCell struct {
	Strategy string             `json:"strategy"`
	Metrics  map[string]float64 `json:"metrics"`
	Changes  []ablatedChange    `json:"changes"`
	Refused  []refusedChange    `json:"refused,omitempty"`
}

// ablatedChange is one change: figures less those of the strategy as it is.
type ablatedChange struct {
	Set         []string `json:"set"`
	InForce     bool     `json:"in_force"`
	Doc         string   `json:"doc,omitzero"`
	USD         float64  `json:"difference_usd"`
	Relative    float64  `json:"difference_share"`
	Covered     bool     `json:"within_model_error"`
	Calls       int      `json:"calls"`
	Read        int64    `json:"cache_read_tokens"`
	Written     int64    `json:"cache_write_tokens"`
	Uncached    int64    `json:"input_uncached_tokens"`
	Output      int64    `json:"output_tokens"`
	Hit         float64  `json:"cache_hit_ratio"`
	Compactions int      `json:"compactions"`
	Cleared     int      `json:"microcompactions"`
	Latency     float64  `json:"added_latency_seconds"`
	Beyond      *float64 `json:"beyond_parts_usd,omitzero"`
}

type refusedChange struct {
	Set    string `json:"set"`
	Reason string `json:"reason"`
}

// ablationJSON writes a document with a strategy on a line.
func ablationJSON(w io.Writer, a *results.Ablation) error {
	var b bytes.Buffer
	o := results.Origin{Provenance: a.Run.Provenance, Workload: a.Run.Workload, ModelError: a.Run.ModelError, Notes: a.Run.Footnotes()}
	if err := appendJSON(&b, fmt.Sprintf(`{"schema":%d,"provenance":`, results.Schema), o); err != nil {
		return err
	}
	b.WriteString(`,"strategies":[`)
	for i, base := range a.Bases {
		if err := appendJSON(&b, separator(i), documented(a, base)); err != nil {
			return err
		}
	}
	b.WriteString("\n]}\n")
	return flush(w, &b)
}

func documented(a *results.Ablation, base string) ablatedCell {
	out := ablatedCell{Strategy: base, Metrics: map[string]float64{}, Changes: []ablatedChange{}}
	for i := range a.Run.Cells {
		c := &a.Run.Cells[i]
		if c.Cell != base {
			continue
		}
		for _, m := range results.Metrics() {
			if v, ok := c.Value(m); ok {
				out.Metrics[m.Name] = v
			}
		}
	}
	for n := 1; n <= 2; n++ {
		list := a.Differences(base, n)
		for i := range list {
			d := &list[i]
			x := ablatedChange{
				d.Change.Set, d.Change.On, d.Change.Doc, d.USD, d.Relative, d.Covered, d.Calls, d.Read, d.Written, d.Uncached, d.Output,
				d.Hit, d.Compactions, d.Cleared, d.Latency, nil,
			}
			if n > 1 {
				x.Beyond = &d.Extra
			}
			out.Changes = append(out.Changes, x)
		}
	}
	for _, r := range a.Refused {
		if r.Base == base {
			out.Refused = append(out.Refused, refusedChange{r.Set, r.Reason})
		}
	}
	return out
}
