package jsonscan

import (
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// shape has all that is decoded.
type shape struct {
	inner
	Name  string            `json:"name,omitzero"`
	Raw   jsontext.Value    `json:"raw"`
	N     int64             `json:"n"`
	Small int               `json:"small"`
	X     float64           `json:"x"`
	B     bool              `json:"b"`
	Up    *shape            `json:"up"`
	List  []shape           `json:"list"`
	Texts []string          `json:"texts"`
	Of    map[string]*inner `json:"of"`
}

type inner struct {
	ID   string `json:"id"`
	Name []int  `json:"name"` // hidden by the member of shape
}

// FuzzDecodeAgainstJSON holds what is decoded to be what encoding/json's successor makes of the text.
func FuzzDecodeAgainstJSON(f *testing.F) {
	for _, s := range []string{
		`{"id":"i","name":"a\u00e9\ud800","raw":{"a":[1]},"n":-7,"small":3,"x":1.5e3,"b":true,"up":{"up":null},"list":[{"n":1},{}],"texts":[],"of":{"k":{"id":"x"},"z":null}}`,
		`{"name":null,"raw":null,"n":null,"x":null,"b":null,"up":null,"list":null,"texts":["a",null],"of":null}`, `{"n":1.0}`, `{"n":"1"}`, `{"n":1e3}`, `{"n":99999999999999999999}`,
		`{"x":1e999}`, `{"x":"1"}`, `{"b":0}`, `{"list":{}}`, `{"of":[]}`, `{"name":"a","name":5}`, `{"n":1,"n":2}`, `{"list":[{"n":1}],"list":[{}]}`, `{"up":{"n":1},"up":{"id":"q"}}`,
		"{\"name\":\"\xff\xfe\",\"of\":{\"\xff\":{}}}", `{"NAME":"x"}`, `[]`, `null`, `1`, `{`, `{"name":"x"`, `{} {}`, `{"texts":["\"x\\n"]}`, `{"id":null,"kept":1}`, `{"n":-0}`, `{"x":-0}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var got, want shape
		err, wrong := Decode(b, &got), json.Unmarshal(b, &want, lenient[0], lenient[1])
		if err != nil && strings.HasPrefix(err.Error(), twice) {
			if strict := json.Unmarshal(b, &want, lenient[1]); strict == nil { // where names that come twice are an error
				t.Fatalf("%q: %v, json nothing", b, err)
			}
			return
		}
		if (err == nil) != (wrong == nil) {
			t.Fatalf("%q: %v, json %v", b, err, wrong)
		}
		if err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, json %+v", b, got, want)
		}
	})
}

// Decoding names the byte of a value of the wrong kind.
func TestDecodeErrors(t *testing.T) {
	for text, want := range map[string]string{
		`{"name":5}`:        "found '5' where a string is expected at byte 8",
		`{"list":[{"n":""`:  "found '\"' where a whole number is expected at byte 14",
		`{"up":[]}`:         "found '[' where an object is expected at byte 6",
		`{"x":true}`:        "found 't' where a number is expected at byte 5",
		`{"n":1,"n":1}`:     "a second member of one name at byte 11",
		`{"b":"true"}`:      "found '\"' where true or false is expected at byte 5",
		`{"texts":["a"] 1}`: "found '1' where a comma or closing bracket is expected at byte 15",
	} {
		var v shape
		if err := Decode([]byte(text), &v); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
