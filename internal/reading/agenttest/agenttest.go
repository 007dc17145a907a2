// Package agenttest has helpers for the tests of all readers.
package agenttest

import (
	"context"
	"errors"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// Read reads files with the reader of an agent and checks every session.
func Read(t testing.TB, a *traces.Agent, files map[string]string) *traces.Corpus {
	t.Helper()
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	inputs, err := traces.FindFS(fsys)
	if err != nil {
		t.Fatal(err)
	}
	c, err := a.Read(context.Background(), traces.Options{}, inputs, "files")
	if err != nil && !errors.Is(err, traces.ErrNoSessions) {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	check(t, c)
	return c
}

func check(t testing.TB, c *traces.Corpus) {
	t.Helper()
	for _, s := range c.Sessions {
		if err := s.Check(); err != nil {
			t.Error(err)
		}
	}
}

// Recordings reads real recordings under ../shared beside the repository, and
// skips the test if there are none.
func Recordings(t testing.TB, a *traces.Agent, folders ...string) *traces.Corpus {
	t.Helper()
	var paths []string
	for _, f := range folders {
		p := filepath.Join("..", "..", "..", "..", "shared", filepath.FromSlash(f))
		if _, err := os.Stat(p); err == nil {
			paths = append(paths, p)
		}
	}
	if len(paths) == 0 {
		t.Skip("no recordings")
	}
	inputs, err := traces.Find(context.Background(), traces.Options{}, paths...)
	if err != nil {
		t.Fatal(err)
	}
	c, err := a.Read(context.Background(), traces.Options{Strict: true}, inputs, "recordings")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	check(t, c)
	return c
}

// Kinds lists the blocks of a span by kind.
func Kinds(s *traces.Session, p traces.Span) (list []string) {
	for i := p.From; i < p.To; i++ {
		list = append(list, s.Blocks[i].Kind.String())
	}
	return list
}

// Fuzz runs a fuzz test: for any bytes, reading ends without a crash and
// returns sound sessions.
func Fuzz(f *testing.F, a *traces.Agent, seeds ...string) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) { Read(t, a, map[string]string{"a.jsonl": string(text)}) })
}

// Sum is what all calls of a corpus add up to, summaries included.
type Sum struct {
	Calls                             int
	Uncached, Read, Written, Answered int64 // tokens
}

// Add adds another sum.
func (s *Sum) Add(o Sum) {
	s.Calls += o.Calls
	s.Uncached, s.Read, s.Written, s.Answered = s.Uncached+o.Uncached, s.Read+o.Read, s.Written+o.Written, s.Answered+o.Answered
}

// Total adds up the calls of a corpus.
func Total(c *traces.Corpus) (sum Sum) {
	add := func(u prompt.Usage) { sum.Add(Sum{1, u.Uncached, u.Read, u.Writes(), u.Output}) }
	for _, s := range c.Sessions {
		for i := range s.Threads {
			for _, r := range s.Threads[i].Rounds {
				r.Usage.Output = r.Logged
				add(r.Usage)
			}
		}
		for _, m := range s.Summaries {
			add(m.Usage)
		}
	}
	return sum
}

// Totals reads each of some recordings under ../shared and compares what its calls add
// up to with what another program added up from the same file.
func Totals(t *testing.T, a *traces.Agent, want map[string]Sum) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		t.Run(path.Base(name), func(t *testing.T) {
			if got := Total(Recordings(t, a, name)); got != want[name] {
				t.Errorf("%+v, want %+v", got, want[name])
			}
		})
	}
}

// Bench reads a file that holds one session again and again, on one core.
func Bench(b *testing.B, a *traces.Agent, text string) {
	files := fstest.MapFS{"a.jsonl": {Data: []byte(text)}}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		inputs, err := traces.FindFS(files)
		if err != nil {
			b.Fatal(err)
		}
		c, err := a.Read(context.Background(), traces.Options{Workers: 1}, inputs, "bench")
		if err != nil || len(c.Sessions) != 1 {
			b.Fatal(err)
		}
	}
}
