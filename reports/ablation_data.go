package reports

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/compactsim/compactsim/sim/results"
)

// ablationCSV writes a row for every change, and one with the figures of each
// strategy as it is.
func ablationCSV(w io.Writer, a *results.Ablation) error {
	s := &Sheet{}
	for _, name := range []string{
		"strategy", "set", "in_force", "cost_usd", "difference_usd", "difference_share", "within_model_error", "calls", "cache_read_tokens",
		"cache_write_tokens", "input_uncached_tokens", "output_tokens", "cache_hit_ratio", "compactions", "microcompactions",
		"added_latency_seconds", "beyond_parts_usd",
	} {
		s.Columns = append(s.Columns, SheetColumn{Name: name})
	}
	for _, base := range a.Bases {
		cost, whole := 0.0, results.Difference{}
		for i := range a.Run.Cells {
			if t := &a.Run.Cells[i].Total; a.Run.Cells[i].Cell == base {
				cost, whole = t.CostUSD(), wholeOf(t)
			}
		}
		s.Rows = append(s.Rows, append([]any{base, "", "", cost}, figuresOf(&whole, "")...))
		for n := 1; n <= 2; n++ {
			list := a.Differences(base, n)
			for i := range list {
				d := &list[i]
				var extra any = ""
				if n > 1 {
					extra = d.Extra
				}
				s.Rows = append(s.Rows, append([]any{base, strings.Join(d.Change.Set, " "), d.Change.On, cost + d.USD}, figuresOf(d, extra)...))
			}
		}
	}
	return s.Write(w, "csv")
}

// wholeOf returns the figures of a strategy as it is in the form of a
// difference to nothing.
func wholeOf(t *results.Row) results.Difference {
	d := results.Difference{
		Calls: t.Calls, Read: t.Usage.Read, Written: t.Usage.Writes(), Uncached: t.Usage.Uncached, Output: t.Usage.Output,
		Compactions: t.Compactions, Cleared: t.Microcompactions, Latency: t.AddedLatency,
	}
	if n := t.Usage.Input(); n > 0 {
		d.Hit = float64(t.Usage.Read) / float64(n)
	}
	return d
}

func figuresOf(d *results.Difference, extra any) []any {
	return []any{
		d.USD, d.Relative, d.Covered, d.Calls, d.Read, d.Written, d.Uncached, d.Output, d.Hit, d.Compactions, d.Cleared, d.Latency, extra,
	}
}

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
