package export

import (
	"fmt"
	"math"
	"slices"

	"github.com/compactsim/compactsim/sim/results"
)

// Version is the version of the columns of an export. A column that goes, or
// that means something else, raises it; a column that is added does not. The
// version of the figures themselves is results.Schema.
const Version = 1

// Type is the type of a column.
type Type string

// The types of columns.
const (
	String Type = "string"
	Int64  Type = "int64"
	Double Type = "double"
	// JSON is an object of counts by name, as text but in JSON lines.
	JSON Type = "json"
)

// Column describes one column of a table.
type Column struct {
	Name       string `json:"name"`
	Type       Type   `json:"type"`
	Nullable   bool   `json:"nullable"`
	Unit       string `json:"unit,omitzero"`   // of results.Metric; empty for what is no figure
	Better     string `json:"better,omitzero"` // lower, higher or neither; empty for what is no metric
	Kind       string `json:"kind,omitzero"`   // of results.Kind: how rows add up; empty for what is no figure
	Sampled    bool   `json:"sampled,omitzero"`
	Of         string `json:"of,omitzero"` // the metric that this one is a part of
	By         string `json:"by,omitzero"` // the way in which that is split
	Group      string `json:"group,omitzero"`
	Definition string `json:"definition"`

	// One of the two gives the value; false is null.
	text   func(*record) (string, bool)
	figure func(*results.Row) (float64, bool)
	// at is the place of a figure in record.measured.
	at int
}

// record is one row of a table.
type record struct {
	label string
	cell  *results.Cell
	row   *results.Row
	// measured says which of the columns of figures the cell has.
	measured []bool
}

// number returns the figure of a row, false when it is null, or what keeps it
// from being written.
func (c *Column) number(r *record) (float64, bool, error) {
	if !r.measured[c.at] {
		return 0, false, nil
	}
	v, ok := c.figure(r.row)
	if ok && (v-v != 0 || c.Type == Int64 && v != math.Trunc(v)) { // v-v is 0 for all that is finite
		return 0, false, fmt.Errorf("cell %q, session %q: %s is %v, which is no %s", r.cell.Cell, r.row.Session, c.Name, v, c.Type)
	}
	return v, ok, nil
}

// keys returns the columns that name a row. The label of a run is among them
// when one was given.
func keys(labelled bool) []Column {
	list := []Column{
		{Name: "cell", Type: String, Definition: "strategy with its parameters, unique in a run",
			text: func(r *record) (string, bool) { return r.cell.Cell, true }},
		{Name: "strategy", Type: String, Definition: "name of the strategy",
			text: func(r *record) (string, bool) { return r.cell.Strategy, true }},
		{Name: "session", Type: String, Definition: "id of the session, or its pseudonym",
			text: func(r *record) (string, bool) { return r.row.Session, true }},
	}
	if !labelled {
		return list
	}
	run := Column{Name: "run", Type: String, Nullable: true, Definition: "label given to the run; null for a run without one",
		text: func(r *record) (string, bool) { return r.label, r.label != "" }}
	return append([]Column{run}, list...)
}

// figures returns the columns of the sessions of a row, of all metrics, and of
// what a row counts besides so that ratios over several rows can be computed.
func figures() []Column {
	sessions := results.Metric{Name: "sessions", Unit: results.UnitCount, Exact: true, Definition: "sessions added up in the row",
		Value: func(r *results.Row) (float64, bool) { return float64(r.Sessions), true }}
	var list []Column
	for i, m := range slices.Concat([]results.Metric{sessions}, results.Metrics(), besides()) {
		c := Column{Name: m.Name, Type: Double, Nullable: i > 0, Unit: m.Unit, Better: m.Better.String(), Kind: m.Kind.String(), Sampled: !m.Exact,
			Of: m.Of, By: m.By, Group: m.Group, Definition: m.Definition, figure: m.Value, at: i}
		switch m.Unit {
		case results.UnitTokens, results.UnitCalls, results.UnitCount:
			c.Type = Int64
		}
		list = append(list, c)
	}
	return list
}

// besides returns the fields of a row that no metric publishes as they are. Of
// names the metric that they go without when a cell does not measure it.
func besides() []results.Metric {
	field := func(name, unit, of, definition string, f func(*results.Row) float64) results.Metric {
		return results.Metric{Name: name, Unit: unit, Better: results.Neither, Exact: true, Of: of, Definition: definition,
			Value: func(r *results.Row) (float64, bool) { return f(r), true }}
	}
	logged := field("logged_output_usd", results.UnitUSD, "", "billed rows: price of the output as logged, without what was derived; no sample in others",
		func(r *results.Row) float64 { return r.LoggedOutputUSD })
	logged.Value = func(r *results.Row) (float64, bool) {
		return r.LoggedOutputUSD, r.Strategy == results.StrategyBilled
	}
	return []results.Metric{
		field("missed_tokens", results.UnitTokens, "misses", "tokens that misses did not read of the best prefix of their thread",
			func(r *results.Row) float64 { return float64(r.MissedTokens) }),
		field("hit_calls", results.UnitCalls, "call_hit_ratio", "calls that read all of the best prefix of their thread",
			func(r *results.Row) float64 { return float64(r.HitCalls) }),
		field("later_calls", results.UnitCalls, "call_hit_ratio", "calls that are not the first of their thread",
			func(r *results.Row) float64 { return float64(r.LaterCalls) }),
		field("over_window", results.UnitCount, "overflows", "sessions with at least one request that a server refuses as too long",
			func(r *results.Row) float64 { return float64(r.OverWindow) }),
		field("failed_compactions", results.UnitCount, "compactions", "compactions that failed",
			func(r *results.Row) float64 { return float64(r.FailedCompaction) }),
		field("unpriced_calls", results.UnitCalls, "", "calls of a model without a price, which are not in the cost",
			func(r *results.Row) float64 { return float64(r.Unpriced) }),
		logged,
	}
}

// tallies returns the columns of what layers did.
func tallies() []Column {
	return []Column{
		{Name: "firings", Type: JSON, Nullable: true, Unit: results.UnitCount, Definition: "how often each layer acted, by its name; null when none did",
			text: func(r *record) (string, bool) { return counts(r.row.Firings) }},
		{Name: "reasons", Type: JSON, Nullable: true, Unit: results.UnitCount, Definition: `failures and refusals of layers, as "layer: reason"; null without any`,
			text: func(r *record) (string, bool) { return counts(r.row.Reasons) }},
	}
}
