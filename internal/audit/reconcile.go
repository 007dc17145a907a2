package audit

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/compactsim/compactsim/sim/results"
)

// Amounts are the tokens by class, or the USD, of one day and model.
type Amounts struct {
	Uncached int64   `json:"input_uncached_tokens"`
	Read     int64   `json:"cache_read_tokens"`
	Write5m  int64   `json:"cache_write_5m_tokens"` // and of no stated lifetime
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

// Compared is one day and model of both.
type Compared struct {
	Day    string  `json:"day"`
	Model  string  `json:"model"`
	Ours   Amounts `json:"recorded"`
	Theirs Amounts `json:"exported"`
	// Difference is recorded less exported. A usage export has no USD, a cost
	// export no tokens: there the difference is 0.
	Difference Amounts `json:"difference"`
}

// Reconciled holds the recordings against an export of the provider's console,
// over the days the export covers.
type Reconciled struct {
	File  string     `json:"file"`
	Kind  string     `json:"kind"`
	From  string     `json:"from"`
	Until string     `json:"until"` // the last day
	Lines []Compared `json:"lines"` // by day, then model
	Total Compared   `json:"total"`
	// Outside are recorded calls on other days, Untimed those without a time; Other
	// are rows of the export that are not about tokens.
	Outside int `json:"calls_outside"`
	Untimed int `json:"calls_untimed"`
	Other   int `json:"other_rows"`
}

// dayModel is what an export has sums by.
type dayModel struct{ day, model string }

// recorded adds a call to what an export is held against.
func (r *Report) recorded(c *call) {
	if r.days == nil {
		r.days = map[dayModel]*Sum{}
	}
	name := c.model.name
	if c.model.known {
		name = c.model.price.Model.Name
	}
	key := dayModel{c.day(), name}
	if r.days[key] == nil {
		r.days[key] = &Sum{}
	}
	r.days[key].add(&c.r().Usage, &c.cost)
}

// Reconcile sets r.Reconciled. Names of models are matched as the price table
// knows them.
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
			line(key).Ours = Amounts{sum.Uncached, sum.Read, sum.Write5m + sum.WriteOther, sum.Write1h, sum.Output, sum.USD}
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

// compare sets the difference of what the export has.
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

// exportedModel returns the table's name of a model as an export spells it:
// "claude-opus-4-5-20251101" or "Claude Opus 4.5".
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
