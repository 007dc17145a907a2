package main

import (
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/results"
)

// What an anonymized comparison keeps of a run that is not whole names nobody.
func TestPartialRemarks(t *testing.T) {
	for remark, want := range map[string]string{
		"interrupted: 1,200 of 12,000 simulations done (4,000 sessions × 3 cells), so rows may cover different sessions": "interrupted: 1,200 of 12,000 simulations done",
		"stopped by an error: 0 of 1 simulation done (1 session × 1 cell), so rows may cover different sessions":         "stopped by an error: 0 of 1 simulation done",
		"interrupted before the bound was found": "interrupted before the bound was found",
		"of the project secret":                  "",
	} {
		var run results.Run
		run.Workload.Remarks = []string{remark}
		if got := strings.Join(partialRemarks(&run), "; "); got != want {
			t.Errorf("%q: %q, want %q", remark, got, want)
		}
	}
}
