// Package agenttest has helpers for the tests of all readers.
package agenttest

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
)

// Read reads files with the reader of an agent and checks every session.
func Read(t testing.TB, a *facts.Agent, files map[string]string) *traces.Corpus {
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
func Recordings(t testing.TB, a *facts.Agent, folders ...string) *traces.Corpus {
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
func Fuzz(f *testing.F, a *facts.Agent, seeds ...string) {
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
		for _, a := range s.Advice {
			add(a.Usage)
		}
	}
	return sum
}

// Totals reads each of some recordings under ../shared and compares what its calls add
// up to with what another program added up from the same file.
func Totals(t *testing.T, a *facts.Agent, want map[string]Sum) {
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
func Bench(b *testing.B, a *facts.Agent, text string) {
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

// samples has a session in the form of each agent. {id} stands for the session's id, {tag} for what names its lines and
// calls, and {300.7} for the seventh text, of 300 bytes.
//
//go:embed samples/*.jsonl
var samples embed.FS

// Agents returns the names of all agents that have samples.
func Agents() []string {
	return []string{
		facts.ClaudeCode, facts.Codex, facts.OpenCode, facts.Pi, facts.Gemini, facts.Copilot,
		facts.DSH, facts.Cline, facts.Kimi, facts.Qwen, facts.Continue, facts.MiniSWE, facts.Goose,
		facts.OTel, facts.Requests, facts.ATIF,
	}
}

// Sample returns a session in the format of an agent: several prompts, each
// answered in several calls with tools between them, and a compaction. The same
// agent, id and seed give the same bytes; the texts and names of different seeds have
// nothing in common. Every line, or message, is a line of the file.
func Sample(agent, id string, seed uint64) string { return sample(agent, id, seed, 1) }

// Long returns a session whose texts are 25 times as long, in lines, for benchmarks.
func Long(agent string) string { return sample(agent, "long", 1, 25) }

var textPlace = regexp.MustCompile(`\{(\d+)\.(\d+)\}`)

// sample fills in the sample of an agent, with texts so many times as long.
func sample(agent, id string, seed uint64, times int) string {
	b, err := samples.ReadFile("samples/" + agent + ".jsonl")
	if err != nil {
		panic(err) // the names are constants
	}
	text := strings.NewReplacer("{id}", id, "{tag}", fmt.Sprintf("%s%d", id, seed)).Replace(string(b))
	return textPlace.ReplaceAllStringFunc(text, func(place string) string {
		m := textPlace.FindStringSubmatch(place)
		size, _ := strconv.Atoi(m[1]) // both are digits
		nth, _ := strconv.ParseUint(m[2], 10, 64)
		words := rand.New(rand.NewPCG(seed, nth))
		var b strings.Builder
		for range times {
			for end := b.Len() + size; b.Len() < end; {
				fmt.Fprintf(&b, "%x ", words.Uint32())
			}
			b.WriteString(map[bool]string{true: `\n`}[times > 1])
		}
		return b.String()
	})
}
