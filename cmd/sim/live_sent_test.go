package main

import (
	"context"
	"testing"

	"github.com/compactsim/compactsim/sim/live"
)

// What was sent is told apart from what was answered.
func TestWhatWasSent(t *testing.T) {
	for want, r := range map[string]live.Report{
		"no call was answered": {},
		"3 real calls made for $0.00, of which 3 not answered (9 requests sent again)": {Made: 3, Unanswered: 3, Requests: 12},
		"1 real call made for $0.25, of which 1 refused":                               {Made: 1, Refused: 1, Requests: 1, USD: 0.25},
		"5 real calls made for $1.00, of which 2 refused and 1 not answered":           {Made: 5, Refused: 2, Unanswered: 1, USD: 1},
	} {
		if got := r.Text(nil, context.Canceled); got != "summaries by real models: "+want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
