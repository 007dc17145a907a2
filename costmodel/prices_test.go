package costmodel_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results/measures"
)

func table(t testing.TB) *costmodel.Table {
	t.Helper()
	tab, err := costmodel.Default()
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

func lookup(t testing.TB, tab *costmodel.Table, model, day string) costmodel.Price {
	t.Helper()
	p, err := tab.Lookup(model, date(t, day))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// date reads "2026-03-13", or "" for the zero time.
func date(t testing.TB, day string) time.Time {
	t.Helper()
	if day == "" {
		return time.Time{}
	}
	at, err := time.Parse(time.DateOnly, day)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// listed returns the prices of the tier that begins above the given number of
// input tokens, USD per million tokens.
func listed(r costmodel.Rate, above int64) [measures.NumClasses]float64 {
	return r.PerMTok(above + 1)
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Max(math.Abs(a), math.Abs(b)) }

func wantClasses(t *testing.T, what string, have, want [measures.NumClasses]float64) {
	t.Helper()
	for i := range want {
		if !near(have[i], want[i]) {
			t.Errorf("%s: class %d: %g, want %g (all: %g, want %g)", what, i, have[i], want[i], have, want)
			return
		}
	}
}

// The price list of platform.claude.com as of 2026-11, USD per million tokens:
// input, 5-minute write, 1-hour write, read and output.
func TestClaudePriceList(t *testing.T) {
	for _, row := range []struct {
		models                []string
		in, w5, w1, read, out float64
		above                 int64
	}{
		{[]string{"claude-fable-5-2", "claude-mythos-5-2"}, 8, 10, 16, 0.20, 40, 0},
		{[]string{"claude-fable-5-1", "claude-mythos-5-1"}, 10, 12.50, 20, 0.25, 50, 0},
		{[]string{"claude-fable-5", "claude-mythos-5"}, 10, 12.50, 20, 1, 50, 0},
		{[]string{"claude-opus-5-5"}, 4, 5, 8, 0.20, 20, 0},
		{[]string{"claude-opus-5", "claude-opus-4-8", "claude-opus-4-7", "claude-opus-4-6", "claude-opus-4-5"}, 5, 6.25, 10, 0.50, 25, 0},
		{[]string{"claude-opus-4-1", "claude-opus-4"}, 15, 18.75, 30, 1.50, 75, 0},
		{[]string{"claude-sonnet-5-5"}, 2, 2.50, 4, 0.10, 10, 0},
		{[]string{"claude-sonnet-5"}, 2, 2.50, 4, 0.20, 10, 0},
		{[]string{"claude-sonnet-4-6", "claude-sonnet-4-5", "claude-sonnet-4"}, 3, 3.75, 6, 0.30, 15, 0},
		{[]string{"claude-haiku-5-5"}, 0.10, 0.125, 0.20, 0.01, 0.50, 0},
		{[]string{"claude-haiku-5-5"}, 0.50, 0.625, 1, 0.05, 2.50, 100_000},
		{[]string{"claude-haiku-4-5"}, 1, 1.25, 2, 0.10, 5, 0},
		{[]string{"claude-haiku-3-5"}, 0.80, 1, 1.60, 0.08, 4, 0},
	} {
		for _, model := range row.models {
			p := lookup(t, table(t), model, "2026-11-01")
			// An unstated lifetime is the default one, 5 minutes.
			want := [measures.NumClasses]float64{row.in, row.read, row.w5, row.w1, row.w5, row.out}
			wantClasses(t, model, listed(p.Standard(), row.above), want)
		}
	}
}

// Writes cost 1.25× (5 minutes) and 2× (1 hour) of the input, reads 0.1×, but
// 0.05× on Opus and Sonnet 5.5 and 0.025× on Fable and Mythos 5.1 and 5.2
// (platform.claude.com, pricing), in every tier and period. Claude 3 Haiku's
// list prices are rounded.
func TestClaudeMultipliers(t *testing.T) {
	tab := table(t)
	read := map[string]float64{
		"claude-opus-5-5": 0.05, "claude-sonnet-5-5": 0.05, "claude-fable-5-1": 0.025, "claude-mythos-5-1": 0.025,
		"claude-fable-5-2": 0.025, "claude-mythos-5-2": 0.025,
	}
	checked := 0
	for _, name := range tab.Names() {
		for _, day := range []string{"2025-06-01", "2026-02-01", "2026-11-01", "2027-06-01"} {
			p := lookup(t, tab, name, day)
			if p.Model.Provider != "anthropic" || name == "claude-haiku-3" {
				continue
			}
			r := p.Standard()
			for _, above := range append(r.Thresholds(), 0) {
				l := listed(r, above)
				want := read[name]
				if want == 0 {
					want = 0.1
				}
				in := l[measures.ClassUncached]
				wantClasses(t, name+" "+day, l, [measures.NumClasses]float64{
					in, want * in, 1.25 * in, 2 * in, 1.25 * in, l[measures.ClassOutput],
				})
				checked++
			}
		}
	}
	if checked < 4*22 {
		t.Errorf("%d prices checked, want at least four dates of 22 models", checked)
	}
}

// Price lists of the other providers as of 2026-11, USD per million tokens:
// input, write, read, output. A provider without a write fee bills written
// tokens as input.
func TestOtherPriceLists(t *testing.T) {
	for _, row := range []struct {
		model                string
		above                int64
		in, write, read, out float64
	}{
		{"gpt-4.1", 0, 2, 2, 0.5, 8},
		{"gpt-4.1-mini", 0, 0.4, 0.4, 0.1, 1.6},
		{"gpt-4.1-nano", 0, 0.1, 0.1, 0.025, 0.4},
		{"gpt-4o", 0, 2.5, 2.5, 1.25, 10},
		{"gpt-4o-mini", 0, 0.15, 0.15, 0.075, 0.6},
		{"gpt-5", 0, 1.25, 1.25, 0.125, 10},
		{"gpt-5.1", 0, 1.25, 1.25, 0.125, 10},
		{"gpt-5.2", 0, 1.75, 1.75, 0.175, 14},
		{"gpt-5.3-codex", 0, 1.75, 1.75, 0.175, 14},
		{"gpt-5.4", 0, 2.5, 2.5, 0.25, 15},
		{"gpt-5.4", 272_000, 5, 5, 0.5, 22.5},
		{"gpt-5.5", 0, 5, 5, 0.5, 30},
		{"gpt-5.5", 272_000, 10, 10, 1, 45},
		{"gpt-5.6-sol", 0, 4, 5, 0.4, 20},
		{"gpt-5.6-sol", 272_000, 8, 10, 0.8, 30},
		{"gpt-5.6", 272_000, 8, 10, 0.8, 30},
		{"gpt-5.6-terra", 0, 2, 2.5, 0.2, 12},
		{"gpt-5.6-terra", 272_000, 4, 5, 0.4, 18},
		{"gpt-5.6-luna", 0, 0.2, 0.25, 0.02, 1.2},
		{"gpt-6-astra", 0, 10, 12.5, 1, 50},
		{"gpt-6-astra", 272_000, 20, 25, 2, 75},
		{"gpt-6-sol", 0, 2, 2.5, 0.2, 10},
		{"gpt-6-sol", 272_000, 4, 5, 0.4, 15},
		{"gpt-6.1-sol", 0, 2, 2.5, 0.1, 10},
		{"gpt-6.1-sol", 272_000, 4, 5, 0.2, 15},
		{"gpt-6.1-terra", 0, 1, 1.25, 0.05, 5},
		{"gpt-6.1-terra", 272_000, 2, 2.5, 0.1, 7.5},
		{"gpt-6-luna", 0, 0.1, 0.125, 0.01, 0.5},
		{"gpt-6-luna", 272_000, 0.2, 0.25, 0.02, 0.75},
		{"gemini-2.5-pro", 0, 1.25, 1.25, 0.125, 10},
		{"gemini-2.5-pro", 200_000, 2.5, 2.5, 0.25, 15},
		{"gemini-3-pro-preview", 0, 2, 2, 0.2, 12},
		{"gemini-3.1-pro-preview", 200_000, 4, 4, 0.4, 18},
		{"gemini-2.5-flash", 0, 0.3, 0.3, 0.03, 2.5},
		{"gemini-3-flash-preview", 0, 0.5, 0.5, 0.05, 3},
		{"gemini-3.5-flash", 0, 1.5, 1.5, 0.15, 9},
		{"gemini-3.6-flash", 0, 0.75, 0.75, 0.075, 3.75},
		{"gemini-3.7-flash", 0, 0.75, 0.75, 0.075, 3.75},
		{"gemini-3.8-flash", 0, 0.75, 0.75, 0.075, 3.75},
		{"gemini-4-argon", 0, 2, 2, 0.1, 10},
		{"deepseek-v4-flash", 0, 0.15, 0.15, 0.003, 0.6},
		{"deepseek-v4-pro", 0, 0.66, 0.66, 0.022, 1.98},
		{"deepseek-chat", 0, 0.28, 0.28, 0.028, 0.42},
	} {
		p := lookup(t, table(t), row.model, "2026-11-01")
		wantClasses(t, row.model, listed(p.Standard(), row.above), [measures.NumClasses]float64{
			row.in, row.read, row.write, row.write, row.write, row.out,
		})
	}
}

// Prices by date; each row names the day from which and up to which it holds.
func TestPricesByDate(t *testing.T) {
	for _, row := range []struct {
		why, model, day string
		size            int64
		in, read, out   float64
		from, until     string
	}{
		{"1M at standard price from 2026-03-13 (release notes)", "claude-opus-4-6", "2026-03-12", 200_001, 10, 1, 37.5, "", "2026-03-13"},
		{"the same, after", "claude-opus-4-6", "2026-03-13", 200_001, 5, 0.5, 25, "2026-03-13", "2026-06-28"},
		{"the premium begins above 200,000", "claude-sonnet-4-6", "2026-03-12", 200_000, 3, 0.3, 15, "", "2026-03-13"},
		{"the same, one token more", "claude-sonnet-4-6", "2026-03-12", 200_001, 6, 0.6, 22.5, "", "2026-03-13"},
		{"1M beta of Sonnet 4.5", "claude-sonnet-4-5", "2026-04-29", 200_001, 6, 0.6, 22.5, "", "2026-04-30"},
		{"its header retired 2026-04-30 (release notes)", "claude-sonnet-4-5", "2026-04-30", 200_001, 3, 0.3, 15, "2026-04-30", ""},
		{"1M beta of Sonnet 4", "claude-sonnet-4-20250514", "2025-10-01", 200_001, 6, 0.6, 22.5, "", "2026-04-30"},
		{"the rise of Sonnet 5 was cancelled (pricing)", "claude-sonnet-5", "2026-09-01", 1, 2, 0.2, 10, "", ""},
		{"GPT-5.6 Terra before its cut of 2026-07-30", "gpt-5.6-terra", "2026-07-29", 1, 2.5, 0.25, 15, "", "2026-07-30"},
		{"GPT-5.6 Luna before its cut", "gpt-5.6-luna", "2026-07-29", 1, 1, 0.1, 6, "", "2026-07-30"},
		{"GPT-5.6 Luna after", "gpt-5.6-luna", "2026-07-30", 1, 0.2, 0.02, 1.2, "2026-07-30", ""},
		{"GPT-5.6 Sol before its cut of 2026-08-21 (OpenAI's changelog)", "gpt-5.6-sol", "2026-08-20", 1, 5, 0.5, 30, "", "2026-08-21"},
		{"GPT-5.6 Sol after", "gpt-5.6-sol", "2026-10-03", 272_001, 8, 0.8, 30, "2026-08-21", ""},
		{"DeepSeek V4 Flash, flat", "deepseek-v4-flash", "2026-08-16", 1, 0.14, 0.0028, 0.28, "", "2026-08-17"},
		{"DeepSeek V4 Flash, off-peak", "deepseek-v4-flash", "2026-08-17", 1, 0.22, 0.007, 0.66, "2026-08-17", "2026-09-10"},
		{"DeepSeek V4 Pro, flat", "deepseek-v4-pro", "2026-08-16", 1, 0.435, 0.003625, 0.87, "", "2026-08-17"},
		{"Gemini 4 Argon, introductory to 2026-11-30", "gemini-4-argon", "2026-11-30", 1, 2, 0.1, 10, "", "2026-12-01"},
		{"Gemini 4 Argon after", "gemini-4-argon", "2026-12-01", 1, 4, 0.2, 20, "2026-12-01", ""},
		{"Gemini 3.6 Flash to the end of 2026", "gemini-3.6-flash", "2026-12-31", 1, 0.75, 0.075, 3.75, "", "2027-01-01"},
		{"Gemini 3.6 Flash from 2027", "gemini-3.6-flash", "2027-01-01", 1, 1.5, 0.15, 7.5, "2027-01-01", ""},
		{"no date: as of the table", "gemini-3.6-flash", "", 1, 0.75, 0.075, 3.75, "", "2027-01-01"},
	} {
		p := lookup(t, table(t), row.model, row.day)
		r := p.Standard()
		l := r.PerMTok(row.size)
		if !near(l[measures.ClassUncached], row.in) || !near(l[measures.ClassRead], row.read) || !near(l[measures.ClassOutput], row.out) {
			t.Errorf("%s: %s on %s: input %g, read %g, output %g; want %g, %g, %g", row.why, row.model, row.day,
				l[measures.ClassUncached], l[measures.ClassRead], l[measures.ClassOutput], row.in, row.read, row.out)
		}
		if !p.From.Equal(date(t, row.from)) || !p.Until.Equal(date(t, row.until)) {
			t.Errorf("%s: %s on %s holds from %s until %s; want %q, %q", row.why, row.model, row.day,
				p.From, p.Until, row.from, row.until)
		}
	}
}

// Historic premium of Sonnet 4.5 above 200k: every class (LiteLLM, genai-prices).
func TestLongContextPremium(t *testing.T) {
	p := lookup(t, table(t), "claude-sonnet-4-5-20250929", "2026-01-15")
	wantClasses(t, "above 200k", listed(p.Standard(), 200_000), [measures.NumClasses]float64{6, 0.6, 7.5, 12, 7.5, 22.5})
}

// Tiers count all input, reads and writes too, and apply to the whole request
// (platform.claude.com, pricing: Haiku 5.5).
func TestTierOfARequest(t *testing.T) {
	p := lookup(t, table(t), "claude-haiku-5-5", "2026-11-01")
	at := prompt.Usage{Uncached: 10, Read: 90_000, Write5m: 9_990, Output: 1_000}
	wantClasses(t, "100,000 tokens", p.Cost(at), [measures.NumClasses]float64{
		10 * 0.1e-6, 90_000 * 0.01e-6, 9_990 * 0.125e-6, 0, 0, 1_000 * 0.5e-6,
	})
	over := at
	over.Write1h = 1
	wantClasses(t, "100,001 tokens", p.Cost(over), [measures.NumClasses]float64{
		10 * 0.5e-6, 90_000 * 0.05e-6, 9_990 * 0.625e-6, 1e-6, 0, 1_000 * 2.5e-6,
	})
	r := p.Standard()
	if got := r.Thresholds(); !slices.Equal(got, []int64{100_000}) {
		t.Errorf("thresholds %v, want 100000", got)
	}
}

// One call of each class on Opus 4.5 by hand: 14 × $5, 51,000 × $0.50,
// 2,000 × $6.25, 1,000 × $10, 500 × $6.25, 800 × $25 per million.
func TestCostByClass(t *testing.T) {
	p := lookup(t, table(t), "claude-opus-4-5-20251101", "2026-01-15")
	u := prompt.Usage{Uncached: 14, Read: 51_000, Write5m: 2_000, Write1h: 1_000, WriteOther: 500, Output: 800}
	wantClasses(t, "cost", p.Cost(u), [measures.NumClasses]float64{0.00007, 0.0255, 0.0125, 0.01, 0.003125, 0.02})
	r := p.Standard()
	if zero := r.Cost(&prompt.Usage{}); zero != [measures.NumClasses]float64{} {
		t.Errorf("no tokens cost %g", zero)
	}
}

// Searches of the web by the server: $10 a thousand at Anthropic (platform.claude.com, pricing)
// and OpenAI (developers.openai.com, pricing), $14 for Gemini 3 and later and $35 for 2.5
// (ai.google.dev, pricing), in every period; none is known of DeepSeek.
func TestSearchPrices(t *testing.T) {
	for model, perThousand := range map[string]float64{
		"claude-opus-5": 10, "claude-sonnet-4-5": 10, "gpt-6.1-sol": 10, "gpt-5.6-sol": 10, "gemini-3.8-flash": 14, "gemini-2.5-pro": 35,
		"deepseek-v4-pro": 0,
	} {
		for _, day := range []string{"2026-01-01", "2027-01-01"} {
			if got := lookup(t, table(t), model, day).Search * 1000; !near(got, perThousand) {
				t.Errorf("%s on %s: $%g a thousand, want $%g", model, day, got, perThousand)
			}
		}
	}
}
