package scenarios

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/internal/nearest"
	"github.com/compactsim/compactsim/internal/studies"
	"github.com/compactsim/compactsim/sim/results"
)

// trial is a scenario that was run to try claims.
type trial struct {
	run    *results.Run
	chains []studies.Chains
	calls  map[string][]results.CallRecord // by cell
}

// field is what is added up of calls or of compactions.
type field[T any] struct {
	unit  string
	value func(*T) float64
}

var callFields = map[string]field[results.CallRecord]{
	"calls":    {results.UnitCalls, func(*results.CallRecord) float64 { return 1 }},
	"input":    {results.UnitTokens, func(c *results.CallRecord) float64 { return float64(c.Usage.Input()) }},
	"read":     {results.UnitTokens, func(c *results.CallRecord) float64 { return float64(c.Usage.Read) }},
	"written":  {results.UnitTokens, func(c *results.CallRecord) float64 { return float64(c.Usage.Writes()) }},
	"uncached": {results.UnitTokens, func(c *results.CallRecord) float64 { return float64(c.Usage.Uncached) }},
	"unread":   {results.UnitTokens, func(c *results.CallRecord) float64 { return float64(c.Usage.Input() - c.Usage.Read) }},
	"output":   {results.UnitTokens, func(c *results.CallRecord) float64 { return float64(c.Usage.Output) }},
	"context":  {results.UnitTokens, func(c *results.CallRecord) float64 { return float64(c.Context) }},
	"usd":      {results.UnitUSD, func(c *results.CallRecord) float64 { return c.Cost.Total() }},
	"input_usd": {results.UnitUSD, func(c *results.CallRecord) float64 {
		return c.Cost.Total() - c.Cost[results.ClassOutput]
	}},
}

var compactionFields = map[string]field[studies.Compaction]{
	"number":    {results.UnitCount, func(*studies.Compaction) float64 { return 1 }},
	"before":    {results.UnitTokens, func(c *studies.Compaction) float64 { return float64(c.Before) }},
	"after":     {results.UnitTokens, func(c *studies.Compaction) float64 { return float64(c.After) }},
	"saved":     {results.UnitTokens, func(c *studies.Compaction) float64 { return float64(c.Saved) }},
	"value":     {results.UnitTokens, func(c *studies.Compaction) float64 { return float64(c.Value) }},
	"rewritten": {results.UnitTokens, func(c *studies.Compaction) float64 { return float64(c.Rewritten) }},
	"call_usd":  {results.UnitUSD, func(c *studies.Compaction) float64 { return c.CallCost.Total() }},
}

func (a *Amount) validate() error {
	set := 0
	for _, given := range []bool{a.Metric != "", a.Firings != "", a.Refusals != "", a.Calls != nil, a.Compaction != nil} {
		if given {
			set++
		}
	}
	if a.Cell == "" || set != 1 {
		return errors.New("wants a cell and one of metric, firings, refusals, calls and compactions")
	}
	_, known := results.LookupMetric(a.Metric)
	switch {
	case a.Metric != "" && !known:
		return fmt.Errorf("unknown metric %q", a.Metric)
	case a.Calls != nil:
		if err := oneOf("calls.of", a.Calls.Of, callFields); err != nil {
			return err
		}
		return a.Calls.check()
	case a.Compaction != nil:
		return oneOf("compactions.of", a.Compaction.Of, compactionFields)
	}
	return nil
}

func (c *Calls) check() error {
	if _, err := c.thread(); err != nil {
		return err
	}
	if c.Source != "" && !slices.ContainsFunc(sources(), func(s results.Source) bool { return s.String() == c.Source }) {
		return fmt.Errorf("calls.source: unknown source %q", c.Source)
	}
	return nil
}

// sources returns the sources of calls.
func sources() []results.Source {
	list := make([]results.Source, results.NumSources)
	for i := range list {
		list[i] = results.Source(i)
	}
	return list
}

// thread returns the index of the thread asked for, -1 for all.
func (c *Calls) thread() (int32, error) {
	switch c.Thread {
	case "":
		return -1, nil
	case "main":
		return 0, nil
	}
	n, err := strconv.Atoi(c.Thread)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("calls.thread %q: want main or the number of a sub-agent", c.Thread)
	}
	return int32(n), nil
}

func oneOf[T any](key, name string, known map[string]field[T]) error {
	if _, ok := known[name]; ok {
		return nil
	}
	names := slices.Sorted(maps.Keys(known))
	return fmt.Errorf("%s: unknown value %q%s; want %s", key, name, nearest.Hint(name, names), strings.Join(names, ", "))
}

// value returns an amount of a trial and its unit.
func (t *trial) value(a *Amount) (float64, string, error) {
	i := slices.IndexFunc(t.run.Cells, func(c results.Cell) bool { return c.Cell == a.Cell })
	if i < 0 {
		var names []string
		for _, c := range t.run.Cells {
			names = append(names, c.Cell)
		}
		return 0, "", fmt.Errorf("no cell %q%s; there are %s", a.Cell, nearest.Hint(a.Cell, names), strings.Join(names, ", "))
	}
	cell := &t.run.Cells[i]
	switch {
	case a.Calls != nil:
		f := callFields[a.Calls.Of]
		list, err := t.picked(cell.Cell, a.Calls)
		if err != nil {
			return 0, "", err
		}
		v, err := sum(f, list, a.Calls.Nth)
		return v, f.unit, err
	case a.Compaction != nil:
		f := compactionFields[a.Compaction.Of]
		v, err := sum(f, t.compactions(cell.Cell), a.Compaction.Nth)
		return v, f.unit, err
	case a.Firings != "":
		return float64(cell.Total.Firings[a.Firings]), results.UnitCount, nil
	case a.Refusals != "":
		return float64(cell.Total.Reasons[a.Refusals]), results.UnitCount, nil
	}
	m, _ := results.LookupMetric(a.Metric)
	v, ok := cell.Value(m)
	if !ok {
		return 0, "", fmt.Errorf("cell %s has no sample of %s", a.Cell, a.Metric)
	}
	return v, m.Unit, nil
}

// sum adds up a field of a list, or takes that of one, from 1.
func sum[T any](f field[T], list []T, nth int) (float64, error) {
	if nth > len(list) {
		return 0, fmt.Errorf("there are %d, not %d", len(list), nth)
	}
	if nth > 0 {
		list = list[nth-1 : nth]
	}
	total := 0.0
	for i := range list {
		total += f.value(&list[i])
	}
	return total, nil
}

// picked returns the calls of a cell that are asked for.
func (t *trial) picked(cell string, want *Calls) ([]results.CallRecord, error) {
	thread, err := want.thread()
	if err != nil {
		return nil, err
	}
	if want.Behind > 0 {
		compacted := t.compactions(cell)
		if want.Behind > len(compacted) {
			return nil, fmt.Errorf("there are %d compactions, not %d", len(compacted), want.Behind)
		}
		at := *want
		at.Behind, at.Thread, at.Session = 0, "main", compacted[want.Behind-1].Session
		at.From = int32(compacted[want.Behind-1].Round) + 1
		at.To = at.From
		return t.picked(cell, &at)
	}
	var list []results.CallRecord
	for _, c := range t.calls[cell] {
		switch round := c.Round + 1; {
		case want.Source != "" && c.Source.String() != want.Source,
			want.Session != "" && c.Session != want.Session,
			thread >= 0 && c.Thread != thread,
			want.From > 0 && round < want.From,
			want.To > 0 && (round < 1 || round > want.To):
		default:
			list = append(list, c)
		}
	}
	return list, nil
}

func (t *trial) compactions(cell string) []studies.Compaction {
	for i := range t.chains {
		if t.chains[i].Cell == cell {
			return t.chains[i].Compactions
		}
	}
	return nil
}
