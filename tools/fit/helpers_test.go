package main

import (
	"context"
	"testing"

	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/validate"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
)

func fitted(t testing.TB) *profile.Profile {
	t.Helper()
	p, err := profile.Default()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func atLeast(t *testing.T, name string, got *float64, want float64) {
	t.Helper()
	if got == nil || *got < want {
		t.Errorf("%s: %v, want at least %g", name, deref(got), want)
	}
}

func atMost(t *testing.T, name string, got *float64, want float64) {
	t.Helper()
	if got == nil || max(*got, -*got) > want {
		t.Errorf("%s: %v, want at most %g", name, deref(got), want)
	}
}

func deref(x *float64) any {
	if x == nil {
		return "none"
	}
	return *x
}

// fitOn returns the profile that sessions give.
func fitOn(t *testing.T, config sim.Config, base *profile.Profile, sessions []*traces.Session) *profile.Profile {
	t.Helper()
	p, _, err := fit(context.Background(), config, base, sessions, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// priced returns a session's call that is not its first, with its input costs, USD.
func priced(session string, predicted, actual float64) validate.Call {
	c := validate.Call{
		Session: session, Agent: facts.ClaudeCode, Version: "2.1.20", Model: "claude-opus-4-5", Class: validate.ClassToolResult, Context: 100,
	}
	c.Priced, c.PredictedUSD, c.ActualUSD = true, predicted, actual
	return c
}
