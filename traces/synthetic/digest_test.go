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
		"chat":          {0x01c4fe1ab3aa37e8, 0x7ed9ee3e99ea3c6d},
		"exploration":   {0x7258e5d82244a465, 0xf7bf20d4dbbd2de8},
		"fan-out":       {0x0dabf86615192d57, 0x55debd1ef8ab2cec},
		"long-refactor": {0x8f5ac8f95c542528, 0x5421162ccaeb141f},
		"overnight":     {0x5ea1da9f961c7820, 0xe8c8abedd20a6589},
		"recorded":      {0xef485b891d4ed64a, 0x096e8dfe2e66beb4},
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
