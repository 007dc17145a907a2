package jsonlines

import (
	"math"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

type document struct {
	Schema int       `json:"schema"`
	Cells  []float64 `json:"cells"`
	Notes  []string  `json:"notes,omitempty"`
}

func TestWrite(t *testing.T) {
	for want, cells := range map[string][]float64{
		"{\"schema\":1,\"cells\":[\n2.5,\n3\n],\"notes\":[\"n\"]}\n": {2.5, 3},
		"{\"schema\":1,\"cells\":[\n],\"notes\":[\"n\"]}\n":          nil,
	} {
		var b strings.Builder
		if err := Write(&b, &document{Schema: 1, Cells: []float64{}, Notes: []string{"n"}}, cells); err != nil || b.String() != want {
			t.Errorf("%v: %q, want %q", err, b.String(), want)
		}
	}
}

func TestWriteRefuses(t *testing.T) {
	var b strings.Builder
	if err := Write(&b, &document{Cells: []float64{1}}, []float64{1}); err == nil || !strings.Contains(err.Error(), "no empty list") {
		t.Errorf("a head with cells of its own: %v", err)
	}
	if err := Write(&b, &document{Cells: []float64{}}, []float64{1, math.NaN()}); err == nil || !strings.Contains(err.Error(), "cell 2") {
		t.Errorf("a cell that is no number: %v", err)
	}
	if b.Len() > 0 {
		t.Errorf("%q is written all the same", b.String())
	}
}

// A wrong kind of value and a wrong sign are both found on their line.
func TestLine(t *testing.T) {
	for text, want := range map[string]int{"{\"schema\":1,\n\"cells\":[\n\"x\"]}": 3, "{\n\"schema\":x}": 2, "": 1} {
		var d document
		if got := Line([]byte(text), json.Unmarshal([]byte(text), &d)); got != want {
			t.Errorf("%q: line %d, want %d", text, got, want)
		}
	}
}

// What JSON cannot hold is an error and not a line.
func TestAppendRefuses(t *testing.T) {
	form := NewForm("line", []Member{{Name: "amount", Kind: Signed}})
	for _, v := range []float64{math.NaN(), math.Inf(-1)} {
		if text, err := form.Append(nil, &Values{Figures: []float64{v}}); err == nil {
			t.Errorf("%v: %s", v, text)
		}
	}
}
