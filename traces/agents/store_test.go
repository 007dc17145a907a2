package agents

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/tools/tests/agenttest"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/store"
)

// sizes is an index: how much was said in each block.
type sizes struct{ bytes []int64 }

// counter makes sizes.
type counter struct{}

func (counter) Hear(_ prompt.Kind, t *traces.Text) any { return int64(len(t.Text)) }

func (counter) Index(_ *traces.Session, heard []any) any {
	x := &sizes{}
	for _, h := range heard {
		n, _ := h.(int64)
		x.bytes = append(x.bytes, n)
	}
	return x
}

// What is read with a store is what is read without, whatever happened to the recordings in between: files that come,
// go, grow, are cut, change places, or are read beside others or alone, with a listener and without, with bodies in
// memory and without, and though some bodies are lost before they are loaded.
func TestStore(t *testing.T) {
	source := related(t)
	names, err := os.ReadDir(source)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(12) {
		draw := rand.New(rand.NewPCG(seed, 0))
		dir := t.TempDir()
		for range 2 + draw.IntN(4) {
			for range 1 + draw.IntN(12) {
				change(t, draw, source, dir, names[draw.IntN(len(names))].Name())
			}
			opts := traces.Options{Workers: 1 + draw.IntN(3), Batch: 1 + draw.IntN(200)}
			if draw.IntN(2) == 0 {
				opts.Listener = counter{}
			}
			want := corpusOf(t, opts, dir)
			kept, err := store.Open(filepath.Join(dir, ".store"), new(sizes))
			if err != nil {
				t.Fatal(err)
			}
			opts.Store = kept
			opts.Lazy = draw.IntN(2) == 0
			got := corpusOf(t, opts, dir)
			again := corpusOf(t, opts, dir, func() {
				for _, e := range must(store.List(filepath.Join(dir, ".store"))) {
					if draw.IntN(4) == 0 {
						_ = os.Remove(e.Name)
					}
				}
			})
			if err := kept.Close(); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(again, want) {
				t.Fatalf("seed %d: sessions differ", seed)
			}
		}
	}
}

// counted is a store that counts what it is given.
type counted struct {
	traces.Store
	puts atomic.Int64
}

func (c *counted) Put(key string, from any) bool {
	c.puts.Add(1)
	return c.Store.Put(key, from)
}

// A batch goes into the store while later ones are read, so that the bodies of all sessions are never held at once: of
// five files in batches of one, three have a body and an entry each when the last file is scanned.
func TestStoreTakesBatches(t *testing.T) {
	dir := t.TempDir()
	for i := range 5 {
		id := string(rune('a' + i))
		text := agenttest.Sample(facts.ClaudeCode, id, uint64(i))
		if err := os.WriteFile(filepath.Join(dir, id+".jsonl"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	kept := &counted{Store: must(store.Open(filepath.Join(dir, ".store")))}
	scanned, puts := 0, int64(0)
	c, err := Read(t.Context(), traces.Options{Batch: 1, Workers: 1, Store: kept, Lazy: true, Progress: func(_ int64, files int) {
		scanned += files
		puts = kept.puts.Load()
	}}, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if scanned != 5 || puts < 6 || kept.puts.Load() != 10 {
		t.Errorf("%d entries when %d files are scanned, %d at last; want 6 or more of 5, 10", puts, scanned, kept.puts.Load())
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// corpusOf reads a folder, nil without sessions, and loads its sessions after what meanwhile does. An index that nobody
// asked for is left out.
func corpusOf(t *testing.T, opts traces.Options, dir string, meanwhile ...func()) *traces.Corpus {
	c, err := Read(t.Context(), opts, dir)
	if err != nil || c == nil {
		return nil
	}
	for _, do := range meanwhile {
		do()
	}
	c.Inputs = nil
	for i := range c.Sessions {
		s, err := c.Sessions[i].Load()
		if err != nil {
			t.Fatal(err)
		}
		if c.Sessions[i] = s; opts.Listener == nil {
			s.Index = nil
		}
	}
	return c
}

// change does something to a file.
func change(t *testing.T, draw *rand.Rand, source, dir, name string) {
	to := filepath.Join(dir, name)
	text, err := os.ReadFile(filepath.Join(source, name))
	if err != nil {
		t.Fatal(err)
	}
	switch draw.IntN(5) {
	case 0:
		text = text[:draw.IntN(len(text))]
	case 1:
		_ = os.Remove(to) // it may not be there
		return
	case 2:
		text = append(text, text[:len(text)/3]...)
	}
	if err := os.WriteFile(to, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Sessions that were read before their files grew are loaded as they were, though another program has kept the later
// state. If their bodies are lost, the program says that the files have changed, and does not mix two states.
func TestStoreKeepsStatesApart(t *testing.T) {
	source, dir := related(t), t.TempDir()
	names := must(os.ReadDir(source))
	for _, e := range names {
		text := must(os.ReadFile(filepath.Join(source, e.Name())))
		if err := os.WriteFile(filepath.Join(dir, e.Name()), text[:len(text)*2/3], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	opts := traces.Options{Listener: counter{}}
	want := corpusOf(t, opts, dir)
	opts.Store, opts.Lazy = must(store.Open(filepath.Join(dir, ".store"), new(sizes))), true
	corpusOf(t, opts, dir)
	grow := func() {
		for _, e := range names {
			text := must(os.ReadFile(filepath.Join(source, e.Name())))
			if err := os.WriteFile(filepath.Join(dir, e.Name()), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		corpusOf(t, opts, dir)
	}
	if got := corpusOf(t, opts, dir, grow); !reflect.DeepEqual(got, want) {
		t.Error("sessions of the first state are not as they were")
	}
	c, err := Read(t.Context(), opts, dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range names {
		if err := os.Truncate(filepath.Join(dir, e.Name()), 1000); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Clean(filepath.Join(dir, ".store")); err != nil {
		t.Fatal(err)
	}
	for _, s := range c.Sessions {
		if _, err := s.Load(); err == nil || !strings.Contains(err.Error(), "has changed since this program began") {
			t.Errorf("session %s: error %v", s.ID, err)
		}
	}
}
