package audit

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/compactsim/compactsim/sim/results"
)

// Amounts are the tokens by class, or the USD, of one day and model.
type Amounts struct {
	Uncached int64   `json:"input_uncached_tokens"`
	Read     int64   `json:"cache_read_tokens"`
	Write5m  int64   `json:"cache_write_5m_tokens"` // includes writes of no stated lifetime
	Write1h  int64   `json:"cache_write_1h_tokens"`
	Output   int64   `json:"output_tokens"`
	USD      float64 `json:"cost_usd"`
}

func (a *Amounts) add(c results.Class, n int64) {
	switch c {
	case results.ClassUncached:
		a.Uncached += n
	case results.ClassRead:
		a.Read += n
	case results.ClassWrite5m, results.ClassWriteOther:
		a.Write5m += n
	case results.ClassWrite1h:
		a.Write1h += n
	case results.ClassOutput:
		a.Output += n
	}
}

func (a *Amounts) plus(b *Amounts, sign int64) {
	a.Uncached += sign * b.Uncached
	a.Read += sign * b.Read
	a.Write5m += sign * b.Write5m
	a.Write1h += sign * b.Write1h
	a.Output += sign * b.Output
	a.USD += float64(sign) * b.USD
}

// Compared is one day and model of the recordings and of the export.
type Compared struct {
	Day    string  `json:"day"`
	Model  string  `json:"model"`
	Ours   Amounts `json:"recorded"`
	Theirs Amounts `json:"exported"`
	// Difference is recorded minus exported. A usage export has no USD and a cost
	// export no tokens: there the difference is 0.
	Difference Amounts `json:"difference"`
}

// Reconciled compares the recordings with an export of the provider's console,
// over the days that the export covers.
type Reconciled struct {
	File  string     `json:"file"`
	Kind  string     `json:"kind"`
	From  string     `json:"from"`
	Until string     `json:"until"` // the last day
	Lines []Compared `json:"lines"` // by day, then model
	Total Compared   `json:"total"`
	// Outside are recorded calls on other days, Untimed those without a time. Other
	// counts rows of the export that are not about tokens.
	Outside int `json:"calls_outside"`
	Untimed int `json:"calls_untimed"`
	Other   int `json:"other_rows"`
}

// dayModel is the key of the sums of an export.
type dayModel struct{ day, model string }

// recorded adds a call to the sums that are compared with an export.
func (r *Report) recorded(c *call) {
	if r.days == nil {
		r.days = map[dayModel]*Sum{}
	}
	name := c.model.name
	if c.model.known {
		name = c.model.price.Model.Name
	}
	addTo(r.days, dayModel{c.day(time.UTC), name}, c)
}

// Reconcile sets r.Reconciled. Names of models are matched through the price
// table.
func (r *Report) Reconcile(e *Export, prices Prices) {
	lines := map[dayModel]*Compared{}
	line := func(key dayModel) *Compared {
		if lines[key] == nil {
			lines[key] = &Compared{Day: key.day, Model: key.model}
		}
		return lines[key]
	}
	out := &Reconciled{File: e.Name, Kind: e.Kind, Other: e.Other, Lines: []Compared{}}
	for i := range e.lines {
		x := &e.lines[i]
		if out.From == "" || x.day < out.From {
			out.From = x.day
		}
		out.Until = max(out.Until, x.day)
		line(dayModel{x.day, exportedModel(x.model, x.day, prices)}).Theirs.plus(&x.amounts, 1)
	}
	for key, sum := range r.days {
		switch {
		case key.day == NoDay:
			out.Untimed += sum.Calls
		case key.day < out.From || key.day > out.Until:
			out.Outside += sum.Calls
		default:
			line(key).Ours = Amounts{sum.Uncached, sum.Read, sum.Write5m + sum.WriteOther, sum.Write1h, sum.Output,
				sum.USD}
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(lines), func(a, b dayModel) int {
		return cmp.Or(cmp.Compare(a.day, b.day), cmp.Compare(a.model, b.model))
	}) {
		c := lines[key]
		c.compare(e.Kind)
		out.Lines = append(out.Lines, *c)
		out.Total.Ours.plus(&c.Ours, 1)
		out.Total.Theirs.plus(&c.Theirs, 1)
	}
	out.Total.compare(e.Kind)
	r.Reconciled = out
}

// compare sets the difference in what the export has.
func (c *Compared) compare(kind string) {
	d := c.Ours
	d.plus(&c.Theirs, -1)
	if kind == ExportCost {
		d = Amounts{USD: d.USD}
	} else {
		d.USD = 0
	}
	c.Difference = d
}

// exportedModel returns the price table's name of a model in the spelling of an
// export: "claude-opus-4-5-20251101" or "Claude Opus 4.5".
func exportedModel(name, day string, prices Prices) string {
	at, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return name
	}
	for _, spelled := range []string{name, strings.ReplaceAll(strings.ToLower(name), " ", "-")} {
		if p, err := prices.Lookup(spelled, at); err == nil {
			return p.Model.Name
		}
	}
	return name
}

// Kinds of export of the provider's console.
const (
	ExportUsage = "usage" // tokens: a column for each class
	ExportCost  = "cost"  // USD: a row for each class
)

// Export is a CSV export of the provider's console.
type Export struct {
	Name  string
	Kind  string // ExportUsage or ExportCost
	Rows  int
	Other int // rows of a cost export that are not about tokens, such as web searches
	lines []exported
}

type exported struct {
	day, model string
	amounts    Amounts
}

// Columns of the two exports of the Claude console, from its pages Usage and
// Cost. The provider documents the exports but not their columns; these are the
// names that public programs read. tokenColumns are in the order of the
// classes.
var (
	usageColumns = []string{"usage_date_utc", "model_version"}
	tokenColumns = [results.NumClasses]string{
		results.ClassUncached: "usage_input_tokens_no_cache",
		results.ClassRead:     "usage_input_tokens_cache_read",
		results.ClassWrite5m:  "usage_input_tokens_cache_write_5m",
		results.ClassWrite1h:  "usage_input_tokens_cache_write_1h",
		results.ClassOutput:   "usage_output_tokens",
	}
	costColumns = []string{"usage_date_utc", "model", "token_type", "cost_usd"}
	tokenTypes  = map[string]results.Class{
		"input_no_cache":       results.ClassUncached,
		"input_cache_read":     results.ClassRead,
		"input_cache_write_5m": results.ClassWrite5m,
		"input_cache_write_1h": results.ClassWrite1h,
		"output":               results.ClassOutput,
	}
	// beside are other columns of either export, which the sums do not need.
	beside = []string{
		"api_key", "api_key_id", "api_key_status", "workspace", "usage_type", "context_window", "web_search_count",
		"inference_geo", "speed", "service_tier", "list_price_usd", "cost_type",
	}
)

// usageWanted returns the columns that a usage export must have.
func usageWanted() []string {
	list := slices.Clone(usageColumns)
	for _, c := range tokenColumns {
		if c != "" {
			list = append(list, c)
		}
	}
	return list
}

// ReadExport reads an export of the console's page Usage or Cost. Columns of
// neither, missing columns, and values that are no dates, counts or amounts are
// errors with name and line.
func ReadExport(r io.Reader, name string) (*Export, error) {
	in := csv.NewReader(r)
	in.ReuseRecord = true
	head, err := in.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: empty file; %s", name, expectedColumns())
	}
	if err != nil {
		return nil, fmt.Errorf("%s:1: %w; %s", name, err, expectedColumns())
	}
	e := &Export{Name: name}
	at, err := e.columns(head)
	if err != nil {
		return nil, fmt.Errorf("%s:1: %w", name, err)
	}
	for {
		record, err := in.Read()
		var bad *csv.ParseError
		switch {
		case errors.Is(err, io.EOF):
			return e, nil
		case errors.As(err, &bad): // a record that cannot be parsed has no fields
			return nil, fmt.Errorf("%s:%d: %w", name, bad.Line, bad.Err)
		case err != nil:
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if err := e.row(record, at); err != nil {
			line, _ := in.FieldPos(0)
			return nil, fmt.Errorf("%s:%d: %w", name, line, err)
		}
	}
}

// columns finds the position of each column, and which export it is.
func (e *Export) columns(head []string) (map[string]int, error) {
	at := map[string]int{}
	var unknown []string
	for i, c := range head {
		c = strings.ToLower(strings.TrimSpace(strings.TrimPrefix(c, "\ufeff")))
		if _, twice := at[c]; twice {
			return nil, fmt.Errorf("column %q stands twice", c)
		}
		at[c] = i
		if !slices.Contains(usageWanted(), c) && !slices.Contains(costColumns, c) && !slices.Contains(beside, c) {
			unknown = append(unknown, strconv.Quote(c))
		}
	}
	e.Kind = ExportUsage
	wanted := usageWanted()
	if _, ok := at["cost_usd"]; ok {
		e.Kind, wanted = ExportCost, costColumns
	}
	var missing []string
	for _, c := range wanted {
		if _, ok := at[c]; !ok {
			missing = append(missing, strconv.Quote(c))
		}
	}
	switch {
	case len(unknown) > 0:
		return nil, fmt.Errorf("unknown columns %s; %s", strings.Join(unknown, ", "), expectedColumns())
	case len(missing) > 0:
		return nil, fmt.Errorf("no column %s; %s", strings.Join(missing, ", "), expectedColumns())
	}
	return at, nil
}

func expectedColumns() string {
	return fmt.Sprintf("expected are the export of the console's page Usage (%s) or Cost (%s), each with any of %s",
		strings.Join(usageWanted(), ", "), strings.Join(costColumns, ", "), strings.Join(beside, ", "))
}

func (e *Export) row(record []string, at map[string]int) error {
	value := func(column string) string { return strings.TrimSpace(record[at[column]]) }
	e.Rows++
	day, err := exportDay(value("usage_date_utc"))
	if err != nil {
		return err
	}
	line := exported{day: day}
	if e.Kind == ExportUsage {
		line.model = value("model_version")
		for class, column := range tokenColumns {
			if column == "" {
				continue
			}
			n, err := strconv.ParseInt(value(column), 10, 64)
			if err != nil || n < 0 {
				return fmt.Errorf("%s %q: want a count of tokens", column, value(column))
			}
			line.amounts.add(results.Class(class), n)
		}
	} else {
		line.model = value("model")
		usd, err := strconv.ParseFloat(value("cost_usd"), 64)
		if err != nil || math.IsNaN(usd) || math.IsInf(usd, 0) {
			return fmt.Errorf("cost_usd %q: want an amount", value("cost_usd"))
		}
		if _, ok := tokenTypes[value("token_type")]; !ok {
			if value("token_type") != "" {
				return fmt.Errorf("unknown token_type %q", value("token_type"))
			}
			e.Other++
			return nil
		}
		line.amounts.USD = usd
	}
	if line.model == "" {
		return errors.New("a row without a model")
	}
	e.lines = append(e.lines, line)
	return nil
}

// exportDay returns the day of a date or a time.
func exportDay(s string) (string, error) {
	if len(s) >= len(time.DateOnly) {
		if _, err := time.Parse(time.DateOnly, s[:len(time.DateOnly)]); err == nil {
			return s[:len(time.DateOnly)], nil
		}
	}
	return "", fmt.Errorf("usage_date_utc %q: want a date like 2026-03-22", s)
}
