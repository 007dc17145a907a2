// Package summarizer says what a model would answer to a summary call: how
// long the summary is and how long it takes. It writes no text.
package summarizer

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/compactsim/compactsim/internal/draws"
	"github.com/compactsim/compactsim/internal/spec"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// Sizing is how the stub chooses the size of a summary.
type Sizing uint8

// Ways to size a summary.
const (
	LogNormal Sizing = iota // Median and Sigma
	Fraction                // Share of the summarised tokens
	Fixed                   // Median
)

// Names returns the names of sizings in files.
func (Sizing) Names() []string { return []string{"lognormal", "fraction", "fixed"} }

// Stub sizes summaries without a model.
type Stub struct {
	Sizing Sizing  `yaml:"sizing" doc:"how the size of a summary is chosen: lognormal, fraction or fixed"`
	Median float64 `yaml:"median" doc:"median size of a summary" unit:"tokens" min:"0" max:"1e6" needs:"sizing=lognormal|sizing=fixed"`
	Sigma  float64 `yaml:"sigma" doc:"standard deviation of its logarithm" min:"0" max:"5" needs:"sizing=lognormal"`
	Share  float64 `yaml:"share" doc:"share of the summarised tokens, 0…1" min:"0" max:"1" needs:"sizing=fraction"`
	// Stripped is the output, as a share of the summary, that is billed and
	// thrown away (the analysis block).
	Stripped      float64       `yaml:"stripped" doc:"output billed and thrown away, as a share of the summary" min:"0" max:"100"`
	BytesPerToken float64       `yaml:"bytes_per_token" doc:"bytes of a token of a summary" min:"0" max:"100"`
	FirstToken    time.Duration `yaml:"first_token" doc:"time to the first token" min:"0s"`
	OutputRate    float64       `yaml:"output_rate" doc:"output tokens per second" min:"0" max:"1e6"`
	// FailureRate counts for ways that Failures does not name.
	FailureRate float64 `yaml:"failure_rate" doc:"probability that a call answers without text, 0…1" min:"0" max:"1"`
	// Failures are the failures of calls by the way they are made, as in
	// Intent.Way.
	Failures map[string]Failures `yaml:"failures" doc:"probabilities by the way a call is made, in the place of failure_rate"`
	// Script names calls that fail in any case.
	Script `yaml:",inline"`
}

// Default returns a stub fitted to the 14 compactions of the recorded Claude
// Code sessions: summaries of 6.3–16.9 kB, median 11.8 kB at 0.26 tokens a byte
// ≈ 3,070 tokens, σ of the logarithm 0.29. That the analysis block adds 60 %
// and that 80 tokens a second come out is assumed; together they give the 62 s
// median wait of the automatic ones.
func Default() *Stub {
	return &Stub{
		Median: 3070, Sigma: 0.29, Stripped: 0.6, BytesPerToken: 1 / 0.26,
		FirstToken: 2e9, OutputRate: 80,
	}
}

// Rules says what is wrong with the parameters together.
func (s *Stub) Rules() []error {
	var errs []error
	if s.Sizing == Fraction && s.Share == 0 {
		errs = append(errs, spec.Problem{
			Paths: []string{"sizing", "share"}, Text: "sizing fraction needs a share above 0",
		})
	}
	return append(errs, s.Script.Rules()...)
}

// Summarize answers a summary call. The answer is a function of the draws'
// seed, the event and the call: equal calls get equal summaries.
func (s *Stub) Summarize(in *prompt.Intent, src draws.Source, event uint64, span prompt.Digest) prompt.Answer {
	if in.Known != nil {
		return *in.Known
	}
	if reason := s.failure(in, src, event); reason != "" {
		return s.failed(reason)
	}
	size := s.Median
	switch s.Sizing {
	case Fraction:
		size = s.Share * float64(in.Summarised)
	case LogNormal:
		size = draws.LogNormal(src.Uint64(draws.SummarySize, event), s.Median, s.Sigma)
	}
	size = math.Max(1, math.Min(size, float64(in.Summarised)))
	output := size * (1 + s.Stripped)
	if in.MaxOutput > 0 && output > float64(in.MaxOutput) {
		output = float64(in.MaxOutput)
		size = math.Min(size, output)
	}
	a := prompt.Answer{
		Summary: int32(size),
		Bytes:   int32(size * s.BytesPerToken),
		Output:  int32(output),
		First:   int64(s.FirstToken),
		Total:   int64(s.FirstToken),
		Digest:  span.ExtendInt(uint64(size)),
	}
	if s.OutputRate > 0 {
		a.Total += int64(output / s.OutputRate * 1e9)
	}
	return a
}

// Failures are the probabilities that a call fails, by the way it fails. Each
// lies in 0…1, and so does their sum.
type Failures struct {
	ToolCall float64 `yaml:"tool_call" doc:"the model calls a tool instead of answering" min:"0" max:"1"`
	Empty    float64 `yaml:"empty" doc:"the answer has no text" min:"0" max:"1"`
	API      float64 `yaml:"api" doc:"the server fails" min:"0" max:"1"`
	TooLong  float64 `yaml:"prompt_too_long" doc:"the server refuses the prompt, without saying by how much it is too long" min:"0" max:"1"`
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

// Rules says that the rates are those of one draw.
func (f *Failures) Rules() []error {
	sum := 0.0
	for _, rate := range f.rates() {
		sum += rate
	}
	if sum > 1 {
		return []error{fmt.Errorf("failure rates add up to %g, more than 1", sum)}
	}
	return nil
}

// Script names calls that fail whatever is drawn.
type Script struct {
	// Calls are ordinals among the calls of a session that reach the summariser,
	// from 1; they fail As one of prompt.Fail…, "" for an answer without text.
	Calls []int  `yaml:"fail_calls" doc:"calls of a session that fail, from 1" min:"1"`
	As    string `yaml:"fail_as" doc:"how they fail" needs:"fail_calls"`
}

// Rules refuses a failure that no call can have.
func (s *Script) Rules() []error {
	if s.As == "" || slices.Contains(failureNames[:], s.As) {
		return nil
	}
	return []error{spec.Wrong("fail_as", "%q is no failure; known: %q", s.As, failureNames)}
}

// failure returns why a call fails, or "". One draw decides for all kinds, so
// that raising one rate does not shift the calls that fail in another way by
// more than that.
func (s *Stub) failure(in *prompt.Intent, src draws.Source, event uint64) string {
	if slices.Contains(s.Calls, int(in.Number)) {
		if s.As == "" {
			return prompt.FailEmpty
		}
		return s.As
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
	a := prompt.Answer{Failed: reason, First: int64(s.FirstToken), Total: int64(s.FirstToken)}
	if reason == prompt.FailToolCall {
		a.Output = toolCallTokens
	}
	return a
}

// Call is a model call that a layer asks for, with all it would send: what a
// summariser needs that has the call made for real. It is only valid while the
// loop waits for the answer.
type Call struct {
	Intent *prompt.Intent
	// Session is the recording the call is made in, Thread and Round where.
	Session       *traces.Session
	Thread, Round int32
	// Context is what the request sends: tools, system prompt and messages, the
	// instruction last. It is sealed, so that the chain of its last entry
	// identifies all of its content.
	Context *prompt.Context
	// Markers are the cache breakpoints as the client places them over Context.
	Markers []prompt.Marker
	Model   string // name, as in Intent.Model or the session's
	Window  int64  // of the model, tokens
	// Thinking and Effort are those of the conversation's requests by now.
	Thinking, Effort Setting
	// Draws, Event and Span are what Stub.Summarize takes.
	Draws draws.Source
	Event uint64
	Span  prompt.Digest
}

// Setting is a parameter of a conversation's requests as an event of the scenario
// has left it. The zero value is that of the recording.
type Setting struct {
	Set   bool   // an event has changed it
	Value string // in the event's words; "" where it gives none
}
