package console

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// shown returns what a progress line writes when it is asked every 100 ms for
// as long as d.
func shown(terminal bool, d time.Duration) string {
	var b bytes.Buffer
	start := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	p := progress{w: &b, terminal: terminal, start: start, text: func(elapsed time.Duration) string {
		return "at " + elapsed.Round(100*time.Millisecond).String()
	}}
	for at := paintEvery; at <= d; at += paintEvery {
		p.show(start.Add(at))
	}
	p.clear()
	return b.String()
}

// Off a terminal: a line every ten seconds.
func TestProgressLines(t *testing.T) {
	for _, tc := range []struct {
		lasts time.Duration
		want  string
	}{
		{9900 * time.Millisecond, ""},
		{10 * time.Second, "sim: at 10s\n"},
		{19900 * time.Millisecond, "sim: at 10s\n"},
		{30 * time.Second, "sim: at 10s\nsim: at 20s\nsim: at 30s\n"},
	} {
		if got := shown(false, tc.lasts); got != tc.want {
			t.Errorf("%v: %q, want %q", tc.lasts, got, tc.want)
		}
	}
}

// On a terminal: one line, rewritten, taken away at the end; nothing for what is
// over at once.
func TestProgressOnTerminal(t *testing.T) {
	if got := shown(true, 200*time.Millisecond); got != "" {
		t.Errorf("0.2 s: %q, want nothing", got)
	}
	const want = "\rat 300ms\rat 400ms\r        \r"
	if got := shown(true, 400*time.Millisecond); got != want {
		t.Errorf("0.4 s: %q, want %q", got, want)
	}
	if got := shown(true, time.Second); !strings.HasSuffix(got, "\rat 900ms\rat 1s   \r     \r") {
		t.Errorf("1 s: %q: a shorter text leaves the end of a longer one", got)
	}
	var b bytes.Buffer
	p := progress{w: &b}
	t.Setenv("COLUMNS", "60")
	p.paint(strings.Repeat("ö", 100))
	if got := b.String(); got != "\r"+strings.Repeat("ö", 58)+"…" {
		t.Errorf("a long line: %q, want 59 columns", got)
	}
}

// 12 of 48 sessions × strategies in 4 s: 12 s are left.
func TestSimulatingText(t *testing.T) {
	var s Simulating
	if got := s.Text(time.Second); got != "simulating" {
		t.Errorf("at the start: %q", got)
	}
	s.Done(12, 48)
	s.Done(11, 48) // overtaken
	const want = "simulating: 25 % · 12 of 48 sessions × strategies · 12s left"
	if got := s.Text(4 * time.Second); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	s.Done(48, 48) // a search that prepares its next run does not end in 0 s
	if got := s.Text(16 * time.Second); got != "simulated: 48 sessions × strategies" {
		t.Errorf("at the end: %q", got)
	}
}

// stop waits for the painter, so that nothing is written after it.
func TestWatchStops(t *testing.T) {
	var b bytes.Buffer
	stop := watch(&b, true, func(time.Duration) string { return "x" })
	stop()
	stop()
	if got := b.String(); got != "" {
		t.Errorf("%q", got)
	}
}
