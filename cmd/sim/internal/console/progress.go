package console

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/compactsim/compactsim/internal/kit/document"
)

// Times at which progress is shown.
const (
	paintEvery = 100 * time.Millisecond // on a terminal
	paintAfter = 300 * time.Millisecond // shorter work needs no line
	printEvery = 10 * time.Second       // elsewhere
)

// progress shows the progress of a long command: on a terminal in a line that
// is rewritten, elsewhere in occasional lines.
type progress struct {
	w        io.Writer
	terminal bool
	text     func(elapsed time.Duration) string
	start    time.Time
	last     time.Time // of the last line that was printed
	width    int       // columns painted
}

// Watch shows text on w until stop is called, which removes the line from a
// terminal. stop may be called again.
func Watch(w io.Writer, text func(elapsed time.Duration) string) (stop func()) {
	return watch(w, IsTerminal(w), text)
}

func watch(w io.Writer, terminal bool, text func(elapsed time.Duration) string) (stop func()) {
	p := &progress{w: w, terminal: terminal, text: text, start: time.Now()}
	over := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(paintEvery)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case now := <-tick.C:
				p.show(now)
			}
		}
	})
	return sync.OnceFunc(func() {
		close(over)
		wg.Wait()
		p.clear()
	})
}

// show writes the text if it is time to.
func (p *progress) show(now time.Time) {
	elapsed := now.Sub(p.start)
	if p.terminal {
		if elapsed >= paintAfter {
			p.paint(p.text(elapsed))
		}
		return
	}
	if elapsed < printEvery || now.Sub(p.last) < printEvery {
		return
	}
	p.last = now
	fmt.Fprintf(p.w, "sim: %s\n", p.text(elapsed))
}

// paint overwrites the previous line.
func (p *progress) paint(text string) {
	// A line that fills the last column would start another one.
	if most := WidthOf(ScreenOf(p.w)) - 1; utf8.RuneCountInString(text) > most {
		text = string([]rune(text)[:max(0, most-1)]) + "…"
	}
	width := utf8.RuneCountInString(text)
	fmt.Fprint(p.w, "\r"+text+strings.Repeat(" ", max(0, p.width-width)))
	p.width = width
}

func (p *progress) clear() {
	if p.width > 0 {
		fmt.Fprint(p.w, "\r"+strings.Repeat(" ", p.width)+"\r")
		p.width = 0
	}
}

// Simulating counts the sessions that were simulated; one under two strategies
// counts twice.
type Simulating struct {
	finished atomic.Int64
	total    atomic.Int64
}

// Done is a scenarios.Plan.Done. Its calls may overtake one another.
func (s *Simulating) Done(finished, total int) {
	s.total.Store(int64(total))
	for was := s.finished.Load(); int64(finished) > was; was = s.finished.Load() {
		if s.finished.CompareAndSwap(was, int64(finished)) {
			return
		}
	}
}

// Text estimates the time left from the mean time of a session.
func (s *Simulating) Text(elapsed time.Duration) string {
	done, total := s.finished.Load(), s.total.Load()
	if done == 0 {
		return "simulating"
	}
	if done >= total { // more may follow
		return fmt.Sprintf("simulated: %s sessions × strategies", document.Whole(done))
	}
	return fmt.Sprintf("simulating: %d %% · %s of %s sessions × strategies · %s left",
		100*done/max(1, total), document.Whole(done), document.Whole(total), Left(elapsed, done, total))
}

// Count returns how many are finished, and of how many.
func (s *Simulating) Count() (finished, total int64) { return s.finished.Load(), s.total.Load() }

// Left estimates the time until all is done from the time that a part took, rounded to its precision.
func Left(elapsed time.Duration, done, all int64) string {
	d := time.Duration(float64(elapsed) / float64(done) * float64(all-done))
	switch {
	case d < 100*time.Millisecond:
		return d.Round(time.Millisecond).String()
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
