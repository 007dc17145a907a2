package costmodel

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/compactsim/compactsim/internal/kit/numbers"
)

// Two lists that others publish are read as they are: model_prices_and_context_window.json of LiteLLM (USD per token, one
// price for all time, no date) and data.json of genai-prices (USD per million tokens, with dates).
const (
	litellm = "LiteLLM"
	genai   = "genai-prices"
)

// Dated returns t with the day on which a published list was stored, for a list that has no date itself.
func (t *Table) Dated(stored time.Time) *Table {
	if t.list == "" || !t.asOf.IsZero() {
		return t
	}
	out := t.clone()
	out.asOf = stored.UTC().Truncate(24 * time.Hour)
	out.list += ", " + out.asOf.Format(time.DateOnly)
	return out
}

// List returns whose published list the prices are from and its day, in words for behind the name of the file; "" for a file of
// this program's own form.
func (t *Table) List() string {
	if t.list == "" {
		return ""
	}
	return " (" + t.list + ")"
}

// published reads a list of LiteLLM or genai-prices, and reports whether text is one.
func published(text []byte, name string) (*Table, bool, error) {
	var l list
	switch text = bytes.TrimSpace(text); {
	case bytes.HasPrefix(text, []byte("[")):
		if !bytes.Contains(text, []byte(`"models"`)) {
			return nil, false, nil
		}
		l.name = genai
		l.err(l.genai(text))
	case bytes.HasPrefix(text, []byte("{")) && bytes.Contains(text, []byte(`"litellm_provider"`)):
		l.name = litellm
		l.err(l.litellm(text))
	default:
		return nil, false, nil
	}
	if len(l.models) == 0 && len(l.errs) == 0 {
		l.errs = append(l.errs, errors.New("no model with prices of input and output tokens"))
	}
	if more := len(l.errs) - maxProblems; more > 0 {
		l.errs = append(l.errs[:maxProblems], errors.New("and "+numbers.Counted(more, "more problem", "more problems")))
	}
	for i := range l.errs {
		l.errs[i] = fmt.Errorf("%s: list of %s: %w", name, l.name, l.errs[i])
	}
	if len(l.errs) > 0 {
		return nil, true, errors.Join(l.errs...)
	}
	t := (&Table{list: l.name}).clone()
	for n, m := range l.models {
		model := &Model{Name: n, Provider: value(m.Provider), Window: value(m.Window), MaxOutput: value(m.MaxOutput),
			MinCache: value(m.MinCache), Batch: value(m.Batch), GeoUS: value(m.GeoUS), undated: l.name == litellm}
		for i := range m.Prices {
			model.periods = append(model.periods, m.Prices[i].period())
		}
		t.models[fold(n)] = model
	}
	return t, true, nil
}

// list collects the models of a published list.
type list struct {
	name   string
	models map[string]*modelFile
	errs   []error
}

func (l *list) err(err error) {
	if err != nil {
		l.errs = append(l.errs, err)
	}
}

// put checks a model and adds it.
func (l *list) put(name string, m *modelFile) {
	for i := range m.Prices {
		p := &m.Prices[i]
		for _, prices := range append([]listed{p.listed}, tierPrices(p.Tiers)...) {
			for k, usd := range prices.classes() {
				if usd != nil && !(*usd >= 0 && *usd <= 1e6) {
					l.err(fmt.Errorf("%s: %s is %g USD per million tokens: want a price from 0 to 1000000", name, classKeys[k], *usd))
				}
			}
		}
		for _, err := range p.Rules() {
			l.err(fmt.Errorf("%s: %w", name, err))
		}
	}
	for _, err := range m.Rules() {
		l.err(fmt.Errorf("%s: %w", name, err))
	}
	if l.models == nil {
		l.models = map[string]*modelFile{}
	}
	l.models[name] = m
}

func tierPrices(tiers []tierFile) (list []listed) {
	for i := range tiers {
		list = append(list, tiers[i].listed)
	}
	return list
}

// pair brings write prices into the form that a price file has: two lifetimes, or one price for all.
func (p *listed) pair() {
	if p.Write1h == nil {
		p.WriteOther, p.Write5m = p.Write5m, nil
	} else if p.Write5m == nil {
		p.Write1h = nil
	}
}

var litellmTier = regexp.MustCompile(`^input_cost_per_token_above_([0-9]+)k_tokens$`)

// litellm reads the models that answer with text. Fields that are prices of other things are left alone.
func (l *list) litellm(text []byte) error {
	var models map[string]map[string]json.RawMessage
	if err := json.Unmarshal(text, &models); err != nil {
		return fmt.Errorf("not the JSON that is published: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(models)) {
		fields := models[name]
		number := func(key string, scale float64) *float64 {
			raw, ok := fields[key]
			if !ok || string(raw) == "null" {
				return nil
			}
			n, err := strconv.ParseFloat(string(raw), 64)
			if err != nil {
				l.err(fmt.Errorf("%s: %s is %.40s: want a number", name, key, raw))
				return nil
			}
			n *= scale
			return &n
		}
		var mode string
		_ = json.Unmarshal(fields["mode"], &mode) // no mode: no model that answers
		if name == "sample_spec" || !slices.Contains([]string{"chat", "completion", "responses"}, mode) ||
			fields["input_cost_per_token"] == nil || fields["output_cost_per_token"] == nil {
			continue
		}
		prices := func(suffix string) listed {
			return listed{
				Input: number("input_cost_per_token"+suffix, perMillion), Output: number("output_cost_per_token"+suffix, perMillion),
				Read:    number("cache_read_input_token_cost"+suffix, perMillion),
				Write5m: number("cache_creation_input_token_cost"+suffix, perMillion),
				Write1h: number("cache_creation_input_token_cost_above_1hr"+suffix, perMillion),
			}
		}
		p := periodFile{listed: prices("")}
		for key := range fields {
			if m := litellmTier.FindStringSubmatch(key); m != nil {
				k, _ := strconv.ParseInt(m[1], 10, 32)
				t := tierFile{Above: 1000 * k, listed: prices(key[len("input_cost_per_token"):])}
				t.keep(&p.listed)
				p.Tiers = append(p.Tiers, t)
			}
		}
		p.pair()
		for i := range p.Tiers {
			p.Tiers[i].pair()
		}
		slices.SortFunc(p.Tiers, func(a, b tierFile) int { return cmp.Compare(a.Above, b.Above) })
		var terms struct {
			US, Fast *float64
		}
		_ = json.Unmarshal(fields["provider_specific_entry"], &terms) // of other providers: other things
		var search struct {
			Medium float64 `json:"search_context_size_medium"`
		}
		_ = json.Unmarshal(fields["search_context_cost_per_query"], &search)
		p.Fast, p.Search = terms.Fast, searches*search.Medium
		m := &modelFile{GeoUS: terms.US, Window: whole(number("max_input_tokens", 1)), MaxOutput: whole(number("max_output_tokens", 1)),
			MinCache: whole(number("prompt_cache_min_tokens", 1)), Prices: []periodFile{p}}
		if batch := number("input_cost_per_token_batches", perMillion); batch != nil && value(p.Input) > 0 && *batch > 0 {
			share := *batch / *p.Input
			m.Batch = &share
		}
		l.put(name, m)
	}
	return nil
}

// keep gives a tier the prices of the base list where the tier states none, and drops prices that the base list lacks.
func (t *tierFile) keep(below *listed) {
	if t.Write1h == nil && t.Write5m != nil && below.Write1h != nil && value(below.Write5m) > 0 {
		usd := *below.Write1h * *t.Write5m / *below.Write5m // both lifetimes grow alike
		t.Write1h = &usd
	}
	for _, c := range []struct{ own, base **float64 }{
		{&t.Input, &below.Input}, {&t.Output, &below.Output}, {&t.Read, &below.Read},
		{&t.Write5m, &below.Write5m}, {&t.Write1h, &below.Write1h},
	} {
		if *c.base == nil {
			*c.own = nil
		} else if *c.own == nil {
			*c.own = *c.base
		}
	}
}

// whole returns a count that is more than zero, nil for another.
func whole(n *float64) *int {
	if n == nil || *n < 1 || *n > 1e9 {
		return nil
	}
	i := int(*n)
	return &i
}

// genaiProvider is a provider in the list of genai-prices.
type genaiProvider struct {
	ID     string `json:"id"`
	Models []struct {
		ID     string          `json:"id"`
		Window *float64        `json:"context_window"`
		Prices json.RawMessage `json:"prices"`
	} `json:"models"`
}

// makers are the providers whose own price a bare name has. Models of all other providers have the provider in front, and the bare name
// where no maker has it.
var makers = []string{"anthropic", "openai", "google", "deepseek", "x-ai", "mistral", "moonshotai", "minimax", "zai", "zhipuai", "cohere", "perplexity"}

// genai reads all models but those whose price depends on the time of day, which the program does not know.
func (l *list) genai(text []byte) error {
	var providers []genaiProvider
	if err := json.Unmarshal(text, &providers); err != nil {
		return fmt.Errorf("not the JSON that is published: %w", err)
	}
	place := func(id string) int {
		if i := slices.Index(makers, id); i >= 0 {
			return i
		}
		return len(makers)
	}
	slices.SortStableFunc(providers, func(a, b genaiProvider) int { return cmp.Compare(place(a.ID), place(b.ID)) })
	for i := range providers {
		p := &providers[i]
		for k := range p.Models {
			m := &p.Models[k]
			periods, err := genaiPeriods(m.Prices)
			if err != nil {
				l.err(fmt.Errorf("%s of %s: %w", m.ID, p.ID, err))
			}
			if len(periods) == 0 || m.ID == "" {
				continue
			}
			one := &modelFile{Window: whole(m.Window), Prices: periods}
			if place(p.ID) == len(makers) {
				l.put(p.ID+"/"+m.ID, one)
			}
			if l.models[m.ID] == nil {
				l.put(m.ID, one)
			}
		}
	}
	return nil
}

// genaiPeriods returns the prices of a model by date, none where they depend on the hour or are not by token.
func genaiPeriods(raw json.RawMessage) ([]periodFile, error) {
	type dated struct {
		Constraint struct {
			From string `json:"start_date"`
			Hour string `json:"start_time"`
		} `json:"constraint"`
		Prices map[string]json.RawMessage `json:"prices"`
	}
	var list []dated
	if bytes.HasPrefix(raw, []byte("[")) {
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, err
		}
	} else {
		list = make([]dated, 1)
		if err := json.Unmarshal(raw, &list[0].Prices); err != nil {
			return nil, err
		}
	}
	var periods []periodFile
	for _, d := range list {
		if d.Constraint.Hour != "" || d.Prices["input_mtok"] == nil || d.Prices["output_mtok"] == nil {
			return nil, nil
		}
		p, err := genaiPeriod(d.Prices)
		if err != nil {
			return nil, err
		}
		if d.Constraint.From != "" {
			if p.From.Time, err = time.Parse(time.DateOnly, d.Constraint.From); err != nil {
				return nil, fmt.Errorf("start_date: want a date like 2026-11-01, not %q", d.Constraint.From)
			}
		}
		periods = append(periods, p)
	}
	return periods, nil
}

func genaiPeriod(fields map[string]json.RawMessage) (p periodFile, err error) {
	type tiered struct {
		Base  float64 `json:"base"`
		Tiers []struct {
			Start int64   `json:"start"`
			Price float64 `json:"price"`
		} `json:"tiers"`
	}
	read := map[string]*tiered{}
	for _, key := range []string{"input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok", "cache_write_1h_mtok", "web_searches_kcount"} {
		raw := fields[key]
		if raw == nil || string(raw) == "null" {
			continue
		}
		t := &tiered{}
		if bytes.HasPrefix(raw, []byte("{")) {
			err = json.Unmarshal(raw, t)
		} else {
			err = json.Unmarshal(raw, &t.Base)
		}
		if err != nil {
			return p, fmt.Errorf("%s: %w", key, err)
		}
		read[key] = t
	}
	at := func(above int64) listed {
		price := func(key string) *float64 {
			t := read[key]
			if t == nil {
				return nil
			}
			usd := t.Base
			for i := range t.Tiers {
				if t.Tiers[i].Start <= above {
					usd = t.Tiers[i].Price
				}
			}
			return &usd
		}
		list := listed{Input: price("input_mtok"), Output: price("output_mtok"), Read: price("cache_read_mtok"),
			Write5m: price("cache_write_mtok"), Write1h: price("cache_write_1h_mtok")}
		list.pair()
		return list
	}
	p.listed = at(-1)
	starts := map[int64]bool{}
	for _, t := range read {
		for i := range t.Tiers {
			starts[t.Tiers[i].Start] = true
		}
	}
	for _, start := range slices.Sorted(maps.Keys(starts)) {
		p.Tiers = append(p.Tiers, tierFile{Above: start, listed: at(start)})
	}
	if t := read["web_searches_kcount"]; t != nil {
		p.Search = t.Base
	}
	return p, nil
}
