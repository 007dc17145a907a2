package scenarios

import (
	"context"
	"reflect"
	"slices"

	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// asRecorded reports whether the first cells of a design keep the client, the
// server and the sessions as they were, so that their recorded cell says how far
// the model is from the bill.
func (d *Design) asRecorded() bool {
	s, plain := &d.Scenario, Default()
	return reflect.DeepEqual(s.Client, plain.Client) && reflect.DeepEqual(s.Server, plain.Server) &&
		len(s.Events) == 0 && reflect.DeepEqual(s.Levels, plain.Levels) && s.Sessions.Cohort == plain.Sessions.Cohort
}

// modelError sets the model error of a run whose settings are not those of the
// recordings: from a recorded cell of its own, under the settings that are.
func (p *Plan) modelError(ctx context.Context, d *Design, sessions []*traces.Session, run *results.Run) error {
	i := slices.IndexFunc(d.Cells, func(c Cell) bool { return c.Strategy.Name == results.StrategyRecorded })
	if i < 0 || d.asRecorded() || ctx.Err() != nil {
		return nil
	}
	plain := Default()
	plain.Profile, plain.Prices, plain.Seed = d.Scenario.Profile, d.Scenario.Prices, d.Scenario.Seed
	config, err := p.config(&Cell{Strategy: d.Cells[i].Strategy, Scenario: &plain})
	if err != nil {
		return err
	}
	rows, err := sim.Runner{Workers: p.Workers}.Run(ctx, sessions, []sim.Config{config})
	if err != nil {
		return err
	}
	c := results.Cell{Rows: rows[0]}
	only := results.Run{Cells: []results.Cell{c}}
	only.Sum()
	run.ModelError.RecordedUSD = only.Cells[0].Total.LoggedUSD()
	run.Notes = append(run.Notes, results.Note{Text: "the model error is that of the sessions as they were, without the client, server and events of this scenario"})
	return nil
}
