// Package summarizer says what a model would answer to a summary call: how
// long the summary is and how long it takes. It writes no text.
package summarizer

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/compactsim/compactsim/internal/kit/draws"
	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/ask"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/traces"
)

// Sizing is how the stub chooses the size of a summary.
type Sizing uint8

// Ways to size a summary.
const (
	logNormal Sizing = iota // Median and Sigma
	Fraction                // Share of the summarised tokens
	Fixed                   // Median
)

// Names returns the names of sizings in files.
func (Sizing) Names() []string { return []string{"lognormal", "fraction", "fixed"} }

// Stub sizes summaries without a model.
type Stub struct {
	Sizing Sizing  `yaml:"sizing" doc:"How its size is chosen: lognormal (median, sigma), fraction (share of what it replaces) or fixed (median)."`
	Median float64 `yaml:"median" min:"0" max:"1e6" needs:"sizing=lognormal|sizing=fixed" doc:"Tokens; 0 for as many as recorded summaries of the session's client have: Claude Code's 3,070, Codex's 1,430, and 1,970 where recordings show too few." unit:"tokens"`
	Sigma  float64 `yaml:"sigma" min:"0" max:"5" needs:"sizing=lognormal" doc:"Standard deviation of the logarithm of the size, from the same 14."`
	// Recorded gives own the size of the summaries that a session's client was given.
	Recorded bool    `yaml:"recorded" needs:"sizing=lognormal" doc:"A session whose recording has compactions keeps the mean size of their summaries in place of a drawn one, under its own client's strategy. Off, all are drawn."`
	Share    float64 `yaml:"share" min:"0" max:"1" needs:"sizing=fraction" doc:"Share of the summarised tokens, 0…1, for sizing fraction."`
	// Stripped is the output, as a share of the summary, that is billed and
	// thrown away (the analysis block).
	Stripped      float64       `yaml:"stripped" min:"0" max:"100" doc:"Output billed and thrown away (the analysis), as a share of the summary. Assumed." unit:"share"`
	BytesPerToken float64       `yaml:"bytes_per_token" min:"0" max:"100" doc:"Bytes of a token of a summary: 1 / 0.26, from the recordings."`
	FirstToken    time.Duration `yaml:"first_token" min:"0s" doc:"Time to the first token, before what latency adds for the input. Assumed, as is output_rate; together with stripped they give the 62 s that automatic compactions take in recordings."`
	OutputRate    float64       `yaml:"output_rate" min:"0" max:"1e6" doc:"Output tokens per second." unit:"tokens/s"`
	// FailureRate counts for ways that Failures does not name.
	FailureRate float64 `yaml:"failure_rate" min:"0" max:"1" doc:"Probability, 0…1, that a call answers without text." unit:"share of calls"`
	// Failures are the failures of calls by the way they are made, as in
	// Intent.Way.
	Failures map[string]Failures `yaml:"failures" doc:"Probabilities, 0…1, by the way a call is made (fork, streaming, small-model) in the place of failure_rate, as in {fork: {tool_call: 0.01, empty: 0, api: 0.02, prompt_too_long: 0}}."`
	// Script names calls that fail in any case.
	Script `yaml:",inline"`
}

// Usual is how long a summary is where neither the stub nor the session's client says it, tokens: of the 14 compactions of the
// recorded Claude Code sessions, which have summaries of 6.3–16.9 kB, median 11.8 kB at 0.26 tokens a byte.
const Usual = 3070

// Default returns a stub fitted to the same compactions: σ of the logarithm 0.29. That the analysis block adds 60 %
// and that 80 tokens a second come out is assumed; together they give the 62 s
// median wait of the automatic ones.
func Default() *Stub {
	return &Stub{
		Sigma: 0.29, Recorded: true, Stripped: 0.6, BytesPerToken: 1 / 0.26,
		FirstToken: 2e9, OutputRate: 80,
	}
}

// Told reports whether the length of summaries is not drawn by what recordings show.
func (s *Stub) Told() bool { return s.Median > 0 || s.Sizing != logNormal }

// Rules returns contradictions between the parameters.
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
	size := cmp.Or(s.Median, in.Usual, Usual)
	switch s.Sizing {
	case Fraction:
		size = s.Share * float64(in.Summarised)
	case logNormal:
		size = draws.LogNormal(src.Uint64(draws.SummarySize, event), size, s.Sigma)
	}
	recorded := s.Recorded && in.Recorded > 0 && s.Sizing == logNormal
	if recorded {
		size = float64(in.Recorded)
	}
	size = math.Max(1, math.Min(size, float64(in.Summarised)))
	output := size * (1 + s.Stripped)
	if in.Analysis != nil {
		output = size * (1 + *in.Analysis)
	}
	if recorded && in.RecordedOutput > 0 {
		output = float64(in.RecordedOutput)
	}
	if in.MaxOutput > 0 && output > float64(in.MaxOutput) {
		// The analysis comes first (002:97): what the limit cuts off is the summary's end.
		analysis := output - size
		output = float64(in.MaxOutput)
		size = math.Max(1, output-analysis)
	}
	a := prompt.Answer{
		Summary: int32(size),
		Bytes:   int32(size * s.BytesPerToken),
		Output:  int32(output),
		First:   int64(s.FirstToken),
		Total:   int64(s.FirstToken),
		Around:  in.Around && recorded,
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
	ToolCall float64 `yaml:"tool_call" doc:"the model calls a tool instead of answering" unit:"share of calls" min:"0" max:"1"`
	Empty    float64 `yaml:"empty" doc:"the answer has no text" unit:"share of calls" min:"0" max:"1"`
	API      float64 `yaml:"api" doc:"the server fails" unit:"share of calls" min:"0" max:"1"`
	TooLong  float64 `yaml:"prompt_too_long" doc:"the server refuses the prompt, without saying by how much it is too long" unit:"share of calls" min:"0" max:"1"`
}

func (f *Failures) rates() [4]float64 { return [...]float64{f.ToolCall, f.Empty, f.API, f.TooLong} }

// failureNames are the reasons of prompt.Answer.Failed in the order of rates.
var failureNames = [...]string{ask.FailToolCall, ask.FailEmpty, ask.FailAPI, ask.FailTooLong}

// Rules refuses rates that add up to more than 1.
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
	Calls []int  `yaml:"fail_calls" min:"1" doc:"Calls of every session that fail in any case, counted from 1."`
	As    string `yaml:"fail_as" needs:"fail_calls" doc:"How they fail: \"empty text\" (the same as \"\"), \"tool call instead of text\", \"API error\" or \"prompt too long\"."`
}

// Rules refuses a failure that no call can have.
func (s *Script) Rules() []error {
	if s.As == "" || slices.Contains(failureNames[:], s.As) {
		return nil
	}
	return []error{spec.Wrong("fail_as", "%q is no failure; known: %q", s.As, failureNames)}
}

// failure returns why a call fails, or "". One draw decides for all kinds, so raising one
// rate shifts the calls that fail in other ways by no more than that.
func (s *Stub) failure(in *prompt.Intent, src draws.Source, event uint64) string {
	if slices.Contains(s.Calls, int(in.Number)) {
		if s.As == "" {
			return ask.FailEmpty
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
	u := draws.Unit(src.Uint64(draws.SummaryFailure, event))
	for i, rate := range f.rates() {
		if u < rate {
			return failureNames[i]
		}
		u -= rate
	}
	return ""
}

// toolCallTokens is the output of a call that answers with a tool call: the
// fixed part of one in the recordings and a short input, assumed.
const toolCallTokens = 100

// failed returns the answer of a call that fails: it takes the time to the first token,
// and a tool call is billed for its output.
func (s *Stub) failed(reason string) prompt.Answer {
	a := prompt.Answer{Failed: reason, First: int64(s.FirstToken), Total: int64(s.FirstToken)}
	if reason == ask.FailToolCall {
		a.Output = toolCallTokens
	}
	return a
}

// Call is a model call that a layer asks for, with all that it sends, for a summariser
// that makes it for real. It is valid only while the loop waits for the answer.
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
	Markers []exchange.Marker
	Model   string // name, as in Intent.Model or the session's
	Window  int64  // of the model, tokens
	// Draws, Event and Span are what Stub.Summarize takes.
	Draws draws.Source
	Event uint64
	Span  prompt.Digest
}
