package opencode

import (
	"bytes"
	"strconv"

	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/internal/assembly"
)

// texts reads the texts of exports again.
func texts(text []byte) (list []traces.Text) {
	for doc := range bytes.SplitSeq(text, []byte(between)) {
		list = append(list, textsOf(doc)...)
	}
	return list
}

// textsOf reads the texts of an export again.
func textsOf(text []byte) (list []traces.Text) {
	var x info
	f, n := assembly.Again(), 0
	_ = eachMessage(text, &x, func(v []byte, _ int) error { // as far as it is readable
		m, err := messageOf(v, f)
		if err != nil {
			return nil
		}
		list = append(list, assembly.TextsOf(userBlocks(f.Maker, m))...)
		list = append(list, assembly.TextsOf(answered(f.Maker, m, x.ID+strconv.Itoa(n)))...)
		n++
		return nil
	})
	return list
}
