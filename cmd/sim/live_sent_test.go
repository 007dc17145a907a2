package main

import (
	"context"
	"testing"

	"github.com/compactsim/compactsim/internal/live"
)

// What was sent is told apart from what was answered.
func TestWhatWasSent(t *testing.T) {
	for want, r := range map[string]live.Report{
		"no call was answered":                                                        {},
		"3 calls were not answered (9 requests sent again)":                           {Made: 3, Unanswered: 3, Requests: 12},
		"1 call was refused, for $0.25":                                               {Made: 1, Refused: 1, Requests: 1, USD: 0.25},
		"1 call was refused and 2 calls were not answered":                            {Made: 3, Refused: 1, Unanswered: 2},
		"5 real calls made for $1.00, of which 2 were refused and 1 was not answered": {Made: 5, Refused: 2, Unanswered: 1, USD: 1},
		"$0.10 paid for requests that came to no end":                                 {USD: 0.1},
	} {
		if got := r.Text(nil, context.Canceled); got != "summaries by real models: "+want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
