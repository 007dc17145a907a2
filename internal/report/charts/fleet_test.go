package reports

import (
	"bytes"
	"encoding/csv"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/study/studies"
	"github.com/compactsim/compactsim/sim/results"
)

// group is a group with one row: 100k of input a call read, 20k written, and a
// cost of a dollar a call.
func group(name string, calls int, scopes ...studies.FleetTokens) studies.FleetGroup {
	g := studies.FleetGroup{Name: name, Users: 2, Scopes: scopes, Row: results.Row{Strategy: "none",
		Figures: results.Figures{results.Calls: float64(calls), results.Sessions: 1,
			results.Tokens + results.ID(results.ClassRead):    float64(80_000 * int64(calls)),
			results.Tokens + results.ID(results.ClassWrite5m): float64(20_000 * int64(calls))}}}
	g.Row.CostByClass()[results.ClassRead] = float64(calls)
	g.Describe()
	return g
}

// twoOrgs is a fleet of two organisations. By hand: the global scope is read to
// 90 % by ash (900 of 1,000) and to 80 % by box (400 of 500), 1,300 of 1,500 =
// 86.7 % by both; only box has something of its organisation, and reads half of it.
// Without the global scope ash writes 300 more and pays $2 more than its $10, box
// 700 and $1 more than its $5.
func twoOrgs() *studies.Fleet {
	ash := []studies.FleetTokens{{Scope: studies.FleetGlobal, Read: 900, Written: 100}, {Scope: studies.FleetOrgs}, {Scope: studies.FleetOwn, Read: 60, Written: 30, Uncached: 10}}
	box := []studies.FleetTokens{{Scope: studies.FleetGlobal, Read: 400, Written: 100}, {Scope: studies.FleetOrgs, Read: 50, Written: 50}, {Scope: studies.FleetOwn, Read: 60, Written: 40}}
	both := slices.Clone(ash)
	for i := range both {
		both[i].Add(box[i])
	}
	hours := func(global, org, own int64) []studies.FleetHour {
		return []studies.FleetHour{{Hour: 0, Sessions: 2, Calls: 10}, {Hour: 1, Calls: 5, Created: [studies.NumFleetScopes]int64{global, org, own}}, {Hour: 2}}
	}
	return &studies.Fleet{
		Name: "two", Doc: "Two organisations.", Start: time.Date(2026, 3, 2, 22, 0, 0, 0, time.UTC), Days: 1, Seed: 7, GlobalScope: true,
		Orgs:     []studies.FleetOrg{{Name: "ash", Users: 3, Sessions: 4, Calls: 10, Flips: 2}, {Name: "box", Users: 1, Sessions: 1, Resumed: 1, Calls: 5}},
		Upgrades: []studies.FleetUpgrade{{At: 3600, Over: 1800, Static: -1300, Users: 2}},
		Notes:    []string{"a note of the fleet"},
		Cells: []studies.FleetCell{{
			Strategy: "none", Total: group("fleet", 15, both...), Orgs: []studies.FleetGroup{group("ash", 10, ash...), group("box", 5, box...)},
			Kinds:        []studies.FleetGroup{group("subscriber", 10), group("api", 5)},
			Hours:        hours(200, 50, 70),
			PeakSessions: studies.FleetPeak{Count: 3, At: 5400}, PeakCalls: studies.FleetPeak{Count: 1, At: 60},
			Pairs: []studies.FleetPair{
				{Without: studies.WithoutGlobalScope, Hours: hours(0, 1260, 70), Orgs: []studies.FleetEffect{
					{Name: "ash", Created: 130, CreatedWithout: 430, USD: 10, USDWithout: 12}, {Name: "box", Created: 190, CreatedWithout: 890, USD: 5, USDWithout: 6}},
					Total: studies.FleetEffect{Name: "fleet", Created: 320, CreatedWithout: 1320, USD: 15, USDWithout: 18}},
				{Without: studies.WithoutOverage, Events: 2, Hours: hours(200, 50, 70), Orgs: []studies.FleetEffect{
					{Name: "ash", Created: 130, CreatedWithout: 130, USD: 10, USDWithout: 9, Events: 2, EventUSD: 0.5}, {Name: "box", Created: 190, CreatedWithout: 190, USD: 5, USDWithout: 5}},
					Total: studies.FleetEffect{Name: "fleet", Created: 320, CreatedWithout: 320, USD: 15, USDWithout: 14, Events: 2, EventUSD: 0.5}},
				{Without: studies.WithoutUpgrades, Events: 2, Hours: hours(150, 50, 90), Orgs: []studies.FleetEffect{
					{Name: "ash", Created: 130, CreatedWithout: 120, USD: 10, USDWithout: 9.5}, {Name: "box", Created: 190, CreatedWithout: 190, USD: 5, USDWithout: 5}},
					Total: studies.FleetEffect{Name: "fleet", Created: 320, CreatedWithout: 310, USD: 15, USDWithout: 14.5, Events: 2, EventTokens: 10, EventUSD: 0.5}},
			},
			Waves: []studies.FleetWave{{Before: 0, During: 250, After: 0, PeakHour: 1, PeakTokens: 250}},
		}},
	}
}

// The tables show hand-computed figures, hold their width and say what they rest
// on.
func TestFleetTable(t *testing.T) {
	var b bytes.Buffer
	if err := Fleet(twoOrgs()).Write(&b, "table"); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(strings.Fields(b.String()), " ")
	for _, want := range []string{
		"4 users in 2 organisations, 1 day from 2026-03-02: 5 sessions and 1 resumption, 15 calls drawn; global scope on, seed 7",
		"ash 3 4 10 $10.00 80.0 % 90.0 % – 60.0 % 0 0 2",
		"box 1 1 5 $5.00 80.0 % 80.0 % 50.0 % 60.0 % 0 0 0",
		"fleet 4 5 15 $15.00 80.0 % 86.7 % 50.0 % 60.0 % 0 0 2",
		"ash 100 0 30 130", "fleet 200 50 70 320",
		"ash 130 430 300 $10.00 $12.00 $2.00 −16.7 %", "fleet 320 1.3k 1.0k $15.00 $18.00 $3.00 −16.7 %",
		"ash 130 130 0 $10.00 $9.00 $1.00 +11.1 % $0.2500", "box 190 190 0 $5.00 $5.00 $0.00 +0.0 % –",
		"fleet 320 310 10 $15.00 $14.50 $0.5000 +3.4 % $0.2500",
		"03-02 23:00 30 m 00 s −1,300 2 0 250 0 250 03-02 23:00",
		"At most 3 sessions under way at once (2026-03-02 23:30 UTC) and 1 call in flight (2026-03-02 22:01 UTC).",
		"CALLS are those drawn and", "MISSES are calls", "DREAMS are", "FLIPS are", "A FLIP is what one makes", "A – stands where", "The cache has no limit", "Scopes are as documented", "not measured", "A note of the fleet.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the table lacks %q:\n%s", want, b.String())
		}
	}
	for line := range strings.Lines(b.String()) {
		if n := len([]rune(line)) - 1; n > document.Width {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// What no column shows stands below: requests that were too long, strategy by
// strategy, and models without a price. Above stands what prices are of.
func TestFleetTells(t *testing.T) {
	f := twoOrgs()
	f.PricesAt, f.Unpriced = "2026-03-01", []string{"a-1", "b-2"}
	f.Provenance = results.Provenance{Prices: "2026-11-01", Switches: map[string]string{"prices.file": "mine.yaml"}}
	f.Cells = append(f.Cells, f.Cells[0], f.Cells[0])
	f.Cells[0].Total.Row.Figures[results.UnpricedCalls] = 7
	f.Cells[1].Strategy, f.Cells[1].Total.Row.Figures[results.OverWindow], f.Cells[1].Total.Row.Figures[results.Overflows] = "truncate-oldest", 1, 123
	f.Cells[2].Strategy, f.Cells[2].Total.Row.Figures[results.Overflows] = "auto-compact/167k", 1
	for _, format := range []string{"table", "markdown"} {
		var b bytes.Buffer
		if err := Fleet(f).Write(&b, format); err != nil {
			t.Fatal(err)
		}
		got := strings.Join(strings.Fields(b.String()), " ")
		for _, want := range []string{
			"seed 7 prices at 2026-03-01, price table of 2026-11-01, with mine.yaml ",
			"7 calls of models without a price (a-1, b-2) cost nothing here.",
			"truncate-oldest: 1 session passes the window, 123 requests too long for it. What no layer shortens is counted as if it had been answered, and priced; a server refuses it.",
			"auto-compact/167k: 1 request too long for it. What",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("%s lacks %q:\n%s", format, want, b.String())
			}
		}
		if strings.Contains(got, "none: ") {
			t.Errorf("%s has a note on a strategy without overflows:\n%s", format, b.String())
		}
	}
}

// What nobody has is not explained: flips without overage.
func TestFleetExplains(t *testing.T) {
	f := twoOrgs()
	f.Orgs[0].Flips = 0
	f.Orgs[0].Resumed = 1234
	f.Cells[0].Pairs = f.Cells[0].Pairs[:1]
	f.Orgs[1].Name = strings.Repeat("nine of ten ", 9)
	for i := range f.Cells[0].Orgs {
		f.Cells[0].Orgs[i].Name, f.Cells[0].Pairs[0].Orgs[i].Name = f.Orgs[i].Name, f.Orgs[i].Name
	}
	var b bytes.Buffer
	if err := Fleet(f).Write(&b, "table"); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(strings.Fields(b.String()), " ")
	for _, want := range []string{
		"5 sessions and 1,235 resumptions, 15 calls drawn;", "global scope on, seed 7", "320 0 1.5k 10 0",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the table lacks %q:\n%s", want, b.String())
		}
	}
	for _, not := range []string{"FLIPS", "A FLIP"} {
		if strings.Contains(got, not) {
			t.Errorf("the table has %q:\n%s", not, b.String())
		}
	}
	for line := range strings.Lines(b.String()) {
		if n := len([]rune(line)) - 1; n > document.Width {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestFleetMarkdown(t *testing.T) {
	f := twoOrgs()
	f.Orgs[0].Name, f.Cells[0].Orgs[0].Name = "a|b", "a|b"
	var b bytes.Buffer
	if err := Fleet(f).Write(&b, "markdown"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"### strategy none\n", `a\|b`, "**What the global scope saves"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

// A line for each group, each with every column; what was not counted is empty.
func TestFleetCSV(t *testing.T) {
	var b bytes.Buffer
	if err := Fleet(twoOrgs()).Write(&b, "csv"); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at := func(line int, name string) string { return lines[line][slices.Index(lines[0], name)] }
	for _, want := range []struct {
		line       int
		name, text string
	}{
		{1, "name", "ash"}, {1, "users", "3"}, {1, "scope_global_written_tokens", "100"}, {1, "without_global_scope_written_tokens", "430"},
		{2, "without_overage_cost_usd", "5"}, {2, "cost_usd", "5"},
		{3, "group", "fleet"}, {3, "sessions", "5"}, {3, "scope_own_uncached_tokens", "10"}, {3, "without_upgrades_cost_usd", "14.5"},
		{4, "group", "kind"}, {4, "users", ""}, {4, "users_active", "2"}, {4, "scope_own_read_tokens", ""}, {4, "calls", "10"},
	} {
		if got := at(want.line, want.name); got != want.text {
			t.Errorf("line %d, %s: %q, want %q", want.line, want.name, got, want.text)
		}
	}
	if len(lines) != 6 {
		t.Errorf("%d lines, want a head, two organisations, the fleet and two kinds", len(lines))
	}
}

func TestFleetHoursCSV(t *testing.T) {
	var b bytes.Buffer
	if err := FleetHours(twoOrgs()).Write(&b, "csv"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"none,,1,2026-03-02T23:00:00Z,0,5,0,0,200,50,70\n", "none,global_scope,1,2026-03-02T23:00:00Z,0,5,0,0,0,1260,70\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if n := strings.Count(b.String(), "\n"); n != 1+4*3 {
		t.Errorf("%d lines, want 13", n)
	}
}

func TestFleetJSON(t *testing.T) {
	var b bytes.Buffer
	if err := Fleet(twoOrgs()).Write(&b, "json"); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Schema int    `json:"schema"`
		Name   string `json:"name"`
		Cells  []struct {
			Total struct {
				Metrics map[string]float64 `json:"metrics"`
			} `json:"total"`
		} `json:"cells"`
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Schema != 1 || got.Name != "two" || got.Cells[0].Total.Metrics["cost_usd"] != 15 {
		t.Errorf("%+v", got)
	}
}

func TestFleetFormats(t *testing.T) {
	if err := Fleet(twoOrgs()).Write(io.Discard, "xml"); err == nil {
		t.Error("format xml was accepted")
	}
	for _, format := range document.Formats() {
		if err := Fleet(twoOrgs()).Write(fullDisk{}, format); err == nil {
			t.Errorf("%s: the error of the writer was lost", format)
		}
	}
}

// The picture has a line for each comparison with its sum, marks the upgrade, and
// names what it draws: the numbers of twoOrgs.
func TestFleetChart(t *testing.T) {
	var svg bytes.Buffer
	if err := FleetChart(twoOrgs(), 0).Draw(&svg, "svg"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"with both: 250 tokens", "without the global scope: 1.3k tokens", "without upgrades: 200 tokens", "upgrade, prompt −1,300 tokens",
		">ash<", ">box<", ">86.7 %<", ">23:00<", ">3 Mar<", "not measured",
	} {
		if !strings.Contains(svg.String(), want) {
			t.Errorf("the chart lacks %q", want)
		}
	}
	var png bytes.Buffer
	if err := FleetChart(twoOrgs(), 0).Draw(&png, "png"); err != nil || !bytes.HasPrefix(png.Bytes(), []byte("\x89PNG")) {
		t.Errorf("no PNG, error %v", err)
	}
	if err := FleetChart(twoOrgs(), 1).Draw(io.Discard, "svg"); err == nil {
		t.Error("a chart of a cell that is not there is no error")
	}
	if err := FleetChart(&studies.Fleet{Cells: make([]studies.FleetCell, 1)}, 0).Draw(io.Discard, "svg"); err == nil {
		t.Error("a chart of nothing is no error")
	}
}

func TestFleetDrawings(t *testing.T) {
	f := twoOrgs()
	f.Cells = append(f.Cells, f.Cells[0])
	f.Cells[1].Strategy, f.Cells[1].Pairs = "auto-compact/155k", nil
	var names []string
	for _, d := range FleetDrawings(f) {
		names = append(names, d.Name)
		if err := d.Draw(io.Discard, "svg"); err != nil {
			t.Errorf("%s: %v", d.Name, err)
		}
	}
	want := "fleet-hours-none fleet-wave-none fleet-hits-none fleet-hours-auto-compact-155k fleet-hits-auto-compact-155k"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("drawings %s, want %s", got, want)
	}
}

// In the hour of the upgrade of twoOrgs, 200 − 150 tokens more are everyone's,
// none more the organisations', and 20 fewer the sessions' own.
func TestFleetWave(t *testing.T) {
	f := twoOrgs()
	c := &f.Cells[0]
	if got, want := fleetMore(c, c.Pair(studies.WithoutUpgrades), 1)[1], [studies.NumFleetScopes]float64{50, 0, -20}; got != want {
		t.Errorf("more by scope %v, want %v", got, want)
	}
	p := fleetWave(f, c)
	if p.Y.Low > -20 || p.Y.High < 50 {
		t.Errorf("stacked from %v to %v", p.Y.Low, p.Y.High)
	}
}

// A year of hours has a value for each day at most, and its mean stays.
func TestFleetBins(t *testing.T) {
	hours := make([]studies.FleetHour, 366*24)
	for i := range hours {
		hours[i].Created[studies.FleetGlobal] = 6
		hours[i].Created[studies.FleetOwn] = 1000 // does not stand ahead of messages
	}
	bin := fleetBin(len(hours))
	values := fleetValues(hours, bin)
	if len(values) > maxFleetBins || bin%24 != 0 {
		t.Errorf("%d values of %d hours", len(values), bin)
	}
	if math.Abs(values[0]-6) > 1e-9 {
		t.Errorf("mean %v tokens an hour, want 6", values[0])
	}
	if got := fleetBin(maxFleetBins); got != 1 {
		t.Errorf("a fortnight has bins of %d hours", got)
	}
}

// Ticks of a day are the hours of the clock whenever it starts, and midnight
// names the day.
func TestFleetTimes(t *testing.T) {
	var labels []string
	for _, tick := range fleetTimes(time.Date(2026, 3, 2, 21, 30, 0, 0, time.UTC), 5, 1).Ticks {
		labels = append(labels, tick.Label)
	}
	if got := strings.Join(labels, " "); got != "22:00 23:00 3 Mar 01:00 02:00" {
		t.Errorf("labels %s", got)
	}
}
