// Package explain runs a session under a strategy and keeps, for every call,
// what led to it and how the server served it.
package explain

import (
	"fmt"
	"slices"

	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/studies"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
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
	return &studies.Explanation{
		Schema: results.Schema, Session: s.ID, Strategy: c.Strategy.Name, Agent: s.Agent, Version: s.Version(),
		Window: loop.Window(), Calls: o.calls, TurnEnds: o.turnEnds,
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

func (o *observer) Served(p sim.Point, layer string, r *prompt.Request, out *prompt.Outcome) {
	t := &o.session.Threads[p.Thread]
	round := &t.Rounds[min(int(p.Round), len(t.Rounds)-1)] // calls after the last response belong to its round
	call := studies.ExplainedCall{
		Number: len(o.calls) + 1, Thread: t.ID, Kind: t.Kind.String(), Round: min(int(p.Round), len(t.Rounds)-1),
		Layer:   layer,
		Trigger: round.Trigger.String(), Line: int(round.Line), Start: seconds(p.Now), Idle: seconds(p.Idle),
		Steps: o.steps[p.Thread], Change: edited(r), Context: out.Effective,
		Uncached: out.Usage.Uncached, Read: out.Usage.Read, Write5m: out.Usage.Write5m, Write1h: out.Usage.Write1h,
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
	if at < 0 && k.layer && r.Source == results.SourceOther { // no layer's: one at the end of a turn
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
func edited(r *prompt.Request) *studies.Edited {
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
// the read may end inside an entry (prompt.Marker.Shift, prompt.Request.Shared).
func segments(r *prompt.Request, out *prompt.Outcome) []studies.Segment {
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
			s.Class, s.Tokens = results.ClassRead.String(), n
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
			studies.Segment{Kind: "tail", Blocks: 1, Tokens: int64(r.Tail), Class: results.ClassUncached.String()})
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
func class(r *prompt.Request, out *prompt.Outcome, at int32) string {
	written := results.ClassUncached
	for _, m := range r.Markers {
		if m.Position < at {
			continue
		}
		if m.TTL == prompt.TTL1h {
			return writtenOr(out.Usage.Write1h, results.ClassWrite1h)
		}
		written = results.ClassWrite5m
	}
	if written == results.ClassWrite5m {
		return writtenOr(out.Usage.Write5m, written)
	}
	return written.String()
}

// writtenOr returns a class if anything was billed in it: a prefix below the
// minimum is not written even if it is marked.
func writtenOr(tokens int64, c results.Class) string {
	if tokens == 0 {
		return results.ClassUncached.String()
	}
	return c.String()
}
