package cassette

import (
	"slices"
	"testing"

	"github.com/go-json-experiment/json"
)

// Lines are read as any list of texts is, with what no line of this program holds too.
func TestLines(t *testing.T) {
	for _, text := range []string{
		`["user text 5 B 01","a, b [c] 9"]`, "[\r\n  \"one\",\r\n  \"\"\r\n]", `["an \" inside","b"]`, `["\u00e9",""]`, `[]`, `null`,
		`["a",1]`, `["a",null]`, `[["a"]]`, `"a"`, `{"a":"b"}`, `["a"`, `["a" "b"]`,
	} {
		var got Lines
		var want []string
		err, wantErr := json.Unmarshal([]byte(text), &got), json.Unmarshal([]byte(text), &want)
		if (err == nil) != (wantErr == nil) || err == nil && !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v; a list of texts is read as %q, %v", text, got, err, want, wantErr)
		}
	}
}

// The sum of a text that is no UTF-8 is that of what the file has: a folder reads
// again what it has stored.
func TestSumOfBrokenText(t *testing.T) {
	c := answered(nth(1))
	c.Reply.Text = "a\xff\xfe\xed\xa0\x80b"
	store(t, t.TempDir(), Options{}, c)
}
