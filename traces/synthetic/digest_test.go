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
		fmt.Fprintln(h, s.ID, s.Agent, s.Versions, s.Project, s.Window, s.Files, s.Start, s.End, s.Tools, s.Models, s.Objects,
			s.Quality.Calls, s.Quality.InputTokens, s.Quality.PrefixTokens, s.Quality.UnseenTokens)
		if err := binary.Write(h, binary.LittleEndian, s.Blocks); err != nil {
			t.Fatal(err)
		}
		for k := range s.Threads {
			t := &s.Threads[k]
			fmt.Fprintln(h, t.ID, t.Kind, t.MidContext, t.Parent, t.ParentRound, t.Delay, t.Prefix)
			for _, r := range t.Rounds {
				fmt.Fprintln(h, r.ID, r.Input, r.Reply, r.Usage, r.Tail, r.Logged, r.At, r.Wait, r.First, r.Stream, r.Line, r.Model, r.Trigger, uint8(r.Flags), r.Signs)
			}
			for _, e := range t.Events {
				fmt.Fprintln(h, e.Kind, e.Manual, e.Round, e.PreTokens, e.Summary, e.Kept, e.Absorbed, e.Cleared, e.Saved, e.Wait, e.At)
			}
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
		"chat":          {0xed5c0acb28f8a3a3, 0x4fab60114df54168},
		"exploration":   {0xb8382268057d7447, 0xa0db37f6fee566af},
		"fan-out":       {0xf2427a994fb1927, 0x72ab2236ba5aac5f},
		"long-refactor": {0xc611b02f4e53e569, 0x230f290d7514b70c},
		"overnight":     {0x963261df401a8e07, 0x2a4f98de85e6fbc2},
		"recorded":      {0x3371341212ec8db1, 0x770c54219f2c7f06},
		"short-fix":     {0xaac62e2f3f13f133, 0x892c165e4a9d3a5d},
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
