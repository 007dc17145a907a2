package strategies

import (
	"math/rand/v2"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
)

// A file is found where it is: the place is compared with a search of all.
// A copy knows what the original knew, and an emptied one nothing.
func TestFilesAreFoundByObject(t *testing.T) {
	const objects = 40
	draw := rand.New(rand.NewPCG(1, 1))
	agree := func(d *disk) {
		t.Helper()
		for object := int32(-1); object <= objects; object++ {
			want := -1
			for i := range d.files {
				if d.files[i].object == object {
					want = i
				}
			}
			if got := d.index(object); got != want {
				t.Fatalf("file of object %d at %d, want %d", object, got, want)
			}
		}
	}
	var c, copied Carried
	for id := range int32(500) {
		did := []op.Op{op.Read, op.Edit, op.Write}[draw.IntN(3)]
		c.disk.access(&prompt.Block{Object: draw.Int32N(objects), Op: did, Bytes: 1000, Tokens: 250}, id)
		agree(&c.disk)
		if draw.IntN(20) == 0 {
			copied.CopyFrom(&c)
			c.disk.access(&prompt.Block{Object: draw.Int32N(objects), Op: op.Write}, id)
			agree(&copied.disk)
		}
	}
	c = c.emptied()
	agree(&c.disk)
	c.disk.access(&prompt.Block{Object: 30, Op: op.Read}, 500)
	agree(&c.disk)
}
