package costmodel

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"time"

	"gopkg.in/yaml.v3"
)

// Bounds that no real price reaches: beyond them a file has the wrong unit.
const (
	maxPrice      = 1e6 // USD per million tokens
	maxMultiplier = 1000
)

// Load reads a price file; the package comment describes it. The name stands
// in errors, which say file and line of every problem there is (the first
// fifty): unknown keys with the nearest known one, prices that are negative or
// no numbers, dates and tiers out of order, models without prices.
func Load(r io.Reader, name string) (*Table, error) {
	d := &decoder{name: name}
	sum := sha256.New()
	root, err := d.parse(io.TeeReader(r, sum))
	if err != nil {
		return nil, err
	}
	t := (&Table{digest: hex.EncodeToString(sum.Sum(nil))}).clone()
	seen := d.mapping(root, "price file", []field{
		{"schema", func(n *yaml.Node) {
			if v, ok := d.number(n, "schema", maxPrice); ok && v != 1 {
				d.problem(n, "schema %s is not supported; this program reads schema 1", n.Value)
			}
		}},
		{"as_of", func(n *yaml.Node) { t.asOf = d.date(n, "as_of") }},
		{"models", func(n *yaml.Node) {
			d.pairs(n, "models", func(k, v *yaml.Node) { d.model(t, k, v) })
		}},
	})
	for _, k := range []string{"schema", "models"} {
		if !seen[k] && root.Kind == yaml.MappingNode {
			d.problem(root, "price file: %s is missing", k)
		}
	}
	if err := d.err(); err != nil {
		return nil, err
	}
	return t, nil
}

func (d *decoder) model(t *Table, k, v *yaml.Node) {
	m := &Model{Name: d.text(k, "model name")}
	if t.models[fold(m.Name)] != nil {
		d.problem(k, "model %s stands here twice, in another case", m.Name)
	}
	t.models[fold(m.Name)] = m
	what := "model " + m.Name
	count := func(key string, to *int) field {
		return field{key, func(n *yaml.Node) { *to = d.count(n, what+": "+key) }}
	}
	multiplier := func(key string, to *float64) field {
		return field{key, func(n *yaml.Node) { *to = d.multiplier(n, what+": "+key) }}
	}
	seen := d.mapping(v, what, []field{
		{"provider", func(n *yaml.Node) { m.Provider = d.text(n, what+": provider") }},
		count("window", &m.Window),
		count("max_output", &m.MaxOutput),
		count("min_cache", &m.MinCache),
		{"aliases", func(n *yaml.Node) { d.aliases(t, m, n) }},
		multiplier("batch", &m.Batch),
		multiplier("geo_us", &m.GeoUS),
		multiplier("regional", &m.Regional),
		{"prices", func(n *yaml.Node) { d.periods(m, n, what) }},
	})
	if !seen["prices"] && v.Kind == yaml.MappingNode {
		d.problem(v, "%s: prices is missing", what)
	}
}

func (d *decoder) aliases(t *Table, m *Model, n *yaml.Node) {
	if n.Kind != yaml.SequenceNode {
		d.problem(n, "model %s: aliases: want a list, have %s", m.Name, describe(n))
		return
	}
	for _, a := range n.Content {
		name := d.text(a, "model "+m.Name+": alias")
		if other, ok := t.aliases[fold(name)]; ok {
			d.problem(a, "model %s: %s is an alias of %s already", m.Name, name, other)
			continue
		}
		t.aliases[fold(name)] = fold(m.Name)
	}
}

func (d *decoder) multiplier(n *yaml.Node, what string) float64 {
	v, ok := d.number(n, what, maxMultiplier)
	if ok && v == 0 {
		d.problem(n, "%s: 0 would make it free; leave it out if it is not offered", what)
	}
	return v
}

// periods reads the prices of a model: one mapping, or a list by date.
func (d *decoder) periods(m *Model, n *yaml.Node, what string) {
	entries := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		entries = n.Content
	}
	if len(entries) == 0 {
		d.problem(n, "%s: prices is empty", what)
	}
	for i, e := range entries {
		p := d.period(e, what)
		switch {
		case e.Kind != yaml.MappingNode:
		case i > 0 && p.from.IsZero():
			d.problem(e, "%s: prices after the first need a date in from", what)
		case i > 0 && !p.from.After(m.periods[i-1].from):
			d.problem(e, "%s: prices are not in the order of from", what)
		}
		m.periods = append(m.periods, p)
	}
}

func (d *decoder) period(n *yaml.Node, what string) period {
	var p period
	var base priceList
	var tiers *yaml.Node
	d.mapping(n, what+": prices", append(base.fields(d, what),
		field{"from", func(n *yaml.Node) { p.from = d.day(n, what) }},
		field{"storage", func(n *yaml.Node) { p.storage, _ = d.number(n, what+": storage", maxPrice) }},
		field{"fast", func(n *yaml.Node) { p.fast = d.multiplier(n, what+": fast") }},
		field{"tiers", func(n *yaml.Node) { tiers = n }},
	))
	if n.Kind != yaml.MappingNode {
		return p
	}
	p.rate.base = base.resolve(d, n, what)
	if tiers != nil {
		p.rate.tiers = d.tiers(tiers, &base, what)
	}
	return p
}

func (d *decoder) day(n *yaml.Node, what string) time.Time { return d.date(n, what+": from") }

func (d *decoder) tiers(n *yaml.Node, base *priceList, what string) []rateTier {
	if n.Kind != yaml.SequenceNode {
		d.problem(n, "%s: tiers: want a list, have %s", what, describe(n))
		return nil
	}
	var tiers []rateTier
	for _, e := range n.Content {
		var list priceList
		var t rateTier
		d.mapping(e, what+": tier", append(list.fields(d, what),
			field{"above", func(n *yaml.Node) { t.above = int64(d.count(n, what+": above")) }}))
		if e.Kind != yaml.MappingNode {
			continue
		}
		if last := len(tiers) - 1; t.above == 0 || last >= 0 && t.above <= tiers[last].above {
			d.problem(e, "%s: tiers need ascending numbers of tokens in above", what)
		}
		for i, key := range priceKeys {
			if base[i] != nil && list[i] == nil {
				d.problem(e, "%s: tier: %s is missing; the prices below the tier have it", what, key)
			}
		}
		t.perToken = list.resolve(d, e, what+": tier")
		tiers = append(tiers, t)
	}
	return tiers
}

// priceList holds the prices a file states, USD per million tokens by class;
// nil for what it leaves out.
type priceList [NumClasses]*float64

var priceKeys = [NumClasses]string{
	Uncached: "input", Read: "read", Write5m: "write_5m", Write1h: "write_1h", WriteOther: "write", Output: "output",
}

func (l *priceList) fields(d *decoder, what string) []field {
	var fs []field
	for i, key := range priceKeys {
		fs = append(fs, field{key, func(n *yaml.Node) {
			v, _ := d.number(n, fmt.Sprintf("%s: %s", what, key), maxPrice)
			l[i] = &v
		}})
	}
	return fs
}

// resolve fills in what the list leaves out, as the package comment says, and
// returns USD per token.
func (l *priceList) resolve(d *decoder, n *yaml.Node, what string) [NumClasses]float64 {
	for _, i := range []int{Uncached, Output} {
		if l[i] == nil {
			d.problem(n, "%s: %s is missing", what, priceKeys[i])
		}
	}
	if (l[Write5m] == nil) != (l[Write1h] == nil) {
		d.problem(n, "%s: write_5m and write_1h go together; a single write price is write", what)
	}
	full := *l
	for _, c := range []struct{ class, otherwise int }{
		{Read, Uncached}, {WriteOther, Write5m}, {WriteOther, Uncached}, {Write5m, WriteOther}, {Write1h, WriteOther},
	} {
		if full[c.class] == nil {
			full[c.class] = full[c.otherwise]
		}
	}
	var perToken [NumClasses]float64
	for i, v := range full {
		if v != nil {
			perToken[i] = *v / perMillion
		}
	}
	return perToken
}
