package main

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	osexec "os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	_ "time/tzdata" // the scripts tell days in other zones

	"github.com/creack/pty"

	"github.com/compactsim/compactsim/traces/synthetic"
)

// process returns sim as a program of its own: this test binary under the name
// that TestMain knows, in a home folder that holds the samples.
func process(t *testing.T, args ...string) (cmd *osexec.Cmd, tmp string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("no signals and terminals of this kind here")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	if err := os.CopyFS(filepath.Join(home, ".claude", "projects"), synthetic.Samples()); err != nil {
		t.Fatal(err)
	}
	tmp = t.TempDir()
	return &osexec.Cmd{
		Path: exe, Args: append([]string{"sim"}, args...),
		Env: []string{"HOME=" + home, "TMPDIR=" + tmp, "PATH=" + os.Getenv("PATH")},
	}, tmp
}

func exitCode(err error) int {
	var exit *osexec.ExitError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	return -1
}

// Ctrl-C ends sim while it waits for standard input that never ends: it says
// so, exits with 130 and leaves no spooled file behind.
func TestInterruptedWhileReading(t *testing.T) {
	t.Parallel()
	cmd, tmp := process(t, "run", "-")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// More than any pipe holds: when it is written, sim is reading.
	if _, err := io.WriteString(in, strings.Repeat("{}\n", 1<<20)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := exitCode(cmd.Wait()); code != exitInterrupted {
		t.Errorf("exit %d, want %d: %s", code, exitInterrupted, errs.String())
	}
	if !strings.Contains(errs.String(), "sim: interrupted while reading") || out.Len() > 0 {
		t.Errorf("stdout %q, stderr %q", out.String(), errs.String())
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// terminal starts sim on a pseudo-terminal and returns what a person would see
// of standard error, and types what they type.
func terminal(t *testing.T, cmd *osexec.Cmd) (screen *transcript) {
	t.Helper()
	ptmx, err := pty.Start(cmd)
	if err != nil {
		t.Skip("no pseudo-terminal here: ", err)
	}
	t.Cleanup(func() { ptmx.Close() })
	return &transcript{t: t, f: ptmx}
}

// transcript is what was written to a terminal so far.
type transcript struct {
	t    *testing.T
	f    *os.File
	text string
}

// until reads on until the terminal shows something, or is closed.
func (s *transcript) until(pattern string) {
	s.t.Helper()
	re := regexp.MustCompile(pattern)
	buf := make([]byte, 4096)
	for !re.MatchString(s.text) {
		n, err := s.f.Read(buf)
		s.text += string(buf[:n])
		if err != nil && !re.MatchString(s.text) {
			s.t.Fatalf("the terminal was closed before %q came:\n%s", pattern, s.text)
		}
	}
}

func (s *transcript) rest() string {
	b, _ := io.ReadAll(s.f) // Linux ends a closed terminal with an error
	s.text += string(b)
	return s.text
}

// On a terminal sim says what it found and asks before it reads; anything but
// yes reads nothing.
func TestDiscoverAsks(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		answer string
		code   int
		says   string
	}{
		{"y\n", exitOK, "Sessions found in ~/.claude/projects"},
		{"\n", exitRuntime, "nothing was read"},
		{"n\n", exitRuntime, "nothing was read"},
		{"\x04", exitRuntime, "nothing was read"},     // end of input
		{"\x03", exitInterrupted, "sim: interrupted"}, // Ctrl-C
	} {
		cmd, _ := process(t, "run", "--discover", "--strategy", "none")
		screen := terminal(t, cmd)
		screen.until(`sim: found \d+ files in ~/\.claude/projects \(claude-code, .*\)\r\n` +
			`Read the sessions in ~/\.claude/projects\? Nothing leaves this machine\. \[y/N\] `)
		if _, err := io.WriteString(screen.f, tc.answer); err != nil {
			t.Fatal(err)
		}
		text := screen.rest()
		if code := exitCode(cmd.Wait()); code != tc.code || !strings.Contains(text, tc.says) {
			t.Errorf("answer %q: exit %d, want %d and %q:\n%s", tc.answer, code, tc.code, tc.says, text)
		}
		if report := strings.Contains(text, "STRATEGY"); report != (tc.code == exitOK) {
			t.Errorf("answer %q: report %v:\n%s", tc.answer, report, text)
		}
	}
}

// --yes asks nothing, on a terminal either.
func TestDiscoverYes(t *testing.T) {
	t.Parallel()
	cmd, _ := process(t, "run", "--yes", "--strategy", "none")
	text := terminal(t, cmd).rest()
	if code := exitCode(cmd.Wait()); code != exitOK || strings.Contains(text, "[y/N]") || !strings.Contains(text, "Sessions found in ~/.claude/projects") {
		t.Errorf("exit %d:\n%s", code, text)
	}
}

// Without a path and a flag the samples are shown, with the command for one's own sessions.
func TestSamplesOnTerminal(t *testing.T) {
	t.Parallel()
	cmd, _ := process(t, "run", "--strategy", "none")
	text := terminal(t, cmd).rest()
	if code := exitCode(cmd.Wait()); code != exitOK || !strings.Contains(strings.Join(strings.Fields(text), " "), "These are the samples that come with sim. For your own sessions: sim run") {
		t.Errorf("exit %d:\n%s", code, text)
	}
}

// While standard input is read a terminal shows a line that is rewritten, and is cleared when the
// report comes.
func TestProgressIsShown(t *testing.T) {
	t.Parallel()
	cmd, _ := process(t, "run", "--strategy", "none", "-")
	ptmx, tty, err := pty.Open()
	if err != nil {
		t.Skip("no pseudo-terminal here: ", err)
	}
	defer ptmx.Close()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, tty
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tty.Close()
	screen := &transcript{t: t, f: ptmx}
	screen.until(`\rreading: `)
	if err := copySample(in); err != nil {
		t.Fatal(err)
	}
	text := screen.rest()
	if code := exitCode(cmd.Wait()); code != exitOK {
		t.Fatalf("exit %d:\n%s", code, text)
	}
	if !strings.HasSuffix(text, " \r") || !strings.Contains(out.String(), "STRATEGY") {
		t.Errorf("the line stays: %q\n%s", text, out.String())
	}
}

// copySample writes one sample and closes w.
func copySample(w io.WriteCloser) error {
	defer w.Close()
	fsys := synthetic.Samples()
	names, err := fs.Glob(fsys, "short-fix/*.gz")
	if err != nil {
		return err
	}
	f, err := fsys.Open(names[0])
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}
