package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// Times at which progress is shown.
const (
	paintEvery = 100 * time.Millisecond // on a terminal
	paintAfter = 300 * time.Millisecond // shorter work needs no line
	printEvery = 10 * time.Second       // elsewhere
)

// isTerminal reports whether f is a terminal.
func isTerminal(f any) bool {
	file, ok := f.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(file.Fd()))
}

// maxColumns is the widest screen that tables are laid out for, columns.
const maxColumns = 1000

// screenOf returns w as a screen: with the width of the terminal or COLUMNS,
// and with colours on a terminal unless NO_COLOR is set (no-color.org).
func screenOf(w io.Writer) *document.Screen {
	s := &document.Screen{Writer: w}
	if isTerminal(w) {
		s.Styled = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
		if width, _, err := term.GetSize(int(w.(interface{ Fd() uintptr }).Fd())); err == nil {
			s.Columns = width
		}
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		s.Columns = min(n, maxColumns)
	}
	return s
}

// widthOf returns the width of a command's output, in columns.
func widthOf(w io.Writer) int {
	if s, ok := w.(*document.Screen); ok && s.Columns > 0 {
		return s.Columns
	}
	return document.Width
}

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

// watchSimulation shows the progress of the verb's plan until stop is called.
func (f *readFlags) watchSimulation(cmd *cobra.Command) (stop func()) {
	return f.watch(cmd, f.simulated.text)
}

// watch shows text until stop is called, which removes the line from a
// terminal. stop may be called again.
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
	if most := widthOf(screenOf(p.w)) - 1; utf8.RuneCountInString(text) > most {
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

// reading counts what was read.
type reading struct {
	bytes, files, all atomic.Int64
}

// add is a traces.Options.Progress.
func (r *reading) add(bytes int64, files int) {
	r.bytes.Add(bytes)
	r.files.Add(int64(files))
}

func (r *reading) text(elapsed time.Duration) string {
	n, files, all := r.bytes.Load(), r.files.Load(), r.all.Load()
	text := fmt.Sprintf("%s · %s · %.0f MB/s", document.Count(int(files), "file"), megabytes(n), float64(n)/1e6/elapsed.Seconds())
	if files == 0 || files > all {
		return "reading: " + text
	}
	left := time.Duration(float64(elapsed) / float64(files) * float64(all-files))
	return fmt.Sprintf("reading: %d %% · %s · %s left", 100*files/all, text, roundTime(left))
}

// simulating counts the sessions that were simulated; one under two strategies
// counts twice.
type simulating struct {
	finished atomic.Int64
	total    atomic.Int64
}

// done is a scenarios.Plan.Done. Its calls may overtake one another.
func (s *simulating) done(finished, total int) {
	s.total.Store(int64(total))
	for was := s.finished.Load(); int64(finished) > was; was = s.finished.Load() {
		if s.finished.CompareAndSwap(was, int64(finished)) {
			return
		}
	}
}

// text estimates the time left from the mean time of a session.
func (s *simulating) text(elapsed time.Duration) string {
	done, total := s.finished.Load(), s.total.Load()
	if done == 0 {
		return "simulating"
	}
	if done >= total { // more may follow
		return fmt.Sprintf("simulated: %s sessions × strategies", document.Whole(done))
	}
	left := time.Duration(float64(elapsed) / float64(done) * float64(total-done))
	return fmt.Sprintf("simulating: %d %% · %s of %s sessions × strategies · %s left",
		100*done/max(1, total), document.Whole(done), document.Whole(total), roundTime(left))
}

// simulate runs a plan and shows progress.
func (f *readFlags) simulate(cmd *cobra.Command, plan *scenarios.Plan, corpus *traces.Corpus) (*results.Run, error) {
	defer f.watchSimulation(cmd)()
	return plan.Run(cmd.Context(), corpus)
}

// watch shows text on standard error unless f asks for quiet.
func (f *readFlags) watch(cmd *cobra.Command, text func(elapsed time.Duration) string) (stop func()) {
	if f.quiet {
		return func() {}
	}
	w := cmd.ErrOrStderr()
	return watch(w, isTerminal(w), text)
}

// dryRun prints how large the run would be.
func dryRun(cmd *cobra.Command, plan *scenarios.Plan, corpus *traces.Corpus) error {
	sessions, calls, cells := 0, 0, len(plan.Design.Cells)
	for _, s := range corpus.Sessions {
		if n := s.NumCalls(); n > 0 {
			sessions, calls = sessions+1, calls+n*cells
		}
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s × %s = %s to simulate\n", document.Count(sessions, "session"),
		document.Count(cells, "cell"), document.Count(calls, "call"))
	return err
}

// roundTime rounds an estimate to its precision.
func roundTime(d time.Duration) string {
	switch {
	case d < 100*time.Millisecond:
		return d.Round(time.Millisecond).String()
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
