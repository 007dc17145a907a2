package validate

import (
	"math"
	"slices"

	"github.com/compactsim/compactsim/internal/stats"
)

// Score is how well predictions met the recording over a set of calls. Shares
// and errors are nil for an empty set: no figure is computed over nothing.
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

// rule chooses what is held against the recording: the model's or the naive
// rule's prediction.
type rule func(*Call) (read int64, usd float64)

func byModel(c *Call) (int64, float64) { return c.Predicted.Read, c.PredictedUSD }
func byNaive(c *Call) (int64, float64) { return c.Naive.Read, c.NaiveUSD }

// score sums up the calls that keep selects.
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

// sumCosts fills in the errors of input cost by session and over all.
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
