package main

import (
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/results"
)

// What an anonymized comparison keeps of a run that is not whole names nobody.
func TestPartialRemarks(t *testing.T) {
	for remark, want := range map[string]string{
		"interrupted: 1,200 of 12,000 sessions simulated (4,000 sessions in 3 cells); the figures cover these": "interrupted: 1,200 of 12,000 sessions simulated",
		"stopped by an error: 0 of 1 session simulated (1 session in 1 cell); the figures cover these":         "stopped by an error: 0 of 1 session simulated",
		"interrupted before the bound was found":                                                               "interrupted before the bound was found",
		"of the project secret":                                                                                "",
	} {
		var run results.Run
		run.Workload.Remarks = []string{remark}
		if got := strings.Join(partialRemarks(&run), "; "); got != want {
			t.Errorf("%q: %q, want %q", remark, got, want)
		}
	}
}
