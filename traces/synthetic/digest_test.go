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
		"chat":          {0x01c4fe1ab3aa37e8, 0xd4fc1df0cb096694},
		"exploration":   {0xd6d5932f592431a1, 0x37ba169c0e0b582f},
		"fan-out":       {0xbf0f1db59e5652e6, 0x9f2d3f426be2066f},
		"long-refactor": {0x35f632a7a30fd914, 0xf2b543d6cd28ba6a},
		"overnight":     {0x52057834c9073cd0, 0x6f2368d6ee27c3b2},
		"recorded":      {0xc9ddba231596ddb0, 0x78b85d1ecf319f59},
		"short-fix":     {0x1e9236e584fef184, 0x19eb4a3217d538dd},
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
