package strategies

import (
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/ask"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies/standard"
	"github.com/compactsim/compactsim/traces"
)

// shortForkParams are the parameters of prompt-suggestion and speculation.
// Sizes are tokens.
type shortForkParams struct {
	Switch         `yaml:",inline"`
	Share          float64      `yaml:"share" doc:"share of turns of the main conversation that end with the call, 0…1" min:"0" max:"1"`
	Turns          int32        `yaml:"turns" doc:"responses of the call, 1…3" unit:"responses" min:"1" max:"3"`
	Instruction    int32        `yaml:"instruction" doc:"tokens of the instruction; assumed" unit:"tokens" min:"0"`
	TurnInput      int32        `yaml:"turn_input" doc:"tokens of the tool results between two responses; assumed" unit:"tokens" min:"0"`
	TurnOutput     int32        `yaml:"turn_output" doc:"tokens of one response; assumed" unit:"tokens" min:"0"`
	SkipCacheWrite bool         `yaml:"skip_cache_write" doc:"marker on the conversation's last response instead of the instruction, so that the next turn reads it"`
	Lifetime       callLifetime `yaml:"lifetime" doc:"lifetime class its markers ask for: client, 5m or 1h"`
	Suppressed     float64      `yaml:"suppressed" doc:"share of answers thrown away before a person sees them, 0…1; assumed" unit:"share" min:"0" max:"1"`
	Accepted       float64      `yaml:"accepted" doc:"share of all other suggestions that the person takes, 0…1; the recorded calls are made all the same; assumed" unit:"share" min:"0" max:"1"`
}

// endOfTurnShare is the share of turns of recorded sessions after which the
// next call reads more than the last one left: a call that no log shows had
// cached the last response (58 % of 1,467 prompts).
const endOfTurnShare = 0.58

// defaultSuggestion is a line of text. Its marker on the last response is what
// the recordings show: the next call reads a median of 319 tokens more, the
// size of a response.
func defaultSuggestion() shortForkParams {
	return shortForkParams{
		Switch: on, Share: endOfTurnShare, Turns: 1, Instruction: 300, TurnOutput: 15, SkipCacheWrite: true,
		Lifetime: callLifetime(ask.Lifetime5m),
	}
}

// defaultSpeculation begins to answer each suggestion.
func defaultSpeculation() shortForkParams {
	return shortForkParams{
		Switch: on, Share: endOfTurnShare, Turns: 2, Instruction: 50, TurnInput: 1000, TurnOutput: 300,
		Lifetime: callLifetime(ask.Lifetime5m),
	}
}

// speculationName is the registry's name of the layer that answers a suggested prompt ahead.
const speculationName = "speculation"

var suggestionDefinition = Define(standard.Suggestion,
	"suggests the next prompt at the end of a turn, by a call beside the conversation on its own prefix",
	defaultSuggestion(),
	func(p shortForkParams) Layer {
		return &shortFork{params: p, name: standard.Suggestion, source: "prompt_suggestion"}
	}).with(Traits{Draws: true})

var speculationDefinition = Define(speculationName,
	"begins to answer the suggested prompt before a person sends it, by a call beside the conversation on its own prefix",
	defaultSpeculation(),
	func(p shortForkParams) Layer {
		return &shortFork{params: p, name: speculationName, source: "speculation"}
	}).with(Traits{Draws: true})

// shortFork is the state of prompt-suggestion or speculation on one thread.
type shortFork struct {
	params  shortForkParams
	name    string
	source  string // query source of its calls
	running bool
	fate    string // what becomes of the answer under way
	answer  prompt.Answer
}

var (
	_ EndOfLoop        = (*shortFork)(nil)
	_ BackgroundResult = (*shortFork)(nil)
)

func (l *shortFork) Name() string { return l.name }

// Clone leaves the call under way with the thread that made it.
func (l *shortFork) Clone() Layer {
	c := *l
	c.running = false
	return &c
}

func (l *shortFork) Copy() Layer { c := *l; return &c }

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
	case t.Draw(standard.Suggestion, 0) >= p.Share:
		return Outcome{Declined, "not in this turn"}
	case l.running:
		return t.Refuse(l.name, "one is under way")
	}
	l.running, l.fate, l.answer = true, l.decide(t), prompt.Answer{Output: p.TurnOutput}
	t.Background(prompt.Intent{
		Source: l.source, Way: wayFork.String(), Instruction: p.Instruction,
		Turns: p.Turns, TurnInput: p.TurnInput, SkipCacheWrite: p.SkipCacheWrite, Lifetime: ask.Lifetime(p.Lifetime),
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

// BackgroundResult counts the answer, or why it was wasted.
func (l *shortFork) BackgroundResult(t *Turn, r *prompt.Result) Outcome {
	l.running = false
	if r.Failed != "" {
		return t.Refuse(l.name, r.Failed)
	}
	t.Count(measures.Suggestions, 1)
	if l.fate == fateTaken {
		return Outcome{Declined, fateTaken}
	}
	return t.Refuse(l.name, l.fate)
}
