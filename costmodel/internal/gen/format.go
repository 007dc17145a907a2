package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

const head = `# Generated from the folder source by go generate; DO NOT EDIT.
# Prices are USD per million tokens. The package comment of costmodel describes
# the form; a file of the same form adds models or overrides these.
`

// priceKeys are the keys of prices in the order they are written.
var priceKeys = []string{"input", "read", "write_5m", "write_1h", "write", "output"}

// format writes the table as YAML.
func format(asOf string, models []model) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%sschema: 1\nas_of: %s\nmodels:\n", head, asOf)
	for i := range models {
		m := &models[i]
		fmt.Fprintf(&b, "  %s:\n    provider: %s\n", m.Name, m.Provider)
		fact(&b, "window", float64(m.window))
		fact(&b, "max_output", float64(m.MaxOutput))
		fact(&b, "min_cache", float64(m.MinCache))
		if len(m.Aliases) > 0 {
			fmt.Fprintf(&b, "    aliases: [%s]\n", strings.Join(m.Aliases, ", "))
		}
		fact(&b, "batch", m.batch)
		fact(&b, "geo_us", m.GeoUS)
		fact(&b, "regional", m.Regional)
		b.WriteString("    prices:\n")
		for j := range m.periods {
			m.periods[j].write(&b)
		}
	}
	return b.Bytes()
}

func fact(b *bytes.Buffer, key string, v float64) {
	if v != 0 {
		fmt.Fprintf(b, "    %s: %s\n", key, number(v))
	}
}

func (p *period) write(b *bytes.Buffer) {
	var items []string
	if p.from != "" {
		items = append(items, "from: "+p.from)
	}
	items = append(items, p.prices.items()...)
	if p.fast != 0 {
		items = append(items, "fast: "+number(p.fast))
	}
	if p.storage != 0 {
		items = append(items, "storage: "+number(p.storage))
	}
	fmt.Fprintf(b, "      - {%s", strings.Join(items, ", "))
	if len(p.tiers) > 0 {
		b.WriteString(",\n         tiers: [")
		for i, t := range p.tiers {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(b, "{above: %d, %s}", t.above, strings.Join(t.prices.items(), ", "))
		}
		b.WriteString("]")
	}
	b.WriteString("}\n")
}

func (p prices) items() []string {
	var items []string
	for _, k := range priceKeys {
		if v, ok := p[k]; ok {
			items = append(items, k+": "+number(v))
		}
	}
	return items
}

// number writes v without an exponent.
func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
