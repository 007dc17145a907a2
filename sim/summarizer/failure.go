package summarizer

import (
	"fmt"
	"slices"

	"github.com/compactsim/compactsim/internal/draws"
	"github.com/compactsim/compactsim/sim/prompt"
)

// Failures are the probabilities that a call fails, by the way it fails. Each
// lies in 0…1, and so does their sum.
type Failures struct {
	ToolCall float64 // the model calls a tool instead of answering
	Empty    float64 // the answer has no text
	API      float64 // the server fails
	TooLong  float64 // the server refuses the prompt, without saying by how much it is too long
}

func (f *Failures) rates() [4]float64 { return [...]float64{f.ToolCall, f.Empty, f.API, f.TooLong} }

// failureNames are the reasons of prompt.Answer.Failed in the order of rates.
var failureNames = [...]string{prompt.FailToolCall, prompt.FailEmpty, prompt.FailAPI, prompt.FailTooLong}

// draw returns the failure that a uniform draw in [0, 1) falls into, or "".
func (f *Failures) draw(u float64) string {
	for i, rate := range f.rates() {
		if u < rate {
			return failureNames[i]
		}
		u -= rate
	}
	return ""
}

func (f *Failures) validate(way string) error {
	sum := 0.0
	for _, rate := range f.rates() {
		if !(rate >= 0 && rate <= 1) {
			return fmt.Errorf("summarizer: failure rate %g of %s must lie in 0…1", rate, way)
		}
		sum += rate
	}
	if sum > 1 {
		return fmt.Errorf("summarizer: failure rates of %s add up to %g, more than 1", way, sum)
	}
	return nil
}

// Script names calls that fail whatever is drawn.
type Script struct {
	Calls []int  // ordinals among the calls of a session that reach the summariser, from 1
	As    string // one of prompt.Fail…; "" for an answer without text
}

func (s *Script) validate() error {
	for _, n := range s.Calls {
		if n < 1 {
			return fmt.Errorf("summarizer: call %d cannot fail: they are counted from 1", n)
		}
	}
	if s.As != "" && !slices.Contains(failureNames[:], s.As) {
		return fmt.Errorf("summarizer: unknown failure %q; known: %q", s.As, failureNames)
	}
	return nil
}

// failure returns why a call fails, or "". One draw decides for all kinds, so
// that raising one rate does not shift the calls that fail in another way by
// more than that.
func (s *Stub) failure(in *prompt.Intent, src draws.Source, event uint64) string {
	if slices.Contains(s.Script.Calls, int(in.Number)) {
		if s.Script.As == "" {
			return prompt.FailEmpty
		}
		return s.Script.As
	}
	f, ok := s.Failures[in.Way]
	if !ok {
		f = Failures{Empty: s.FailureRate}
	}
	if f == (Failures{}) {
		return ""
	}
	return f.draw(draws.Unit(src.Uint64(draws.SummaryFailure, event)))
}

// toolCallTokens is the output of a call that answers with a tool call: the
// fixed part of one in the recordings and a short input, assumed.
const toolCallTokens = 100

// failed is the answer of a call that fails: it takes the time to the first
// token, and a tool call takes its own output.
func (s *Stub) failed(reason string) prompt.Answer {
	a := prompt.Answer{Failed: reason, First: s.FirstToken, Total: s.FirstToken}
	if reason == prompt.FailToolCall {
		a.Output = toolCallTokens
	}
	return a
}
