package validate

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/internal/serving/profile"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// Score says how well predictions match the recording over a set of calls.
// Shares and errors are nil for an empty set.
type Score struct {
	Calls     int      `json:"calls"`
	Exact     *float64 `json:"exact"`                // share of calls whose read was predicted to the token
	Within1   *float64 `json:"within_1pct"`          // share whose read was predicted within 1 % of the context
	TokenErr  *float64 `json:"token_weighted_error"` // Σ|predicted − recorded read| / Σ context
	Sessions  int      `json:"sessions"`             // with at least one such call, priced
	Median    *float64 `json:"session_cost_error_median"`
	P90       *float64 `json:"session_cost_error_p90"`
	Corpus    *float64 `json:"corpus_cost_error"` // Σ predicted / Σ recorded input cost − 1, with sign
	CorpusUSD *float64 `json:"recorded_input_usd"`
}

// within is the tolerance of Within1, as a share of the context.
const within = 0.01

// rule selects the prediction that is compared with the recording: the model's
// or the naive rule's.
type rule func(*Call) (read int64, usd float64)

func byModel(c *Call) (int64, float64) { return c.Predicted.Read, c.PredictedUSD }
func byMean(c *Call) (int64, float64)  { return c.Predicted.Read, c.PredictedUSD + c.LossUSD }
func byNaive(c *Call) (int64, float64) { return c.Naive.Read, c.NaiveUSD }

// score sums up the calls that keep selects. Of calls whose input is recorded for several
// together only the cost counts.
func score(calls []Call, predict rule, keep func(*Call) bool) Score {
	var s Score
	var exact, close int
	var off, context int64
	cost := map[string]*[2]float64{} // by session: predicted, recorded
	for i := range calls {
		c := &calls[i]
		if !keep(c) {
			continue
		}
		read, usd := predict(c)
		if !c.Spread {
			d := max(read-c.Actual.Read, c.Actual.Read-read)
			s.Calls++
			if d == 0 {
				exact++
			}
			if c.close(read) {
				close++
			}
			off += d
			context += c.Context
		}
		if c.Priced {
			sum := cost[c.Session]
			if sum == nil {
				sum = new([2]float64)
				cost[c.Session] = sum
			}
			sum[0] += usd
			sum[1] += c.ActualUSD
		}
	}
	s.Exact, s.Within1 = share(float64(exact), s.Calls), share(float64(close), s.Calls)
	if context > 0 {
		s.TokenErr = ratio(float64(off), float64(context))
	}
	s.sumCosts(cost)
	return s
}

// sumCosts sets the errors of input cost by session and over all.
func (s *Score) sumCosts(cost map[string]*[2]float64) {
	var predicted, recorded float64
	var errs []float64
	for _, id := range sortedKeys(cost) {
		c := cost[id]
		predicted, recorded = predicted+c[0], recorded+c[1]
		if c[1] > 0 {
			errs = append(errs, math.Abs(c[0]/c[1]-1))
		}
	}
	s.Sessions = len(errs)
	if recorded > 0 {
		s.CorpusUSD, s.Corpus = &recorded, ratio(predicted-recorded, recorded)
	}
	if len(errs) > 0 {
		slices.Sort(errs)
		median, p90 := stats.Quantile(errs, 0.5), stats.Quantile(errs, 0.9)
		s.Median, s.P90 = &median, &p90
	}
}

// epochOf names the epoch of a client version, by the profile, and the family
// of models; within both the cache behaves alike, as far as recordings show.
// For other agents it is their name and the model.
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

// oldModel reports whether a model of Anthropic's has version 4.5 or older: the first
// numbers of its name that are not a date, as in claude-opus-4-5-20251101.
func oldModel(model string) bool {
	var numbers []int
	for _, part := range strings.FieldsFunc(model, func(r rune) bool { return r == '-' || r == '.' || r == '@' }) {
		if n, err := strconv.Atoi(part); err == nil && n < 100 {
			numbers = append(numbers, n)
		}
	}
	return len(numbers) > 0 && slices.Compare(numbers, []int{4, 6}) < 0
}

// epochOfSession returns the epoch of a session's first call.
func epochOfSession(p *profile.Profile, s *traces.Session) string {
	model := ""
	if len(s.Threads) > 0 && len(s.Threads[0].Rounds) > 0 {
		model = s.Models[s.Threads[0].Rounds[0].Model]
	}
	return epochOf(p, s.Agent, s.Version(), model)
}

func index(b bool) int {
	if b {
		return 1
	}
	return 0
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func share(k float64, n int) *float64 {
	if n == 0 {
		return nil
	}
	return ratio(k, float64(n))
}

func ratio(a, b float64) *float64 { r := a / b; return &r }

// median returns the type-7 median with the 95 % interval of order statistics:
// ranks n/2 ∓ 1.96·√n/2.
func median(x []float64) profile.Estimate {
	if len(x) == 0 {
		return profile.Estimate{}
	}
	x = slices.Clone(x)
	slices.Sort(x)
	n := float64(len(x))
	d := 0.98 * math.Sqrt(n)
	low, high := int(math.Floor(n/2-d)), int(math.Ceil(n/2+d))
	return profile.Estimate{
		Value: round(stats.Quantile(x, 0.5), 3), Low: round(x[max(0, low)], 3), High: round(x[min(len(x)-1, high)], 3), N: len(x),
	}
}

func round(x float64, decimals int) float64 {
	f := math.Pow10(decimals)
	return math.Round(x*f)/f + 0 // never −0
}
