// Package console talks to the person who runs the program, beside the result of a verb: messages, progress, questions.
package console

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/term"

	"github.com/compactsim/compactsim/internal/kit/document"
)

// UsageError marks an error as the caller's: wrong flags or names, or requested
// files that do not exist.
type UsageError struct{ error }

// Unwrap returns the error itself.
func (e UsageError) Unwrap() error { return e.error }

// Misuse marks an error as the caller's.
func Misuse(err error) error { return UsageError{err} }

// Say writes a message of the program, in lines that fit a terminal and without
// control characters, which file names may have.
func Say(w io.Writer, format string, args ...any) {
	text := "sim: " + fmt.Sprintf(format, args...)
	if IsTerminal(w) {
		lines := strings.Split(text, "\n") // several errors
		for i := range lines {
			lines[i] = document.Flowed(lines[i], WidthOf(ScreenOf(w)))
		}
		text = strings.Join(lines, "\n")
	}
	Tell(w, text)
}

// Tell writes lines of text that are harmless to a terminal and to the runner of a CI job.
func Tell(w io.Writer, text string) {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = document.Printable(lines[i])
	}
	_, _ = w.Write(document.Inert([]byte(strings.Join(lines, "\n") + "\n")))
}

// IsTerminal reports whether f is a terminal.
func IsTerminal(f any) bool {
	file, ok := f.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(file.Fd()))
}

// maxColumns is the widest screen that tables are laid out for, columns.
const maxColumns = 1000

// ScreenOf returns w as a screen: with the width of the terminal or COLUMNS,
// and with colours on a terminal unless NO_COLOR is set (no-color.org).
func ScreenOf(w io.Writer) *document.Screen {
	s := &document.Screen{Writer: w}
	if IsTerminal(w) {
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

// WidthOf returns the width of a command's output, in columns.
func WidthOf(w io.Writer) int {
	if s, ok := w.(*document.Screen); ok && s.Columns > 0 {
		return s.Columns
	}
	return document.Width
}

// Ask reports whether the answer to a question is yes. The error is the cause of ctx's end.
func Ask(ctx context.Context, r io.Reader, w io.Writer, question string) (bool, error) {
	fmt.Fprint(w, question)
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(r).ReadString('\n') // the end of input is not a yes
		answer <- line
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(w)
		return false, context.Cause(ctx)
	case line := <-answer:
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return true, nil
		}
		return false, nil
	}
}
