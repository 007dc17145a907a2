package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	vendored = "../../source"
	embedded = "../../prices.yaml"
)

func TestTableIsUpToDate(t *testing.T) {
	want, err := generate(vendored)
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile(embedded)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(have)); d != "" {
		t.Errorf("prices.yaml is not what its sources say; run go generate ./costmodel (- sources, + file):\n%s", d)
	}
}

// The vendored sources are what trimming the full upstream files gives, where
// those are at hand.
func TestTrimOfTheFullTables(t *testing.T) {
	full := fullTables(t)
	dir := t.TempDir()
	copyFile(t, filepath.Join(vendored, catalogFile), filepath.Join(dir, catalogFile))
	out := filepath.Join(dir, "prices.yaml")
	args := []string{
		"-trim", "-source", dir, "-out", out,
		"-litellm", filepath.Join(full, "litellm.json"),
		"-genai-prices", filepath.Join(full, "genai-prices.json"),
		"-overlay", filepath.Join(full, "overlay.json"),
	}
	if err := run(args, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{litellmFile, genaiFile, overlayFile} {
		sameFile(t, filepath.Join(dir, name), filepath.Join(vendored, name))
	}
	sameFile(t, out, embedded)
}

// A trimmed source is trimmed already: the mode works on its own output.
func TestTrimIsIdempotent(t *testing.T) {
	dir := t.TempDir()
	copyFile(t, filepath.Join(vendored, catalogFile), filepath.Join(dir, catalogFile))
	full := upstream{
		litellm: filepath.Join(vendored, litellmFile),
		genai:   filepath.Join(vendored, genaiFile),
		overlay: filepath.Join(vendored, overlayFile),
	}
	if err := trim(full, dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{litellmFile, genaiFile, overlayFile} {
		sameFile(t, filepath.Join(dir, name), filepath.Join(vendored, name))
	}
}

// The catalogue repeats the overlay's modifiers by provider and model.
func TestCatalogAgreesWithTheOverlay(t *testing.T) {
	src, err := readSources(vendored)
	if err != nil {
		t.Fatal(err)
	}
	var mods map[string]struct {
		Batch    float64 `json:"batch"`
		GeoUS    float64 `json:"inference_geo_us"`
		Regional float64 `json:"bedrock_gcp_regional"`
	}
	if err := json.Unmarshal(src.overlay.Modifiers, &mods); err != nil {
		t.Fatal(err)
	}
	for provider, m := range mods {
		if got := src.catalog.Providers[provider].Batch; got != m.Batch {
			t.Errorf("%s: batch %g, overlay %g", provider, got, m.Batch)
		}
		for _, c := range src.catalog.Models {
			if c.Provider != provider {
				continue
			}
			if c.GeoUS != 0 && c.GeoUS != m.GeoUS || c.Regional != 0 && c.Regional != m.Regional {
				t.Errorf("%s: geo_us %g, regional %g; overlay %g, %g", c.Name, c.GeoUS, c.Regional, m.GeoUS, m.Regional)
			}
		}
	}
}

func TestMergeRules(t *testing.T) {
	at := func(from string, input float64) period { return period{from: from, prices: prices{"input": input}} }
	fast := 6.0
	for _, tc := range []struct {
		name string
		have []period
		by   overlayModel
		am   *amendment
		want []period
	}{
		{
			name: "the overlay replaces a scheduled rise that was cancelled",
			have: []period{at("", 2), at("2026-09-01", 3)},
			by:   overlayModel{overlayPrices: overlayPrices{Input: 2}},
			want: []period{at("", 2)},
		},
		{
			name: "prices before the last change stay",
			have: []period{at("", 10), at("2026-03-13", 5)},
			by:   overlayModel{overlayPrices: overlayPrices{Input: 4}},
			want: []period{at("", 10), at("2026-03-13", 4)},
		},
		{
			name: "a scheduled change the overlay knows too",
			have: []period{at("", 1), at("2027-01-01", 2)},
			by: overlayModel{
				overlayPrices: overlayPrices{Input: 0.75}, ValidTo: "2026-12-31", Then: &overlayPrices{Input: 1.5},
			},
			want: []period{at("", 0.75), at("2027-01-01", 1.5)},
		},
		{
			name: "an amendment splits the periods it ends in",
			have: []period{at("", 10), at("2026-03-13", 5)},
			by:   overlayModel{overlayPrices: overlayPrices{Input: 5}},
			am:   &amendment{Until: "2026-06-28", Fast: &fast},
			want: []period{
				{prices: prices{"input": 10}, fast: 6},
				{from: "2026-03-13", prices: prices{"input": 5}, fast: 6},
				at("2026-06-28", 5),
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := model{periods: tc.have}
			if err := m.overlay(&tc.by); err != nil {
				t.Fatal(err)
			}
			if tc.am != nil {
				m.amend(tc.am)
			}
			got := coalesce(m.periods)
			if d := cmp.Diff(tc.want, got, cmp.AllowUnexported(period{}, tier{})); d != "" {
				t.Errorf("(- want, + have):\n%s", d)
			}
		})
	}
}

func TestSourceErrors(t *testing.T) {
	for _, tc := range []struct{ name, file, old, new, want string }{
		{"model of no source", catalogFile, `"litellm": "gpt-5-mini"`, `"litellm": "gpt-5-tiny"`, "model gpt-5-mini: LiteLLM has no model gpt-5-tiny"},
		{"key nobody reads", catalogFile, `"geo_us"`, `"geo_eu"`, "geo_eu"},
		{"overlay model outside the catalogue", overlayFile, `"claude-haiku-3-5"`, `"claude-haiku-3-6"`, "the overlay has claude-haiku-3-6 of anthropic"},
		{"amendment of nothing", catalogFile, `"models": ["claude-opus-4-7"]`, `"models": ["claude-opus-4-9"]`, "an amendment is for claude-opus-4-9"},
		{"batch price that is not half", overlayFile, `"batch_input": 5.0`, `"batch_input": 6.0`, "batch prices 6/25 are not 0.5 of 10/50"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, f := range []string{catalogFile, litellmFile, genaiFile, overlayFile} {
				copyFile(t, filepath.Join(vendored, f), filepath.Join(dir, f))
			}
			path := filepath.Join(dir, tc.file)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Contains(text, []byte(tc.old)) {
				t.Fatalf("%s does not contain %s", tc.file, tc.old)
			}
			if err := os.WriteFile(path, bytes.ReplaceAll(text, []byte(tc.old), []byte(tc.new)), 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := generate(dir); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
}

// fullTables returns the folder of the full upstream files beside the module,
// or skips the test.
func fullTables(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the test's folder")
		}
		dir = filepath.Dir(dir)
	}
	full := filepath.Join(dir, "..", "shared", "facts", "prices")
	if _, err := os.Stat(full); err != nil {
		t.Skip("the full upstream tables are not at hand: ", err)
	}
	return full
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

func sameFile(t *testing.T, have, want string) {
	t.Helper()
	a, err := os.ReadFile(have)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(want)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(b), string(a)); d != "" {
		t.Errorf("%s differs (- vendored, + trimmed anew):\n%s", filepath.Base(want), d)
	}
}
