// Package explain runs a session under a strategy and keeps, for every call,
// what led to it and how the server served it.
package explain

import (
	"fmt"
	"slices"
	"time"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/calls"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/studies"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/signs"
)

// Every stands for the numbers of all calls.
const Every = -1

// Session simulates s under a configuration and explains every call. The request of
// the call with the number whole is explained in segments; 0 is no call, and
// Every all calls, which takes memory in the square of their number. The
// configuration's Observer and Record are replaced.
func Session(c sim.Config, s *traces.Session, whole int) (*studies.Explanation, error) {
	o := &observer{session: s, whole: whole, open: map[key][]int{}}
	c.Observer, c.Record = o, o.completeCall
	loop := sim.NewLoop(c)
	if _, err := loop.Run(s); err != nil {
		return nil, fmt.Errorf("explain: %w", err)
	}
	model := "" // the window is the one of the model that answers the call
	if whole > 0 && whole <= len(o.calls) {
		model = o.calls[whole-1].Model
	}
	return &studies.Explanation{
		Schema: measures.Schema, Session: s.ID, Strategy: c.Strategy.Name, Agent: s.Agent, Version: s.Version(),
		Window: loop.Window(model), Calls: o.calls, TurnEnds: o.turnEnds,
	}, nil
}

// key finds the calls that a record may belong to. Several layers of a thread can make a
// request at the same time; how those were served distinguishes them.
type key struct {
	thread int32
	start  int64
	layer  bool
}

// observer collects the calls of one run.
type observer struct {
	session *traces.Session
	whole   int // number of the call whose request is kept
	calls   []studies.ExplainedCall
	says    string                   // of the break detector, about the call that lands next
	steps   map[int32][]studies.Step // by thread, since its last request
	open    map[key][]int            // calls in flight

	turnEnds studies.TurnEnds
}

func (o *observer) step(p sim.Point, s studies.Step) {
	if o.steps == nil {
		o.steps = map[int32][]studies.Step{}
	}
	o.steps[p.Thread] = append(o.steps[p.Thread], s)
}

func (o *observer) Checked(p sim.Point, c strategies.Check) {
	o.step(p, studies.Step{
		Layer: c.Layer, Measure: c.Measure.String(), Measured: c.Measured, Value: c.Value, Fired: c.Fired,
	})
}

func (o *observer) Answered(p sim.Point, layer, hook string, out strategies.Outcome) {
	o.step(p, studies.Step{Layer: layer, Hook: hook, Verdict: out.Verdict.String(), Reason: out.Reason})
}

func (o *observer) Changed(p sim.Point, layer string, b strategies.Boundary) {
	after := b.After
	if b.Kind != strategies.BoundaryCompact { // after a compaction no deletion is in force
		after -= b.Standing + b.Deleted
	}
	o.step(p, studies.Step{
		Layer: layer, Boundary: b.Kind.String(), Before: b.Before - b.Standing, After: after, Remainder: b.Remainder, Chained: b.Chained,
	})
}

func (o *observer) Served(p sim.Point, layer string, r *exchange.Request, out *exchange.Outcome) {
	t := &o.session.Threads[p.Thread]
	round := &t.Rounds[min(int(p.Round), len(t.Rounds)-1)] // calls after the last response belong to its round
	call := studies.ExplainedCall{
		Number: len(o.calls) + 1, Thread: t.ID, Kind: t.Kind.String(), Round: min(int(p.Round), len(t.Rounds)-1),
		Layer:   layer,
		Trigger: round.Trigger.String(), Line: int(round.Line), Start: seconds(p.Now), Idle: seconds(p.Idle),
		Steps: o.steps[p.Thread], Change: edited(r),
		Served: studies.Served{
			Context: out.Effective, Uncached: out.Usage.Uncached, Read: out.Usage.Read, Write5m: out.Usage.Write5m, Write1h: out.Usage.Write1h,
		},
		Expected: out.Expected, Miss: out.Miss.String(),
	}
	if o.whole == Every || call.Number == o.whole {
		call.Segments = segments(r, out)
	}
	if int(round.File) < len(o.session.Files) {
		call.File = o.session.Files[round.File]
	}
	delete(o.steps, p.Thread)
	k := key{p.Thread, p.Now, layer != ""}
	o.open[k] = append(o.open[k], len(o.calls))
	o.calls = append(o.calls, call)
}

// Broke keeps the break detector's verdict on the call that lands next.
func (o *observer) Broke(_ sim.Point, says string) { o.says = says }

// completeCall completes the call a record belongs to.
func (o *observer) completeCall(r *results.CallRecord) {
	says := o.says
	o.says = ""
	k := key{r.Thread, r.Start, r.Round < 0}
	find := func() int {
		return slices.IndexFunc(o.open[k], func(i int) bool {
			c := &o.calls[i]
			return c.Read == r.Usage.Read && c.Uncached == r.Usage.Uncached && c.Write5m == r.Usage.Write5m && c.Write1h == r.Usage.Write1h
		})
	}
	at, again := find(), false
	if at < 0 && k.layer && r.Source == measures.SourceOther { // no layer's: one at the end of a turn
		o.turnEnds.Calls++
		o.turnEnds.CostUSD += r.Cost.Total()
		return
	}
	if at < 0 && k.layer { // the conversation's own, which no recording has: a closed loop fetches again
		k.layer, again = false, true
		at = find()
	}
	if at < 0 {
		return
	}
	c := &o.calls[o.open[k][at]]
	c.Again = again
	o.open[k] = slices.Delete(o.open[k], at, at+1)
	c.Source, c.Model, c.End, c.First = r.Source.String(), r.Model, seconds(r.End), r.First
	c.Output, c.CostUSD, c.Detector = r.Usage.Output, r.Cost.Total()+r.Search, says
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

// edited returns where a request differs from the previous one of its thread,
// nil if it only appends.
func edited(r *exchange.Request) *studies.Edited {
	at := int(r.Change.At)
	if at < 0 {
		return nil
	}
	e := &studies.Edited{Position: at, Cause: r.Change.Cause.String(), Kind: "end"}
	if at > 0 {
		e.Ahead = int64(r.Entries[min(at, len(r.Entries))-1].Cum)
	}
	if at < len(r.Entries) {
		e.Kind = r.Entries[at].Kind.String()
	}
	e.Behind = r.Tokens() - e.Ahead
	return e
}

// segments joins consecutive entries of a request with the same kind, form and
// cache class. What was read is drawn from the front on, as much as was billed:
// the read may end inside an entry (exchange.Marker.Shift, exchange.Request.Shared).
func segments(r *exchange.Request, out *exchange.Outcome) []studies.Segment {
	var list []studies.Segment
	add := func(s studies.Segment) {
		if n := len(list); n > 0 && !list[n-1].Marker && joins(&list[n-1], &s) {
			list[n-1].Blocks += s.Blocks
			list[n-1].Tokens += s.Tokens
			return
		}
		list = append(list, s)
	}
	marker, deletion, read := 0, 0, out.Usage.Read
	for i := range r.Entries {
		e := &r.Entries[i]
		s := studies.Segment{Kind: e.Kind.String(), Form: form(e.Form), Blocks: 1}
		tokens := int64(e.Tokens)
		if deletion < len(r.Deletions) && r.Deletions[deletion].Position == int32(i) {
			// The server omits the content of what it reads; the rest is sent in full.
			if int32(i) <= out.HitAt {
				s.Form = "deleted"
				tokens -= int64(min(r.Deletions[deletion].Tokens, e.Tokens))
			}
			deletion++
		}
		if n := min(read, tokens); n > 0 || read > 0 && tokens == 0 {
			s.Class, s.Tokens = measures.ClassRead.String(), n
			add(s)
			read, tokens, s.Blocks = read-n, tokens-n, 0
		}
		if tokens > 0 || s.Blocks > 0 {
			s.Class, s.Tokens = class(r, out, int32(i)), tokens
			add(s)
		}
		if marker < len(r.Markers) && r.Markers[marker].Position == int32(i) {
			list[len(list)-1].Marker = true
			marker++
		}
	}
	if r.Tail > 0 {
		list = append(list,
			studies.Segment{Kind: "tail", Blocks: 1, Tokens: int64(r.Tail), Class: measures.ClassUncached.String()})
	}
	return list
}

func joins(a, b *studies.Segment) bool {
	return a.Kind == b.Kind && a.Form == b.Form && a.Class == b.Class
}

func form(f prompt.Form) string {
	if f == prompt.FormVerbatim {
		return ""
	}
	return f.String()
}

// class returns how what was not read of the entry at a position was billed: written
// up to the last marker (for an hour up to the last such marker), the rest uncached.
func class(r *exchange.Request, out *exchange.Outcome, at int32) string {
	written := measures.ClassUncached
	for _, m := range r.Markers {
		if m.Position < at {
			continue
		}
		if m.TTL == exchange.TTL1h {
			return writtenOr(out.Usage.Write1h, measures.ClassWrite1h)
		}
		written = measures.ClassWrite5m
	}
	if written == measures.ClassWrite5m {
		return writtenOr(out.Usage.Write5m, written)
	}
	return written.String()
}

// writtenOr returns a class if anything was billed in it: a prefix below the
// minimum is not written even if it is marked.
func writtenOr(tokens int64, c measures.Class) string {
	if tokens == 0 {
		return measures.ClassUncached.String()
	}
	return c.String()
}

// Bill sets what was billed for each call of an explained session, and what the model
// expects of the recording under a configuration of the recorded strategy.
func Bill(e *studies.Explanation, s *traces.Session, recorded sim.Config) error {
	table := calls.Of(s, recorded.Prices)
	row, err := sim.Predict(table, recorded)
	if err != nil {
		return fmt.Errorf("explain: %w", err)
	}
	billed := sim.Billed(s, recorded.Prices, time.Time{})
	e.BilledUSD, e.ModelUSD = billed.CostUSD(), row.CostUSD()
	e.ModelHiddenUSD = e.ModelUSD - row.LoggedUSD(&billed)
	threads := map[string][]calls.Call{}
	for i, thread := range table.Threads {
		threads[s.Threads[i].ID] = thread
	}
	for i := range e.Calls {
		c := &e.Calls[i]
		if thread := threads[c.Thread]; c.Layer == "" && !c.Again && c.Round < len(thread) {
			c.Billed = billedOf(&thread[c.Round])
			c.Billed.Notes = notes(table, &thread[c.Round])
		}
	}
	return nil
}

// notes says how well a call is counted, and what other models did while it was answered.
func notes(t *calls.Table, l *calls.Call) (list []string) {
	switch r := l.Recorded; {
	case r.Flags&signs.Spread != 0:
		list = append(list, "its input is an estimated share of what the log has for several calls together, so only their sum can be compared with the model")
	case r.Usage.Input() == 0:
		list = append(list, "the log has no count of its input, so the bill has its output alone")
	}
	if l.Recorded.Flags&signs.Fallback != 0 {
		list = append(list, "another model refused, and this one answered in its place")
	}
	if l.Search > 0 {
		list = append(list, fmt.Sprintf("the server searched the web: %s more", document.USD(l.Search, 4)))
	}
	for i := range t.Session.Advice {
		if a := &t.Session.Advice[i]; a.Thread == l.Index && a.Round == l.Round {
			c := &t.Apart[len(t.Apart)-len(t.Session.Advice)+i]
			list = append(list, fmt.Sprintf("asked %s for advice (%s in, %s out): %s more",
				a.Model, document.Tokens(float64(a.Usage.Input())), document.Tokens(float64(a.Usage.Output)), document.USD(c.Cost.Total(), 4)))
		}
	}
	return list
}

// billedOf returns a line of the table.
func billedOf(l *calls.Call) *studies.Billed {
	b := &studies.Billed{
		Split: split(&l.Recorded.Usage, &l.Cost), Output: l.Recorded.Usage.Output, Logged: l.Recorded.Logged,
		MissUSD: l.MissUSD, Evidence: l.Evidence(),
	}
	b.Left, b.Missed, b.Cause = l.Left, l.Missed, l.Class().String()
	if l.Missed > 0 {
		b.Confidence = string(l.Cause().Confidence())
	}
	if l.Recorded.Verdict > signs.VerdictSame && l.Recorded.Parted == 0 {
		b.Server = l.Recorded.Verdict.String()
	}
	in := l.Recorded.Input
	for _, block := range l.Session.Blocks[in.From:in.To] {
		b.New += int64(block.Tokens)
		if block.Kind == prompt.KindUnseen {
			b.Unseen += int64(block.Tokens)
		}
	}
	if p := l.Predicted; p != nil {
		m := split(&p.Usage, &p.Cost)
		m.Left, m.Missed, m.Cause = p.Expected, max(0, p.Expected-p.Usage.Read), p.Miss.String()
		b.Model = &m
	}
	return b
}

func split(u *prompt.Usage, cost *results.Cost) studies.Split {
	return studies.Split{Uncached: u.Uncached, Read: u.Read, Write5m: u.Write5m + u.WriteOther, Write1h: u.Write1h, CostUSD: cost.Total()}
}
