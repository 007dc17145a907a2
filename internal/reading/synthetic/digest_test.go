package synthetic

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/compactsim/compactsim/traces"
)

// digest returns a hash of everything in the first sessions of a corpus.
func digest(t testing.TB, sessions int, session func(index int) *traces.Session) uint64 {
	t.Helper()
	h := xxh3.New()
	for i := range sessions {
		s := session(i)
		fmt.Fprintln(h, s.ID, s.Agent, s.Versions, s.Project, s.Window, s.Files, s.Start, s.End, s.Tools, s.Models, s.Objects, s.Quality)
		if err := binary.Write(h, binary.LittleEndian, s.Blocks); err != nil {
			t.Fatal(err)
		}
		for k := range s.Threads {
			fmt.Fprintf(h, "%+v\n", s.Threads[k])
		}
	}
	return h.Sum64()
}

// What a workload, a seed and a number give stays what it is from version to
// version: figures of a scenario with generated sessions can be made again.
func TestSessionsStayTheSame(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("other processors round a multiplication and an addition once")
	}
	want := map[string][2]uint64{
		"chat":          {0xb380cae7544a28a4, 0xa97fd3768b6dd374},
		"exploration":   {0x0bd0ffd9e0e1c0c0, 0xb2dc3813bb3399d4},
		"fan-out":       {0xe06522d90078d331, 0x5118a081eae072f5},
		"long-refactor": {0xea45003c19a82235, 0xbdeee2caec38cdc2},
		"overnight":     {0x64899785cd6c980b, 0xb2e389af23a7ffcd},
		"recorded":      {0x82759fff2cebadda, 0x5ca68640b4c3eb6a},
		"short-fix":     {0xfed158e37b459875, 0x4c5c40ab687848ac},
	}
	for _, name := range WorkloadNames() {
		g := generator(t, workload(t, name))
		for k, seed := range []uint64{1, 9} {
			got := digest(t, 40, func(i int) *traces.Session { return g.Session(seed, i) })
			if got != want[name][k] {
				t.Errorf("%s, seed %d: sessions have the digest %#x, want %#x", name, seed, got, want[name][k])
			}
		}
	}
}

// Workers share a generator and its buffers.
func TestSessionsAtOnce(t *testing.T) {
	g := generator(t, workload(t, "fan-out"))
	const workers, each = 4, 10
	got := make([][each]string, workers)
	var wg sync.WaitGroup
	for k := range workers {
		wg.Go(func() {
			for i := range each {
				s := g.Session(1, k*each+i)
				got[k][i] = fmt.Sprint(s.ID, s.Usage(), s.End)
			}
		})
	}
	wg.Wait()
	for k := range workers {
		for i := range each {
			if s := g.Session(1, k*each+i); got[k][i] != fmt.Sprint(s.ID, s.Usage(), s.End) {
				t.Fatalf("session %d of worker %d is another than alone", i, k)
			}
		}
	}
}
