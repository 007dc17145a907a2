package check

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/summarizer"
	"github.com/compactsim/compactsim/sim/validate"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// recordedBills returns the bills and predictions of recorded sessions beside the module.
func recordedBills(t *testing.T) []validate.Expect {
	t.Helper()
	if testing.Short() {
		t.Skip("recorded sessions take long")
	}
	dir := filepath.Join("..", "..", "..", "shared", "traces", "claude-code")
	c, err := agents.Read(context.Background(), traces.Options{}, dir)
	if err != nil || len(c.Sessions) == 0 {
		t.Skip("no recorded sessions beside the module:", err)
	}
	t.Cleanup(func() { c.Close() })
	registry, err := strategies.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	config := sim.Config{Summarizer: summarizer.Default()}
	if config.Strategy, err = registry.Strategy(measures.StrategyRecorded); err != nil {
		t.Fatal(err)
	}
	if config.Prices, err = costmodel.Default(); err != nil {
		t.Fatal(err)
	}
	if config.Profile, err = profile.Default(); err != nil {
		t.Fatal(err)
	}
	bills, err := validate.Against(context.Background(), config, 0, c.Sessions)
	if err != nil {
		t.Fatal(err)
	}
	return bills
}

// billed is a run of sessions whose bill is so many times the recorded one.
func billed(bills []validate.Expect, times float64) *Input {
	in := input(cell("billed", []tally{}))
	in.Sessions = map[string]Session{}
	run := results.Run{Cells: []results.Cell{{Cell: "billed", Strategy: "billed"}}}
	for i := range bills {
		row := tally{session: bills[i].Session, usd: 1}.row("billed")
		row.Figures[measures.PredictedUSD], row.Figures[measures.PredictedOfUSD] = bills[i].MeanUSD, times*bills[i].BilledUSD
		run.Cells[0].Rows.Keep(&row)
		in.Sessions[bills[i].Session] = Session{Agent: "claude-code"}
	}
	run.Sum()
	in.Cells[0].Draws = []*results.Cell{&run.Cells[0]}
	in.SessionsDigest = fmt.Sprint(bills[0].Session, len(bills), times)
	return in
}

// breaches counts the splits of the bills in which the default rule is broken, with so many
// sessions on either side.
func breaches(t *testing.T, bills []validate.Expect, before, now, splits int, times float64) (n int, noticed float64) {
	f := levels(t, "baseline: base.json\nrules:\n  - {metric: billed_to_predicted, strategy: billed, max_increase: 2%}\n")
	draw := rand.New(rand.NewPCG(7, uint64(before)))
	for range splits {
		draw.Shuffle(len(bills), func(i, j int) { bills[i], bills[j] = bills[j], bills[i] })
		r := against(t, f, billed(bills[:before], 1), billed(bills[before:before+now], times))
		if r.Broken() {
			n++
		}
		if least := r.Results[0].Noticed; least != nil {
			noticed += *least / *r.Results[0].Baseline / float64(splits)
		}
	}
	return n, noticed
}

// Splits of recorded sessions in which nothing changed raise an alarm in at most 5 %. Of ten changes between half and
// twice the mean of the smallest that are printed (the claim: found in four of five) the share that is found agrees with
// the share of a normal figure whose detectable change is so large, within 15 points at the mean over the ten and 30 points each:
// the spread of few sessions is itself uncertain. One session against twenty cannot tell, and raises none.
func TestSplitsOfRecordedSessions(t *testing.T) {
	bills := recordedBills(t)
	const splits, tries = 100, 50 // without a change, and of each change
	for _, c := range []struct{ before, now int }{{10, 10}, {20, 5}, {20, 1}} {
		alarms, noticed := breaches(t, bills, c.before, c.now, splits, 1)
		if alarms > splits/20 {
			t.Errorf("%d against %d sessions: %d of %d splits without a change raise an alarm", c.now, c.before, alarms, splits)
		}
		if c.now == 1 {
			continue
		}
		var off float64
		text := ""
		for k := range 10 {
			times := math.Pow(2, float64(2*k)/9-1)
			found, _ := breaches(t, bills, c.before, c.now, tries, 1+times*noticed)
			found *= splits / tries
			// The quantiles of a normal figure at 97.5 and 80 %.
			want := 100 * distuv.UnitNormal.CDF((1.960+0.842)*times-1.960)
			text += fmt.Sprintf(", %.2f× %d (%.0f)", times, found, want)
			off += (float64(found) - want) / 10
			if math.Abs(float64(found)-want) > 30 {
				t.Errorf("%d against %d sessions: %d of %d found of %.2f times what is printed, want about %.0f", c.now, c.before, found, splits, times, want)
			}
		}
		t.Logf("%d against %d: %d alarms; from %.1f %% on; found (expected)%s; %+.0f on average", c.now, c.before, alarms, 100*noticed, text, off)
		if math.Abs(off) > 15 {
			t.Errorf("%d against %d sessions: %+.0f of %d found more than as printed", c.now, c.before, off, splits)
		}
	}
}
