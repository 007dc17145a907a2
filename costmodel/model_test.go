package costmodel_test

import "testing"

// Facts by model: minimum cacheable prompt, window, longest input and output
// (platform.claude.com, prompt caching and context windows).
func TestModelFacts(t *testing.T) {
	const k, m = 1_000, 1_000_000
	for _, row := range []struct {
		minCache, window, maxInput, maxOutput int
		models                                []string
	}{
		{512, m, 0, 128 * k, []string{"claude-fable-5-1", "claude-mythos-5-1", "claude-fable-5", "claude-mythos-5", "claude-opus-5-5", "claude-opus-5", "claude-sonnet-5-5", "claude-haiku-5-5"}},
		{1024, m, 0, 128 * k, []string{"claude-opus-4-8", "claude-sonnet-5", "claude-sonnet-4-6"}},
		{1024, 200 * k, 0, 64 * k, []string{"claude-sonnet-4-5", "claude-sonnet-4"}},
		{1024, 200 * k, 0, 32 * k, []string{"claude-opus-4-1", "claude-opus-4"}},
		{2048, m, 0, 128 * k, []string{"claude-opus-4-7"}},
		{2048, 200 * k, 0, 8192, []string{"claude-haiku-3-5"}},
		{4096, m, 0, 128 * k, []string{"claude-opus-4-6"}},
		{4096, 200 * k, 0, 64 * k, []string{"claude-opus-4-5", "claude-haiku-4-5"}},
		// Input limit of a 400k window with 128k of output (LiteLLM); of gpt-5.5 as OpenCode 1.18.33 has it (2026-11-27).
		{1024, 400 * k, 272 * k, 128 * k, []string{"gpt-5", "gpt-5.3-codex"}},
		{1024, 1_050_000, 922 * k, 128 * k, []string{"gpt-5.5", "gpt-5.6-sol"}},
	} {
		for _, name := range row.models {
			got := lookup(t, table(t), name, "").Model
			if got.MinCache != row.minCache || got.Window != row.window || got.MaxInput != row.maxInput || got.MaxOutput != row.maxOutput {
				t.Errorf("%s: min cache %d, window %d, max input %d, max output %d; want %d, %d, %d, %d", name,
					got.MinCache, got.Window, got.MaxInput, got.MaxOutput, row.minCache, row.window, row.maxInput, row.maxOutput)
			}
		}
	}
}

// Storage of explicit caches (ai.google.dev, pricing), USD per million tokens
// and hour.
func TestStorage(t *testing.T) {
	for _, row := range []struct {
		model, day string
		want       float64
	}{
		{"gemini-2.5-pro", "2026-11-01", 4.5},
		{"gemini-3-pro-preview", "2026-11-01", 4.5},
		{"gemini-2.5-flash", "2026-11-01", 1},
		{"gemini-3.7-flash", "2026-12-31", 0.5},
		{"gemini-3.7-flash", "2027-01-01", 1},
		{"claude-opus-5", "2026-11-01", 0},
	} {
		if got := lookup(t, table(t), row.model, row.day).StoragePerMTokHour; got != row.want {
			t.Errorf("%s on %s: %g, want %g", row.model, row.day, got, row.want)
		}
	}
}
