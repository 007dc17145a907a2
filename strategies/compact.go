package strategies

import (
	"errors"
	"fmt"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// CompactParams are the parameters of full-compact.
type CompactParams struct {
	// Trigger starts an automatic compaction.
	Trigger Trigger `yaml:"trigger"`
	// Prefix is what the summary call is built on: "shared" sends the
	// thread's own prefix, "own" another system prompt and other tools.
	Prefix Prefix `yaml:"prefix"`
	// Head is the size of that other system prompt and tools, tokens.
	Head int32 `yaml:"head"`
	// Instruction is the size of the summarisation instruction, tokens.
	Instruction int32 `yaml:"instruction"`
	// MaxOutput caps the summary call's output, tokens.
	MaxOutput int32 `yaml:"max_output"`
	// SkipCacheWrite moves the call's message marker to the second-to-last
	// message.
	SkipCacheWrite bool `yaml:"skip_cache_write"`
	// TooLongRetries is how often a summary call that does not fit is
	// repeated with its oldest rounds dropped.
	TooLongRetries int `yaml:"prompt_too_long_retries"`
	// Breaker is the number of consecutive failures that stops automatic
	// compaction on the thread; 0 for no breaker.
	Breaker int `yaml:"breaker"`
	// Subagents lets sub-agents compact too.
	Subagents bool `yaml:"subagents"`
	// Reactive compacts once when the server refuses a prompt as too long.
	Reactive bool `yaml:"reactive"`
	// Files are restored behind the summary.
	Files FileBudget `yaml:"files"`
}

// Prefix is a PrefixSource as written in YAML: "shared" or "own".
type Prefix prompt.PrefixSource

// UnmarshalYAML reads "shared" or "own".
func (p *Prefix) UnmarshalYAML(decode func(any) error) error {
	var name string
	if err := decode(&name); err != nil {
		return err
	}
	switch name {
	case "shared":
		*p = Prefix(prompt.PrefixShared)
	case "own":
		*p = Prefix(prompt.PrefixOwn)
	default:
		return fmt.Errorf("prefix %q: want shared or own", name)
	}
	return nil
}

// Validate returns what is wrong with the parameters.
func (p *CompactParams) Validate() []error {
	errs := p.Trigger.Validate()
	for _, f := range []struct {
		name  string
		value int64
	}{
		{"head", int64(p.Head)}, {"instruction", int64(p.Instruction)}, {"max_output", int64(p.MaxOutput)},
		{"prompt_too_long_retries", int64(p.TooLongRetries)}, {"breaker", int64(p.Breaker)},
	} {
		if f.value < 0 {
			errs = append(errs, fmt.Errorf("%s %d must not be negative", f.name, f.value))
		}
	}
	if p.Prefix == Prefix(prompt.PrefixShared) && p.Head > 0 {
		errs = append(errs, errors.New("head belongs to prefix own: a shared prefix has the thread's own"))
	}
	return append(errs, p.Files.Validate()...)
}

// CompactName is the registry's name of the layer.
const CompactName = "full-compact"

var compactDefinition = Define(CompactName,
	"replaces the messages by a summary that one model call writes, and restores files",
	CompactParams{
		Instruction: 1500, MaxOutput: 20000, TooLongRetries: 3, Breaker: 3, Subagents: true,
		Files: FileBudget{Count: 5, Each: 5000, Total: 50000},
	},
	func(p CompactParams) Layer { return &compact{params: p} })

// compact is the state of full-compact on one thread.
type compact struct {
	params   CompactParams
	failures int // consecutive failed compactions
	from     int // position the summary call starts from, after dropped rounds
	retries  int // retries of the call under way
}

func (l *compact) Name() string { return CompactName }
func (l *compact) Clone() Layer { c := *l; return &c }
func (l *compact) Reset()       { *l = compact{params: l.params} }

func (l *compact) BeforeRequest(t *Turn) Outcome {
	switch {
	case t.Kind == traces.ThreadAgent && !l.params.Subagents:
		return Outcome{Declined, "sub-agents do not compact"}
	case l.stopped():
		return Outcome{Declined, "stopped by the breaker"}
	case !t.Check(CompactName, &l.params.Trigger):
		return Outcome{Declined, "below the trigger"}
	}
	return l.start(t)
}

func (l *compact) PromptTooLong(t *Turn) Outcome {
	switch {
	case !l.params.Reactive:
		return Outcome{Declined, "reactive compaction is off"}
	case l.stopped():
		return Outcome{Declined, "stopped by the breaker"}
	}
	return l.start(t)
}

func (l *compact) stopped() bool {
	return l.params.Breaker > 0 && l.failures >= l.params.Breaker
}

func (l *compact) start(t *Turn) Outcome {
	l.from, l.retries = Body(t.Context), 0
	if l.from >= t.Context.Len() {
		return Outcome{Failed, "not enough messages to compact"}
	}
	return l.call(t)
}

func (l *compact) call(t *Turn) Outcome {
	return t.Call(prompt.Intent{
		Source:         "compact",
		Prefix:         prompt.PrefixSource(l.params.Prefix),
		From:           int32(l.from),
		Instruction:    l.params.Instruction,
		Head:           l.params.Head,
		MaxOutput:      l.params.MaxOutput,
		SkipCacheWrite: l.params.SkipCacheWrite,
		Summarised:     int32(tokensBetween(t.Context, l.from, t.Context.Len())),
		Ordinal:        uint8(l.retries),
	})
}

func (l *compact) IntentResult(t *Turn, r *prompt.Result) Outcome {
	switch {
	case r.Failed == prompt.FailTooLong && l.retries < l.params.TooLongRetries:
		l.retries++
		if l.dropOldest(t, r.Excess) {
			return l.call(t)
		}
		fallthrough
	case r.Failed != "":
		l.failures++
		return Outcome{Failed, r.Failed}
	}
	l.failures = 0
	l.apply(t, r)
	return Outcome{Verdict: Done}
}

// dropOldest moves the start of the summary call behind the oldest rounds
// until excess tokens are gone, or a fifth of the rounds (at least one) when
// the excess is not known. It reports whether anything is left to summarise.
func (l *compact) dropOldest(t *Turn, excess int64) bool {
	rounds := max(1, countRounds(t.Context, l.from)/5)
	from := l.from
	for dropped := int64(0); rounds > 0; rounds-- {
		next := nextRound(t.Context, from)
		dropped += tokensBetween(t.Context, from, next)
		from = next
		if excess > 0 && dropped >= excess {
			break
		}
		if excess > 0 {
			rounds++ // the gap decides, not the count
		}
		if from >= t.Context.Len() {
			return false
		}
	}
	l.from = from
	return from < t.Context.Len()
}

// apply puts summary and restored files in place of the messages.
func (l *compact) apply(t *Turn, r *prompt.Result) {
	c := t.Context
	before := int64(c.Tokens())
	from := Body(c)
	chained := holdsSummary(c, from, c.Len())
	refs := []prompt.Ref{c.Arena().Add(summaryBlock(&r.Answer))}
	refs = append(refs, l.params.Files.restore(t, from)...)
	c.Replace(from, c.Len(), refs, prompt.CauseCompaction)
	t.Compacted(Boundary{Manual: false, Before: before, After: int64(c.Tokens()), Chained: chained})
}

// summaryBlock is the user message that carries a summary.
func summaryBlock(a *prompt.Answer) prompt.Block {
	return prompt.Block{
		Digest: a.Digest, Kind: prompt.KindSummary, Tokens: a.Summary, Bytes: a.Bytes,
		Object: -1, Flags: prompt.FlagMeta,
	}
}
