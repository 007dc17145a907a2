package profile

import (
	"bytes"
	"strings"
	"testing"
)

func TestDefaultIsValidAndRoundTrips(t *testing.T) {
	p, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	again, err := Parse(b.Bytes(), "again.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var c bytes.Buffer
	if err := again.Write(&c); err != nil {
		t.Fatal(err)
	}
	if b.String() != c.String() {
		t.Errorf("a profile changes when it is read and written:\n%s\n%s", b.String(), c.String())
	}
	for _, v := range append(p.Static, p.Hidden...) {
		if v.N == 0 || v.Low > v.Value || v.High < v.Value {
			t.Errorf("version %s: %+v has no sample size, or lies outside its interval", v.Version, v.Estimate)
		}
	}
}

// Unknown keys are errors with file, line and the nearest known name, and every
// number out of range is named.
func TestParseIsStrict(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"name: x\nprior_wieght: 2\n", `p.yaml:2: unknown key "prior_wieght"`},
		{"shared_after_expiry: {value: 2}\n", "shared_after_expiry: share 2 must lie in 0…1"},
		{"static_prefix_tokens: [{version: 2.1.5, value: 9}, {version: 2.1.1, value: 9}]\n", "versions must ascend"},
		{"prior_weight: -1\n", "prior_weight -1 must not be negative"},
	} {
		_, err := Parse([]byte(tc.text), "p.yaml")
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: %v, want %q", tc.text, err, tc.want)
		}
	}
}

// A version takes the newest row not after it of its own series, else the oldest
// of the series, else the first row.
func TestLookup(t *testing.T) {
	p := Profile{Static: []Versioned{
		{"0", Estimate{Value: 1}}, {"1.0.17", Estimate{Value: 2}}, {"2.1.5", Estimate{Value: 3}}, {"2.1.17", Estimate{Value: 4}},
	}}
	for version, want := range map[string]int64{
		"2.1.17": 4, "2.1.40": 4, "2.1.9": 3, "2.1.1": 3, "1.0.62": 2, "2.0.76": 1, "": 1,
	} {
		if got := p.StaticFor(version); got != want {
			t.Errorf("version %q: %d, want %d", version, got, want)
		}
	}
	if new(Profile).StaticFor("2.1.5") != 0 {
		t.Error("an empty table knows something")
	}
}

func TestResidualAt(t *testing.T) {
	p := Profile{Residual: []float64{-1, 0, 3}}
	for share, want := range map[float64]float64{0: -1, 0.25: -0.5, 0.5: 0, 0.75: 1.5, 1: 3} {
		if got := p.ResidualAt(share); got != want {
			t.Errorf("at %g: %g, want %g", share, got, want)
		}
	}
	if new(Profile).ResidualAt(0.3) != 0 {
		t.Error("a residual without any")
	}
}
