package validate

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/internal/profile"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// epochOf names the epoch of a client version, by the profile, and the family of
// models: within both the cache is treated alike, as far as recordings tell. Of
// other agents it is their name and the model.
func epochOf(p *profile.Profile, agent, version, model string) string {
	if !agents.Of(agent).ClaudeCode {
		return agent + ", " + model
	}
	name := p.Epoch(version) + " on"
	if oldModel(model) {
		return name + ", opus-4-5 and older"
	}
	return name + ", newer models"
}

// oldModel reports whether a model of Anthropic's is of version 4.5 or older: the
// first numbers of its name, such as claude-opus-4-5-20251101, that are no date.
func oldModel(model string) bool {
	var numbers []int
	for _, part := range strings.FieldsFunc(model, func(r rune) bool { return r == '-' || r == '.' || r == '@' }) {
		if n, err := strconv.Atoi(part); err == nil && n < 100 {
			numbers = append(numbers, n)
		}
	}
	return len(numbers) > 0 && slices.Compare(numbers, []int{4, 6}) < 0
}

// epochOfSession is the epoch of what a session calls first.
func epochOfSession(p *profile.Profile, s *traces.Session) string {
	model := ""
	if len(s.Threads) > 0 && len(s.Threads[0].Rounds) > 0 {
		model = s.Models[s.Threads[0].Rounds[0].Model]
	}
	return epochOf(p, s.Agent, s.Version(), model)
}

// Epoch is the score of the calls of one epoch against the naive rule.
type Epoch struct {
	Group
	// SkillCost and SkillCalls say how much smaller the error is than the naive
	// rule's, from −1 (all of it is the model's) over 0 (the same) to 1 (none is
	// left): of the input cost of sessions, summed without signs, and of calls that
	// are not predicted within 1 % of their context. Nil without any.
	SkillCost  *float64 `json:"skill_session_cost"`
	SkillCalls *float64 `json:"skill_calls"`
	// Inside are the sessions whose recorded cost lies in the 90 % band, of Banded
	// that begin in this epoch and have one.
	Inside int `json:"band_inside"`
	Banded int `json:"band_sessions"`
}

// Negative reports whether the naive rule is better in any way.
func (e *Epoch) Negative() bool {
	below := func(skill *float64) bool { return skill != nil && *skill < 0 }
	return below(e.SkillCost) || below(e.SkillCalls)
}

// epochs scores the calls that are not first ones by epoch.
func (r *Report) epochs() {
	name := func(c *Call) string { return c.Epoch }
	names := values(r.calls, name)
	first := func(name string) string { return name[:strings.IndexByte(name+" ", ' ')] }
	slices.SortStableFunc(names, func(a, b string) int { return profile.Compare(first(a), first(b)) })
	for _, epoch := range names {
		keep := func(c *Call) bool { return later(c) && name(c) == epoch }
		for _, g := range group(nil, r.calls, epoch, keep) {
			e := Epoch{Group: g}
			e.SkillCost = skill(costErrors(r.calls, byModel, keep), costErrors(r.calls, byNaive, keep))
			e.SkillCalls = skill(float64(g.Score.Calls)*(1-*g.Score.Within1), float64(g.Naive.Calls)*(1-*g.Naive.Within1))
			r.Epochs = append(r.Epochs, e)
		}
	}
}

// skill compares an error with that of the naive rule, both at least 0.
func skill(model, naive float64) *float64 {
	if model == 0 && naive == 0 {
		return new(float64)
	}
	return ratio(naive-model, max(naive, model))
}

// costErrors sums up how far the input cost of sessions is from the recorded one,
// without signs, USD.
func costErrors(calls []Call, predict rule, keep func(*Call) bool) float64 {
	off := map[string]float64{}
	for i := range calls {
		if c := &calls[i]; c.Priced && keep(c) {
			_, usd := predict(c)
			off[c.Session] += usd - c.ActualUSD
		}
	}
	var sum float64
	for _, id := range sortedKeys(off) {
		sum += math.Abs(off[id])
	}
	return sum
}
