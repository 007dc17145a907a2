package compare

import (
	"reflect"

	"pgregory.net/rapid"

	"github.com/compactsim/compactsim/sim/results"
)

// anyRow returns a row with a number in every field.
func anyRow(t *rapid.T, label string) results.Row {
	r := results.Row{Strategy: "x", Session: label}
	fillAny(reflect.ValueOf(&r).Elem(), func() int64 {
		return rapid.Int64Range(1, 90).Draw(t, label)
	})
	return r
}

func fillAny(v reflect.Value, number func() int64) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fillAny(v.Field(i), number)
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			fillAny(v.Index(i), number)
		}
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(number())
	case reflect.Float64:
		v.SetFloat(float64(number()))
	}
}
