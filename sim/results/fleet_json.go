package results

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/compactsim/compactsim/internal/jsonlines"
)

// fleetDocument is a Fleet as it is published.
type fleetDocument struct {
	Schema int `json:"schema"`
	Fleet
}

// WriteFleet writes f as JSON with one cell a line. Equal fleets give equal
// bytes. It fails on figures that are not finite.
func WriteFleet(w io.Writer, f *Fleet) error {
	if err := f.validate(); err != nil {
		return fmt.Errorf("writing a fleet: %w", err)
	}
	head := fleetDocument{Schema, *f}
	head.Cells = []FleetCell{}
	if err := jsonlines.Write(w, &head, f.Cells); err != nil {
		return fmt.Errorf("writing a fleet: %w", err)
	}
	return nil
}

// validate returns what keeps f from being written.
func (f *Fleet) validate() error {
	var errs []error
	for i := range f.Cells {
		c := &f.Cells[i]
		for _, list := range [][]FleetGroup{{c.Total}, c.Orgs, c.Kinds} {
			for j := range list {
				errs = append(errs, list[j].validate(c.Strategy))
			}
		}
		for j := range c.Pairs {
			e := &c.Pairs[j].Total
			errs = append(errs, finite("cost_usd", e.USD), finite("cost_usd_without", e.USDWithout), finite("events_cost_usd", e.EventUSD))
		}
	}
	return errors.Join(errs...)
}

func (g *FleetGroup) validate(strategy string) error {
	for name, v := range g.Metrics {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("strategy %s, %s: %s is %v", strategy, g.Name, name, v)
		}
	}
	return nil
}
