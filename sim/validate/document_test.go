package validate

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/compactsim/compactsim/sim"
)

// The top of the JSON has the published names; over an empty set every figure is
// null, in tables a dash, in CSV an empty field.
func TestValidationOfNothing(t *testing.T) {
	r, err := Run(context.Background(), Options{Config: sim.Config{}, Model: "plain cache", Profile: "none"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := r.Document().Write(&b, "json"); err != nil {
		t.Fatal(err)
	}
	var top map[string]any
	if err := json.Unmarshal(b.Bytes(), &top); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"exact", "within_1pct", "token_weighted_error", "session_cost_error_median", "session_cost_error_p90",
		"corpus_cost_error", "band_coverage",
	} {
		if v, ok := top[name]; !ok || v != nil {
			t.Errorf("%s: %v, want null", name, v)
		}
	}
	if top["calls"] != 0.0 {
		t.Errorf("calls: %v, want 0", top["calls"])
	}
	for format, none := range map[string]string{"table": "–", "markdown": "–", "csv": ",,"} {
		b.Reset()
		if err := r.Document().Write(&b, format); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), "all but first calls") || !strings.Contains(b.String(), none) {
			t.Errorf("%s:\n%s", format, b.String())
		}
	}
}
