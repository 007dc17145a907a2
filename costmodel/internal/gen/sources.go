package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// Names of the files in the source folder.
const (
	catalogFile = "catalog.json"
	litellmFile = "litellm.json"
	genaiFile   = "genai-prices.json"
	overlayFile = "overlay.json"
)

type sources struct {
	catalog catalog
	litellm map[string]litellmModel
	genai   []genaiProvider
	overlay overlay
}

func readSources(dir string) (*sources, error) {
	var s sources
	for _, f := range []struct {
		name string
		into any
	}{
		{catalogFile, &s.catalog},
		{litellmFile, &s.litellm},
		{genaiFile, &s.genai},
		{overlayFile, &s.overlay},
	} {
		if err := readJSON(filepath.Join(dir, f.name), f.into, true); err != nil {
			return nil, err
		}
	}
	return &s, nil
}

// readJSON reads a file; strict makes keys that into lacks an error, so that a
// trimmed source holds nothing that is silently ignored.
func readJSON(path string, into any, strict bool) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	if strict {
		dec.DisallowUnknownFields()
	}
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// catalog is written by hand: which models the table has, what they are called
// in each source, and what no source says.
type catalog struct {
	AsOf      string                     `json:"as_of"`
	Providers map[string]catalogProvider `json:"providers"`
	Models    []catalogModel             `json:"models"`
	// Amendments change prices over a span of time, in order.
	Amendments []amendment `json:"amendments"`
}

// catalogProvider holds defaults for the models of a provider.
type catalogProvider struct {
	Batch    float64 `json:"batch"`
	MinCache int     `json:"min_cache"`
	Source   string  `json:"source"`
}

type catalogModel struct {
	Name      string   `json:"name"`
	Provider  string   `json:"provider"`
	LiteLLM   string   `json:"litellm"`      // key in LiteLLM's table
	Genai     string   `json:"genai_prices"` // id in the table of genai-prices
	Aliases   []string `json:"aliases"`
	MaxOutput int      `json:"max_output"`
	MinCache  int      `json:"min_cache"`
	GeoUS     float64  `json:"geo_us"`
	Regional  float64  `json:"regional"`
}

type amendment struct {
	Models  []string             `json:"models"`
	From    string               `json:"from"`  // first day; empty for always
	Until   string               `json:"until"` // day after the last; empty for ever
	Fast    *float64             `json:"fast"`
	Storage *float64             `json:"storage"`
	Tiers   []map[string]float64 `json:"tiers"` // prices by key of the table, and "above"
	Source  string               `json:"source"`
}

// litellmModel is what is used of a row of LiteLLM's
// model_prices_and_context_window.json, by its keys: USD per token.
type litellmModel map[string]float64

// litellmKeys are the keys of litellmModel in the order they are written.
var litellmKeys = []string{
	"max_input_tokens", "max_output_tokens", "prompt_cache_min_tokens", "regional_processing_uplift_multiplier_us",
	"input_cost_per_token_batches",
	litellmInput, litellmRead, litellmWrite, litellmWrite1h, litellmOutput,
	litellmInput + above200k, litellmRead + above200k, litellmWrite + above200k, litellmWrite1h + above200k,
	litellmOutput + above200k,
	litellmInput + above272k, litellmRead + above272k, litellmWrite + above272k, litellmOutput + above272k,
}

// Keys of prices in litellmModel, and what they end in for large requests.
const (
	litellmInput   = "input_cost_per_token"
	litellmRead    = "cache_read_input_token_cost"
	litellmWrite   = "cache_creation_input_token_cost"
	litellmWrite1h = "cache_creation_input_token_cost_above_1hr"
	litellmOutput  = "output_cost_per_token"

	above200k = "_above_200k_tokens"
	above272k = "_above_272k_tokens"
)

// overlay holds the newest prices by hand: USD per million tokens.
type overlay struct {
	Schema    int                                `json:"schema"`
	Unit      string                             `json:"unit"`
	Note      string                             `json:"note"`
	Modifiers json.RawMessage                    `json:"modifiers"` // repeated in the catalogue, by model
	Sources   json.RawMessage                    `json:"sources"`
	Models    map[string]map[string]overlayModel `json:"models"` // by provider and name
}

type overlayModel struct {
	overlayPrices
	Window      int            `json:"context_window"`
	MaxOutput   int            `json:"max_output"`
	MinCache    int            `json:"min_cache_tokens"`
	BatchInput  float64        `json:"batch_input"`
	BatchOutput float64        `json:"batch_output"`
	Note        string         `json:"note"`
	Fast        *overlayPrices `json:"fast"`
	Tiers       []struct {
		overlayPrices
		Above int    `json:"above_prompt_tokens"`
		Note  string `json:"note"`
	} `json:"tiers"`
	ValidTo string         `json:"valid_to"` // last day
	Then    *overlayPrices `json:"then"`
}

type overlayPrices struct {
	Input   float64 `json:"input"`
	Read    float64 `json:"cache_read"`
	Write   float64 `json:"cache_write"`
	Write5m float64 `json:"cache_write_5m"`
	Write1h float64 `json:"cache_write_1h"`
	Output  float64 `json:"output"`
	Storage float64 `json:"cache_storage_per_mtok_hour"`
}

// genaiProvider is what is used of a provider in genai-prices' data.json: USD
// per million tokens.
type genaiProvider struct {
	ID     string       `json:"id"`
	Models []genaiModel `json:"models"`
}

type genaiModel struct {
	ID     string      `json:"id"`
	Window int         `json:"context_window,omitempty"`
	Prices genaiPrices `json:"prices"`
}

// genaiPrices is one set of prices, or several with the day each begins.
type genaiPrices []genaiPeriod

type genaiPeriod struct {
	Constraint *genaiConstraint `json:"constraint,omitempty"`
	Prices     struct {
		Input   *genaiPrice `json:"input_mtok,omitempty"`
		Read    *genaiPrice `json:"cache_read_mtok,omitempty"`
		Write   *genaiPrice `json:"cache_write_mtok,omitempty"`
		Write1h *genaiPrice `json:"cache_write_1h_mtok,omitempty"`
		Output  *genaiPrice `json:"output_mtok,omitempty"`
	} `json:"prices"`
}

type genaiConstraint struct {
	StartDate string `json:"start_date,omitempty"`
	StartTime string `json:"start_time,omitempty"` // prices by time of day are not supported
}

func (p *genaiPrices) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(b), []byte("[")) {
		return json.Unmarshal(b, (*[]genaiPeriod)(p))
	}
	var one genaiPeriod
	if err := json.Unmarshal(b, &one.Prices); err != nil {
		return err
	}
	*p = genaiPrices{one}
	return nil
}

func (p genaiPrices) MarshalJSON() ([]byte, error) {
	if len(p) == 1 && p[0].Constraint == nil {
		return json.Marshal(p[0].Prices)
	}
	return json.Marshal([]genaiPeriod(p))
}

// genaiPrice is a number, or a base with tiers by size of the prompt.
type genaiPrice struct {
	Base  float64     `json:"base"`
	Tiers []genaiTier `json:"tiers"`
}

type genaiTier struct {
	Start int     `json:"start"` // prompt tokens above which the price holds
	Price float64 `json:"price"`
}

func (p *genaiPrice) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(b), []byte("{")) {
		type plain genaiPrice
		return json.Unmarshal(b, (*plain)(p))
	}
	return json.Unmarshal(b, &p.Base)
}

func (p genaiPrice) MarshalJSON() ([]byte, error) {
	if len(p.Tiers) == 0 {
		return json.Marshal(p.Base)
	}
	type plain genaiPrice
	return json.Marshal(plain(p))
}
