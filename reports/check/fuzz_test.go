package check

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// FuzzParse: whatever the text, a check is read or refused, and has rules and a scenario once it is read.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"scenario: a\nbaseline: b\nlevel: 0.1\nseeds: 7\nrules:\n- {metric: cost_usd, max_increase: 1%, group: model}\n",
		"scenario:\n  strategies: [none]\n  # c\n  name: |\n    x\nrules: [{metric: calls, max: 1}, {metric: cache_hit_ratio, min: 50%, strategy: 'a/*'}]\n",
		"rules: &r [{metric: calls, max: 1}]\nscenario: &s {a: *r}\n<<: *s\n", "rules: [~]\nscenario:\n? a\n: b\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := Parse(text, "f.yaml")
		if err == nil && (len(got.Rules) == 0 || got.Scenario.Line == 0) {
			t.Fatalf("%q is read without rules or a scenario", text)
		}
	})
}

// FuzzReadBaseline: a baseline that is read is written, and read back the same.
func FuzzReadBaseline(f *testing.F) {
	b, err := parsed(f, "  - {metric: cost_usd, max_increase: 1%}\n").NewBaseline(input(one("billed", tally{session: "a", usd: 1}), drawnUSD("s", 1, 2, 3, 4, 5)))
	if err != nil {
		f.Fatal(err)
	}
	var seed bytes.Buffer
	if err := b.Write(&seed); err != nil {
		f.Fatal(err)
	}
	f.Add(seed.Bytes())
	f.Add(seed.Bytes()[:seed.Len()/2])
	f.Add(bytes.Replace(seed.Bytes(), []byte(`{`), []byte(`{"later": 1, `), 1))
	f.Fuzz(func(t *testing.T, text []byte) {
		b, err := ReadBaseline("b.json", bytes.NewReader(text))
		if err != nil {
			return
		}
		var once bytes.Buffer
		if err := b.Write(&once); err != nil {
			t.Fatalf("a baseline that was read cannot be written: %v", err)
		}
		again, err := ReadBaseline("again.json", &once)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if diff := cmp.Diff(b, again, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(Past{})); diff != "" {
			t.Fatalf("after a round trip:\n%s", diff)
		}
	})
}
