package validate

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/compactsim/compactsim/internal/draws"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
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
		median, p90 := quantile(errs, 0.5), quantile(errs, 0.9)
		s.Median, s.P90 = &median, &p90
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func share(k float64, n int) *float64 {
	if n == 0 {
		return nil
	}
	return ratio(k, float64(n))
}

func ratio(a, b float64) *float64 { r := a / b; return &r }

// quantile returns the p-quantile of sorted values, which must not be empty, by
// linear interpolation between order statistics at 1 + (n−1)p: type 7 of
// Hyndman and Fan, "Sample quantiles in statistical packages" (1996), the
// default of R and NumPy. gonum's LinInterp is another type.
func quantile(sorted []float64, p float64) float64 {
	h := float64(len(sorted)-1) * p
	i := int(h)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (h-float64(i))*(sorted[i+1]-sorted[i])
}

// Bands is what replications with drawn evictions say about the input cost of
// sessions, calls that are not the first of their thread.
type Bands struct {
	Replications int `json:"replications"`
	Sessions     int `json:"sessions"`
	Inside       int `json:"inside"` // sessions whose recorded cost lies in the 90 % band
	// Interval is the mean over sessions of the interval score at 90 % as a
	// share of the recorded cost (Gneiting and Raftery 2007, equation 43):
	// width plus 2/0.1 times what lies outside. Naive is that of the naive
	// rule's single figure taken as a band without width.
	Interval      *float64 `json:"interval_score"`
	IntervalNaive *float64 `json:"interval_score_naive"`
	// MeanCorpus is the error of the corpus as the mean of the replications.
	MeanCorpus *float64 `json:"corpus_cost_error_mean"`
}

// bandLevel is the share of replications a band leaves out, both sides together.
const bandLevel = 0.1

// replicate draws what stays random and fills in the bands.
func (r *Report) replicate(ctx context.Context, o Options, sessions []*traces.Session) error {
	samples := make([][]float64, len(sessions))
	err := parallel(ctx, o.Workers, len(sessions), func(i int) error {
		for n := range o.Replications {
			config := o.DrawnFor(sessions[i], uint64(n+1))
			usd, err := laterInput(config, sessions[i])
			if err != nil {
				return err
			}
			if config.Profile != nil {
				// Which residual a replication gets does not depend on how many
				// there are: the seed decides it.
				src := draws.Source{Seed: config.Seed, Session: prompt.DigestString(sessions[i].ID).Lo}
				usd *= math.Exp(config.Profile.ResidualAt(draws.Unit(src.Uint64(draws.Unlogged, 0))))
			}
			samples[i] = append(samples[i], usd)
		}
		return nil
	})
	if err != nil {
		return err
	}
	type sum struct{ actual, naive float64 }
	recorded := map[string]*sum{}
	for i := range r.calls {
		c := &r.calls[i]
		if !later(c) || !c.Priced {
			continue
		}
		if recorded[c.Session] == nil {
			recorded[c.Session] = new(sum)
		}
		recorded[c.Session].actual += c.ActualUSD
		recorded[c.Session].naive += c.NaiveUSD
	}
	b := &Bands{Replications: o.Replications}
	var scores, naives, means, total float64
	for i, s := range sessions {
		c := recorded[s.ID]
		if c == nil || c.actual <= 0 {
			continue
		}
		slices.Sort(samples[i])
		low, high := quantile(samples[i], bandLevel/2), quantile(samples[i], 1-bandLevel/2)
		b.Sessions++
		// A band without width is met to a hundredth of a cent per dollar.
		if slack := 1e-4 * c.actual; c.actual >= low-slack && c.actual <= high+slack {
			b.Inside++
		}
		scores += intervalScore(low, high, c.actual) / c.actual
		naives += intervalScore(c.naive, c.naive, c.actual) / c.actual
		for _, v := range samples[i] {
			means += v / float64(len(samples[i]))
		}
		total += c.actual
	}
	r.Bands, r.BandCoverage = b, share(float64(b.Inside), b.Sessions)
	b.Interval, b.IntervalNaive = share(scores, b.Sessions), share(naives, b.Sessions)
	if total > 0 {
		b.MeanCorpus = ratio(means-total, total)
	}
	return nil
}

// intervalScore returns the interval score of a band at bandLevel; less is better.
func intervalScore(low, high, x float64) float64 {
	return high - low + 2/bandLevel*(max(0, low-x)+max(0, x-high))
}

// laterInput returns the simulated input cost of the conversation's calls that
// are not the first of their thread, USD.
func laterInput(config sim.Config, s *traces.Session) (float64, error) {
	var usd float64
	first := map[place]bool{}
	for i := range s.Threads {
		first[place{int32(i), 0}] = s.Threads[i].Kind != traces.ThreadBranch
	}
	config.Record = func(c *results.CallRecord) {
		if c.Round >= 0 && !first[place{c.Thread, c.Round}] {
			usd += c.Cost.Total() - c.Cost[results.ClassOutput]
		}
	}
	if _, err := sim.NewLoop(config).Run(s); err != nil {
		return 0, fmt.Errorf("validate: %w", err)
	}
	return usd, nil
}
