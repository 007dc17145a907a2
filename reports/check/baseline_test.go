package check

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A baseline is read as it was written, and written the same again.
func TestBaselineRoundTrip(t *testing.T) {
	f := parsed(t, "  - {metric: cost_usd, max_increase: 1%}\n  - {metric: calls, group: project, max_increase: 1}\n")
	in := input(one("billed", tally{session: "a", usd: 1}, tally{session: "b"}), drawnUSD("s", 1, 2, 3, 4, 5))
	b, err := f.NewBaseline(in)
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
	want := map[string][]float64{"cost_usd": {2, 3, 4, 5, 6}, "calls": {20, 20, 20, 20, 20}, "cost_usd_output": {4}}
	for name, values := range want {
		if !cmp.Equal(s.Metrics[name], values) {
			t.Errorf("%s: %v, want %v: the seeds of the two metrics that rules compare, the mean of others", name, s.Metrics[name], values)
		}
	}
	if web := read.find("s", "project web"); web == nil || web.Metrics["cost_usd"][0] != 1 {
		t.Errorf("project web: %+v", web)
	}
}

// What is no baseline is refused by name.
func TestReadBaselineRefuses(t *testing.T) {
	const head = `{"schema":4,"tool":"sim check","version":"v","sessions":1,"calls":1,"sessions_digest":"a","scenario_digest":"b","prices":"","past":[{"id":"x","calls":1,"tokens":1,"usd":1}],"cells":[`
	const row = `{"cell":"s","strategy":"s","draws":2,"metrics":{"calls":[1]}}`
	with := func(values string) string { return head + "\n" + strings.Replace(row, "[1]", values, 1) + "]}" }
	for text, want := range map[string]string{
		"": "b.json:1:",
		`{"schema":2,"provenance":{},"cells":[]}`: "not a baseline",
		`{"schema":1,"tool":"sim check"}`:         "b.json:1: a baseline of schema 1, this version reads schema 4",
		"[]":                                      "b.json:1: not a baseline of sim check",
		with(`["1"]`):                             "unmarshal JSON string into Go float64",
		with("[1e999]"):                           "b.json:2: ",
		with("[NaN]"):                             "b.json:2:",
		with("[1e308]"):                           `b.json:1: calls of cell "s" is 1e+308, and no sum is above 1e+15; it is to be written anew`,
		strings.Replace(with("[1]"), `"usd":1`, `"usd":1,"facts":{"f":[1e308,1]}`, 1):                  "session x has a figure of 1e+308, and no sum is above 1e+15",
		strings.NewReplacer(`"s",`, `"billed",`, `"calls":[1]`, `"cost_usd":[5]`).Replace(with("[1]")): `cost_usd of cell "billed" is 5, and its sessions were billed 1`,
		head + "]}": "a baseline without sessions, cells or digests; it is to be written anew",
		strings.Replace(head, `"a"`, `""`, 1) + row + "]}":                                 "a baseline without sessions, cells or digests",
		head + "\n" + strings.Replace(row, `"draws"`, `"x":1,"draws"`, 1) + "]}":           `cells.0.x is not known: of a later version of sim`,
		strings.Replace(with("[1]"), `[{"id":"x","calls":1,"tokens":1,"usd":1}]`, "[]", 1): "past has 0 sessions of the last run, which had 1",
		with("[null]"): "/cells/0/metrics/calls/0 is null; it is to be written anew",
		strings.Replace(with("[1]"), `"usd":1`, `"usd":null`, 1):                                 "/past/0/usd is null",
		strings.Replace(with("[1]"), `"usd":1`, `"usd":-1`, 1):                                   "has a figure below 0",
		strings.Replace(with("[1]"), `"calls":1,"tokens"`, `"calls":1,"unpriced":2,"tokens"`, 1): "has a figure below 0",
		with("[]"):      `calls of cell "s" has values under 0 seeds, the cell has 2; it is to be written anew`,
		with("[1,2,3]"): `calls of cell "s" has values under 3 seeds, the cell has 2`,
	} {
		if _, err := ReadBaseline("b.json", strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
	for _, values := range []string{"[3]", "[3,5]"} {
		if _, err := ReadBaseline("b.json", strings.NewReader(with(values))); err != nil {
			t.Errorf("%s are refused: %v", values, err)
		}
	}
}

// Only what sim check wrote, of whatever schema and state, may be written anew.
func TestStaleBaselines(t *testing.T) {
	for text, want := range map[string]bool{
		`{"schema":1,"tool":"sim check"}`:           true,
		`{"schema":4,"tool":"sim check"}`:           true,
		`{"schema":4,"tool":"sim check","other":1}`: true,
		`{"schema":2,"provenance":{}}`:              false,
		"rules: []":                                 false,
		"":                                          false,
		`{"schema":4,"tool":"another","cells":[]}`:  false,
	} {
		if _, err := ReadBaseline("b.json", strings.NewReader(text)); errors.Is(err, ErrStale) != want {
			t.Errorf("%s: stale is %t, want %t (%v)", text, !want, want, err)
		}
	}
}

// A baseline says how much it holds; none is made of nothing.
func TestSize(t *testing.T) {
	f := parsed(t, "  - {metric: cost_usd, max_increase: 1%}\n")
	if b, err := f.NewBaseline(plainRun()); err != nil || b.Size() != "1 row of 2 sessions" {
		t.Errorf("%s, %v", b.Size(), err)
	}
	if _, err := f.NewBaseline(&Input{}); err == nil {
		t.Error("a baseline of no sessions is made")
	}
}
