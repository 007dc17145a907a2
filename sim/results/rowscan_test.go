package results

import (
	"bytes"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/compactsim/compactsim/internal/kit/jsonlines"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// lineOf returns a row as WriteRows writes it, without the end of the line.
func lineOf(t interface{ Fatal(...any) }, cell string, r *Row) []byte {
	b, err := rowForm.Append(nil, r.line(cell))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// readRow reads a line on its own.
func readRow(line []byte) (string, Row, error) {
	var r Row
	var scan jsonlines.Reader
	l := r.line("")
	err := rowForm.Read(&scan, line, l)
	r.take(l)
	return l.Texts[textCell], r, err
}

// The form of a row is valid JSON, and reads as the row it was made of, also
// when its members come in another order, with blanks and with escapes.
func TestRowInAnyForm(t *testing.T) {
	for _, r := range []Row{{Session: "a"}, usual("s", "a"), *sample("s", "a\u2028<é>")} {
		line := lineOf(t, "some cell x=1", &r)
		for _, text := range [][]byte{line, shuffled(t, line)} {
			cell, got, err := readRow(text)
			if err != nil || cell != "some cell x=1" {
				t.Fatalf("%s: cell %q, %v", text, cell, err)
			}
			if diff := cmp.Diff(r, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", text, diff)
			}
		}
	}
}

// shuffled returns the same object in another order, indented and with escapes.
func shuffled(t interface{ Fatal(...any) }, line []byte) []byte {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(line, &members); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(members, json.Deterministic(true), jsontext.Multiline(true), jsontext.EscapeForHTML(true), jsontext.EscapeForJS(true))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.ReplaceAll(b, []byte(`"calls"`), []byte(`"c\u0061lls"`))
}

// Whatever is done to a line, it is refused or is the same in any form.
func TestRowFormsAgree(t *testing.T) {
	taken := 0
	rapid.Check(t, func(t *rapid.T) {
		r := rapid.SampledFrom([]Row{usual("s", "a"), *sample("s", "a")}).Draw(t, "row")
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
		t.Error("no line was read")
	}
}

// agrees reports whether a line is read, and fails when it is no JSON then, when
// another form of the line is another row, or when it is written otherwise.
func agrees(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}, line []byte) bool {
	cell, got, err := readRow(line)
	if err != nil {
		return false
	}
	otherCell, other, err := readRow(shuffled(t, line))
	if err != nil || otherCell != cell {
		t.Fatalf("%s: cell %q and in another form %q, %v", line, cell, otherCell, err)
	}
	if diff := cmp.Diff(got, other, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("%s: another row in another form:\n%s", line, diff)
	}
	_, again, err := readRow(lineOf(t, cell, &got))
	if diff := cmp.Diff(got, again); err != nil || diff != "" {
		t.Fatalf("%s: written and read again, %v:\n%s", line, err, diff)
	}
	return true
}

// FuzzRow: no line is another row in another form, or when it is written.
func FuzzRow(f *testing.F) {
	for _, r := range []Row{{Session: "a"}, usual("s", "a"), *sample("s", "a")} {
		f.Add(lineOf(f, "c", &r))
	}
	f.Fuzz(func(t *testing.T, line []byte) { agrees(t, line) })
}

// A member that occurs twice is no JSON that has one meaning.
func TestRowRefusesRepeatedMembers(t *testing.T) {
	line := string(lineOf(t, "c", &Row{Session: "a"}))
	for _, twice := range []string{`"calls_by_source":{"main":1,"main":1}`, `"cost_usd_by_class":{"read":1,"read":1}`,
		`"unpriced_calls":0,"unpriced_calls":0`, `"firings":{"x":1,"x":1},"unpriced_calls":0`, `"x":1,"x":1,"unpriced_calls":0`,
		`"x":{"y":1,"y":1},"unpriced_calls":0`, `"counts":{"naps":1,"naps":1},"unpriced_calls":0`} {
		name := twice[:strings.Index(twice, ":")]
		changed := strings.Replace(line, name+`:{}`, twice, 1)
		if !strings.Contains(line, name+`:{}`) {
			changed = strings.Replace(line, `"unpriced_calls":0`, twice, 1)
		}
		if _, _, err := readRow([]byte(changed)); err == nil || changed == line {
			t.Errorf("%s is taken", changed)
		}
	}
}

// The numbers that JSON has, and what looks like one but is none or another kind.
func TestRowNumbers(t *testing.T) {
	line := string(lineOf(t, "c", &Row{Session: "a"}))
	read := func(member, text string) (Row, error) {
		_, r, err := readRow([]byte(strings.Replace(line, `"`+member+`":0`, `"`+member+`":`+text, 1)))
		return r, err
	}
	for text, want := range map[string]float64{"0": 0, "-0.5": -0.5, "1e3": 1000, "12.25E-2": 0.1225, "5.776725000000003": 5.776725000000003} {
		if r, err := read("added_latency_seconds", text); err != nil || r.Figures[measures.AddedLatency] != want {
			t.Errorf("%s: %v, %v", text, r.Figures[measures.AddedLatency], err)
		}
	}
	for _, text := range []string{"", "-", "01", "+1", ".5", "1.", "1e", "1e+", "1e999", "NaN", "Inf", "0x10"} {
		if _, err := read("added_latency_seconds", text); err == nil {
			t.Errorf("%q is taken for a time", text)
		}
	}
	for _, text := range []string{"", "-1", "01", "1.0", "1e1", "1000000000000000000", "9223372036854775808"} {
		if _, err := read("peak_context_tokens", text); err == nil {
			t.Errorf("%q is taken for a count", text)
		}
	}
}
