package studies

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
)

// smallFleet is one call of an organisation of one.
func smallFleet() *Fleet {
	g := FleetGroup{Name: "fleet", Users: 1, Scopes: []FleetTokens{
		{FleetGlobal, 300, 100, 0}, {FleetOrgs, 0, 0, 0}, {FleetOwn, 0, 500, 10},
	}}
	g.Row = results.Row{Strategy: "none", Sessions: 1, Calls: 1, Usage: prompt.Usage{Read: 300, Write5m: 600, Uncached: 10, Output: 20}}
	g.Row.CostByClass[results.ClassOutput] = 0.5
	g.Describe()
	org := g
	org.Name, org.Scopes = "acme", nil
	without := results.Row{Usage: prompt.Usage{Write5m: 900, Uncached: 10, Output: 20}}
	without.CostByClass[results.ClassOutput] = 0.75
	return &Fleet{
		Name: "small", Start: time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC), Days: 1, Seed: 1, GlobalScope: true,
		Orgs: []FleetOrg{{Name: "acme", Users: 1, Kinds: map[string]int{"api": 1}, Sessions: 1, Calls: 1}},
		Cells: []FleetCell{{
			Strategy: "none", Total: g, Orgs: []FleetGroup{org}, Hours: []FleetHour{{Calls: 1, Read: 300, Uncached: 10, Created: [3]int64{100, 0, 500}}},
			PeakSessions: FleetPeak{1, 3}, PeakCalls: FleetPeak{1, 3},
			Pairs: []FleetPair{{Without: WithoutGlobalScope, Total: NewFleetEffect("fleet", &g.Row, &without)}},
		}},
	}
}

// What a fleet looks like on disk: a cell a line, metrics by their published
// names, scopes by name.
func TestWriteFleet(t *testing.T) {
	var b bytes.Buffer
	if err := WriteFleet(&b, smallFleet()); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, want := range []string{
		`{"schema":1,"name":"small","start":"2026-03-02T00:00:00Z","days":1,"seed":1,"global_scope":true`,
		`"kinds":{"api":1}`, `"cells":[` + "\n" + `{"strategy":"none"`, `"cost_usd":0.5`, `"cache_read_tokens":300`,
		`{"scope":"global","read_tokens":300,"written_tokens":100,"uncached_tokens":0}`,
		`{"hour":0,"sessions":0,"calls":1,"read_tokens":300,"uncached_tokens":10,"created_tokens":[100,0,500]}`,
		`"without":"global_scope"`, `"created_tokens":600,"created_tokens_without":900`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	var any map[string]any
	if err := json.Unmarshal(b.Bytes(), &any); err != nil {
		t.Errorf("what is written is no JSON: %v", err)
	}
	var again bytes.Buffer
	if err := WriteFleet(&again, smallFleet()); err != nil || !bytes.Equal(again.Bytes(), b.Bytes()) {
		t.Errorf("a second time it is written differently (%v)", err)
	}
}

func TestWriteFleetRefusesWhatIsNoNumber(t *testing.T) {
	f := smallFleet()
	f.Cells[0].Orgs[0].Metrics["cost_usd"] = math.NaN()
	if err := WriteFleet(new(bytes.Buffer), f); err == nil || !strings.Contains(err.Error(), "cost_usd\": unsupported value: NaN") {
		t.Errorf("error %v", err)
	}
}

// 300 tokens of creation and $0.25 are saved; four events that cost as much would
// each save a quarter of it.
func TestFleetEffect(t *testing.T) {
	p := smallFleet().Cells[0].Pair(WithoutGlobalScope)
	if p.Total.SavedTokens() != 300 || p.Total.SavedUSD() != 0.25 {
		t.Errorf("saved %d tokens and $%g, want 300 and $0.25", p.Total.SavedTokens(), p.Total.SavedUSD())
	}
	if _, _, ok := p.Total.PerEvent(); ok {
		t.Error("a cost for each of no events")
	}
	p.Total.Events, p.Total.EventTokens, p.Total.EventUSD = 4, -300, -0.25
	if tokens, usd, ok := p.Total.PerEvent(); !ok || tokens != -75 || usd != -0.0625 {
		t.Errorf("each costs %g tokens and $%g, want −75 and −$0.0625", tokens, usd)
	}
	if smallFleet().Cells[0].Pair(WithoutOverage) != nil {
		t.Error("a comparison that was not made")
	}
}

func TestFleetTokens(t *testing.T) {
	g := smallFleet().Cells[0].Total
	if r, ok := g.Scope(FleetGlobal).HitRatio(); !ok || r != 0.75 {
		t.Errorf("hit ratio %g, want 300 of 400", r)
	}
	if n := g.Scope(FleetOwn).Input(); n != 510 {
		t.Errorf("%d tokens of the session's own, want 510", n)
	}
	if none := (&FleetGroup{}).Scope(FleetOwn); none != (FleetTokens{Scope: FleetOwn}) {
		t.Errorf("%+v of a group without scopes", none)
	}
}
