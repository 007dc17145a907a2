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
		"chat":          {0x5c6100f0be7f001d, 0x3640c6b99806cc70},
		"exploration":   {0x87880a5f3c9445a3, 0x27f629753f4f091d},
		"fan-out":       {0x9b6f39712f46271b, 0x43326c003ad279e4},
		"long-refactor": {0x14d5a9cfa368439e, 0x830c61e4d9bc5b95},
		"overnight":     {0xbe7311af305e4adf, 0xe84ffa32f4b0da66},
		"recorded":      {0x57675137eae0b2a0, 0x8277f4c51cfeb579},
		"short-fix":     {0x3cc4545ec29a5563, 0x855b255a7d28667d},
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
