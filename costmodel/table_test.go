package costmodel_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// Names as clients, routers and cloud platforms record them.
func TestNames(t *testing.T) {
	for _, row := range []struct {
		name, want string
		long       bool
		regional   bool
	}{
		{name: "claude-opus-4-5-20251101", want: "claude-opus-4-5"},
		{name: "claude-opus-4-6", want: "claude-opus-4-6"},
		{name: "Claude-Opus-4-6 ", want: "claude-opus-4-6"},
		{name: "claude-haiku-4-5-20251001", want: "claude-haiku-4-5"},
		{name: "claude-sonnet-4-20250514", want: "claude-sonnet-4"},
		{name: "claude-sonnet-4-0", want: "claude-sonnet-4"},
		{name: "claude-3-5-haiku-20241022", want: "claude-haiku-3-5"},
		{name: "claude-3-5-haiku-latest", want: "claude-haiku-3-5"},
		{name: "claude-3-7-sonnet-20250219", want: "claude-sonnet-3-7"},
		{name: "claude-3.7-sonnet", want: "claude-sonnet-3-7"},
		{name: "claude-3-opus-20240229", want: "claude-opus-3"},
		{name: "claude-4-opus-20250514", want: "claude-opus-4"},
		{name: "claude-4.5-sonnet", want: "claude-sonnet-4-5"},
		{name: "claude-opus-4-6[1m]", want: "claude-opus-4-6", long: true},
		{name: "claude-sonnet-4-5-20250929[1m]", want: "claude-sonnet-4-5", long: true},
		{name: "anthropic/claude-opus-4.5", want: "claude-opus-4-5"},
		{name: "openrouter/anthropic/claude-sonnet-4.6", want: "claude-sonnet-4-6"},
		{name: "us.anthropic.claude-opus-4-5-20251101-v1:0", want: "claude-opus-4-5", regional: true},
		{name: "us.anthropic.claude-sonnet-4-5-20250929-v1:0[1m]", want: "claude-sonnet-4-5", long: true, regional: true},
		{name: "global.anthropic.claude-haiku-4-5-20251001-v1:0", want: "claude-haiku-4-5"},
		{name: "anthropic.claude-opus-4-6-v1", want: "claude-opus-4-6"},
		{name: "anthropic.claude-3-5-haiku-20241022-v1:0:200k", want: "claude-haiku-3-5"},
		{name: "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.anthropic.claude-opus-4-6-v1", want: "claude-opus-4-6", regional: true},
		{name: "claude-opus-4-5@20251101", want: "claude-opus-4-5"},
		{name: "claude-opus-4-6@default", want: "claude-opus-4-6"},
		{name: "publishers/anthropic/models/claude-opus-4-1@20250805", want: "claude-opus-4-1"},
		{name: "opencode/gpt-5.3-codex", want: "gpt-5.3-codex"},
		{name: "gpt-5-3-codex", want: "gpt-5.3-codex"},
		{name: "gpt-5-codex", want: "gpt-5-codex"},
		{name: "gpt-5.4-2026-03-05", want: "gpt-5.4"},
		{name: "openai/gpt-5.6", want: "gpt-5.6-sol"},
		{name: "models/gemini-3-pro", want: "gemini-3-pro-preview"},
		{name: "gemini-2.5-flash-preview-09-2025", want: "gemini-2.5-flash"},
		{name: "deepseek/deepseek-chat", want: "deepseek-chat"},
		{name: "gpt-6.1-terra", want: "gpt-6.1-terra"},
		{name: "gpt-5.6-sol-pro", want: "gpt-5.6-sol"},
		{name: "codex-mini-latest", want: "codex-mini"},
	} {
		p, err := table(t).Lookup(row.name, date(t, "2026-11-01"))
		if err != nil {
			t.Error(err)
			continue
		}
		if p.Model.Name != row.want || p.LongContext != row.long || p.Regional != row.regional {
			t.Errorf("%s: %s, 1m %t, regional %t; want %s, %t, %t", row.name,
				p.Model.Name, p.LongContext, p.Regional, row.want, row.long, row.regional)
		}
	}
}

// Every name of the table, and every alias, finds its own row.
func TestEveryNameResolves(t *testing.T) {
	for _, name := range table(t).Names() {
		if got := lookup(t, table(t), name, "").Model.Name; got != name {
			t.Errorf("%s resolves to %s", name, got)
		}
	}
}

func TestUnknownModels(t *testing.T) {
	for _, row := range []struct {
		name string
		near []string // the first suggestion, if there is one
		text string
	}{
		{"gpt-5.3-codex-spark", []string{"gpt-5.3-codex"}, "near names: gpt-5.3-codex"},
		{"claude-opus-9", []string{"claude-opus-3"}, `no price for model "claude-opus-9"`},
		{"claude-opuss-4-6-20260205", []string{"claude-opus-4-6"}, "near names: claude-opus-4-6"},
		{"<synthetic>", nil, `no price for model "<synthetic>"`},
		{"opus", nil, `"opus"`},
		{"", nil, `""`},
		{"gemini-2.5-flash-preview-05-20", []string{"gemini-2.5-flash"}, "near names"},           // had other prices
		{"claude-opus-4-6" + strings.Repeat("x", 85), []string{"claude-opus-4-6"}, "near names"}, // of 100 bytes
		{"claude-opus-4-6" + strings.Repeat("x", 86), nil, "no price"},                           // longer ones are not compared
		{"claude-opus", []string{"claude-opus-3"}, "near names"},
		{"cl4ude-0pu5", []string{"claude-opus-3"}, "near names"},
		{strings.Repeat("x", 1<<20), nil, "no price"},
	} {
		_, err := table(t).Lookup(row.name, date(t, "2026-11-01"))
		var unknown *costmodel.UnknownModelError
		if !errors.As(err, &unknown) {
			t.Errorf("%.40s: error %v, want an UnknownModelError", row.name, err)
			continue
		}
		if len(row.near) > 0 && !slices.Contains(unknown.Near, row.near[0]) || len(row.near) == 0 && len(unknown.Near) != 0 {
			t.Errorf("%.40s: near %q, want %q", row.name, unknown.Near, row.near)
		}
		if !strings.Contains(err.Error(), row.text) {
			t.Errorf("%.40s: %.200s, want %s in it", row.name, err, row.text)
		}
	}
}

func TestPriceAs(t *testing.T) {
	tab, err := table(t).WithAliases(map[string]string{
		"my-model":          "claude-haiku-4-5",
		"claude-opus-4-5":   "claude-sonnet-4-5", // trade places
		"Claude-Sonnet-4-5": "anthropic/claude-opus-4.5",
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"my-model":                   "claude-haiku-4-5",
		"gateway/MY-MODEL":           "claude-haiku-4-5",
		"claude-opus-4-5-20251101":   "claude-sonnet-4-5",
		"claude-sonnet-4-5-20250929": "claude-opus-4-5",
		"claude-opus-4-6":            "claude-opus-4-6",
	} {
		if got := lookup(t, tab, name, "").Model.Name; got != want {
			t.Errorf("%s is billed as %s, want %s", name, got, want)
		}
	}
	if got := lookup(t, table(t), "claude-opus-4-5", "").Model.Name; got != "claude-opus-4-5" {
		t.Errorf("the table itself changed: %s", got)
	}
	_, err = table(t).WithAliases(map[string]string{"a": "claude-opus-4-66"})
	var unknown *costmodel.UnknownModelError
	if !errors.As(err, &unknown) || !slices.Contains(unknown.Near, "claude-opus-4-6") {
		t.Errorf("error %v, want one that names claude-opus-4-6", err)
	}
}

func TestParseAlias(t *testing.T) {
	from, to, err := costmodel.ParseAlias(" a = b ")
	if from != "a" || to != "b" || err != nil {
		t.Errorf("%q, %q, %v; want a, b", from, to, err)
	}
	for _, bad := range []string{"", "a", "a=", "=b", "="} {
		if _, _, err := costmodel.ParseAlias(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestZeroTable(t *testing.T) {
	var tab costmodel.Table
	if _, err := tab.Lookup("claude-opus-4-6", date(t, "")); err == nil {
		t.Error("an empty table has a price")
	}
	if got := tab.Merge(table(t)).Names(); len(got) != len(table(t).Names()) {
		t.Errorf("%d names after a merge into nothing, want %d", len(got), len(table(t).Names()))
	}
}

// The decorations that the names in the tables of LiteLLM (2026-08-01) and genai-prices 0.2.3
// have, each around every model of the table that it fits: OpenRouter's routes and variants,
// Bedrock's, Vertex's, Azure's and Databricks' names, OpenCode's fast mode, efforts, and
// libraries that put the provider before a colon. A term that a name has is in the price.
func TestDecoratedNames(t *testing.T) {
	const day = "2026-11-27"
	tab := table(t)
	for _, row := range []struct {
		form   string // % is the name
		of     string // provider, "" for any
		factor func(*costmodel.Price) float64
	}{
		{form: "openrouter/vendor/%"}, {form: "github_copilot/%"}, {form: "opencode/%"}, {form: "vercel_ai_gateway/x/%"}, {form: "@cf/vendor/%"},
		{form: "%:beta"}, {form: "openrouter/vendor/%:nitro"}, {form: "%:floor"}, {form: "%:thinking"}, {form: "%:online"}, {form: "%:exacto"},
		{form: "openrouter/vendor/%:batch", factor: func(p *costmodel.Price) float64 { return p.Model.Batch }},
		{form: "%-fast", factor: func(p *costmodel.Price) float64 { return p.Fast }},
		{form: "%-fast[1m]", of: "anthropic", factor: func(p *costmodel.Price) float64 { return p.Fast }},
		{form: "%-20260812"}, {form: "%-2026-08-12"}, {form: "%-0813"}, {form: "%@20260812"}, {form: "vertex_ai/%@default"},
		{form: "%-high"}, {form: "%-xhigh"}, {form: "%-thinking"}, {form: "gemini/%-low", of: "google"},
		{form: "us.anthropic.%-20260812-v1:0", of: "anthropic"}, {form: "bedrock/us-gov-west-1/%-20260812-v1:0", of: "anthropic"},
		{form: "regional.anthropic.%", of: "anthropic"}, {form: "global.openai.%", of: "openai"}, {form: "azure/eu/%", of: "openai"},
		{form: "databricks/databricks-%"}, {form: "snowflake/openai-%", of: "openai"}, {form: "gradient_ai/anthropic-%", of: "anthropic"},
		{form: "anthropic:%", of: "anthropic"}, {form: "openai-codex:%", of: "openai"}, {form: "google-gla:%", of: "google"},
	} {
		for _, name := range tab.Names() {
			plain := lookup(t, tab, name, day)
			if row.of != "" && plain.Model.Provider != row.of {
				continue
			}
			factor := 1.0
			if row.factor != nil {
				factor = row.factor(&plain)
			}
			decorated := strings.Replace(row.form, "%", name, 1)
			p, err := tab.Lookup(decorated, date(t, day))
			if factor == 0 { // a term that the table has no rate for
				if err == nil {
					t.Errorf("%s has a price: %s", decorated, p.Model.Name)
				}
				continue
			}
			if err != nil {
				t.Error(err)
				continue
			}
			want, got := plain.Standard(), p.Standard()
			for i, usd := range want.PerMTok(1) {
				if p.Model.Name != plain.Model.Name || !near(got.PerMTok(1)[i], usd*factor) {
					t.Fatalf("%s is %s, class %d $%g; want %s, $%g", decorated, p.Model.Name, i, got.PerMTok(1)[i], plain.Model.Name, usd*factor)
				}
			}
		}
	}
	free := lookup(t, tab, "openrouter/deepseek/deepseek-chat:free", day)
	if rate := free.Standard(); rate.PerMTok(1) != [measures.NumClasses]float64{} {
		t.Error("a free route costs something")
	}
}
