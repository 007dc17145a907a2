package scenarios

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/summarizer"
	"github.com/compactsim/compactsim/traces"
)

const isoDate = "2006-01-02"

// provenance says what the figures depend on.
func (p *Plan) provenance(sessions []*traces.Session) results.Provenance {
	digest := Digest(sessions)
	o := results.Provenance{
		Version:        p.Version,
		Seed:           p.Seed,
		SessionsDigest: fmt.Sprintf("%016x%016x", digest.Hi, digest.Lo),
		Prices:         p.Prices.AsOf().Format(isoDate),
		Switches:       map[string]string{},
	}
	if p.Window > 0 {
		o.Switches["window"] = strconv.FormatInt(p.Window, 10)
	}
	if !p.PricesAt.IsZero() {
		o.Switches["prices_at"] = p.PricesAt.Format(isoDate)
	}
	return o
}

// Digest identifies sessions by what a simulation depends on: blocks, rounds
// and events. It does not depend on their order.
func Digest(sessions []*traces.Session) prompt.Digest {
	var all prompt.Digest
	for _, s := range sessions {
		d := sessionDigest(s)
		all.Hi ^= d.Hi
		all.Lo += d.Lo
	}
	return all
}

func sessionDigest(s *traces.Session) prompt.Digest {
	d := prompt.DigestString(s.ID)
	for i := range s.Blocks {
		b := &s.Blocks[i]
		d = d.Extend(b.Digest).ExtendInt(uint64(b.Tokens)<<8 | uint64(b.Kind))
	}
	for i := range s.Threads {
		t := &s.Threads[i]
		d = d.ExtendInt(uint64(t.Kind)<<32 | uint64(uint32(t.ParentRound)))
		for j := range t.Rounds {
			r := &t.Rounds[j]
			d = d.Extend(prompt.DigestString(r.ID))
			for _, v := range []int64{r.Wait, r.First, r.Stream, r.Usage.Input(), r.Usage.Read, r.Usage.Output} {
				d = d.ExtendInt(uint64(v))
			}
		}
		for j := range t.Events {
			e := &t.Events[j]
			d = d.ExtendInt(uint64(e.Kind)<<56 | uint64(uint32(e.Round))<<24 ^ uint64(uint32(e.Kept)))
		}
	}
	return d
}

// workload describes the sessions for the head of a report.
func (p *Plan) workload(sessions []*traces.Session) results.Workload {
	w := results.Workload{Sessions: len(sessions), PricesAt: "call date"}
	if !p.PricesAt.IsZero() {
		w.PricesAt = p.PricesAt.Format(isoDate)
	}
	var q traces.Quality
	var first, last int64
	calls := map[string]int{}
	for _, s := range sessions {
		w.Calls += s.NumCalls()
		q.InputTokens += s.Quality.InputTokens
		q.UnseenTokens += s.Quality.UnseenTokens
		q.DerivedOutputs += s.Quality.DerivedOutputs
		q.AssumedTiers += s.Quality.AssumedTiers
		if s.Start > 0 && (first == 0 || s.Start < first) {
			first = s.Start
		}
		last = max(last, s.End)
		countModels(calls, s)
	}
	w.Models = byUse(calls)
	if first > 0 {
		w.First = time.Unix(0, first).UTC().Format(isoDate)
		w.Last = time.Unix(0, last).UTC().Format(isoDate)
	}
	w.Quality = qualityShares(&q, w.Calls)
	return w
}

func qualityShares(q *traces.Quality, calls int) []results.Share {
	shares := []results.Share{
		{Of: "tokens", What: "unseen", Value: ratio(q.UnseenTokens, q.InputTokens)},
		{Of: "outputs", What: "derived", Value: ratio(int64(q.DerivedOutputs), int64(calls))},
	}
	if q.AssumedTiers > 0 {
		shares = append(shares, results.Share{Of: "calls", What: "of assumed lifetime", Value: ratio(int64(q.AssumedTiers), int64(calls))})
	}
	return shares
}

func ratio(part, base int64) float64 {
	if base == 0 {
		return 0
	}
	return float64(part) / float64(base)
}

func countModels(calls map[string]int, s *traces.Session) {
	for i := range s.Threads {
		for j := range s.Threads[i].Rounds {
			calls[s.Models[s.Threads[i].Rounds[j].Model]]++
		}
	}
}

// byUse returns the models, most used first.
func byUse(calls map[string]int) []string {
	var models []string
	for m := range calls {
		models = append(models, m)
	}
	slices.SortFunc(models, func(a, b string) int {
		return cmp.Or(calls[b]-calls[a], cmp.Compare(a, b))
	})
	return models
}

// annotate adds the assumptions the figures rest on.
func (p *Plan) annotate(run *results.Run, stub *summarizer.Stub) {
	note := func(cell, metric, format string, args ...any) {
		run.Notes = append(run.Notes, results.Note{Cell: cell, Metric: metric, Text: fmt.Sprintf(format, args...)})
	}
	for i := range run.Cells {
		c := &run.Cells[i]
		hidden := c.Total.CostBySource[results.SourceCompact].Total()
		if c.Strategy == results.StrategyRecorded && hidden >= 0.005 {
			note(c.Cell, "cost_usd", "of this, $%.2f is for the summary calls of its compactions, which no log shows: a cold call each, assumed", hidden)
		}
	}
	if len(run.Cells) > 2 {
		run.Notes = append(run.Notes, results.Note{Text: fmt.Sprintf(
			"other strategies keep the recording's actions, pauses, model, window and client; a summary is drawn (median %.0f tokens, σ %.2f), its quality is not modelled", stub.Median, stub.Sigma)})
	}
}
