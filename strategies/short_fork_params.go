package strategies

import (
	"fmt"

	"github.com/compactsim/compactsim/sim/prompt"
)

// ShortForkParams are the parameters of prompt-suggestion and speculation.
// Sizes are tokens.
type ShortForkParams struct {
	Switch         `yaml:",inline"`
	Share          float64      `yaml:"share" doc:"share of turns of the main conversation that end with the call, 0…1"`
	Turns          int32        `yaml:"turns" doc:"responses of the call, 1…3"`
	Instruction    int32        `yaml:"instruction" doc:"tokens of the instruction; assumed"`
	TurnInput      int32        `yaml:"turn_input" doc:"tokens of the tool results between two responses; assumed"`
	TurnOutput     int32        `yaml:"turn_output" doc:"tokens of one response; assumed"`
	SkipCacheWrite bool         `yaml:"skip_cache_write" doc:"marker on the conversation's last response instead of the instruction, so that the next turn reads it"`
	Lifetime       CallLifetime `yaml:"lifetime" doc:"lifetime class its markers ask for: client, 5m or 1h"`
	Suppressed     float64      `yaml:"suppressed" doc:"share of answers thrown away before a person sees them, 0…1; assumed"`
	Accepted       float64      `yaml:"accepted" doc:"share of the others that the person takes, 0…1; the recorded calls are made all the same; assumed"`
}

// maxShortTurns is the most responses of a short fork (000:215: 1-3 turns).
const maxShortTurns = 3

// Validate returns what is wrong with the parameters.
func (p *ShortForkParams) Validate() []error {
	errs := append(negatives(p), checkShares(
		share{"share", p.Share}, share{"suppressed", p.Suppressed}, share{"accepted", p.Accepted})...)
	if p.Turns < 1 || p.Turns > maxShortTurns {
		errs = append(errs, fmt.Errorf("turns %d must lie between 1 and %d", p.Turns, maxShortTurns))
	}
	return errs
}

// endOfTurnShare is the share of turns of recorded sessions behind which the
// next call reads more than the last one left: a call that no log shows had
// cached the last response (58 % of 1,467 prompts).
const endOfTurnShare = 0.58

// defaultSuggestion is a line of text. Its marker on the last response is what
// the recordings show: the next call reads a median of 319 tokens more, the
// size of a response.
func defaultSuggestion() ShortForkParams {
	return ShortForkParams{
		Switch: on, Share: endOfTurnShare, Turns: 1, Instruction: 300, TurnOutput: 15, SkipCacheWrite: true,
		Lifetime: CallLifetime(prompt.Lifetime5m),
	}
}

// defaultSpeculation begins to answer each suggestion.
func defaultSpeculation() ShortForkParams {
	return ShortForkParams{
		Switch: on, Share: endOfTurnShare, Turns: 2, Instruction: 50, TurnInput: 1000, TurnOutput: 300,
		Lifetime: CallLifetime(prompt.Lifetime5m),
	}
}
