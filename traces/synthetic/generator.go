package synthetic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/zeebo/xxh3"

	"github.com/compactsim/compactsim/internal/kit/parallel"
	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/internal/assembly"
	"github.com/compactsim/compactsim/traces/internal/claudecode"
)

// Generator emits the sessions of a workload in the parsed form. It may be used
// by several goroutines at once.
type Generator struct {
	w        *Workload
	rates    traces.Rates
	tools    toolMix
	agents   toolMix
	pauses   chooser // the last choice is Workload.Think
	models   chooser
	paths    []string // of the files, and last the project
	lengths  []int32  // of the paths as JSON writes them, bytes
	names    []string // of the models, each once
	versions []string // of every session: the client's
	named    []uint16 // index into names of the choices in models
	// agentModel is the index into names of the agents' model; its name is empty
	// when they use the session's.
	agentModel uint16
	seed       dice
	static     int   // tokens a main thread that begins cold is read back with, at most
	lifetime   int64 // ns
	latest     int64 // unix ns at which the last session ends at the latest
	limit      int   // tokens; 0 is never
	final      bool  // logged outputs are final
	plans      sync.Pool
}

// toolMix is a compiled tool mix.
type toolMix struct {
	tools  []genTool
	choice chooser
}

// genTool is a tool ready to be drawn.
type genTool struct {
	WorkTool
	op         op.Op
	flags      prompt.Flags
	overhead   int // bytes of the input's JSON without path and free text
	read, task bool
	files      bool
}

// NewGenerator returns a generator of the workload's sessions. The error names
// every problem of the workload.
func NewGenerator(w *Workload) (*Generator, error) {
	if errs := w.Validate(); len(errs) > 0 {
		return nil, fmt.Errorf("profile %q: %w", w.Name, errors.Join(errs...))
	}
	own := *w
	own.Pauses = slices.Clone(w.Pauses)
	tabulate(&own)
	g := &Generator{
		w: &own, rates: traces.DefaultRates(), seed: dice(xxh3.HashString(w.Name)), limit: w.threshold(),
		static: int(claudecode.DefaultStatic(w.Version)), lifetime: int64(w.lifetime()),
		final: finalOutputs(w.Version), versions: []string{w.Version}, latest: w.Start.UnixNano() + maxSessionTime,
	}
	g.tools, g.agents = g.compile(w.Tools), g.compile(w.Agents.Tools)
	left := 1.0
	for i := range own.Pauses {
		p := &own.Pauses[i]
		tabulate(p)
		g.pauses.add(p.Share)
		left -= p.Share
	}
	g.pauses.add(max(0, left))
	for _, m := range w.Models {
		g.models.add(m.Weight)
		g.named = append(g.named, uint16(number(&g.names, m.Name)))
	}
	g.agentModel = uint16(number(&g.names, w.Agents.Model))
	// The working set has names.
	for i := range g.w.Files {
		noun := nouns[g.seed.below(forFilePick, uint64(i), len(nouns))]
		g.paths = append(g.paths, g.w.Project+"/internal/"+noun+"/"+noun+"_"+strconv.Itoa(i)+".go")
	}
	g.paths = append(g.paths, g.w.Project)
	for _, path := range g.paths {
		g.lengths = append(g.lengths, int32(len(appendJSON(nil, path))-len(`""`)))
	}
	return g, nil
}

// tabulate makes the distributions ready that are fields of a struct.
func tabulate(v any) {
	spec.Fields(v, func(f *spec.Field) {
		if d, ok := f.Value.Addr().Interface().(*Dist); ok {
			d.table = newSampler(*d)
		}
	})
}

// compile prepares a tool mix.
func (g *Generator) compile(tools []WorkTool) toolMix {
	var m toolMix
	for _, t := range tools {
		if t.Weight == 0 {
			continue
		}
		c := genTool{
			WorkTool: t, op: claudecode.OpOf(t.Name),
			overhead: toolInput{name: t.Name, agentType: g.w.Agents.Type}.bytes(),
			read:     t.Name == toolRead, task: t.Name == toolTask, files: worksOnFiles(t.Name),
		}
		tabulate(&c.WorkTool)
		if strings.HasPrefix(t.Name, "mcp__") {
			c.flags = prompt.FlagMCP
		}
		m.tools = append(m.tools, c)
		m.choice.add(t.Weight)
	}
	return m
}

// prefix returns the tools and the system prompt of a thread.
func (g *Generator) prefix(kind traces.ThreadKind, tokens int) [2]prompt.Block {
	p := assembly.StaticPrefix{
		Agent: facts.ClaudeCode, Version: g.w.Version, Project: g.w.Project, Kind: kind, Tokens: int64(tokens),
	}
	if kind == traces.ThreadAgent {
		p.AgentType = g.w.Agents.Type
	}
	return p.Blocks()
}

func (g *Generator) mix(kind traces.ThreadKind) *toolMix {
	if kind == traces.ThreadAgent {
		return &g.agents
	}
	return &g.tools
}

// Session returns one session of a corpus. It depends on the workload, the seed
// and the index alone.
func (g *Generator) Session(seed uint64, index int) *traces.Session {
	d := dice(mix(mix(seed)^uint64(g.seed)) + uint64(index)*0x9e3779b97f4a7c15)
	p, _ := g.plans.Get().(*plan)
	if p == nil {
		p = &plan{objects: make([]int32, len(g.paths))}
	}
	defer g.plans.Put(p)
	p.of(g, d)
	p.main()
	return p.lay()
}

// size fits the length of content of a kind to a size in tokens, and the tokens
// to the length, as a reader does.
func (g *Generator) size(k prompt.Kind, tokens float64) (bytes, exact int32) {
	n := max(minText, int((tokens-g.rates.Fixed[k])/g.rates.PerByte[k]+0.5))
	return int32(n), int32(g.rates.Tokens(k, n))
}

// minText is the least length of text, bytes: room for its number, so that
// no two are alike.
const minText = 5

// minImage is the least length of an image, bytes: room for the same behind what
// every PNG begins with.
const minImage = 27

// MaxSessions is the largest corpus that is generated at once.
const MaxSessions = 10_000_000

// maxCorpusBytes bounds the estimated memory of a Corpus: several seeds say more than one
// larger corpus.
const maxCorpusBytes = 8 << 30

// ErrSize is wrapped by the errors of corpora that are too large, or have no
// sessions.
var ErrSize = errors.New("number of sessions")

// Corpus returns n sessions in the parsed form, in the order of their start. The
// result depends on the workload, the seed and n alone; workers is how many
// sessions are made at once, 0 for one per core. The error wraps ErrSize when n
// is out of 1…MaxSessions or the sessions need more memory than is allowed.
func (g *Generator) Corpus(ctx context.Context, n int, seed uint64, workers int) (*traces.Corpus, error) {
	if err := g.fits(n, seed); err != nil {
		return nil, err
	}
	c := &traces.Corpus{Sessions: make([]*traces.Session, n), Unknown: map[string]int{}}
	err := parallel.Do(ctx, workers, n, func(i int) error {
		c.Sessions[i] = g.Session(seed, i)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("generate sessions: %w", err)
	}
	slices.SortFunc(c.Sessions, func(a, b *traces.Session) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), strings.Compare(a.ID, b.ID))
	})
	return c, nil
}

// fits returns an error when n sessions cannot be held.
func (g *Generator) fits(n int, seed uint64) error {
	if err := checkNumber(n); err != nil {
		return err
	}
	size := g.memory(n, seed)
	if size <= maxCorpusBytes {
		return nil
	}
	most := float64(n) * maxCorpusBytes / size
	step := math.Pow(10, max(0, math.Floor(math.Log10(most))-1)) // two digits are enough
	advice := "lower turns, rounds or agents.rounds of the profile"
	if most >= 1 {
		advice = fmt.Sprintf("try %.0f", math.Floor(most/step)*step)
	}
	return fmt.Errorf("%w: %d would take about %.3g GB of memory, more than the %d that are allowed: %s",
		ErrSize, n, size/(1<<30), maxCorpusBytes>>30, advice)
}

func checkNumber(n int) error {
	if n < 1 || n > MaxSessions {
		return fmt.Errorf("%w: %d is out of range: want 1 to %d", ErrSize, n, MaxSessions)
	}
	return nil
}

// memory estimates the bytes of the first n sessions of a seed from a few sessions.
func (g *Generator) memory(n int, seed uint64) float64 {
	const ofBlock, ofRound, ofThread = 66, 155, 256 // bytes, with ids, names and lists
	size := 0.0
	sample := min(n/32+1, 64) // a thirtieth of the work at most
	for i := range sample {
		s := g.Session(seed, i)
		size += float64(len(s.Blocks)*ofBlock + s.NumCalls()*ofRound + (len(s.Threads)+1)*ofThread)
	}
	return size * float64(n) / float64(sample)
}

// Each makes the first n sessions of a seed and gives each to do, for corpora that do not
// stay in memory. Up to workers goroutines call do at once; 0 means one per core. It
// stops at the first error and when the context is done.
func (g *Generator) Each(ctx context.Context, n int, seed uint64, workers int, do func(*traces.Session) error) error {
	if err := checkNumber(n); err != nil {
		return err
	}
	err := parallel.Do(ctx, workers, n, func(i int) error { return do(g.Session(seed, i)) })
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("generate sessions: %w", err)
	}
	return err
}
