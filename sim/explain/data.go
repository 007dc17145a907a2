package explain

import (
	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/results/studies"
)

// data returns one line for each call: what was billed, what the model expects, and what the
// explained strategy does. What a call lacks is empty.
func data(e *studies.Explanation) *document.Table {
	t := &document.Table{Columns: document.Columns("call", "thread", "kind", "round", "layer", "file", "line", "model", "after", "what")}
	for _, prefix := range []string{"billed_", "model_", ""} {
		for _, name := range splitColumns {
			t.Columns = append(t.Columns, document.Columns(prefix+name)...)
		}
	}
	t.Columns = append(t.Columns, document.Columns("output_tokens", "logged_output_tokens", "new_tokens", "unseen_tokens", "miss_usd",
		"evidence", "confidence", "server_verdict")...)
	for i := range e.Calls {
		c := &e.Calls[i]
		what, _ := happened(c, e.Window, true)
		row := []any{c.Number, c.Thread, c.Kind, c.Round, c.Layer, c.File, c.Line, c.Model, c.Trigger, what}
		b, logged := c.Billed, make([]any, 7)
		if b != nil {
			row = append(append(row, splitCells(&b.Split)...), splitCells(b.Model)...)
			logged = []any{b.Logged, b.New, b.Unseen, b.MissUSD, b.Evidence, b.Confidence, b.Server}
		} else {
			row = append(row, make([]any, 2*len(splitColumns))...)
		}
		row = append(row, splitCells(simulated(c))...)
		t.Rows = append(t.Rows, append(append(row, c.Output), logged...))
	}
	return t
}

// splitColumns name the parts of a split.
var splitColumns = []string{"read_tokens", "left_tokens", "missed_tokens", "miss", "write_5m_tokens", "write_1h_tokens", "uncached_tokens", "cost_usd"}

// splitCells returns the parts of a split in the order of its columns; empty ones for none.
func splitCells(s *studies.Split) []any {
	if s == nil {
		return make([]any, len(splitColumns))
	}
	return []any{s.Read, s.Left, s.Missed, s.Cause, s.Write5m, s.Write1h, s.Uncached, s.CostUSD}
}
