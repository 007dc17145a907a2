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
	"flag"
	"fmt"
	"io"
	"os"
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
