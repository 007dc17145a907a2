// Package summarizer says what a model would answer to a summary call: how
// long the summary is and how long it takes. It writes no text.
package summarizer

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/compactsim/compactsim/internal/draws"
	"github.com/compactsim/compactsim/sim/prompt"
)

// Sizing is how the stub chooses the size of a summary.
type Sizing uint8

// Ways to size a summary.
const (
	LogNormal Sizing = iota // Median and Sigma
	Fraction                // Share of the summarised tokens
	Fixed                   // Median
)

// Stub sizes summaries without a model.
type Stub struct {
	Sizing Sizing
	// Median is the median size of a summary, tokens; Sigma the standard
	// deviation of its logarithm.
	Median, Sigma float64
	// Share of the summarised tokens, for Fraction.
	Share float64
	// Stripped is the output, as a share of the summary, that is billed and
	// thrown away (the analysis block).
	Stripped float64
	// BytesPerToken turns tokens of a summary into bytes.
	BytesPerToken float64
	// FirstToken and OutputRate give the latency: ns to the first token and
	// output tokens per second.
	FirstToken int64
	OutputRate float64
	// FailureRate is the probability that a call answers without text, 0…1,
	// for ways that Failures does not name.
	FailureRate float64
	// Failures are the failures of calls by the way they are made, as in
	// Intent.Way.
	Failures map[string]Failures
	// Script names calls that fail in any case.
	Script Script
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

// Validate returns what is wrong with the stub's parameters.
func (s *Stub) Validate() error {
	for _, f := range []struct {
		name  string
		value float64
		max   float64
	}{
		{"median", s.Median, 1e6}, {"sigma", s.Sigma, 5}, {"share", s.Share, 1}, {"stripped", s.Stripped, 100},
		{"bytes per token", s.BytesPerToken, 100}, {"output rate", s.OutputRate, 1e6}, {"failure rate", s.FailureRate, 1},
	} {
		if !(f.value >= 0 && f.value <= f.max) {
			return fmt.Errorf("summarizer: %s %g must lie in 0…%g", f.name, f.value, f.max)
		}
	}
	for _, way := range slices.Sorted(maps.Keys(s.Failures)) {
		f := s.Failures[way]
		if err := f.validate(way); err != nil {
			return err
		}
	}
	return s.Script.validate()
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
		First:   s.FirstToken,
		Total:   s.FirstToken,
		Digest:  span.ExtendInt(uint64(size)),
	}
	if s.OutputRate > 0 {
		a.Total += int64(output / s.OutputRate * 1e9)
	}
	return a
}
