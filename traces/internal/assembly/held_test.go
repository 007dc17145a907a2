package assembly

import (
	"reflect"
	"runtime"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// A tree gives back a step with whichever of its fields is set.
func TestHeldStepsAreWhole(t *testing.T) {
	f := NewFile("f", traces.Options{})
	for i := range reflect.TypeFor[Step]().NumField() {
		var s Step
		switch v := reflect.ValueOf(&s).Elem().Field(i); v.Kind() {
		case reflect.Bool:
			v.SetBool(true)
		case reflect.String:
			v.SetString("s")
		case reflect.Int32, reflect.Int64:
			v.SetInt(1)
		case reflect.Uint8, reflect.Uint32:
			v.SetUint(1)
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		case reflect.Pointer:
			v.Set(reflect.New(v.Type().Elem()))
		default:
			s.Usage = Usage{OK: true, Usage: prompt.Usage{Read: 7}}
		}
		tree := Tree{File: f}
		if got := tree.Steps(tree.Add(-1, []Step{s})); len(got) != 1 || !reflect.DeepEqual(got[0], s) {
			t.Errorf("%s: %+v, want %+v", reflect.TypeFor[Step]().Field(i).Name, got, s)
		}
	}
}

// A call without content takes some 440 bytes of a tree: three steps of 96 each, 96 for its counts, and 32 for its entry, of which the list has
// room for up to a quarter more. As Steps they took a kilobyte.
func TestTreeIsSmall(t *testing.T) {
	const calls, most = 50_000, 460
	live := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := live()
	tree := &Tree{File: NewFile("f", traces.Options{})}
	for i := range calls {
		at, line := int64(i), int32(i+1)
		tree.Add(tree.Len()-1, []Step{
			{Kind: StepInput, At: at, Line: line}, {Kind: StepReply, At: at, Line: line, ID: "reply"},
			{Kind: StepCount, At: at, Line: line, Model: "m", Usage: Usage{OK: true, Usage: prompt.Usage{Read: at}}, Final: true},
		})
	}
	if took := (live() - before) / calls; took > most {
		t.Errorf("%d bytes a call, want at most %d", took, most)
	}
	runtime.KeepAlive(tree)
}
