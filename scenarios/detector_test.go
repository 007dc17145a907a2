package scenarios

import (
	"context"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/internal/breaks"
	"github.com/compactsim/compactsim/internal/confusion"
)

// Every key of the detector reaches the loop; by default it runs, under the
// client's rules: 2,000 tokens and 5 % (000:613).
func TestDetectorReachesTheLoop(t *testing.T) {
	for text, want := range map[string]struct {
		on    bool
		rules breaks.Rules
	}{
		"": {true, breaks.Rules{MinDrop: 2000, MinShare: 0.05, DeletedBaseline: true}},
		"breaks: false\ndetector: {min_drop: 1, min_share: 0.5, deleted_baseline: false}\n": {false, breaks.Rules{MinDrop: 1, MinShare: 0.5}},
	} {
		d := expand(t, "strategies: [none]\n"+text)
		c, err := (&Plan{Registry: registry(t), Prices: prices(t), Design: d}).config(&d.Cells[0])
		if err != nil {
			t.Fatal(err)
		}
		if c.Breaks != want.on || *c.Rules != want.rules {
			t.Errorf("%q: %v under %+v, want %+v", text, c.Breaks, *c.Rules, want)
		}
	}
}

// All problems of the thresholds at once.
func TestDetectorIsChecked(t *testing.T) {
	f, err := Parse(registry(t), []byte("detector: {min_drop: -1, min_share: 2}\n"), "t.yaml")
	if err == nil {
		_, err = f.Expand()
	}
	for _, want := range []string{"t.yaml:1: detector.min_drop -1 must not be negative", "min_share 2 must lie in 0…1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nsays nothing of %s", err, want)
		}
	}
}

// The switch is an axis: without the count of deleted tokens the deletions of
// cached-microcompact are breaks that missed nothing (002:56).
func TestDeletedBaselineIsAnAxis(t *testing.T) {
	d := expand(t, "strategies: [cached-microcompact]\nprofile: none\ndetector: {deleted_baseline: [true, false]}\n")
	run, err := (&Plan{Registry: registry(t), Prices: prices(t), Design: d}).Run(context.Background(), samples(t))
	if err != nil {
		t.Fatal(err)
	}
	var with, without *confusion.Matrix
	for i := range run.Cells {
		switch run.Cells[i].Params["detector.deleted_baseline"] {
		case "true":
			with = &run.Cells[i].Total.Breaks
		case "false":
			without = &run.Cells[i].Total.Breaks
		}
	}
	if with == nil || without == nil {
		t.Fatalf("no two cells: %+v", run.Cells)
	}
	expected := with.Said(confusion.Deleted)
	if expected == 0 || without.Said(confusion.Deleted) != 0 || without.Broke() != with.Broke()+expected {
		t.Errorf("with the baseline %d breaks and %d expected, without %d and %d", with.Broke(), expected,
			without.Broke(), without.Said(confusion.Deleted))
	}
}
