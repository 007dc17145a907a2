package scenarios

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/compactsim/compactsim/internal/spec"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/summarizer"
	"github.com/compactsim/compactsim/traces"
)

const isoDate = "2006-01-02"

// provenance says what the figures depend on. Switches are the settings that
// are not swept and differ from the default, by path.
func (p *Plan) provenance(d *Design, sessions []*traces.Session) results.Provenance {
	digest, prices := Digest(sessions), ""
	if d.Scenario.Prices.File != "" {
		prices = p.Prices.Digest()
	}
	return results.Provenance{
		Version:        p.Version,
		Seed:           d.Scenario.Seed,
		SessionsDigest: fmt.Sprintf("%016x%016x", digest.Hi, digest.Lo),
		Prices:         p.priceTable(d),
		PricesDigest:   prices,
		Switches:       d.switches(),
	}
}

// priceTable names the prices of a design: a file's name, without its folder, or
// else the date of the table that is built in.
func (p *Plan) priceTable(d *Design) string {
	if file := d.Scenario.Prices.File; file != "" {
		return filepath.Base(file)
	}
	return p.Prices.AsOf().Format(isoDate)
}

// pricesFrom words when the prices of a design are of, and the file they are from.
func (p *Plan) pricesFrom(d *Design) string {
	at := p.pricesAt(d)
	if d.Scenario.Prices.File != "" {
		at += " from " + p.priceTable(d)
	}
	return at
}

// pricesAt words when the prices of a design are of.
func (p *Plan) pricesAt(d *Design) string {
	if dates := d.priceDates(); len(dates) > 1 {
		return fmt.Sprintf("%d dates", len(dates))
	}
	at, err := d.Scenario.Prices.At.On(time.Time{})
	if err != nil || at.IsZero() {
		return "call date"
	}
	return at.Format(isoDate)
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
	d := prompt.DigestString(s.ID).ExtendInt(uint64(s.Window))
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
func (p *Plan) workload(d *Design, sessions []*traces.Session) results.Workload {
	w := results.Workload{Sessions: len(sessions), PricesAt: p.pricesFrom(d)}
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

// annotate adds the assumptions the figures rest on. real says that summaries are
// not those of the stub.
func annotate(run *results.Run, d *Design, real bool) {
	note := func(cell, metric, format string, args ...any) {
		run.Notes = append(run.Notes, results.Note{Cell: cell, Metric: metric, Text: fmt.Sprintf(format, args...)})
	}
	summaries := d.summaries() + ", its quality is not modelled"
	if real {
		summaries = "a summary is a real model's, and what it leaves out changes nothing of what is done later"
	}
	for i := range run.Cells {
		if c := &run.Cells[i]; c.Strategy == results.StrategyRecorded {
			if parts := unlogged(&c.Total); len(parts) > 0 {
				note(c.Cell, "cost_usd", "of this no log shows %s", strings.Join(parts, ", nor "))
			}
		}
	}
	for i := range run.Cells {
		c := &run.Cells[i]
		if set := d.givenTo(c.Strategy); len(set) > 0 {
			note(c.Cell, "", "with %s", strings.Join(set, ", "))
		}
	}
	if len(run.Cells) > 2 {
		note("", "", "other strategies keep the recording's actions, pauses, model, window and client; %s; %s", summaries, d.waiting())
	}
}

// unlogged words what a recorded row has in it that no log shows.
func unlogged(r *results.Row) []string {
	var parts []string
	if usd := r.CostBySource[results.SourceCompact].Total(); usd >= 0.005 {
		parts = append(parts, fmt.Sprintf("$%.2f for summary calls (assumed: cold through Claude Code 2.1.24, on the warm cache from 2.1.25 and for Codex)", usd))
	}
	if usd := r.CostBySource[results.SourceOther].Total(); usd >= 0.005 {
		parts = append(parts, fmt.Sprintf("$%.2f for calls at the end of turns (by the profile: what later calls read tells of them)", usd))
	}
	return parts
}

// summaries words where the sizes of summaries come from.
func (d *Design) summaries() string {
	for _, a := range d.axes {
		if strings.HasPrefix(a.Path, "summarizer.") {
			return "the size of a summary is assumed as the cell says"
		}
	}
	s := &d.Scenario.Summarizer
	switch summarizer.Sizing(s.Sizing) {
	case summarizer.Fixed:
		return fmt.Sprintf("a summary has %.0f tokens", s.Median)
	case summarizer.Fraction:
		return fmt.Sprintf("a summary has %.3g of the tokens it replaces", s.Share)
	}
	return fmt.Sprintf("a summary is drawn (median %.0f tokens, σ %.2f)", s.Median, s.Sigma)
}

// waiting words what moves the times of calls.
func (d *Design) waiting() string {
	for _, a := range d.axes {
		if strings.HasPrefix(a.Path, "latency.") {
			return "the latency is assumed as the cell says"
		}
	}
	l := d.Scenario.Latency.Model()
	if l.PerFresh == 0 && l.PerCached == 0 {
		return "calls take as long as recorded"
	}
	return fmt.Sprintf("first tokens move by %s for a token computed and %s for one read from the cache", l.PerFresh, l.PerCached)
}

// switches returns the settings around the strategies that are not swept and
// differ from the default, as texts by path, and what was set in their layers from
// outside the scenario.
func (d *Design) switches() map[string]string {
	swept := map[string]bool{}
	for _, a := range d.axes {
		swept[a.Path] = true
	}
	out := map[string]string{}
	was, err := spec.Encode(Default())
	if err != nil {
		return out
	}
	is, err := spec.Encode(d.Scenario)
	if err != nil {
		return out
	}
	paths := spec.Paths(Scenario{})
	for i, path := range paths {
		section, _, nested := strings.Cut(path, ".")
		if swept[path] || !nested && path != "events" || section == "sessions" {
			continue
		}
		if i+1 < len(paths) && strings.HasPrefix(paths[i+1], path+".") {
			continue // its keys are listed
		}
		keys := strings.Split(path, ".")
		a, b := spec.Flow(spec.Find(was, keys...)), spec.Flow(spec.Find(is, keys...))
		if a != b {
			out[path] = b
		}
	}
	d.givenToLayers(out)
	return out
}

// givenTo returns what was set in the layers of a strategy from outside the
// scenario: it goes by its name still, and a sweep has other names.
func (d *Design) givenTo(strategy string) []string {
	var set []string
	for _, e := range d.entries {
		for _, g := range e.given {
			path := strings.TrimPrefix(g[0], "--set ")
			swept := slices.ContainsFunc(e.axes, func(a spec.Axis) bool { return a.Path == path || strings.HasPrefix(a.Path, path+".") })
			if e.name == strategy && !swept {
				set = append(set, path+"="+g[1])
			}
		}
	}
	return set
}

// givenToLayers adds what was set in layers from outside the scenario, under the
// strategy's name where strategies have other values.
func (d *Design) givenToLayers(out map[string]string) {
	for _, e := range d.entries {
		for _, g := range e.given {
			path := strings.TrimPrefix(g[0], "--set ")
			if was, ok := out[path]; ok && was != g[1] {
				path = e.name + "." + path
			}
			out[path] = g[1]
		}
	}
}
