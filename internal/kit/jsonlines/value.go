package jsonlines

import (
	"fmt"
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

func (e *encoder) whole(n int64) { e.text = strconv.AppendInt(e.text, n, 10) }

// float appends a number in the form of JSON: the shortest decimal that reads
// back as the same.
func (e *encoder) float(v float64) {
	abs := math.Abs(v)
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		e.err = fmt.Errorf("%v is not a number that JSON can hold", v)
		return
	case v == 0: // of either sign
		e.text = append(e.text, '0')
		return
	case abs >= 1e-6 && abs < 1e21:
		e.text = strconv.AppendFloat(e.text, v, 'f', -1, 64)
		return
	}
	b := strconv.AppendFloat(e.text, v, 'e', -1, 64)
	if n := len(b); n >= 4 && b[n-4] == 'e' && b[n-3] == '-' && b[n-2] == '0' { // e-09 is e-9
		b = append(b[:n-2], b[n-1])
	}
	e.text = b
}

func (e *encoder) quote(s string) {
	text, err := jsontext.AppendQuote(e.text, s)
	if err != nil {
		e.err = fmt.Errorf("%q: %w", s, err)
		return
	}
	e.text = text
}
