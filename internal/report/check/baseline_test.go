package check

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A baseline is read as it was written, and written the same again.
func TestBaselineRoundTrip(t *testing.T) {
	f := parsed(t, "  - {metric: cost_usd, max_increase: 1%}\n  - {metric: calls, group: project, max_increase: 1}\n")
	in := input(one("billed", tally{session: "a", usd: 1}, tally{session: "b"}), drawnUSD("s", 1, 2, 3, 4, 5))
	b, err := f.NewBaseline("base.json", in)
	if err != nil {
		t.Fatal(err)
	}
	var text, again bytes.Buffer
	if err := b.Write(&text); err != nil {
		t.Fatal(err)
	}
	read, err := ReadBaseline("base.json", bytes.NewReader(text.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if err := read.Write(&again); err != nil || again.String() != text.String() {
		t.Errorf("written again: %v %s", err, cmp.Diff(text.String(), again.String()))
	}
	// The bill has no rule of a group: one row. s has three: all, api, web.
	if len(read.Cells) != 4 || strings.Count(text.String(), "\n") != 6 {
		t.Errorf("%d cells in %d lines, want 4 in 6", len(read.Cells), strings.Count(text.String(), "\n"))
	}
	s := read.find("s", "")
	if s.Metrics["cost_usd"] != 4 || !cmp.Equal(s.Seeds, map[string][]float64{"cost_usd": {2, 3, 4, 5, 6}, "calls": {20, 20, 20, 20, 20}}) {
		t.Errorf("mean %v, seeds %v; want 4 and those of the two metrics that rules compare", s.Metrics["cost_usd"], s.Seeds)
	}
	if web := read.find("s", "project web"); web == nil || web.Metrics["cost_usd"] != 1 {
		t.Errorf("project web: %+v", web)
	}
}

// What is no baseline is refused by name.
func TestReadBaselineRefuses(t *testing.T) {
	const head = `{"schema":3,"tool":"sim check","version":"v","sessions":1,"calls":1,"sessions_digest":"a","scenario_digest":"b","prices_digest":"c","prices":"","cells":[`
	const row = `{"cell":"s","strategy":"s","sessions":1,"draws":1,"metrics":{"calls":1}}`
	seeds := func(draws int, seeds string) string {
		return fmt.Sprintf(`%s{"cell":"s","strategy":"s","sessions":1,"draws":%d,"metrics":{"calls":4},"seeds":{%s}}]}`, head, draws, seeds)
	}
	for text, want := range map[string]string{
		"": "b.json:1:",
		`{"schema":2,"provenance":{},"cells":[]}`: "not a baseline",
		`{"schema":1,"tool":"sim check"}`:         "b.json:1: a baseline of schema 1, this version reads schema 3",
		"[]":                                      "b.json:1: not a baseline: sim check --update writes one",
		head + "\n" + strings.Replace(row, `"calls":1`, `"calls":null`, 1) + "]}":                "a figure that is null; sim check --update writes it anew",
		head + "\n" + strings.Replace(row, `"calls":1`, `"calls":"1"`, 1) + "]}":                 "unmarshal JSON string into Go float64",
		head + "\n" + strings.Replace(row, `:1}}`, `:1e999}}]}`, 1):                              "unmarshal JSON number",
		seeds(2, `"calls":[4,null]`):                                                             "a figure that is null",
		head + "]}":                                                                              "a baseline of no sessions",
		head + "\n" + row + ",\n" + row + "]}":                                                   `cell "s" occurs twice`,
		head + "\n" + strings.Replace(row, ":1}}", ":NaN}}]}", 1):                                "b.json:2:",
		head + "\n" + strings.Replace(row, ":1}}", ":1e999}}]}", 1):                              "b.json:2:",
		head + "\n" + strings.Replace(row, `"metrics":{`, `"x":1,"metrics":{"x":"1",`, 1) + "]}": "b.json:2:",
		strings.Replace(head, `"a"`, `""`, 1) + row + "]}":                                       "no digest",
		head + strings.Replace(row, `"draws":1`, `"draws":0`, 1) + "]}":                          `cell "s": draws 0 must be above 0`,
		seeds(2, `"calls":[]`):                                                                   `cell "s": calls has values under 0 seeds, the cell has 2`,
		seeds(2, `"calls":[4]`):                                                                  "calls has values under 1 seed, the cell has 2",
		seeds(2, `"calls":[100,100]`):                                                            "calls is 4, the mean of its seeds is 100",
		seeds(2, `"misses":[1,2]`):                                                               "misses has values under seeds and no mean",
	} {
		if _, err := ReadBaseline("b.json", strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
	if _, err := ReadBaseline("b.json", strings.NewReader(seeds(2, `"calls":[3,5]`))); err != nil {
		t.Errorf("seeds that agree with their mean are refused: %v", err)
	}
}

// Only what sim check wrote, of whatever schema and state, may be written anew.
func TestStaleBaselines(t *testing.T) {
	for text, want := range map[string]bool{
		`{"schema":1,"tool":"sim check"}`:           true,
		`{"schema":3,"tool":"sim check"}`:           true,
		`{"schema":3,"tool":"sim check","other":1}`: true,
		`{"schema":2,"provenance":{}}`:              false,
		"rules: []":                                 false,
		"":                                          false,
		`{"schema":3,"tool":"another","cells":[]}`:  false,
	} {
		if _, err := ReadBaseline("b.json", strings.NewReader(text)); errors.Is(err, ErrStale) != want {
			t.Errorf("%s: stale is %t, want %t (%v)", text, !want, want, err)
		}
	}
}

// A baseline says how much it holds; none is made of nothing.
func TestSize(t *testing.T) {
	f := parsed(t, "  - {metric: cost_usd, max_increase: 1%}\n")
	if b, err := f.NewBaseline("base.json", plainRun()); err != nil || b.Size() != "1 row of 2 sessions" {
		t.Errorf("%s, %v", b.Size(), err)
	}
	if _, err := f.NewBaseline("base.json", &Input{}); err == nil {
		t.Error("a baseline of no sessions is made")
	}
}

// A baseline of a later version that holds more is refused by the name of what it holds. One without the figures of a
// rule fails.
func TestBaselineOfLaterVersion(t *testing.T) {
	f := parsed(t, "  - {metric: cost_usd, max_increase: 1%}\n")
	in := input(drawnUSD("x", 2))
	b, err := f.NewBaseline("base.json", in)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := b.Write(&text); err != nil {
		t.Fatal(err)
	}
	read := func(old, changed string) (*Baseline, error) {
		later := strings.Replace(text.String(), old, changed, 1)
		if later == text.String() {
			t.Fatalf("no %s in %s", old, later)
		}
		return ReadBaseline("base.json", strings.NewReader(later))
	}
	if _, err := read(`"metrics":{`, `"spread":{"cost_usd":1},"metrics":{`); err == nil || !strings.HasPrefix(err.Error(), "base.json:2: cells.0.spread is not known: of a later version of sim") {
		t.Errorf("error %v", err)
	}
	if b, err = read(`"cost_usd":`, `"cost":`); err != nil {
		t.Fatal(err)
	}
	says(t, f.Judge(in, map[string]Loaded{"base.json": {Baseline: b}}), "base.json has no cost_usd of this cell")
}
