package charts

import (
	"strings"
	"testing"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/audit"
	"github.com/compactsim/compactsim/sim/calls"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/studies"
)

// A bar for each day, its parts above each other: on the second day $2 for expiry and $1 for compactions.
func TestAuditMisses(t *testing.T) {
	r := &audit.Report{Sessions: 2, DailyMisses: []audit.DailyMiss{
		{Day: "2026-03-01", Class: exchange.MissExpiry, USD: 1}, {Day: "2026-03-03", Class: exchange.MissExpiry, USD: 2},
		{Day: "2026-03-03", Class: exchange.MissCompaction, USD: 1}, {Day: audit.NoDay, Class: exchange.MissHead, USD: 4},
	}}
	c, err := AuditDrawings(r)[0].chart()
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Notes) != 1 || len(c.Panels[0].Series) != 2 {
		t.Fatalf("notes %q, %d series", c.Notes, len(c.Panels[0].Series))
	}
	expiry, compaction := c.Panels[0].Series[0], c.Panels[0].Series[1]
	if expiry.Name != "expiry" || expiry.Y2[1] != 2 || compaction.Y[0] != 2 || compaction.Y2[0] != 3 || expiry.X[1]+0.4 != 2 {
		t.Errorf("bars %+v and %+v", expiry, compaction)
	}
	if row := c.Data().Rows[1]; row[3] != "2026-03-03" || row[7] != 2.0 {
		t.Errorf("the data have %v", row)
	}
	if _, err := AuditDrawings(&audit.Report{})[0].chart(); err == nil {
		t.Error("no misses have a chart")
	}
}

// A bar for each of the dearest misses, as long as it lost tokens, with its cause and its call as its name, in the colour of how the cause is known.
// A page of pseudonyms names no calls. The longest texts have room on a phone.
func TestDearest(t *testing.T) {
	losses := []audit.Loss{
		{Name: "ab12:7", At: "2026-03-01 12:00", Missed: 300_000, USD: 123.45, Cause: calls.CauseSystem, Confidence: calls.Seen, Because: "process"},
		{Name: "ab12:9", At: "2026-03-02 08:30", Missed: 100_000, USD: 1, Cause: "look_back", Confidence: calls.Likely},
		{Name: "cd34:1", At: audit.NoDay, Missed: 50_000, USD: 0.5, Cause: calls.CauseInside},
	}
	c, err := AuditDrawings(&audit.Report{Sessions: 1, Zone: "UTC", Dearest: losses})[1].chart()
	if err != nil {
		t.Fatal(err)
	}
	p := c.Panels[0]
	if len(p.Series) != 4 || p.Series[0].X2[0] != 300_000 || p.Series[1].X2[0] != 100_000 || p.Series[1].Style.Color != document.Orange {
		t.Errorf("%+v", p.Series)
	}
	for i, want := range []string{"a changed system prompt, likely a new process · ab12:7", "likely too many blocks at once · ab12:9", "no visible reason · cd34:1"} {
		if got := p.Y.Ticks[i].Label; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := p.Series[3].Texts[0]; got != "$123.45 · 2026-03-01 12:00" {
		t.Errorf("%q", got)
	}
	for _, names := range []bool{false, true} {
		d := drawing("dearest", func() (*document.Chart, error) { return dearestChart(losses, "UTC", nil, names) })
		picture, err := d.picture()
		if err != nil {
			t.Fatal(err)
		}
		if picture.Narrow == nil || strings.Contains(string(picture.SVG), "ab12") != names {
			t.Errorf("with names %v: %s", names, picture.SVG)
		}
	}
	if _, err := AuditDrawings(&audit.Report{})[1].chart(); err == nil {
		t.Error("no misses have a picture")
	}
}

// A compaction that cost $1 and saved $3 stands at 1 and 3.
func TestChainChart(t *testing.T) {
	x := studies.Compaction{}
	x.CallCost[measures.ClassOutput], x.RewriteUSD, x.GainUSD = 0.25, 0.75, 3
	c, err := ChainDrawings(bill(), []studies.Chains{{Cell: "recorded", Compactions: []studies.Compaction{x}}})[0].chart()
	if err != nil {
		t.Fatal(err)
	}
	if s := c.Panels[0].Series[0]; s.X[0] != 1 || s.Y[0] != 3 {
		t.Errorf("it stands at %v, %v", s.X, s.Y)
	}
}
