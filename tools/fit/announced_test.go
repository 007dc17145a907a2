package main

import (
	"slices"
	"testing"

	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/signs"
)

// Eleven conversations of an epoch, the least told nothing and the most 1,000 tokens of agents,
// make its deciles. Conversations amid a recording do not count, and an epoch without any
// announcement has no row.
func TestAnnouncedByEpoch(t *testing.T) {
	session := func(version string, agents int32, mid bool) *traces.Session {
		s := &traces.Session{Versions: []string{version}, Threads: []traces.Thread{{MidContext: mid}}}
		s.Announced[signs.AnnouncedAgents] = agents
		return s
	}
	list := []*traces.Session{session("2.1.25", 0, false), session("2.1.219", 5000, true)}
	for i := range int32(11) {
		list = append(list, session("2.1.219", 100*i, false))
	}
	p := &profile.Profile{Epochs: []string{"2.1.0", "2.1.204"}}
	p.Announced = fitAnnounced(p, list)
	if len(p.Announced) != 1 || p.AnnouncedBy("2.1.25") != nil {
		t.Fatalf("%+v", p.Announced)
	}
	a := p.AnnouncedBy("2.1.220")
	want := []float64{0, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000}
	if a == nil || a.N != 11 || !slices.Equal(a.Agents, want) || slices.Max(a.Tools) != 0 {
		t.Errorf("%+v, want agents %v of 11", a, want)
	}
}
