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
	rows := p.Static
	for _, h := range p.Hidden {
		rows = append(rows, Versioned{h.From, h.Estimate})
	}
	for _, v := range rows {
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
		{"shared_after_expiry: {value: 2}\n", "shared_after_expiry: 2 must lie in 0…1"},
		{"static_prefix_tokens: [{version: 2.1.5, value: 9}, {version: 2.1.1, value: 9}]\n", "versions must ascend"},
		{"prior_weight: -1\n", "prior_weight -1 must not be negative"},
		{"prior_weight: .nan\n", "prior_weight .nan must be a number from 0"},
		{"own_system_tokens: {value: .nan}\n", "own_system_tokens: NaN in 0…0 is no estimate"},
		{"refetch: {file: {value: 1, high: .inf}}\n", "refetch.file: 1 in 0…+Inf is no estimate"},
		{"unexplained_losses: {marked_caches: {after_prompt: [{value: 1, samples: -1}]}}\n", "p.yaml:1: unexplained_losses.marked_caches.after_prompt[0].samples -1 must not be negative"},
		{"own_system_tokens: {samples: 1.5}\n", `p.yaml:1: own_system_tokens.samples: want a whole number, not "1.5"`},
		{"own_system_tokens: {samples: -1e30}\n", `want a whole number, not "-1e30"`},
		{"session_residual: [-1, 21]\n", "session_residual[1] 21 must lie in -20…20"},
		{"a: &a {value: 1}\n<<: *a\n", "keys are not merged"},
		{"", "p.yaml: empty document"},
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
	residual := []float64{-1, 0, 3}
	for share, want := range map[float64]float64{0: -1, 0.25: -0.5, 0.5: 0, 0.75: 1.5, 1: 3} {
		if got := At(residual, share); got != want {
			t.Errorf("at %g: %g, want %g", share, got, want)
		}
	}
	if At(nil, 0.3) != 0 {
		t.Error("a residual without any")
	}
}

// Numbers of versions order as numbers, however large.
func TestCompare(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{
		{"2.1.9", "2.1.17", -1}, {"2.1", "2.1.0", 0}, {"2.1.x", "2.1.0", 0}, {"", "0", 0},
		{"9223372036854775807", "-1", 1}, {"-9223372036854775808", "1", -1}, {"99999999999999999999", "1", 1},
	} {
		if got := Compare(tc.a, tc.b); got != tc.want || Compare(tc.b, tc.a) != -tc.want {
			t.Errorf("%q against %q: %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}

// FuzzParse: a profile that is read is written, and read back as the same one
// that answers within its bounds.
func FuzzParse(f *testing.F) {
	f.Add([]byte("name: x\nprior_weight: 2\nshared_after_expiry: {value: 0.5, samples: 3}\nsession_residual: [-1, 0, .5]\n"))
	f.Add([]byte("static_prefix_tokens: [{version: 2.1.5, value: 9e3, low: 1}]\nswitches: {static_prefix: true}\nown_system_tokens: {value: 4e3}\n"))
	f.Add([]byte("refetch: {all: &t {value: .26}}\nsummary_keeps: {file: *t}\nunexplained_losses: {marked_caches: {after_prompt: [{to_seconds: 60, value: .1}]}}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := Parse(text, "f.yaml")
		if err != nil {
			return
		}
		var b, c bytes.Buffer
		if err := p.Write(&b); err != nil {
			t.Fatal(err)
		}
		again, err := Parse(b.Bytes(), "again.yaml")
		if err != nil {
			t.Fatalf("%v\n%s", err, b.Bytes())
		}
		if err := again.Write(&c); err != nil || b.String() != c.String() {
			t.Fatalf("%v: written twice it is\n%s\nand\n%s", err, b.Bytes(), c.Bytes())
		}
		if n := p.StaticFor("2.1.5"); n < 0 || n > 200_000 {
			t.Errorf("a prefix of %d tokens", n)
		}
		if share, _ := p.Losses.Rate(&Case{Prompt: true, Gap: 30e9}); !(share >= 0 && share <= 1) {
			t.Errorf("%g of calls lose their messages", share)
		}
	})
}
