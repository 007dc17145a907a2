//go:build unix

// Bench compares what the program takes with what it took at another revision, and with other programs where they are installed:
// processor time with the system's, wall time, peak memory, sizes. Everything is run in turns, so that other work on
// the machine weighs on both sides alike; each line is the median of the ratios of the turns, with the least and the
// largest. Nothing is judged: the reader knows the machine.
//
//	go run ./tools/bench -base REV [-only REGEXP] [-rounds N] [-sessions DIR] [-copies N]
//
// Sessions are the recordings of Claude Code of ../shared, unpacked, where they are, and otherwise generated ones. What
// the program keeps between runs lies in a folder of the comparison. Peers are ccusage 20.0.24 and claude-cache-audit
// 0.1.0 on the PATH.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// bench is a comparison under way.
type bench struct {
	dir       string // of everything it makes
	base, now string // folders with the sources
	sessions  string // a folder of recordings
	rounds    int
}

// usage is what a run took, or how large something is.
type usage struct {
	cpu, wall time.Duration
	peak      float64 // MiB resident; of the largest process
	size      float64 // MB
	speed     float64 // simulated calls per second
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("bench: ")
	base := flag.String("base", "", "the revision to compare with")
	only := flag.String("only", "", "only numbers whose name matches")
	rounds := flag.Int("rounds", 3, "turns of each number")
	sessions := flag.String("sessions", "", "a folder of recordings; without it the recordings of ../shared, else generated sessions")
	copies := flag.Int("copies", 1, "so many copies of the recordings, each under ids of its own")
	keep := flag.String("dir", "", "the folder to build in and to keep what is made; without it a temporary one")
	flag.Parse()
	wanted, err := regexp.Compile(*only)
	if err != nil || *base == "" || *rounds < 1 || *copies < 1 || *copies > 16 {
		flag.Usage()
		os.Exit(2)
	}
	b := &bench{dir: *keep, rounds: *rounds, sessions: *sessions}
	if err := b.run(*base, wanted, *copies); err != nil {
		log.Fatal(err)
	}
}

func (b *bench) run(base string, wanted *regexp.Regexp, copies int) (err error) {
	if b.dir == "" {
		if b.dir, err = os.MkdirTemp("", "bench"); err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(b.dir) }()
	}
	if b.dir, err = filepath.Abs(b.dir); err != nil {
		return err
	}
	if b.now, err = os.Getwd(); err != nil {
		return err
	}
	b.base = filepath.Join(b.dir, "base.src")
	if err := b.checkOut(base); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tell(b.now, "git", "worktree", "remove", "--force", b.base)) }()
	for _, side := range []string{"base", "now"} {
		if err := os.RemoveAll(b.test(side)); err != nil { // of an earlier comparison
			return err
		}
		if err := tell(b.source(side), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", b.program(side), "./cmd/sim"); err != nil {
			return err
		}
	}
	if err := b.provide(copies); err != nil {
		return err
	}
	fmt.Printf("%s, %s/%s, %d processors, %d turns; sessions: %s\n", time.Now().Format(time.DateOnly), runtime.GOOS, runtime.GOARCH,
		runtime.NumCPU(), b.rounds, sizeOf(b.sessions))
	fmt.Printf("%-62s %6s  %5s  %-13s  %9s  %9s\n", "", "target", "ratio", "spread", "now", "beside")
	for _, n := range b.numbers() {
		if !slices.ContainsFunc(n.figures, func(f figure) bool { return wanted.MatchString(n.name + ", " + f.name) }) {
			continue
		}
		if err := b.compare(&n); err != nil {
			fmt.Printf("%-62s %v\n", n.name, err)
		}
	}
	return nil
}

// checkOut puts the sources of a revision into base, where an interrupted comparison may have left another one.
func (b *bench) checkOut(revision string) error {
	cmd := exec.Command("git", "rev-parse", "--verify", revision+"^{commit}")
	cmd.Dir = b.now
	commit, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s is no revision: %w", revision, err)
	}
	revision = strings.TrimSpace(string(commit))
	if _, err := os.Stat(b.base); err == nil {
		return tell(b.base, "git", "checkout", "-q", "--force", "--detach", revision)
	}
	return tell(b.now, "git", "worktree", "add", "--detach", b.base, revision)
}

// test returns the file of the benchmarks of a side.
func (b *bench) test(side string) string { return filepath.Join(b.dir, side+".test") }

// program returns the file of a side's binary.
func (b *bench) program(side string) string { return filepath.Join(b.dir, side+".sim") }

// compare runs both sides of a number in turns and prints a line for each of its figures.
func (b *bench) compare(n *number) error {
	var now, beside []usage
	for range b.rounds {
		for _, side := range []struct {
			do   action
			into *[]usage
		}{{n.now, &now}, {n.beside, &beside}} {
			u, err := side.do()
			if err != nil {
				return err
			}
			*side.into = append(*side.into, u)
		}
	}
	for _, f := range n.figures {
		var ratios, a, c []float64
		for i := range now {
			x, y := f.of(&now[i]), f.of(&beside[i])
			ratios, a, c = append(ratios, x/y), append(a, x), append(c, y)
		}
		slices.Sort(ratios)
		sign := "≤"
		if f.more {
			sign = "≥"
		}
		fmt.Printf("%-62s %s %4.2f  %5.2f  %4.2f … %4.2f  %9s  %9s\n", n.name+", "+f.name, sign, f.target,
			median(ratios), ratios[0], ratios[len(ratios)-1], f.show(median(a)), f.show(median(c)))
	}
	return nil
}

func median(list []float64) float64 {
	slices.Sort(list)
	return (list[(len(list)-1)/2] + list[len(list)/2]) / 2
}

// tell runs a command whose output nobody reads unless it fails.
func tell(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

// measure runs a command with its folder for the user's files, whose name is home, in the comparison's folder.
func (b *bench) measure(home, name string, args ...string) (usage, error) {
	home = filepath.Join(b.dir, "homes", home)
	if err := os.MkdirAll(home, 0o700); err != nil {
		return usage{}, err
	}
	cmd := exec.Command(name, args...)
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CACHE_HOME="+filepath.Join(home, "cache"), "CLAUDE_CONFIG_DIR="+filepath.Join(home, "claude"))
	return clock(cmd)
}

// clock runs a command and returns what it took. An exit status of 3 is a check that does not hold: it has run.
func clock(cmd *exec.Cmd) (usage, error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	start := time.Now()
	err := cmd.Run()
	u := usage{wall: time.Since(start)}
	if cmd.ProcessState == nil {
		return u, err
	}
	u.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if r, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		u.peak = float64(r.Maxrss) / (1 << 10) // KiB
		if runtime.GOOS == "darwin" {
			u.peak /= 1 << 10 // bytes
		}
	}
	const checkFailed = 3
	if err != nil && cmd.ProcessState.ExitCode() != checkFailed {
		return u, fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return u, nil
}
