package main

import (
	"testing"
	"time"
)

// Two pauses of a minute and of an hour: what is ahead of both is earlier by 61 minutes, 3,660,000 ms, what lies between by 60, and what comes
// after them stays. Numbers that are no times stay too.
func TestPausesLieBetweenTurns(t *testing.T) {
	pauses := []pause{{time.UnixMilli(1_795_000_000_500), time.Minute}, {time.UnixMilli(1_795_000_001_500), time.Hour}}
	got := string(apart([]byte(`{"created": 1795000000000, "end":1795000001000,"updated": 1795000002000, "input": 1795000000000}`), pauses))
	if want := `{"created": 1794996340000, "end":1794996401000,"updated": 1795000002000, "input": 1795000000000}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
