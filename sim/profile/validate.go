package profile

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
)

// maxStatic is the largest static prefix that is taken for one, tokens: the
// window of most models.
const maxStatic = 200_000

// maxLife is the longest lifetime, seconds: ten years, far from what a count of
// nanoseconds holds.
const maxLife = 10 * 365 * 24 * 3600

// maxResidual bounds the logarithms of residuals: a session that costs e²⁰ times
// what is predicted was not predicted.
const maxResidual = 20

// Validate returns everything that is wrong with p.
func (p *Profile) Validate() error {
	var v problems
	v.estimates(p)
	v.shares(p)
	for _, s := range slices.Concat(p.Static, p.First.MainTokens, p.First.AgentTokens) {
		if !(s.Value >= 0 && s.Value <= maxStatic) {
			v.add("version %s: a prefix of %g tokens must lie in 0…%d", s.Version, s.Value, maxStatic)
		}
	}
	for _, list := range [][]Versioned{p.Static, p.Hidden, p.First.MainTokens, p.First.AgentTokens} {
		if !slices.IsSortedFunc(list, func(a, b Versioned) int { return Compare(a.Version, b.Version) }) {
			v.add("versions must ascend")
		}
	}
	short, long := p.Lifetime.FiveMinutes.Value, p.Lifetime.OneHour.Value
	if p.Switches.Lifetime && !(0 < short && short <= long && long <= maxLife) {
		v.add("lifetime_seconds: want 0 < 5m ≤ 1h ≤ %d", maxLife)
	}
	for _, r := range p.Residual {
		if !(math.Abs(r) <= maxResidual) {
			v.add("session_residual %g must lie in −%d…%[2]d", r, maxResidual)
		}
	}
	if !(p.Weight >= 0 && p.Weight <= math.MaxFloat64) {
		v.add("prior_weight %g must be a number from 0", p.Weight)
	}
	return errors.Join(v...)
}

// problems are what is wrong with a profile.
type problems []error

func (v *problems) add(format string, args ...any) { *v = append(*v, fmt.Errorf(format, args...)) }

func (v *problems) shares(p *Profile) {
	share := func(name string, e Estimate) {
		if !(e.Value >= 0 && e.Value <= 1) {
			v.add("%s: share %g must lie in 0…1", name, e.Value)
		}
	}
	for _, h := range p.Hidden {
		share("hidden_call_share "+h.Version, h.Estimate)
	}
	share("shared_after_expiry", p.Shared)
	share("first_calls.main", p.First.Main)
	share("first_calls.sub_agent", p.First.Agent)
	share("codex_fallback", p.Fallback)
	share("after_prompt", p.Evict.Prompt)
	share("after_tool_result", p.Evict.ToolResult)
}

// estimates refuses what is no number, and samples below 0.
func (v *problems) estimates(p *Profile) {
	check := func(name string, e Estimate) {
		if sum := math.Abs(e.Value) + math.Abs(e.Low) + math.Abs(e.High); !(sum <= math.MaxFloat64) {
			v.add("%s: %g in %g…%g is no estimate", name, e.Value, e.Low, e.High)
		}
		if e.N < 0 {
			v.add("%s: samples %d must not be negative", name, e.N)
		}
	}
	versioned := func(name string, list []Versioned) {
		for _, e := range list {
			check(name+" "+e.Version, e.Estimate)
		}
	}
	rates := func(name string, m map[string]Estimate) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			check(name+" "+key, m[key])
		}
	}
	rates("tokens_per_byte", p.TokensPerByte)
	rates("tokens_per_byte_of_results", p.ResultRates)
	for _, model := range slices.Sorted(maps.Keys(p.ModelRates)) {
		rates("tokens_per_byte_by_model "+model, p.ModelRates[model])
	}
	versioned("static_prefix_tokens", p.Static)
	versioned("hidden_call_share", p.Hidden)
	versioned("main_tokens", p.First.MainTokens)
	versioned("sub_agent_tokens", p.First.AgentTokens)
	for _, g := range p.Evict.Gaps {
		check(fmt.Sprintf("by_gap %g", g.Seconds), g.Estimate)
	}
	for _, e := range []struct {
		name string
		of   Estimate
	}{
		{"shared_after_expiry", p.Shared}, {"shared_tokens", p.SharedTokens}, {"codex_fallback", p.Fallback},
		{"first_calls.main", p.First.Main}, {"first_calls.sub_agent", p.First.Agent},
		{"lifetime_seconds.5m", p.Lifetime.FiveMinutes}, {"lifetime_seconds.1h", p.Lifetime.OneHour},
		{"wrong_from_response_end", p.Lifetime.FromEnd}, {"wrong_from_request_start", p.Lifetime.FromStart},
		{"after_prompt", p.Evict.Prompt}, {"after_tool_result", p.Evict.ToolResult},
		{"wait_seconds", p.Compact.Wait}, {"summary_tokens", p.Compact.Summary}, {"context_after_tokens", p.Compact.After},
		{"think_seconds", p.Talk.Think}, {"tool_seconds", p.Talk.Tool}, {"output_tokens", p.Talk.Output},
	} {
		check(e.name, e.of)
	}
}
