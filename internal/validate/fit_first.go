package validate

import (
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// fitFirst returns how often first calls of threads read a prefix that others
// have cached, and how large it is.
func fitFirst(calls []Call) profile.FirstCalls {
	var f profile.FirstCalls
	f.Main, f.MainTokens = firstReads(calls, func(c *Call) bool { return c.Kind == traces.ThreadMain })
	f.Agent, f.AgentTokens = firstReads(calls, func(c *Call) bool {
		return c.Kind == traces.ThreadAgent || c.Kind == traces.ThreadOrphan
	})
	return f
}

// firstReads returns the share of the first calls that read a prefix, and the
// median of what they read by version.
func firstReads(calls []Call, of func(*Call) bool) (profile.Estimate, []profile.Versioned) {
	yes, n := 0, 0
	read := map[string][]float64{}
	for i := range calls {
		c := &calls[i]
		if c.Class != ClassFirst || !of(c) {
			continue
		}
		n++
		if c.Actual.Read >= minStatic {
			yes++
			read[c.Version] = append(read[c.Version], float64(c.Actual.Read))
		}
	}
	var list []profile.Versioned
	for _, v := range sortedKeys(read) {
		list = append(list, profile.Versioned{Version: v, Estimate: median(read[v])})
	}
	return wilson(yes, n), sorted(list)
}

// fitFallback returns the share of Codex's calls within the retention that read
// less than half of what the model lets them read.
func fitFallback(calls []Call) profile.Estimate {
	yes, n := 0, 0
	for i := range calls {
		c := &calls[i]
		if agents.Of(c.Agent).Cache(c.Model) != traces.CacheAutomatic || c.Predicted.Read < minStatic || !later(c) {
			continue
		}
		n++
		if 2*c.Actual.Read < c.Predicted.Read {
			yes++
		}
	}
	return wilson(yes, n)
}
