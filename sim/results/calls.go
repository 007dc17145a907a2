package results

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/go-json-experiment/json"

	"github.com/compactsim/compactsim/internal/jsonlines"
	"github.com/compactsim/compactsim/sim/prompt"
)

// CellCalls are the calls of one cell in order of completion, session by
// session.
type CellCalls struct {
	Cell  string
	Calls []CallRecord
}

// contentCalls tells a file of calls from one of rows, whose head is alike.
const contentCalls = "calls"

// callForm is that of a call. What is zero for most calls is left out.
var callForm = jsonlines.NewObject(jsonlines.Pass,
	jsonlines.Label[CallRecord]("cell"),
	jsonlines.At("session", func(c *CallRecord) *string { return &c.Session }, jsonlines.Text{Shared: true}),
	jsonlines.At("thread", func(c *CallRecord) *int32 { return &c.Thread }, jsonlines.Between[int32](0, math.MaxInt32)),
	jsonlines.At("round", func(c *CallRecord) *int32 { return &c.Round }, jsonlines.Between[int32](-1, math.MaxInt32)),
	jsonlines.At("source", func(c *CallRecord) *Source { return &c.Source }, jsonlines.Enum[Source](sourceNames[:])),
	jsonlines.At("model", func(c *CallRecord) *string { return &c.Model }, jsonlines.Text{Shared: true}),
	jsonlines.At("start_ns", func(c *CallRecord) *int64 { return &c.Start }, anyTime),
	jsonlines.At("end_ns", func(c *CallRecord) *int64 { return &c.End }, anyTime),
	jsonlines.At("context_tokens", func(c *CallRecord) *int64 { return &c.Context }, jsonlines.Count[int64]()),
	jsonlines.At("tokens", func(c *CallRecord) *prompt.Usage { return &c.Usage }, usageForm),
	jsonlines.At("expected_tokens", func(c *CallRecord) *int64 { return &c.Expected }, jsonlines.Count[int64]()).Or(),
	jsonlines.At("miss", func(c *CallRecord) *prompt.MissClass { return &c.Miss }, jsonlines.Enum[prompt.MissClass](missNames)).Or(),
	jsonlines.At("first", func(c *CallRecord) *bool { return &c.First }, jsonlines.Flag{}).Or(),
	jsonlines.At("cost_usd", func(c *CallRecord) *Cost { return &c.Cost }, callCost),
).Need("call")

var anyTime = jsonlines.Between[int64](math.MinInt64, math.MaxInt64)

// callCost is the cost of a call: its classes in their order, not by name.
var callCost = func() *jsonlines.Object[Cost] {
	var members []jsonlines.Member[Cost]
	for i, name := range classNames {
		members = append(members, jsonlines.At(name, func(c *Cost) *float64 { return &c[i] }, jsonlines.Amount{}).Or())
	}
	return jsonlines.NewObject(jsonlines.Refuse, members...)
}()

// validate refuses what no call can have.
func (c *CallRecord) validate() error {
	switch {
	case c.Session == "":
		return errors.New("call without a session")
	case c.End < c.Start:
		return fmt.Errorf("call ends at %d ns, before its start at %d ns", c.End, c.Start)
	}
	return nil
}

// WriteCalls writes the calls of the cells of run as JSON lines behind a head
// line, in the order given. Figures of the run are not written. Equal arguments
// give equal bytes. It refuses cells that the run does not have and records that
// no call can have: see ReadCalls.
func WriteCalls(w io.Writer, run *Run, calls []CellCalls) error {
	head, err := run.head()
	if err != nil {
		return fmt.Errorf("writing calls: %w", err)
	}
	head.Content = contentCalls
	b := bufio.NewWriter(w)
	if err := head.write(b); err != nil {
		return fmt.Errorf("writing calls: %w", err)
	}
	cells := run.names()
	var line []byte
	for _, list := range calls {
		if !cells[list.Cell] {
			return fmt.Errorf("writing calls: cell %q is not in the head", list.Cell)
		}
		for i := range list.Calls {
			c := &list.Calls[i]
			err := errors.Join(c.validate(), callForm.Check(c))
			if err == nil {
				line, err = callForm.Append(line[:0], list.Cell, c)
			}
			if err == nil {
				_, err = b.Write(append(line, '\n'))
			}
			if err != nil {
				return fmt.Errorf("writing a call of cell %q, session %q: %w", list.Cell, c.Session, err)
			}
		}
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("writing calls: %w", err)
	}
	return nil
}

// names returns the set of the run's cells.
func (r *Run) names() map[string]bool {
	m := map[string]bool{}
	for i := range r.Cells {
		m[r.Cells[i].Cell] = true
	}
	return m
}

// ReadCalls reads a file of calls: the run of its head, whose cells have no
// figures, and the calls by cell, in the order of the head, cells without calls
// left out. Unknown sources, miss classes, classes of tokens and cells, calls
// without a session, that end before they start, with negative counts or costs,
// or with costs that are absurd or not finite, are errors with name and line.
// Other members that are not known are counted in Run.PassedOver. What it
// returns with an error holds all calls before the bad line, or is nil when the
// head is bad.
func ReadCalls(name string, r io.Reader) (*Run, []CellCalls, error) {
	var run *Run
	var cells map[string]bool
	byCell := map[string][]CallRecord{}
	var scan jsonlines.Reader
	err := readLines(name, r, func(line []byte) (err error) {
		run, err = callsHead(line)
		if err == nil {
			cells, scan.Passed = run.names(), run.PassedOver
		}
		return err
	}, func(line []byte) error {
		var c CallRecord
		if err := callForm.Read(&scan, line, &c); err != nil {
			return err
		}
		if !cells[scan.Label] {
			return fmt.Errorf("cell %q is not in the head", scan.Label)
		}
		if err := c.validate(); err != nil {
			return err
		}
		byCell[scan.Label] = append(byCell[scan.Label], c)
		return nil
	})
	if run == nil {
		return nil, nil, err
	}
	var calls []CellCalls
	for i := range run.Cells {
		name := run.Cells[i].Cell
		if len(byCell[name]) > 0 {
			calls = append(calls, CellCalls{Cell: name, Calls: byCell[name]})
		}
	}
	return run, calls, err
}

// callsHead reads the head of a file of calls.
func callsHead(line []byte) (*Run, error) {
	var kind struct {
		Schema  int    `json:"schema"`
		Content string `json:"content"`
	}
	if err := json.Unmarshal(line, &kind); err != nil {
		return nil, err
	}
	if kind.Schema == Schema && kind.Content != contentCalls {
		return nil, fmt.Errorf("content %q: not a file of calls", kind.Content)
	}
	var h fileHead
	passed := PassedOver{}
	if err := passed.unmarshal(line, &h); err != nil {
		return nil, err
	}
	return h.run(passed)
}
