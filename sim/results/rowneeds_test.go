package results

import (
	"strings"
	"testing"
)

// A row that lacks a member or has null for a figure is refused by file, line and
// name, not read as one of zeros.
func TestRowWithoutMembers(t *testing.T) {
	for _, f := range rowFields[3:] {
		name := f.Name
		if f.Optional {
			continue
		} // of what comes first the error is of cells and sessions
		at := strings.Index(bareRow, `"`+name+`":`)
		value := bareRow[at+len(name)+3:]
		end := strings.IndexAny(value, ",}") // of a number
		if value[0] == '{' {
			end = 2
		}
		member := bareRow[at : at+len(name)+3+end]
		lacking := strings.Replace(strings.Replace(bareRow, ","+member, "", 1), member+",", "", 1)
		refuses(t, lacking, "f:2: row without "+name+"")
		refuses(t, with(t, member, `"`+name+`":null`), "f:2: "+name+" is null")
	}
	refuses(t, with(t, `"tokens":{}`, `"tokens":{"read":null}`), "f:2: tokens.read is null")
	refuses(t, with(t, `"unpriced_calls":0`, `"counts":{"dreams":null},"unpriced_calls":0`), "f:2: counts.dreams is null")
	refuses(t, `{"cell":"c","strategy":"s","session":"a","sessions":1}`, "f:2: row without calls, calls_by_source, tokens and 19 more members")
}

// refuses reads a row behind the bare head and wants an error that begins so.
func refuses(t *testing.T, row, want string) {
	t.Helper()
	if _, err := ReadRows("f", strings.NewReader(bareHead+row)); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%s: error %v, want %q", row, err, want)
	}
}

// A row that contradicts itself is refused: nobody knows which of its figures is
// right. What is read with blanks, and so decoded, is held to the same.
func TestRowContradictsItself(t *testing.T) {
	for _, test := range []struct{ old, changed, want string }{
		{`"calls":0`, `"calls":3`, "calls is 3, but by source 0"},
		{`"calls_by_source":{}`, `"calls_by_source":{"main":2}`, "calls is 0, but by source 2"},
		{`"tokens":{}`, `"tokens":{"read":5}`, "tokens is {Uncached:0 Read:5 "},
		{`"tokens_by_source":{}`, `"tokens_by_source":{"agent":{"output":1}}`, "tokens is {Uncached:0 Read:0 "},
		{`"cost_usd_by_class":{}`, `"cost_usd_by_class":{"read":2.5}`, "cost_usd_by_class.read is 2.5, but by source 0"},
		{`"cost_usd_by_source":{}`, `"cost_usd_by_source":{"main":{"output":1},"agent":{"output":2}}`, "cost_usd_by_class.output is 0, but by source 3"},
		{`"cost_usd_by_class":{},"cost_usd_by_source":{}`, `"cost_usd_by_class":{"read":1},"cost_usd_by_source":{"main":{"read":1.000001}}`, "cost_usd_by_class.read is 1, but by source 1.000001"},
		{`"misses":0`, `"misses":7`, "misses is 7, but by class 0"},
		{`"misses_by_class":{}`, `"misses_by_class":{"edit":1,"expiry":2}`, "misses is 0, but by class 3"},
		{`"hit_calls":0,"later_calls":0`, `"hit_calls":999,"later_calls":150`, "hit_calls is 999 of 150 later_calls"},
		{`"unpriced_calls":0`, `"percent_left":{"calls":1,"sum":101,"most_used":0},"unpriced_calls":0`, "percent_left is 101% in sum and 0% used over 1 call"},
		{`"unpriced_calls":0`, `"percent_left":{"calls":2,"sum":101,"most_used":101},"unpriced_calls":0`, "percent_left is 101% in sum and 101% used"},
		{`"added_latency_seconds":0`, `"added_latency_seconds":2,"added_latency_seconds_by_part":{"other":3}`, "added_latency_seconds is 2, but by part 3"},
		{`"cost_usd_by_class":{},"cost_usd_by_source":{}`, `"cost_usd_by_class":{"read":-1},"cost_usd_by_source":{"main":{"read":-1}}`, "cost_usd_by_class.read is -1"},
		{`"storage_usd":0`, `"storage_usd":1e103`, "storage_usd is 1e+103"},
	} {
		row := with(t, test.old, test.changed)
		refuses(t, row, "f:2: "+test.want)
		refuses(t, strings.Replace(row, `{"cell"`, `{ "cell"`, 1), "f:2: "+test.want)
	}
}

// Sums agree whatever the order of adding: ten times 0.1 is not 1 in binary.
func TestRoundingIsNoContradiction(t *testing.T) {
	classes := `"cost_usd_by_class":{"read":1},"cost_usd_by_source":{"main":{"read":0.9999999999999999}}`
	row := with(t, `"cost_usd_by_class":{},"cost_usd_by_source":{}`, classes,
		`"added_latency_seconds":0`, `"added_latency_seconds":1e-7,"added_latency_seconds_by_part":{"compaction":1000000,"first_token":-999999.9999999}`)
	if _, err := ReadRows("f", strings.NewReader(bareHead+row)); err != nil {
		t.Error(err)
	}
}
