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
		"chat":          {0xfb1a60f7b054a0e4, 0xe746e82005e3eeaa},
		"exploration":   {0x74f200fdd2062344, 0xa0465f596ca8c7be},
		"fan-out":       {0xbe3247c54792fc1f, 0xf9a9678115e9ebf2},
		"long-refactor": {0xf78e9cd499881680, 0x66537dbc6d19b194},
		"overnight":     {0x00aa9728793650fe, 0xcabfe7f136d7e971},
		"recorded":      {0x0091a89507672c6a, 0xe126d639f779e680},
		"short-fix":     {0xacfccda2943bbb0c, 0x63f85c424bb3fca1},
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
