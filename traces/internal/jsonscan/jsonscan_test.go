package jsonscan

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// lenient is what lines are held to: duplicate names and bytes that are no
// UTF-8 occur in transcripts.
var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

func accepts(b []byte) bool {
	s := Scanner{buf: b}
	s.Skip()
	s.End()
	return s.err == nil
}

func seedScanner(f *testing.F) {
	for _, s := range []string{
		`{"a":[1,-2.5e+3,true,false,null,"x"]}`, `"\u00e9\ud83d\ude00\n"`, `"\ud800"`, `"\u12"`, `"\x"`, "\"\x01\"", "\"\xff\"", "\xff",
		`01`, `1.`, `.5`, `-`, `1e`, `-0`, `[1,]`, `{,}`, `{"a":1,}`, `{"a" 1}`, `{"a":}`, `{1:2}`, `tru`, `nullx`, ``, ` `, `1 2`, `[[[]`, `]`,
		`{"a":1,"a":2}`, `"` + strings.Repeat("x", 40) + `\"` + strings.Repeat("y", 9) + `"`, "\"12345678\x7f\"", `"1234567\"`, "\"\u2028\"",
		strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001),
	} {
		f.Add([]byte(s))
	}
}

// FuzzScannerAgainstJSONText holds the scanner to accept what jsontext accepts
// and to reject what it rejects.
func FuzzScannerAgainstJSONText(f *testing.F) {
	seedScanner(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, want := accepts(b), jsontext.Value(b).IsValid(lenient...); got != want {
			t.Errorf("%q: accepted %v, jsontext %v", b, got, want)
		}
	})
}

// FuzzStringsAgainstJSONText holds the text of strings to be jsontext's, which
// puts U+FFFD in the place of bytes that are no UTF-8 where the scanner keeps
// them.
func FuzzStringsAgainstJSONText(f *testing.F) {
	seedScanner(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 || b[0] != '"' || !accepts(b) {
			return
		}
		want, err := jsontext.AppendUnquote(nil, bytes.TrimRight(b, " \t\r\n"))
		if err != nil && utf8.Valid(b) && !bytes.Contains(b, []byte(`\u`)) {
			t.Fatalf("%q: %v", b, err)
		}
		s := Scanner{buf: b}
		if got := bytes.ToValidUTF8(s.Str(), []byte("\ufffd")); err == nil && !bytes.Equal(got, want) {
			t.Errorf("%q: %q, jsontext %q", b, got, want)
		}
	})
}

func TestDeepNesting(t *testing.T) {
	for _, open := range []string{"[", `{"a":`} {
		s := Scanner{buf: []byte(strings.Repeat(open, 10_000_000))}
		s.Skip()
		if s.err == nil || !strings.Contains(s.err.Error(), "nested too deep") {
			t.Errorf("%s: error %v", open, s.err)
		}
	}
	if !accepts([]byte(strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth))) {
		t.Error("nesting at the limit is refused")
	}
}

func TestErrorsSayWhere(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":1`:      "text ends where a comma or closing bracket is expected at byte 6",
		`{"a":x}`:     "found 'x' where a value is expected at byte 5",
		`{"a":"b`:     "text ends in a string at byte 7",
		`{"a":1} {`:   "found '{' where the end of the line is expected at byte 8",
		"{\"a\":\"\n": "control character in a string at byte 6",
	} {
		s := Scanner{buf: []byte(text)}
		s.Skip()
		s.End()
		if s.err == nil || s.err.Error() != want {
			t.Errorf("%q: %v, want %s", text, s.err, want)
		}
	}
}

// BenchmarkSkip is the part of reading that most bytes go through.
func BenchmarkSkip(b *testing.B) {
	big := []byte(`{"x":"` + strings.Repeat(`\tten words of \"code\" or so\n`, 5_000) + `"}`)
	b.SetBytes(int64(len(big)))
	for b.Loop() {
		s := New(big)
		if s.Skip(); s.err != nil {
			b.Fatal(s.err)
		}
	}
}

func TestObject(t *testing.T) {
	var name string
	var n int64
	var raw []byte
	var list [][]byte
	to := []Member{To("name", &name), To("n", &n), To("raw", &raw), To("list", &list)}
	text := `{"name":"a\tb","other":[{}],"n":-7,"raw": {"x":1} ,"list":[1, "two",{}]}`
	if err := Object([]byte(text), to...); err != nil {
		t.Fatal(err)
	}
	if name != "a\tb" || n != -7 || string(raw) != `{"x":1}` || string(bytes.Join(list, []byte("|"))) != `1|"two"|{}` {
		t.Errorf("%q %d %s %s", name, n, raw, list)
	}
	for text, want := range map[string]string{
		`{"name":5}`:   "found '5' where a string is expected at byte 8",
		`{"n":1.5}`:    "found '1' where a whole number is expected at byte 5",
		`{"n":"1"}`:    "found '\"' where a whole number is expected at byte 5",
		`{"list":{}}`:  "found '{' where a list is expected at byte 8",
		`[]`:           "found '[' where an object is expected at byte 0",
		`{"raw":1`:     "text ends where a comma or closing bracket is expected at byte 8",
		`{"name":""}x`: "found 'x' where the end of the line is expected at byte 11",
	} {
		if err := Object([]byte(text), to...); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if err := Object([]byte(`{"name":null,"n":null,"list":null}`), to...); err != nil || name != "" || n != -7 {
		t.Errorf("%v: name %q, n %d", err, name, n)
	}
	if err := Object([]byte(`null`), to...); err != nil {
		t.Errorf("null: %v", err)
	}
}

// A count that is no whole number is one that cannot be, and the rest is read.
func TestCount(t *testing.T) {
	for text, want := range map[string]int64{`7`: 7, `null`: -1, `"7"`: -1, `7.5`: -1, `[7]`: -1, `1e99`: -1} {
		var n, after int64
		if err := Object([]byte(`{"n":`+text+`,"after":3}`), Count("n", &n), Count("after", &after)); err != nil || n != want || after != 3 {
			t.Errorf("%s: %d and %d, %v", text, n, after, err)
		}
	}
}
