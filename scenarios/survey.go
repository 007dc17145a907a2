package scenarios

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/compactsim/compactsim/internal/audit"
	"github.com/compactsim/compactsim/internal/client"
	"github.com/compactsim/compactsim/internal/parallel"
	"github.com/compactsim/compactsim/internal/validate"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// survey is what one pass over the sessions of a run finds out: what has to be known of all of them before the first
// is simulated, and what is said of them without simulating.
type survey struct {
	digests   []prompt.Digest // by session
	automatic []bool          // by session: its cache needs no markers
	windows   windows
	openings  validate.Openings
	billed    []results.Cell // one for each date of prices: no model
}

// windows are the context windows that models had in sessions.
type windows map[modelWindow]bool

// modelWindow is a context window that calls of a model had, tokens.
type modelWindow struct {
	model  string
	window int64
}

func (w windows) add(s *traces.Session) {
	for _, model := range s.Models {
		w[modelWindow{model, sim.RecordedWindow(s, new(client.ClaudeCode).Window(model))}] = true
	}
}

// largest returns the largest window that thresholds are counted from, tokens.
func (w windows) largest(a *client.Assembly) int64 {
	v := a.Env.Variables()
	var largest int64
	for m := range w {
		largest = max(largest, v.AutoWindow(a.Window(&v, m.model, m.window)))
	}
	return largest
}

// look visits every session once while it is in memory.
func (p *Plan) look(ctx context.Context, d *Design, sessions []*traces.Session) (*survey, error) {
	x := &survey{
		digests: make([]prompt.Digest, len(sessions)), automatic: make([]bool, len(sessions)), windows: windows{},
	}
	var dates []time.Time
	for _, date := range d.priceDates() {
		at, err := date.On(time.Time{})
		if err != nil {
			return nil, fmt.Errorf("prices.at: %w", err)
		}
		dates = append(dates, at)
		x.billed = append(x.billed, d.billedCell(date))
	}
	var adding sync.Mutex
	err := parallel.Do(ctx, p.Workers, len(sessions), func(i int) error {
		s, err := sessions[i].Load()
		if err != nil {
			return err
		}
		x.digests[i], x.automatic[i] = sessionDigest(s), agents.Automatic(s)
		var rows []results.Row
		for _, at := range dates {
			row := sim.Billed(s, p.Prices, at)
			audit.CountMisses(&row, s, p.Prices)
			rows = append(rows, row)
		}
		adding.Lock()
		defer adding.Unlock()
		x.openings.Add(s)
		x.windows.add(s)
		for k := range rows {
			if err := x.billed[k].Keep(p.Journal, &rows[k]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("interrupted before anything was simulated: %w", err)
	}
	return x, err
}

// billedCell returns the cell of what sessions were billed at prices of a date, without rows.
func (d *Design) billedCell(date priceDate) results.Cell {
	c := results.Cell{
		Cell: results.StrategyBilled, Strategy: results.StrategyBilled,
		Unmeasured: append(results.Groups(), "overflows", "added_latency_seconds"),
	}
	if len(d.priceDates()) > 1 {
		const key = "prices.at"
		c.Params = map[string]string{key: string(date)}
		c.Cell += " " + key + "=" + string(date)
	}
	return c
}

// digest identifies sessions by what a simulation depends on: blocks, rounds and events. It does not depend on their
// order.
func digest(list []prompt.Digest) prompt.Digest {
	var all prompt.Digest
	for _, d := range list {
		all.Hi ^= d.Hi
		all.Lo += d.Lo
	}
	return all
}

// Digest identifies sessions, whose bodies are in memory, as the provenance of a run does.
func Digest(sessions []*traces.Session) prompt.Digest {
	var list []prompt.Digest
	for _, s := range sessions {
		list = append(list, sessionDigest(s))
	}
	return digest(list)
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
