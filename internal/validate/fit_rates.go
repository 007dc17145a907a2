package validate

import (
	"slices"

	"github.com/compactsim/compactsim/internal/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// regressor is something that the growth between two calls is made of: bytes of a
// kind of block, of one tool alone or of those that have none of their own, or
// the number of such blocks.
type regressor struct {
	name string
	kind prompt.Kind
	each bool   // counts blocks, not bytes
	tool string // the tool whose blocks it takes; "" for those no other takes
}

// kinds are the regressors by kind of block.
func kinds() []regressor {
	return []regressor{
		{name: "text", kind: prompt.KindText}, {name: "thinking", kind: prompt.KindThinking},
		{name: "tool_use", kind: prompt.KindToolUse}, {name: "tool_use_each", kind: prompt.KindToolUse, each: true},
		{name: "prompt", kind: prompt.KindPrompt}, {name: "tool_result", kind: prompt.KindToolResult},
	}
}

const (
	// minResults is the fewest results for which a tool has a rate of its own.
	minResults = 100
	// minModelCalls is the fewest calls for which a model has rates of its own.
	minModelCalls = 300
)

// fitRates fits tokens per byte on the growth of the recorded totals by least
// squares, reweighted with Huber's weights so that growth no line shows does not
// drag it. Intervals are ± 1.96 standard errors.
func fitRates(sessions []*traces.Session) map[string]profile.Estimate {
	return ratesOf(sessions, kinds(), "")
}

// fitToolRates returns the rates of results by tool, for tools with enough of
// them.
func fitToolRates(sessions []*traces.Session) map[string]profile.Estimate {
	results := map[string]int{}
	for _, s := range sessions {
		for i := range s.Blocks {
			if b := &s.Blocks[i]; b.Kind == prompt.KindToolResult && b.Tool > 0 {
				results[s.Tools[b.Tool]]++
			}
		}
	}
	list := kinds()
	for _, tool := range sortedKeys(results) {
		if results[tool] >= minResults {
			list = append(list, regressor{name: tool, kind: prompt.KindToolResult, tool: tool})
		}
	}
	rates := ratesOf(sessions, list, "")
	for _, k := range kinds() {
		delete(rates, k.name)
	}
	for tool, e := range rates {
		if e.Low <= 0 { // too few bytes to tell
			delete(rates, tool)
		}
	}
	return rates
}

// fitModelRates returns the rates by model, for models with enough calls.
func fitModelRates(sessions []*traces.Session) map[string]map[string]profile.Estimate {
	calls := map[string]int{}
	for _, s := range sessions {
		for i := range s.Threads {
			for r := range s.Threads[i].Rounds {
				calls[s.Models[s.Threads[i].Rounds[r].Model]]++
			}
		}
	}
	rates := map[string]map[string]profile.Estimate{}
	for _, model := range sortedKeys(calls) {
		if calls[model] < minModelCalls {
			continue
		}
		if of := ratesOf(sessions, kinds(), model); len(of) > 0 {
			rates[model] = of
		}
	}
	return rates
}

// ratesOf fits the coefficients of some regressors on the calls of a model, of
// all models without one.
func ratesOf(sessions []*traces.Session, list []regressor, model string) map[string]profile.Estimate {
	var rows [][]float64
	var growth []float64
	used := make([]int, len(list))
	for _, s := range sessions {
		for i := range s.Threads {
			t := &s.Threads[i]
			acted := map[int32]bool{}
			for e := range t.Events {
				acted[t.Events[e].Round] = true
			}
			for r := 1; r < len(t.Rounds); r++ {
				a, b := &t.Rounds[r-1], &t.Rounds[r]
				g := b.Usage.Input() - int64(b.Tail) - a.Usage.Input() + int64(a.Tail)
				if acted[int32(r)] || g <= 0 || a.Model != b.Model || model != "" && s.Models[b.Model] != model {
					continue
				}
				row := sizes(s, list, a.Reply, b.Input)
				for k, v := range row {
					if v > 0 {
						used[k]++
					}
				}
				rows, growth = append(rows, row), append(growth, float64(g))
			}
		}
	}
	rates := map[string]profile.Estimate{}
	coefficients, errs, ok := robust(rows, growth)
	if !ok {
		return rates
	}
	for k, x := range list {
		c, d := coefficients[k], 1.96*errs[k]
		rates[x.name] = profile.Estimate{Value: round(c, 4), Low: round(c-d, 4), High: round(c+d, 4), N: used[k]}
	}
	return rates
}

func sizes(s *traces.Session, list []regressor, spans ...traces.Span) []float64 {
	row := make([]float64, len(list))
	for _, span := range spans {
		for b := span.From; b < span.To; b++ {
			block := &s.Blocks[b]
			tool := ownTool(s, block, list)
			for k, x := range list {
				switch {
				case block.Kind != x.kind || x.tool != tool:
				case x.each:
					row[k]++
				default:
					row[k] += float64(block.Bytes)
				}
			}
		}
	}
	return row
}

// ownTool returns the tool of a block if its kind has a regressor of that tool.
func ownTool(s *traces.Session, b *prompt.Block, list []regressor) string {
	name := s.Tools[b.Tool]
	if slices.ContainsFunc(list, func(x regressor) bool { return x.kind == b.Kind && x.tool == name }) {
		return name
	}
	return ""
}

// fitFirst returns how often first calls of threads read a prefix that others
// have cached, and how large it is.
func fitFirst(calls []Call) profile.FirstCalls {
	var f profile.FirstCalls
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
