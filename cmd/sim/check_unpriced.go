package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/check"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/traces"
)

// unpricedModels returns the models of a session that a plan has no price for, at the
// dates of prices that its cells ask for or, without one, when the session began.
func unpricedModels(plan *scenarios.Plan, s *traces.Session) (map[string]error, error) {
	missing := map[string]error{}
	dated := map[time.Time]bool{}
	for i := range plan.Design.Cells {
		at, err := plan.Design.Cells[i].Scenario.Prices.At.On(time.Time{})
		if err != nil {
			return nil, fmt.Errorf("prices.at: %w", err)
		}
		if at.IsZero() {
			at = s.StartTime()
		}
		if dated[at] {
			continue
		}
		dated[at] = true
		for _, model := range s.Models {
			if _, err := plan.Prices.Lookup(model, at); err != nil {
				missing[model] = err
			}
		}
	}
	return missing, nil
}

// nameUnpriced notes in the sessions of a check which of their models have no price.
func nameUnpriced(in *check.Input, plan *scenarios.Plan, sessions []*traces.Session, hide hiding) error {
	for _, s := range sessions {
		own, ok := in.Sessions[s.ID]
		if !ok {
			continue
		}
		missing, err := unpricedModels(plan, s)
		if err != nil {
			return err
		}
		for _, model := range slices.Sorted(maps.Keys(missing)) {
			own.Unpriced = append(own.Unpriced, hide.model(model))
		}
		in.Sessions[s.ID] = own
	}
	return nil
}

// refuseUnpriced is the error of a strict check for models without a price. It
// names the keys of the scenario: sim check has no flags for prices.
func refuseUnpriced(plan *scenarios.Plan, sessions []*traces.Session, hide hiding) error {
	seen := map[string]bool{}
	var errs []error
	for _, s := range sessions {
		missing, err := unpricedModels(plan, s)
		if err != nil {
			return err
		}
		for _, model := range slices.Sorted(maps.Keys(missing)) {
			if seen[model] {
				continue
			}
			seen[model] = true
			near, other := "", "MODEL"
			var unknown *costmodel.UnknownModelError
			if errors.As(missing[model], &unknown) && len(unknown.Near) > 0 {
				near, other = "; near names: "+strings.Join(unknown.Near, ", "), unknown.Near[0]
			}
			name, key := hide.model(model), model
			if name != model {
				key = "A" // a pseudonym bills nothing
			}
			errs = append(errs, fmt.Errorf("--strict: no price for model %q%s; prices in the scenario gives one: {file: FILE}, or {as: {%s: %s}}", name, near, key, other))
		}
	}
	return errors.Join(errs...)
}
