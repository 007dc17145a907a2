package strategies

import (
	"math"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/ask"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies/standard"
)

// memoryParams are the parameters of memory-extraction. Sizes are tokens.
type memoryParams struct {
	Switch      `yaml:",inline"`
	Paths       []string     `yaml:"paths" doc:"paths of memory files, * for any text; a conversation that wrote one since the last look is not extracted from"`
	SkipWritten bool         `yaml:"skip_written" doc:"no extraction when the conversation wrote memory files itself"`
	Subagents   bool         `yaml:"subagents" doc:"sub-agents extract too"`
	Every       int32        `yaml:"every" doc:"ends of a loop from one extraction to the next; assumed" unit:"loops" min:"1"`
	Turns       int32        `yaml:"turns" doc:"responses of the call: one asks for all reads, one for all writes" unit:"responses" min:"1"`
	Instruction int32        `yaml:"instruction" doc:"tokens of the instruction; assumed" unit:"tokens" min:"0"`
	TurnInput   int32        `yaml:"turn_input" doc:"tokens of the results of one turn: the memory files read; assumed" unit:"tokens" min:"0"`
	TurnOutput  int32        `yaml:"turn_output" doc:"tokens of one response; assumed" unit:"tokens" min:"0"`
	Lifetime    callLifetime `yaml:"lifetime" doc:"lifetime class its markers ask for: client, 5m or 1h"`
	Saves       float64      `yaml:"saves" doc:"share of extractions that find something to keep, 0…1; assumed" unit:"share" min:"0" max:"1"`
	Growth      int32        `yaml:"growth" doc:"lines such an extraction adds to the index; assumed" unit:"lines" min:"0" needs:"saves"`
	Failure     float64      `yaml:"failure" doc:"share of calls that the server refuses, 0…1; assumed" unit:"share" min:"0" max:"1"`
	Index       indexParams  `yaml:"index" doc:"what a prompt holds of the index of memory files"`
}

// Rules returns contradictions between the parameters.
func (p *memoryParams) Rules() []error {
	if p.SkipWritten && len(p.Paths) == 0 {
		return []error{spec.Wrong("paths", "must name a path: skip_written needs one")}
	}
	return nil
}

// callLifetime is the lifetime class that the markers of a layer's call ask
// for.
type callLifetime ask.Lifetime

// Names returns the names used in YAML, by value.
func (callLifetime) Names() []string { return []string{"client", "5m", "1h"} }

// String returns the name used in YAML.
func (l callLifetime) String() string { return spec.Name(l) }

// matchPath reports whether a path matches a pattern in which * matches any
// text, separators included.
func matchPath(pattern, path string) bool {
	head, rest, wild := strings.Cut(pattern, "*")
	if !strings.HasPrefix(path, head) {
		return false
	}
	path = path[len(head):]
	for wild {
		head, rest, wild = strings.Cut(rest, "*")
		if !wild {
			return strings.HasSuffix(path, head)
		}
		i := strings.Index(path, head)
		if i < 0 {
			return false
		}
		path = path[i+len(head):]
	}
	return path == ""
}

// indexParams say how much of the index of memory files a prompt holds
// (003:2392-2397: a line under 150 characters; 200 lines or 25 KB, whichever is
// hit first).
type indexParams struct {
	Lines         int32   `yaml:"lines" doc:"lines of the index that are loaded" min:"0"`
	Bytes         int32   `yaml:"bytes" doc:"bytes of the index that are loaded" min:"0"`
	LineBytes     int32   `yaml:"line_bytes" doc:"bytes of a line" min:"1"`
	TokensPerByte float64 `yaml:"tokens_per_byte" doc:"tokens of a byte of memory" above:"0" max:"1"`
}

// defaultIndex has the documents' limits; 0.26 tokens a byte is what recorded
// text weighs.
var defaultIndex = indexParams{Lines: 200, Bytes: 25000, LineBytes: 150, TokensPerByte: 0.26}

// loaded returns how many of n lines a prompt holds.
func (p *indexParams) loaded(n int32) int32 {
	return min(n, p.Lines, p.Bytes/max(1, p.LineBytes))
}

// tokens returns what an index of n lines weighs in a prompt.
func (p *indexParams) tokens(n int32) int32 {
	return int32(math.Round(float64(p.loaded(n)) * float64(p.LineBytes) * p.TokensPerByte))
}

// show gives the thread's memory section the index as it is now, unless it has
// had that already, and returns which state it has.
func (p *indexParams) show(t *Turn, x *memoryIndex, shown uint32) uint32 {
	if x.Change != shown {
		content := prompt.DigestString("memory index").ExtendInt(uint64(x.Change))
		t.SetMemory(p.tokens(x.Lines), content)
	}
	return x.Change
}

var memoryDefinition = Define(standard.MemoryExtraction,
	"saves what later sessions should know at the end of a loop, by a call beside the conversation on its own prefix",
	defaultMemory(),
	func(p memoryParams) Layer { return &memoryExtraction{params: p} }).with(Traits{Draws: true})

// defaultMemory has the documents' behaviour (003:2332-2397). Memory files lie
// in ~/.claude/projects/<path>/memory/.
func defaultMemory() memoryParams {
	return memoryParams{
		Switch: on, Paths: []string{"*/.claude/projects/*/memory/*"}, SkipWritten: true, Every: 1,
		Turns: 2, Instruction: 1500, TurnInput: 1500, TurnOutput: 400, Lifetime: callLifetime(ask.Lifetime5m),
		Saves: 0.3, Growth: 1, Index: defaultIndex,
	}
}

// memoryExtraction is the state of the layer on one thread.
type memoryExtraction struct {
	params  memoryParams
	own     memoryIndex // where there is no user
	shown   uint32      // state of the index that the thread's head was given
	seen    int32       // 1 + id of the newest entry looked at
	ends    int32       // ends of a loop since the last call
	running bool
	saves   bool          // the call under way will find something to keep
	answer  prompt.Answer // of the call under way
}

var (
	_ ThreadStart      = (*memoryExtraction)(nil)
	_ EndOfLoop        = (*memoryExtraction)(nil)
	_ BackgroundResult = (*memoryExtraction)(nil)
)

func (l *memoryExtraction) Name() string { return standard.MemoryExtraction }

// Clone keeps what was looked at; the call under way belongs to the thread that
// made it.
func (l *memoryExtraction) Clone() Layer {
	c := *l
	c.running = false
	return &c
}

func (l *memoryExtraction) Copy() Layer { c := *l; return &c }

func (l *memoryExtraction) Reset() { *l = memoryExtraction{params: l.params} }

// ThreadStart gives a new session the memories of earlier ones.
func (l *memoryExtraction) ThreadStart(t *Turn) Outcome {
	if !isAgent(t.Kind) {
		l.shown = l.params.Index.show(t, l.index(t), l.shown)
	}
	return Outcome{Verdict: Declined}
}

func (l *memoryExtraction) index(t *Turn) *memoryIndex {
	if t.User == nil {
		return &l.own
	}
	return &t.User.Memory
}

// EndOfLoop starts an extraction. What other sessions have saved meanwhile
// reaches the memoised section too.
func (l *memoryExtraction) EndOfLoop(t *Turn) Outcome {
	if isAgent(t.Kind) && !l.params.Subagents {
		return Outcome{Declined, "sub-agents do not extract memories"}
	}
	l.shown = l.params.Index.show(t, l.index(t), l.shown)
	if l.running {
		return t.Refuse(standard.MemoryExtraction, "an extraction is under way")
	}
	if l.ends++; l.ends < l.params.Every {
		return t.Refuse(standard.MemoryExtraction, "not due in this turn")
	}
	l.ends = 0
	if l.wrote(t) && l.params.SkipWritten {
		return t.Refuse(standard.MemoryExtraction, "the conversation wrote memory files itself")
	}
	l.running, l.saves = true, t.Draw(standard.MemoryExtraction, drawSaves) < l.params.Saves
	t.Background(l.call(t))
	return Outcome{Verdict: Done}
}

// Ordinals of the draws at one end of a loop.
const (
	drawFails = iota
	drawSaves
)

func (l *memoryExtraction) call(t *Turn) prompt.Intent {
	p := &l.params
	l.answer = prompt.Answer{Output: p.TurnOutput}
	if t.Draw(standard.MemoryExtraction, drawFails) < p.Failure {
		l.answer.Failed = ask.FailAPI
	}
	return prompt.Intent{
		Source: sourceMemory, Way: wayFork.String(), Instruction: p.Instruction,
		Turns: p.Turns, TurnInput: p.TurnInput, Lifetime: ask.Lifetime(p.Lifetime), Known: &l.answer,
	}
}

// sourceMemory is the query source of the calls.
const sourceMemory = "extract_memories"

// wrote looks at the entries that are new since the last look for calls that
// write memory files.
func (l *memoryExtraction) wrote(t *Turn) bool {
	c, seen, found := t.Context, l.seen, false
	for i := c.Len() - 1; i >= 0 && c.At(i).ID >= seen; i-- {
		e := c.At(i)
		l.seen = max(l.seen, e.ID+1)
		if e.Kind == prompt.KindToolUse && !found {
			found = l.isMemory(t, c.Block(e.Block))
		}
	}
	return found
}

func (l *memoryExtraction) isMemory(t *Turn, b *prompt.Block) bool {
	if b.Op != op.Edit && b.Op != op.Write || b.Object < 0 || int(b.Object) >= len(t.Objects) {
		return false
	}
	path := t.Objects[b.Object]
	return slices.ContainsFunc(l.params.Paths, func(pattern string) bool { return matchPath(pattern, path) })
}

// BackgroundResult takes what was saved. A failure is only counted (003:2665).
func (l *memoryExtraction) BackgroundResult(t *Turn, r *prompt.Result) Outcome {
	l.running = false
	if r.Failed != "" {
		return t.Refuse(standard.MemoryExtraction, r.Failed)
	}
	t.Count(measures.MemoryExtractions, 1)
	if x := l.index(t); l.saves && l.params.Growth > 0 {
		x.Lines += l.params.Growth
		x.Change++
		l.shown = l.params.Index.show(t, x, l.shown)
	}
	return Outcome{Declined, "extraction ended"}
}
