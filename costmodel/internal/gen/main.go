// Gen writes the price table that costmodel embeds.
//
// Without -trim it reads the folder of trimmed sources and writes the table:
//
//	go run ./internal/gen -source source -out prices.yaml
//
// This is what go generate runs; it needs neither the network nor any other
// file. With -trim it first renews the trimmed sources from the full upstream
// tables, keeping only the models source/catalog.json names and the fields
// that are used:
//
//	go run ./internal/gen -trim -source source \
//		-litellm model_prices_and_context_window.json \
//		-genai-prices data.json -overlay overlay.json
//
// A file that is not given keeps its trimmed copy.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

func main() {
	if err := run(os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(args []string, usage io.Writer) error {
	flags := flag.NewFlagSet("gen", flag.ContinueOnError)
	flags.SetOutput(usage)
	source := flags.String("source", "source", "folder of the trimmed sources")
	out := flags.String("out", "", "table to write; empty for none")
	trimming := flags.Bool("trim", false, "renew the trimmed sources first")
	var full upstream
	flags.StringVar(&full.litellm, "litellm", "", "with -trim: LiteLLM's table")
	flags.StringVar(&full.genai, "genai-prices", "", "with -trim: the table of genai-prices")
	flags.StringVar(&full.overlay, "overlay", "", "with -trim: the overlay")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *trimming {
		if err := trim(full, *source); err != nil {
			return fmt.Errorf("trim sources into %s: %w", *source, err)
		}
	}
	if *out == "" {
		return nil
	}
	table, err := generate(*source)
	if err != nil {
		return fmt.Errorf("generate the table from %s: %w", *source, err)
	}
	return os.WriteFile(*out, table, 0o644)
}

// generate returns the text of the table made from the sources in dir.
func generate(dir string) ([]byte, error) {
	src, err := readSources(dir)
	if err != nil {
		return nil, err
	}
	models, err := src.merge()
	if err != nil {
		return nil, err
	}
	return format(src.catalog.AsOf, models), nil
}

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
	items := p.prices.items()
	if p.from != "" {
		items = append([]string{"from: " + p.from}, items...)
	}
	if p.fast != 0 {
		items = append(items, "fast: "+number(p.fast))
	}
	if p.storage != 0 {
		items = append(items, "storage: "+number(p.storage))
	}
	fmt.Fprintf(b, "      - {%s", strings.Join(items, ", "))
	var tiers []string
	for _, t := range p.tiers {
		tiers = append(tiers, fmt.Sprintf("{above: %d, %s}", t.above, strings.Join(t.prices.items(), ", ")))
	}
	if len(tiers) > 0 {
		fmt.Fprintf(b, ",\n         tiers: [%s]", strings.Join(tiers, ", "))
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
