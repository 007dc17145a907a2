package codex

import (
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces/internal/assembly"
	"github.com/compactsim/compactsim/traces/internal/jsonscan"
)

// tokenUsage is what the API reported. Input includes what was read from the
// cache and what was written to it.
type tokenUsage struct{ Input, Cached, CacheWrite, Output, Reasoning, Total int64 }

// read reads counts, -1 for what is missing or no whole number.
func (u *tokenUsage) read(text []byte) error {
	*u = tokenUsage{-1, -1, 0, -1, 0, -1} // writes and reasoning are not in the logs of all versions
	if len(text) == 0 {
		return nil
	}
	return jsonscan.Object(text,
		jsonscan.Count("input_tokens", &u.Input), jsonscan.Count("cached_input_tokens", &u.Cached),
		jsonscan.Count("cache_write_tokens", &u.CacheWrite), jsonscan.Count("cache_write_input_tokens", &u.CacheWrite), jsonscan.Count("output_tokens", &u.Output),
		jsonscan.Count("reasoning_output_tokens", &u.Reasoning), jsonscan.Count("total_tokens", &u.Total))
}

// same reports whether all counts that both have are equal.
func (u *tokenUsage) same(v *tokenUsage) bool {
	equal := func(a, b int64) bool { return a < 0 || b < 0 || a == b }
	return equal(u.Input, v.Input) && equal(u.Cached, v.Cached) && equal(u.CacheWrite, v.CacheWrite) &&
		equal(u.Output, v.Output) && equal(u.Reasoning, v.Reasoning)
}

// equal reports whether all counts can be read and are equal.
func (u *tokenUsage) equal(v *tokenUsage) bool { return min(u.sure(), v.sure()) >= 0 && u.same(v) }

// less returns the counts without v's.
func (u *tokenUsage) less(v *tokenUsage) tokenUsage {
	return tokenUsage{
		u.Input - v.Input, u.Cached - v.Cached, u.CacheWrite - v.CacheWrite, u.Output - v.Output, u.Reasoning - v.Reasoning, u.Total - v.Total,
	}
}

// sure is negative where one of the counts that all versions log cannot be read.
func (u *tokenUsage) sure() int64 { return min(u.Input, u.Cached, u.Output) }

// usage splits what the API reported into disjoint classes.
func (u *tokenUsage) usage() assembly.Usage {
	c := assembly.Usage{Reasoning: u.Reasoning}
	if min(u.Input, u.Cached, u.CacheWrite, u.Output, u.Reasoning) < 0 || max(u.Input, u.Cached, u.CacheWrite, u.Output, u.Reasoning) > assembly.MaxTokens {
		return c
	}
	if u.Input == 0 || u.Cached+u.CacheWrite > u.Input || u.Reasoning > u.Output {
		return c
	}
	c.OK = true
	c.Usage = prompt.Usage{
		Uncached: u.Input - u.Cached - u.CacheWrite, Read: u.Cached, WriteOther: u.CacheWrite, Output: u.Output,
	}
	return c
}
