package strategies

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
)

// MemoryName is the registry's name of the layer.
const MemoryName = "memory-extraction"

var memoryDefinition = Define(MemoryName,
	"saves what later sessions should know at the end of a loop, by a call beside the conversation on its own prefix",
	defaultMemory(),
	func(p MemoryParams) Layer { return &memoryExtraction{params: p} })

// defaultMemory has the documents' behaviour (003:2332-2397). Memory files lie
// in ~/.claude/projects/<path>/memory/.
func defaultMemory() MemoryParams {
	return MemoryParams{
		Switch: on, Paths: []string{"*/.claude/projects/*/memory/*"}, SkipWritten: true, Every: 1,
		Turns: 2, Instruction: 1500, TurnInput: 1500, TurnOutput: 400, Lifetime: CallLifetime(prompt.Lifetime5m),
		Saves: 0.3, Growth: 1, Index: defaultIndex,
	}
}

// memoryExtraction is the state of the layer on one thread.
type memoryExtraction struct {
	params  MemoryParams
	own     MemoryIndex // where there is no user
	shown   uint32      // state of the index that the thread's head was given
	seen    int32       // 1 + id of the newest entry looked at
	before  int32       // the same ahead of the call under way, which a failure goes back to
	ends    int32       // ends of a loop since the last call
	running bool
	saves   bool          // the call under way will find something to keep
	answer  prompt.Answer // of the call under way
}

func (l *memoryExtraction) Name() string { return MemoryName }

// Clone keeps what was looked at; the call under way belongs to the thread that
// made it.
func (l *memoryExtraction) Clone() Layer {
	c := *l
	c.running = false
	return &c
}

func (l *memoryExtraction) Reset() { *l = memoryExtraction{params: l.params} }

// ThreadStart gives a new session the memories of earlier ones.
func (l *memoryExtraction) ThreadStart(t *Turn) Outcome {
	if !isAgent(t.Kind) {
		l.shown = l.params.Index.show(t, l.index(t), l.shown)
	}
	return Outcome{Verdict: Declined}
}

func (l *memoryExtraction) index(t *Turn) *MemoryIndex {
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
		return t.Refuse(MemoryName, "an extraction is under way")
	}
	if l.ends++; l.ends < l.params.Every {
		return t.Refuse(MemoryName, "not due in this turn")
	}
	l.ends, l.before = 0, l.seen
	if l.wrote(t) && l.params.SkipWritten {
		return t.Refuse(MemoryName, "the conversation wrote memory files itself")
	}
	l.running, l.saves = true, t.Draw(MemoryName, drawSaves) < l.params.Saves
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
	if t.Draw(MemoryName, drawFails) < p.Failure {
		l.answer.Failed = prompt.FailAPI
	}
	return prompt.Intent{
		Source: sourceMemory, Way: WayFork.String(), Prefix: prompt.PrefixShared, Instruction: p.Instruction,
		Turns: p.Turns, TurnInput: p.TurnInput, Lifetime: prompt.Lifetime(p.Lifetime), Known: &l.answer,
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
	if b.Op != prompt.OpEdit && b.Op != prompt.OpWrite || b.Object < 0 || int(b.Object) >= len(t.Objects) {
		return false
	}
	path := t.Objects[b.Object]
	return slices.ContainsFunc(l.params.Paths, func(pattern string) bool { return matchPath(pattern, path) })
}

// BackgroundResult takes what was saved. A failure is only counted (003:2665);
// what the call had looked at is looked at again.
func (l *memoryExtraction) BackgroundResult(t *Turn, r *prompt.Result) Outcome {
	l.running = false
	if r.Failed != "" {
		l.seen = l.before
		return t.Refuse(MemoryName, r.Failed)
	}
	t.Count(results.CountMemories, 1)
	if x := l.index(t); l.saves && l.params.Growth > 0 {
		x.Lines += l.params.Growth
		x.Change++
		l.shown = l.params.Index.show(t, x, l.shown)
	}
	return Outcome{Declined, "extraction ended"}
}
