// Package audit explains a bill from recorded usage. Where no log has a figure, as for the cost
// and effect of compactions, it takes the figure from a simulation.
//
//	report, err := audit.Run(sessions, audit.Options{Prices: table})
//
// What was paid is logged usage × price, as in sim.Billed, split by model, day, project, session, source and token
// class. What it was paid for follows from a comparison of each call with the previous one of its thread: what that
// call had left in the cache and this one did not read is missed, and costs the difference between writing and reading
// it. Package breaks says why.
package audit

import (
	"fmt"
	"slices"
	"time"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/calls"
	"github.com/compactsim/compactsim/sim/results/studies"
	"github.com/compactsim/compactsim/traces"

	"github.com/compactsim/compactsim/sim/results/measures"
)

// Options say how to explain a bill.
type Options struct {
	Prices calls.Prices
	// Top is how many places of a finding are kept; 0 for all.
	Top  int
	Zone *time.Location // of days; UTC when nil
	// In reports whether a time, unix ns, 0 for unknown, is in the reported period; nil for all times. Calls at other
	// times cost nothing here, but calls of the period are still compared with them.
	In func(at int64) bool
	// Compactions are the recordings' compactions, from a simulation of the recorded strategy.
	Compactions []studies.Compaction
}

// first returns the first n of a list, all when n is 0.
func first[T any](n int, list []T) []T {
	if n == 0 {
		return list
	}
	return list[:min(n, len(list))]
}

// auditor collects over sessions.
type auditor struct {
	options   Options
	report    Report
	bill      *bill
	misses    misses
	content   content
	results   toolResults
	defects   defects
	evidence  evidence
	drift     drift
	dearest   dearest
	simulated map[string][]studies.Compaction // by session
}

// Run explains what sessions were billed.
//
// Bodies of sessions that are not in memory are loaded one at a time; the error says which could not be loaded.
func Run(sessions []*traces.Session, o Options) (*Report, error) {
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	a := &auditor{
		options: o, bill: newBill(o.Zone), drift: drift{o.Zone, map[[2]string]*unit{}}, dearest: dearest{zone: o.Zone},
		misses:   misses{byCause: map[calls.Cause]*Miss{}, daily: map[DailyMiss]float64{}},
		evidence: evidence{causes: map[calls.Cause]*tally{}}, simulated: map[string][]studies.Compaction{},
	}
	for _, c := range o.Compactions {
		a.simulated[c.Session] = append(a.simulated[c.Session], c)
	}
	if o.In != nil {
		a.bill.stated = nil // a total that a client logs covers a whole session
	}
	short, err := o.walk(sessions, a.session)
	if err != nil {
		return nil, err
	}
	a.report.short = short
	return a.finish(len(sessions)), nil
}

// walk calls do with each session and the table of its calls, and returns the beginnings of ids that distinguish the sessions.
func (o *Options) walk(sessions []*traces.Session, do func(*traces.Session, *calls.Table)) (map[string]string, error) {
	ids := make([]string, len(sessions))
	for i, s := range sessions {
		whole, err := s.Load()
		if err != nil {
			return nil, fmt.Errorf("audit: %w", err)
		}
		table := calls.Of(whole, o.Prices)
		if o.In != nil {
			table.Cut(o.In)
		}
		do(whole, table)
		ids[i] = s.ID
	}
	return document.ByBeginning(ids), nil
}

func (a *auditor) session(s *traces.Session, table *calls.Table) {
	a.defects.session(s, table.Threads)
	a.defects.apart(table.Apart)
	a.drift.session(s, table)
	for i := range table.Apart {
		if c := &table.Apart[i]; !c.Out {
			a.bill.add(c)
		}
	}
	branches := branchReads(s)
	ends := make([][]mix, len(table.Threads))
	for i, thread := range table.Threads {
		if len(thread) == 0 {
			continue
		}
		for j := range thread {
			c := &thread[j]
			if c.Out {
				continue
			}
			a.bill.add(c)
			a.misses.add(c, day(c, a.options.Zone))
			a.evidence.call(c)
			a.dearest.add(c)
			var next *calls.Call
			if j+1 < len(thread) {
				next = &thread[j+1]
			}
			if tokens, usd := unread(c, next, branches[readAt{c.Index, c.Round}]); usd > 0 {
				a.evidence.unread.add(callPlace(c), tokens, usd, "never read")
			}
		}
		list := stays(s, thread)
		duplicates := repeated(s, thread, list)
		ends[i] = a.content.thread(s, thread, start(s, int32(i), ends), func(b int32) bool { _, ok := duplicates[b]; return ok })
		a.results.thread(s, thread, list, duplicates, ends[i])
	}
	a.addLosses(s, table.Threads, a.simulated[s.ID])
}

// addLosses adds the compactions of a session whose next call is in the period and that cost more than they
// saved. No log shows most summary calls, so the figures come from a simulation of the recording, the
// same as in sim audit --compactions; what was written again costs no more than the next call paid for it.
func (a *auditor) addLosses(s *traces.Session, threads [][]calls.Call, list []studies.Compaction) {
	shown := s.Summed || len(s.Summaries) > 0
	for i := range list {
		x := &list[i]
		t := slices.IndexFunc(s.Threads, func(t traces.Thread) bool { return t.ID == x.Thread })
		if t < 0 || len(threads[t]) == 0 {
			continue
		}
		next := &threads[t][min(x.Round, len(threads[t])-1)]
		called := x.CallCost.Total()
		loss := called + min(x.RewriteUSD, paidAboveReading(next)) - x.GainUSD
		if next.Out || loss <= 0 {
			continue
		}
		a.evidence.lost.add(callPlace(next), x.Saved, loss, document.Count(x.Later, "call")+" followed")
		if !shown {
			a.evidence.unbilled += min(loss, called)
		}
	}
}

// paidAboveReading returns what a call paid for the input that it did not read beyond the price of reading it, USD.
func paidAboveReading(c *calls.Call) float64 {
	u := &c.Recorded.Usage
	return float64(u.Uncached+u.Writes()) * max(0, c.Fresh()-c.PerToken[measures.ClassRead])
}

type readAt struct{ thread, round int32 }

// branchReads returns, by the round they leave, the largest read of a branch's first call.
func branchReads(s *traces.Session) map[readAt]int64 {
	reads := map[readAt]int64{}
	for i := range s.Threads {
		t := &s.Threads[i]
		if t.Kind == traces.ThreadBranch && t.Parent >= 0 && t.ParentRound >= 0 && len(t.Rounds) > 0 {
			at := readAt{t.Parent, t.ParentRound}
			reads[at] = max(reads[at], t.Rounds[0].Usage.Read)
		}
	}
	return reads
}

// start returns the context of a thread before its own prefix: nothing, or for
// a branch the parent's context where it leaves.
func start(s *traces.Session, i int32, ends [][]mix) mix {
	t := &s.Threads[i]
	for t.Kind == traces.ThreadBranch && t.Parent >= 0 {
		if t.ParentRound >= 0 && int(t.ParentRound) < len(ends[t.Parent]) {
			return ends[t.Parent][t.ParentRound]
		}
		t = &s.Threads[t.Parent]
	}
	var m mix
	if t != &s.Threads[i] {
		for b := t.Prefix.From; b < t.Prefix.To; b++ {
			m[partOf(&s.Blocks[b])] += int64(s.Blocks[b].Tokens)
		}
	}
	return m
}

func (a *auditor) finish(sessions int) *Report {
	r := &a.report
	r.Schema, r.Sessions = Schema, sessions
	r.Findings, r.Misses, r.Defects = []Finding{}, []Miss{}, []Defect{}
	a.bill.report(r)
	a.misses.report(r)
	a.content.report(r)
	a.defects.report(r)
	a.drift.report(r)
	r.Dearest = a.dearest.named(r.short)
	a.evidence.findings(r, &a.results, a.options.Top)
	return r
}

// DefectUnpriced is the kind of Defect whose calls are not in the bill.
const DefectUnpriced = "unpriced"

// defects counts what limits the report.
type defects struct {
	single, empty, untimed, back []string // sessions
	untimedCalls, backCalls      int
	unpriced                     calls.Unpriced
}

func (d *defects) session(s *traces.Session, threads [][]calls.Call) {
	n, untimed, back := 0, 0, 0
	for _, calls := range threads {
		for i := range calls {
			c := &calls[i]
			if c.Out {
				continue
			}
			n++
			if c.Untimed {
				untimed++
			}
			if c.Back {
				back++
			}
			d.unpriced.Add(c)
		}
	}
	note(&d.empty, s.ID, n == 0)
	note(&d.single, s.ID, n == 1)
	note(&d.untimed, s.ID, untimed > 0)
	note(&d.back, s.ID, back > 0)
	d.untimedCalls += untimed
	d.backCalls += back
}

// apart counts what has no price among calls of no thread.
func (d *defects) apart(list []calls.Call) {
	for i := range list {
		d.unpriced.Add(&list[i])
	}
}

func note(list *[]string, name string, is bool) {
	if is {
		*list = append(*list, name)
	}
}

func (d *defects) report(r *Report) {
	add := func(kind, text string, count int, names []string) {
		if count > 0 {
			r.Defects = append(r.Defects, Defect{Kind: kind, Text: text, Count: count, Names: names})
		}
	}
	add(DefectUnpriced, "calls of models without a price, which count as $0; --price-as bills them as another model",
		d.unpriced.Sum(), d.unpriced.Models())
	if len(r.Defects) > 0 {
		r.Defects[0].Kinds = d.unpriced.Tally
	}
	add("untimed", "calls without a time, which stand under "+NoDay+" and whose pauses are not known", d.untimedCalls,
		d.untimed)
	add("clock_back", "calls older than the response before them, where the clock ran back and no pause is known",
		d.backCalls, d.back)
	add("single", "sessions of one call, with nothing to compare it with", len(d.single), d.single)
	add("empty", "sessions without a call of their own, which cost nothing here", len(d.empty), d.empty)
}
