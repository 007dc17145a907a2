package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/internal/live"
	"github.com/compactsim/compactsim/internal/live/cassette"
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
		if got := liveText(&r, nil, context.Canceled); got != "summaries by real models: "+want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// A call that is not stored is told in lines that fit: what to do, what differs, the
// file; the session is named by who runs it.
func TestMissingCallFits(t *testing.T) {
	e := &cassette.MissingError{Dir: "cassettes", Call: cassette.Call{Session: "S", Model: "m"}, Nearest: &cassette.Call{}, Stored: 1}
	for range 12 {
		e.Differs = append(e.Differs, "max_output (stored 1, now 2)")
	}
	err := error(missingCall{e})
	text := err.Error()
	if !errors.Is(err, cassette.ErrMissing) || !strings.HasPrefix(text, "\n  it is not stored: --summarizer record-missing") || strings.Contains(text, "session") {
		t.Errorf("%s", text)
	}
	for _, line := range strings.Split(text, "\n") {
		if len(line) > 110 {
			t.Errorf("%d characters: %s", len(line), line)
		}
	}
}
