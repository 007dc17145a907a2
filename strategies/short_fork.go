package strategies

import (
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// Names of the short forks in the registry.
const (
	SuggestionName  = "prompt-suggestion"
	SpeculationName = "speculation"
)

var suggestionDefinition = Define(SuggestionName,
	"suggests the next prompt at the end of a turn, by a call beside the conversation on its own prefix",
	defaultSuggestion(),
	func(p ShortForkParams) Layer {
		return &shortFork{params: p, name: SuggestionName, source: "prompt_suggestion"}
	})

var speculationDefinition = Define(SpeculationName,
	"begins to answer the suggested prompt before a person sends it, by a call beside the conversation on its own prefix",
	defaultSpeculation(),
	func(p ShortForkParams) Layer {
		return &shortFork{params: p, name: SpeculationName, source: "speculation"}
	})

// shortFork is the state of prompt-suggestion or speculation on one thread.
type shortFork struct {
	params  ShortForkParams
	name    string
	source  string // query source of its calls
	running bool
	fate    string // what becomes of the answer under way
	answer  prompt.Answer
}

func (l *shortFork) Name() string { return l.name }

// Clone leaves the call under way with the thread that made it.
func (l *shortFork) Clone() Layer {
	c := *l
	c.running = false
	return &c
}

func (l *shortFork) Reset() { l.running = false }

// What becomes of an answer.
const (
	fateSuppressed = "suppressed before a person saw it"
	fateLeft       = "not taken"
	fateTaken      = "taken"
)

// EndOfLoop makes the call in its share of turns. Both short forks ask one draw,
// so that at equal shares a speculation follows each suggestion.
func (l *shortFork) EndOfLoop(t *Turn) Outcome {
	p := &l.params
	switch {
	case t.Kind != traces.ThreadMain:
		return Outcome{Declined, "only the main conversation forks so"}
	case t.Draw(SuggestionName, 0) >= p.Share:
		return Outcome{Declined, "not in this turn"}
	case l.running:
		return t.Refuse(l.name, "one is under way")
	}
	l.running, l.fate, l.answer = true, l.decide(t), prompt.Answer{Output: p.TurnOutput}
	t.Background(prompt.Intent{
		Source: l.source, Way: WayFork.String(), Prefix: prompt.PrefixShared, Instruction: p.Instruction,
		Turns: p.Turns, TurnInput: p.TurnInput, SkipCacheWrite: p.SkipCacheWrite, Lifetime: prompt.Lifetime(p.Lifetime),
		Known: &l.answer,
	})
	return Outcome{Verdict: Done}
}

func (l *shortFork) decide(t *Turn) string {
	switch {
	case t.Draw(l.name, 1) < l.params.Suppressed:
		return fateSuppressed
	case t.Draw(l.name, 2) < l.params.Accepted:
		return fateTaken
	}
	return fateLeft
}

// BackgroundResult counts the answer, and why it was for nothing.
func (l *shortFork) BackgroundResult(t *Turn, r *prompt.Result) Outcome {
	l.running = false
	if r.Failed != "" {
		return t.Refuse(l.name, r.Failed)
	}
	t.Count(results.CountSuggestions, 1)
	if l.fate == fateTaken {
		return Outcome{Declined, fateTaken}
	}
	return t.Refuse(l.name, l.fate)
}
