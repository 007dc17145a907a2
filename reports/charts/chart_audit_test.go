package charts

import (
	"testing"

	"github.com/compactsim/compactsim/sim/audit"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/studies"
)

// A bar for each day, its parts above each other: on the second day $2 for expiry and $1 for compactions.
func TestAuditMisses(t *testing.T) {
	r := &audit.Report{Sessions: 2, DailyMisses: []audit.DailyMiss{
		{Day: "2026-03-01", Class: prompt.MissExpiry, USD: 1}, {Day: "2026-03-03", Class: prompt.MissExpiry, USD: 2},
		{Day: "2026-03-03", Class: prompt.MissCompaction, USD: 1}, {Day: audit.NoDay, Class: prompt.MissHead, USD: 4},
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

// A compaction that cost $1 and saved $3 stands at 1 and 3.
func TestChainChart(t *testing.T) {
	x := studies.Compaction{}
	x.CallCost[results.ClassOutput], x.RewriteUSD, x.GainUSD = 0.25, 0.75, 3
	c, err := ChainDrawings(bill(), []studies.Chains{{Cell: "recorded", Compactions: []studies.Compaction{x}}})[0].chart()
	if err != nil {
		t.Fatal(err)
	}
	if s := c.Panels[0].Series[0]; s.X[0] != 1 || s.Y[0] != 3 {
		t.Errorf("it stands at %v, %v", s.X, s.Y)
	}
}
