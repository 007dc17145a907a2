package audit

import (
	"fmt"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
)

const usageHead = "usage_date_utc,model_version,api_key,workspace,usage_type,context_window,usage_input_tokens_no_cache," +
	"usage_input_tokens_cache_write_5m,usage_input_tokens_cache_write_1h,usage_input_tokens_cache_read,usage_output_tokens," +
	"web_search_count,inference_geo,speed\n"

// An export of the very same usage differs by nothing, by day and model; an
// export with a call more differs by that call.
func TestReconcileUsage(t *testing.T) {
	prices := auditPrices(t)
	for name, sessions := range corpora(t) {
		if name == "codex" {
			continue // billed by another provider
		}
		r := Run(sessions, Options{Prices: prices})
		var csv strings.Builder
		csv.WriteString(usageHead)
		for key, s := range r.days {
			fmt.Fprintf(&csv, "%s,%s,key,Default,standard,≤ 200k,%d,%d,%d,%d,%d,0,not_available,\n",
				key.day, key.model, s.Uncached, s.Write5m+s.WriteOther, s.Write1h, s.Read, s.Output)
		}
		first := r.From
		fmt.Fprintf(&csv, "%s 13:00,claude-opus-4-5-20251101,key,Default,standard,≤ 200k,1,2,3,4,5,0,not_available,\n", first)
		e, err := ReadExport(strings.NewReader(csv.String()), "usage.csv")
		if err != nil {
			t.Fatal(err)
		}
		r.Reconcile(e, prices)
		if want := (Amounts{-1, -4, -2, -3, -5, 0}); r.Reconciled.Total.Difference != want {
			t.Errorf("%s: differs by %+v, want %+v", name, r.Reconciled.Total.Difference, want)
		}
		off := 0
		for _, l := range r.Reconciled.Lines {
			if l.Difference != (Amounts{}) {
				off++
				if l.Day != first || l.Model != "claude-opus-4-5" {
					t.Errorf("%s: %s %s differs", name, l.Day, l.Model)
				}
			}
		}
		if off != 1 || r.Reconciled.Outside != 0 || r.Reconciled.Untimed != 0 {
			t.Errorf("%s: %d lines differ, %d calls outside, %d untimed", name, off, r.Reconciled.Outside, r.Reconciled.Untimed)
		}
	}
}

// The cost export names models for people and has a row for each class.
func TestReconcileCost(t *testing.T) {
	k := newScene("cost")
	k.call(0, prompt.Usage{Write5m: 100_000, Output: 1000})
	k.now += 24 * 60 * minute
	k.call(0, prompt.Usage{Write5m: 100_000})
	r := k.audit(t)
	e, err := ReadExport(strings.NewReader(`usage_date_utc,model,workspace,api_key,usage_type,context_window,token_type,cost_usd,list_price_usd,cost_type,inference_geo,speed
2026-02-01,Claude Opus 4.5,Default,key,message,≤ 200k,input_cache_write_5m,0.625,0.625,token,not_available,
2026-02-01,Claude Opus 4.5,Default,key,message,≤ 200k,output,0.030,0.030,token,not_available,
2026-02-01,,Default,key,message,,,0.01,0.01,web_search,not_available,
`), "cost.csv")
	if err != nil {
		t.Fatal(err)
	}
	r.Reconcile(e, auditPrices(t))
	x := r.Reconciled
	if len(x.Lines) != 1 || x.Lines[0].Model != "claude-opus-4-5" || x.Other != 1 || x.Outside != 1 {
		t.Fatalf("%+v", x)
	}
	wantUSD(t, "recorded", x.Total.Ours.USD, 0.65)
	wantUSD(t, "exported", x.Total.Theirs.USD, 0.655)
	wantUSD(t, "difference", x.Total.Difference.USD, -0.005)
}

// What is not an export of the console says what was expected, and where.
func TestBadExports(t *testing.T) {
	row := func(cells string) string { return usageHead + cells + "\n" }
	for _, test := range []struct{ text, says string }{
		{"", "empty file; expected are"},
		{"foo,usage_date_utc\n", `x.csv:1: unknown columns "foo"; expected are the export of the console's page Usage (usage_date_utc, model_version`},
		{"usage_date_utc,model\n", `no column "model_version", "usage_input_tokens_no_cache"`},
		{"usage_date_utc,usage_date_utc\n", `column "usage_date_utc" stands twice`},
		{"usage_date_utc,model,cost_usd\n", `no column "token_type"`},
		{row("yesterday,m,,,,,1,1,1,1,1,,,"), `x.csv:2: usage_date_utc "yesterday": want a date`},
		{row("2026-02-01,m,,,,,-1,1,1,1,1,,,"), `x.csv:2: usage_input_tokens_no_cache "-1": want a count`},
		{row("2026-02-01,,,,,,1,1,1,1,1,,,"), "x.csv:2: a row without a model"},
		{row("2026-02-01,m"), "wrong number of fields"},
		{"usage_date_utc,model,token_type,cost_usd\n2026-02-01,m,output,free\n", `cost_usd "free": want an amount`},
		{"usage_date_utc,model,token_type,cost_usd\n2026-02-01,m,thoughts,1\n", `unknown token_type "thoughts"`},
	} {
		if _, err := ReadExport(strings.NewReader(test.text), "x.csv"); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%q: %v, want %q", test.text, err, test.says)
		}
	}
	if e, err := ReadExport(strings.NewReader("\ufeff"+usageHead), "x.csv"); err != nil || e.Rows != 0 {
		t.Errorf("a byte order mark: %v", err)
	}
}

// FuzzReadExport: whatever stands in a file, it is read or refused.
func FuzzReadExport(f *testing.F) {
	f.Add(usageHead + "2026-02-01,claude-opus-4-5,,,,,1,2,3,4,5,,,\n")
	f.Add("usage_date_utc,model,token_type,cost_usd\n2026-02-01,m,output,1\n")
	f.Fuzz(func(t *testing.T, text string) {
		e, err := ReadExport(strings.NewReader(text), "x.csv")
		if err != nil {
			return
		}
		r := Run(nil, Options{Prices: auditPrices(t)})
		r.Reconcile(e, auditPrices(t))
		if len(r.Reconciled.Lines) > e.Rows {
			t.Errorf("%d lines of %d rows", len(r.Reconciled.Lines), e.Rows)
		}
	})
}
