package costmodel_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/compactsim/compactsim/costmodel"
)

// A list in the form of LiteLLM, at prices that nobody has: an image model and the sample are no models that answer.
const ownLiteLLM = `{
 "sample_spec": {"litellm_provider": "one of the providers", "input_cost_per_token": 0.0, "output_cost_per_token": 0.0, "mode": "one of: chat"},
 "painter": {"litellm_provider": "x", "mode": "image_generation", "output_cost_per_image": 0.06},
 "claude-sonnet-4-6": {"litellm_provider": "anthropic", "mode": "chat", "input_cost_per_token": 7e-06, "output_cost_per_token": 3.5e-05,
  "cache_read_input_token_cost": 7e-07, "cache_creation_input_token_cost": 8.75e-06, "cache_creation_input_token_cost_above_1hr": 1.4e-05,
  "input_cost_per_token_above_200k_tokens": 1.4e-05, "output_cost_per_token_above_200k_tokens": 7e-05, "cache_creation_input_token_cost_above_200k_tokens": 1.75e-05,
  "max_input_tokens": 123456, "provider_specific_entry": {"us": 1.1, "fast": 3.0},
  "search_context_cost_per_query": {"search_context_size_medium": 0.01}},
 "cloud/newest-1": {"litellm_provider": "cloud", "mode": "chat", "input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06,
  "cache_creation_input_token_cost": 1.5e-06}
}`

// The same in the form of genai-prices, with a date, a tier, a spelling of its own, and a bare name of two providers.
const ownGenai = `[
 {"id": "acloud", "models": [{"id": "claude-3-5-haiku-latest", "match": {}, "prices": {"input_mtok": 99, "output_mtok": 99}},
  {"id": "hourly", "match": {}, "prices": [{"prices": {"input_mtok": 1, "output_mtok": 1}},
   {"constraint": {"start_time": "00:30:00Z", "end_time": "16:30:00Z"}, "prices": {"input_mtok": 2, "output_mtok": 2}}]}]},
 {"id": "anthropic", "models": [{"id": "claude-3-5-haiku-latest", "match": {}, "context_window": 200000, "prices": [
  {"prices": {"input_mtok": 3, "output_mtok": 4}},
  {"constraint": {"start_date": "2026-10-01"}, "prices": {"input_mtok": {"base": 5, "tiers": [{"start": 1000, "price": 6}]},
   "cache_write_mtok": 6.25, "cache_write_1h_mtok": 10, "cache_read_mtok": 0.5, "output_mtok": 25, "web_searches_kcount": 10}}]}]}
]`

func merged(t *testing.T, text string) *costmodel.Table {
	t.Helper()
	base, err := costmodel.Default()
	if err != nil {
		t.Fatal(err)
	}
	return base.Merge(load(t, text).Dated(time.Date(2026, 12, 3, 14, 0, 0, 0, time.UTC)))
}

// perMTok returns prices by class: uncached input, reads, writes for 5 minutes, an hour and another time, output.
func perMTok(p *costmodel.Price, input int64) string {
	rate := p.Standard()
	return strings.Trim(fmt.Sprintf("%.6g", rate.PerMTok(input)), "[]")
}

func wantPrices(t *testing.T, tab *costmodel.Table, model, date string, input int64, want string) costmodel.Price {
	t.Helper()
	p := lookup(t, tab, model, date)
	if text := perMTok(&p, input); text != want {
		t.Errorf("%s at %s: %s, want %s", model, date, text, want)
	}
	return p
}

// The prices of the newest period are the list's, older ones with their dates are the built-in ones; what a tier leaves out grows with
// its neighbour: writes for an hour double as writes for five minutes do.
func TestLiteLLM(t *testing.T) {
	tab := merged(t, ownLiteLLM)
	p := wantPrices(t, tab, "claude-sonnet-4-6", "2026-11-01", 0, "7 0.7 8.75 14 8.75 35")
	wantPrices(t, tab, "claude-sonnet-4-6", "2026-11-01", 200_001, "14 0.7 17.5 28 17.5 70")
	if p.Fast != 3 || p.Search != 0.01 || p.Model.Window != 123_456 || p.Model.GeoUS != 1.1 || p.Model.Provider != "anthropic" {
		t.Errorf("%+v, want fast 3, searches at $0.01, a window of 123,456", p)
	}
	base, _ := costmodel.Default()
	old, was := lookup(t, tab, "claude-sonnet-4-6", "2026-02-01"), lookup(t, base, "claude-sonnet-4-6", "2026-02-01")
	if perMTok(&old, 0) != perMTok(&was, 0) {
		t.Error("the price of February is no longer the one of February")
	}
	wantPrices(t, tab, "cloud/newest-1", "2026-11-01", 0, "1 1 1.5 1.5 1.5 2")
	if tab.List() != " (LiteLLM, 2026-12-03)" || tab.AsOf().Format(time.DateOnly) != "2026-12-03" {
		t.Errorf("%q as of %s", tab.List(), tab.AsOf())
	}
}

// A price that begins after the day of a list stays.
func TestAnnouncedPricesStay(t *testing.T) {
	base := load(t, "schema: 1\nmodels: {m: {prices: [{input: 1, output: 1}, {from: 2026-03-01, input: 2, output: 2}, {from: 2027-01-01, input: 3, output: 3}]}}")
	list := load(t, `{"m": {"litellm_provider": "x", "mode": "chat", "input_cost_per_token": 9e-06, "output_cost_per_token": 9e-06}}`)
	tab := base.Merge(list.Dated(time.Date(2026, 12, 3, 0, 0, 0, 0, time.UTC)))
	for date, want := range map[string]string{"2026-02-28": "1", "2026-03-01": "9", "2026-12-31": "9", "2027-01-01": "3"} {
		wantPrices(t, tab, "m", date, 0, strings.TrimSpace(strings.Repeat(want+" ", 6)))
	}
}

// A maker's price is the price of a bare name, under all spellings that the built-in table knows, by date. Prices by the hour are left out.
func TestGenaiPrices(t *testing.T) {
	tab := merged(t, ownGenai)
	wantPrices(t, tab, "claude-3-5-haiku-20241022", "2026-09-30", 0, "3 3 3 3 3 4")
	wantPrices(t, tab, "claude-haiku-3-5", "2026-10-01", 0, "5 0.5 6.25 10 6.25 25")
	wantPrices(t, tab, "claude-3-5-haiku-latest", "2026-10-01", 1001, "6 0.5 6.25 10 6.25 25")
	wantPrices(t, tab, "acloud/claude-3-5-haiku-latest", "2026-10-01", 0, "99 99 99 99 99 99")
	if _, err := tab.Lookup("hourly", time.Time{}); err == nil {
		t.Error("a price by the hour was taken for one of all day")
	}
	if tab.List() != " (genai-prices, 2026-12-03)" {
		t.Errorf("%q", tab.List())
	}
}

// A list of another form, or with a price that is none, is refused with the model, the field and what is wanted.
func TestPublishedListsAreChecked(t *testing.T) {
	one := func(fields string) string { return `{"m": {"litellm_provider": "x", "mode": "chat", ` + fields + `}}` }
	for want, text := range map[string]string{
		"list of LiteLLM: m: input_cost_per_token is \"1e-6\": want a number": one(`"input_cost_per_token": "1e-6", "output_cost_per_token": 1e-6`),
		"m: input is -1 USD per million tokens":                               one(`"input_cost_per_token": -1e-6, "output_cost_per_token": 1e-6`),
		"m: input is 3e+06 USD":                                               one(`"input_cost_per_token": 3, "output_cost_per_token": 1e-6`),
		"no model with prices":                                                one(`"output_cost_per_image": 1`),
		"not the JSON that is published":                                      one(`"mode": "chat"`)[:40],
		"list of genai-prices: m of x: input_mtok":                            `[{"id": "x", "models": [{"id": "m", "prices": {"input_mtok": "a", "output_mtok": 1}}]}]`,
		"m of x: start_date: want a date":                                     `[{"id": "x", "models": [{"id": "m", "prices": [{"constraint": {"start_date": "soon"}, "prices": {"input_mtok": 1, "output_mtok": 1}}]}]}]`,
		"another kind":                                                        `{"data": [{"id": "m", "pricing": {"prompt": "0.1"}}]}`,
	} {
		if _, err := costmodel.Load(strings.NewReader(text), "list.json"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// The lists as they were published are read whole, and where both they and the built-in table have Anthropic's price of today, it is the same.
func TestPublishedListsAgree(t *testing.T) {
	base, err := costmodel.Default()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"litellm.json", "genai-prices.json"} {
		r, err := os.Open(filepath.Join("..", "..", "shared", "facts", "prices", file))
		if err != nil {
			t.Skip(err)
		}
		defer r.Close()
		over, err := costmodel.Load(r, file)
		if err != nil {
			t.Fatal(err)
		}
		tab := base.Merge(over)
		for _, model := range []string{"claude-opus-4-6", "claude-opus-4-5-20251101", "claude-sonnet-4-6", "claude-haiku-4-5-20251001", "gpt-5.1-codex"} {
			p, was := lookup(t, tab, model, "2026-11-01"), lookup(t, base, model, "2026-11-01")
			if a, b := perMTok(&p, 0), perMTok(&was, 0); a != b {
				t.Errorf("%s: %s costs %v, built in are %v", file, model, a, b)
			}
		}
	}
}
