package results

import (
	"math"
	"reflect"
	"regexp"
	"testing"

	"pgregory.net/rapid"

	"github.com/compactsim/compactsim/sim/results/confusion"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// The kinds by the definitions of the metrics: what is said to be a maximum, a
// least share or a quotient. All others add up.
func TestKinds(t *testing.T) {
	other := map[string]measures.Kind{
		"chain_max": measures.KindMaximum, "peak_context_tokens": measures.KindMaximum, "peak_calls_in_flight": measures.KindMaximum, "percent_left_least": measures.KindMinimum,
		"billed_to_predicted": measures.KindRatio, "cache_hit_ratio": measures.KindRatio, "call_hit_ratio": measures.KindRatio, "percent_left": measures.KindRatio,
	}
	shares := regexp.MustCompile("^(needed_|needs_lost_|instruction_|artifact_)")
	for _, m := range Metrics() {
		want := other[m.Name]
		if shares.MatchString(m.Name) {
			want = measures.KindRatio
		}
		if m.Kind != want {
			t.Errorf("%s is a %s, want %s", m.Name, m.Kind, want)
		}
		if (m.Parts != nil) != (m.Kind == measures.KindRatio) {
			t.Errorf("%s, a %s: has parts: %v", m.Name, m.Kind, m.Parts != nil)
		}
	}
}

// Every metric adds up over rows as its kind says: two rows with a figure in
// every field make the value of their sum.
func TestKindsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyRow(t, "a"), anyRow(t, "b")
		var both Row
		both.Add(&a)
		both.Add(&b)
		for _, m := range Metrics() {
			x, okX := m.Value(&a)
			y, okY := m.Value(&b)
			want, ok := m.Value(&both)
			if !okX || !okY || !ok {
				t.Fatalf("%s has no sample in a row with a number in every field", m.Name)
			}
			got := join(m.Kind, x, y)
			if m.Kind == measures.KindRatio {
				partA, baseA := m.Parts(&a)
				partB, baseB := m.Parts(&b)
				got = join(m.Kind, partA, partB) / join(m.Kind, baseA, baseB)
				if math.Abs(partA/baseA-x) > 1e-12*math.Abs(x) {
					t.Errorf("%s of a row is %v, its parts say %v", m.Name, x, partA/baseA)
				}
			}
			if math.Abs(got-want) > 1e-12*math.Abs(want) {
				t.Errorf("%s of two rows is %v, by its kind, %s, %v", m.Name, want, m.Kind, got)
			}
		}
	})
}

func TestKindNames(t *testing.T) {
	for k, want := range map[measures.Kind]string{measures.KindSum: "sum", measures.KindRatio: "ratio", measures.KindMaximum: "maximum", measures.KindMinimum: "minimum"} {
		if k.String() != want {
			t.Errorf("kind %d is %q, want %q", k, k, want)
		}
	}
}

// anyRow returns a row with a number in every field.
func anyRow(t *rapid.T, label string) Row {
	r := Row{Strategy: "x", Session: label}
	number := func() int64 { return rapid.Int64Range(1, 90).Draw(t, label) }
	fillAny(reflect.ValueOf(&r).Elem(), number)
	var said confusion.Matrix
	fillAny(reflect.ValueOf(&said).Elem(), number)
	r.Breaks = said.Counts()
	return r
}

func fillAny(v reflect.Value, number func() int64) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fillAny(v.Field(i), number)
		}
	case reflect.Array:
		for i := range v.Len() {
			fillAny(v.Index(i), number)
		}
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(number())
	case reflect.Uint32:
		v.SetUint(uint64(number()))
	case reflect.Float64:
		v.SetFloat(float64(number()))
	}
}

// join returns the value over two sets of rows, given the values over each. For a ratio these are
// the values of one of its two parts.
func join(k measures.Kind, a, b float64) float64 {
	switch k {
	case measures.KindMaximum:
		return max(a, b)
	case measures.KindMinimum:
		return min(a, b)
	}
	return a + b
}
