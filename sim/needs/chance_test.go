package needs

import (
	"context"
	"math"
	"testing"

	"github.com/compactsim/compactsim/tools/tests/needstest"
)

// Of two names in two files, an agent writes both into a third. If it has read one file when it does, half of the names
// are still to be shown: each would be used before by chance with 1/2, together once. So one name that is shown later makes
// (1 + 1)/(1 + 2). Names that are written as they are shown give 0 + 1 of 1/2 + 2, and where both files were read before, or what it wrote
// comes back to it, nothing is known: 1/2.
func TestChance(t *testing.T) {
	read := func(k *needstest.Talk, file, name string) {
		k.Call("Read", `{"file_path":"/p/`+file+`"}`, "1→func "+name+"() {")
	}
	write := func(k *needstest.Talk, file, text string) {
		k.Call("Write", `{"file_path":"/p/`+file+`","content":"`+text+`"}`, "done")
	}
	for what, tc := range map[string]struct {
		do   func(k *needstest.Talk)
		want float64
	}{
		"one of two before": {func(k *needstest.Talk) {
			read(k, "a.go", "frobnicateAll")
			write(k, "out.go", "frobnicateAll and rotateNone")
			read(k, "b.go", "rotateNone")
		}, 2. / 3},
		"as they are shown": {func(k *needstest.Talk) {
			read(k, "a.go", "frobnicateAll")
			write(k, "out.go", "frobnicateAll")
			read(k, "b.go", "rotateNone")
			write(k, "more.go", "rotateNone")
		}, 1 / 2.5},
		"all before": {func(k *needstest.Talk) {
			read(k, "a.go", "frobnicateAll")
			read(k, "b.go", "rotateNone")
			write(k, "out.go", "frobnicateAll and rotateNone")
		}, 0.5},
		"its own": {func(k *needstest.Talk) {
			write(k, "out.go", "frobnicateAll")
			read(k, "out.go", "frobnicateAll")
			write(k, "more.go", "rotateNone")
			k.Call("Bash", `{"command":"sed -i s/x/rotateNone/ b.go"}`, "done")
			read(k, "b.go", "rotateNone")
		}, 0.5},
	} {
		var k needstest.Talk
		k.Person("go on")
		tc.do(&k)
		k.Says("done")
		corpus, s := k.Read(t)
		x, err := Build(context.Background(), corpus, s)
		if err != nil {
			t.Fatal(err)
		}
		if got := x.Chance(); math.Abs(got-tc.want) > 1e-9 {
			t.Errorf("%s: %g, want %g", what, got, tc.want)
		}
	}
}
