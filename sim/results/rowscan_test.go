package results

import (
	"bytes"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// lineOf returns a row as RowWriter writes it, without the end of the line.
func lineOf(t interface{ Fatal(...any) }, cell string, r *Row) []byte {
	b, err := json.Marshal(newRowLine(cell, r), json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What RowWriter writes is scanned, not decoded, as long as it is plain ASCII.
func TestScannerTakesWhatIsWritten(t *testing.T) {
	for _, r := range []Row{{Session: "a"}, usual("s", "a"), sample("s", "a")} {
		var got Row
		cell, strategy, ok := newRowScanner().row(lineOf(t, "some cell x=1", &r), &got)
		if !ok || string(cell) != "some cell x=1" {
			t.Fatalf("cell %q, %v", cell, ok)
		}
		got.Strategy = string(strategy)
		if diff := cmp.Diff(r, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("scanned (-want +got):\n%s", diff)
		}
	}
}

// Whatever is done to a line, the scanner gives up or gives what decoding gives.
func TestScannerAgreesWithDecoder(t *testing.T) {
	taken := 0
	rapid.Check(t, func(t *rapid.T) {
		r := rapid.SampledFrom([]Row{usual("s", "a"), sample("s", "a")}).Draw(t, "row")
		line := lineOf(t, "c", &r)
		for range rapid.IntRange(0, 3).Draw(t, "changes") {
			at := rapid.IntRange(0, len(line)-1).Draw(t, "at")
			with := rapid.SampledFrom([]string{"", " ", "0", "9", "-", ".", "e2", "E+1", ",", "}", "{}", `"`, "é", "\\", "\x7f", "null", `"main":1,`}).Draw(t, "with")
			skip := rapid.IntRange(0, 1).Draw(t, "skip")
			line = append(line[:at:at], append([]byte(with), line[at+skip:]...)...)
			if len(line) == 0 {
				return
			}
		}
		if agrees(t, line) {
			taken++
		}
	})
	if taken == 0 {
		t.Error("no line was scanned")
	}
}

// A member that occurs twice is no JSON that has one meaning: it is not scanned.
func TestScannerRefusesRepeatedMembers(t *testing.T) {
	line := string(lineOf(t, "c", &Row{Session: "a"}))
	for _, twice := range []string{`"calls_by_source":{"main":1,"main":1}`, `"cost_usd_by_class":{"read":1,"read":1}`,
		`"unpriced_calls":0,"unpriced_calls":0`, `"firings":{"x":1,"x":1},"unpriced_calls":0`} {
		name := twice[:strings.Index(twice, ":")]
		changed := strings.Replace(line, name+`:{}`, twice, 1)
		if !strings.Contains(line, name+`:{}`) {
			changed = strings.Replace(line, `"unpriced_calls":0`, twice, 1)
		}
		if _, _, ok := newRowScanner().row([]byte(changed), new(Row)); ok || changed == line {
			t.Errorf("%s is taken", changed)
		}
	}
}

// agrees reports whether the scanner takes a line, and fails when decoding does not
// take it or reads another row.
func agrees(t interface {
	Fatalf(string, ...any)
}, line []byte) bool {
	var got Row
	cell, strategy, ok := newRowScanner().row(line, &got)
	if !ok {
		return false
	}
	got.Strategy = string(strategy)
	var l rowLine
	if err := json.Unmarshal(line, &l, json.RejectUnknownMembers(true)); err != nil {
		t.Fatalf("%s: scanned, but no row: %v", line, err)
	}
	want, err := l.row()
	if err != nil || l.Cell != string(cell) || required(line) != nil {
		t.Fatalf("%s: scanned, but %v, %v", line, err, required(line))
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("%s: scanned (-decoded +scanned):\n%s", line, diff)
	}
	return true
}

// FuzzScanner: no line is scanned to another row than it is decoded to.
func FuzzScanner(f *testing.F) {
	for _, r := range []Row{{Session: "a"}, usual("s", "a"), sample("s", "a")} {
		f.Add(lineOf(f, "c", &r))
	}
	f.Fuzz(func(t *testing.T, line []byte) { agrees(t, line) })
}

// The numbers that JSON has, and what looks like one but is none or another kind.
func TestScannedNumbers(t *testing.T) {
	for text, want := range map[string]float64{"0": 0, "-0.5": -0.5, "1e3": 1000, "12.25E-2": 0.1225, "5.776725000000003": 5.776725000000003} {
		s, v := scanner{rest: []byte(text + ",")}, 0.0
		if !s.float(&v) || v != want || string(s.rest) != "," {
			t.Errorf("%s: %v, %q left", text, v, s.rest)
		}
	}
	for _, text := range []string{"", "-", "01", "+1", ".5", "1.", "1e", "1e+", "1e999", "NaN", "Inf", "0x10"} {
		s, v := scanner{rest: []byte(text)}, 0.0
		if s.float(&v) && len(s.rest) == 0 {
			t.Errorf("%q is taken as %v", text, v)
		}
	}
	for _, text := range []string{"", "-1", "01", "1000000000000000000", "9223372036854775808"} {
		s, n := scanner{rest: []byte(text)}, int64(0)
		if s.integer(&n) && len(s.rest) == 0 {
			t.Errorf("%q is taken as %d", text, n)
		}
	}
	if s, n := (&scanner{rest: []byte("999999999999999999")}), int64(0); !s.integer(&n) || n != 999999999999999999 {
		t.Errorf("18 digits: %d", n)
	}
}

// A file that is scanned and one that is decoded are the same run, rows in any order.
func TestScannedFile(t *testing.T) {
	var b bytes.Buffer
	if err := WriteRows(&b, full()); err != nil {
		t.Fatal(err)
	}
	scanned, err := ReadRows("f", bytes.NewReader(b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(b.String(), "\n")
	lines[1], lines[4] = strings.Replace(lines[4], "{", "{ ", 1), strings.Replace(lines[1], "{", "{ ", 1)
	lines[2], lines[3] = strings.Replace(lines[3], "{", "{ ", 1), strings.Replace(lines[2], "{", "{ ", 1)
	decoded, err := ReadRows("f", strings.NewReader(strings.Join(lines, "")))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(scanned, decoded, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("-scanned +decoded:\n%s", diff)
	}
}
