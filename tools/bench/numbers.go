//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// number is what the program is compared by: two things to do in turns, and which of their figures count.
type number struct {
	name        string
	now, beside action
	figures     []figure
}

// action does one turn of a side.
type action func() (usage, error)

// figure is a ratio of two usages.
type figure struct {
	name   string
	target float64
	more   bool // the target is the least ratio, else the largest
	of     func(*usage) float64
	show   func(float64) string
}

func seconds(v float64) string  { return fmt.Sprintf("%.2f s", v) }
func mebibyte(v float64) string { return fmt.Sprintf("%.0f MiB", v) }

func cpu(target float64) figure {
	return figure{"processor time", target, false, func(u *usage) float64 { return u.cpu.Seconds() }, seconds}
}

func wall(target float64) figure {
	return figure{"wall time", target, false, func(u *usage) float64 { return u.wall.Seconds() }, seconds}
}

func memory(target float64) figure {
	return figure{"memory", target, false, func(u *usage) float64 { return u.peak }, mebibyte}
}

func size(target float64) figure {
	return figure{"size", target, false, func(u *usage) float64 { return u.size }, func(v float64) string { return fmt.Sprintf("%.1f MB", v) }}
}

func speed(target float64) figure {
	return figure{"calls a second", target, true, func(u *usage) float64 { return u.speed }, func(v float64) string { return fmt.Sprintf("%.2f M", v/1e6) }}
}

// numbers returns all numbers.
func (b *bench) numbers() []number {
	list := []number{
		{"audit fresh / claude-cache-audit", b.fresh("now", "audit"), b.cacheAudit(), []figure{cpu(0.9)}},
		{"audit fresh", b.fresh("now", "audit"), b.fresh("base", "audit"), []figure{cpu(1), memory(1)}},
		{"audit, sessions kept", b.kept("now", "audit"), b.kept("base", "audit"), []figure{cpu(0.35)}},
		{"audit, nothing changed", b.again("now", "audit"), b.again("base", "audit"), []figure{cpu(0.1)}},
		{"advise, sessions kept", b.kept("now", "advise"), b.kept("base", "advise"), []figure{cpu(0.35)}},
		{"report, sessions kept", b.kept("now", "report", "-o", "page.html"), b.kept("base", "report", "-o", "page.html"), []figure{cpu(0.5)}},
		{"traces ls fresh / ccusage monthly", b.fresh("now", "traces", "ls"), b.ccusage(), []figure{cpu(0.45), memory(0.8)}},
		{"rank, sessions kept", b.kept("now", "rank"), b.kept("base", "rank"), []figure{cpu(0.25)}},
	}
	for _, verb := range []string{"run", "audit", "advise"} {
		list = append(list, number{
			verb + ", a session of 100,000 calls / of 10,000", b.long(100_000, verb), b.long(10_000, verb), []figure{cpu(11), memory(11)},
		})
	}
	list = append(list,
		number{"run ten-thousand", b.of("now", "run", "ten-thousand"), b.of("base", "run", "ten-thousand"), []figure{memory(0.3), wall(0.6)}},
		number{"validate / run", b.kept("now", "validate"), b.kept("now", "run"), []figure{memory(1.1)}},
		number{"check / run", b.check(), b.kept("now", "run"), []figure{memory(1.1)}},
	)
	for _, strategy := range []string{"none", "recorded", "auto-compact/167k", "claude-code/2.1", "claude-code/2026-03", "claude-code/2026-10"} {
		list = append(list, number{"loop under " + strategy, b.loop("now", strategy), b.loop("base", strategy), []figure{speed(1.5)}})
	}
	return append(list,
		number{"release binary without SQLite", b.weigh("now"), b.weigh("base"), []figure{size(0.87)}}, // 23 of 26.3 MB
		number{"cold build", b.build("now"), b.build("base"), []figure{cpu(0.81)}},                     // 75 of 93 s
	)
}

// of runs a command of a side by itself.
func (b *bench) of(side string, args ...string) action {
	return func() (usage, error) { return b.measure(side, b.program(side), append(args, "-q")...) }
}

// command runs a command of a side over the sessions in a home.
func (b *bench) command(home, side string, args ...string) (usage, error) {
	args = append(args, b.sessions)
	if args[0] != "traces" {
		args = append(args, "-q")
	}
	return b.measure(home, b.program(side), args...)
}

// fresh runs a command with nothing kept.
func (b *bench) fresh(side string, args ...string) action {
	return func() (usage, error) {
		if err := os.RemoveAll(filepath.Join(b.dir, "homes", side)); err != nil {
			return usage{}, err
		}
		return b.command(side, side, args...)
	}
}

// kept runs a command for the first time where a run has read the sessions.
func (b *bench) kept(side string, args ...string) action {
	return func() (usage, error) {
		if _, err := b.fresh(side, "run", "--strategy", "none")(); err != nil {
			return usage{}, err
		}
		return b.command(side, side, args...)
	}
}

// again runs a command a second time.
func (b *bench) again(side string, args ...string) action {
	return func() (usage, error) {
		if _, err := b.fresh(side, args...)(); err != nil {
			return usage{}, err
		}
		return b.command(side, side, args...)
	}
}

// long runs a verb over one session of so many calls.
func (b *bench) long(calls int, verb string) action {
	return func() (usage, error) {
		sessions := filepath.Join(b.dir, fmt.Sprintf("long.%d", calls))
		if _, err := os.Stat(sessions); err != nil {
			text, err := exec.Command(b.program("now"), "traces", "gen", "--profile", "long-refactor").Output()
			if err != nil {
				return usage{}, err
			}
			for key, n := range map[string]int{"turns": calls / 10, "rounds": 10} {
				line := regexp.MustCompile(`(?m)^` + key + `: .*$`)
				text = line.ReplaceAll(text, fmt.Appendf(nil, "%s: {median: %d, sigma: 0, min: %d, max: %d}", key, n, n, n))
			}
			profile := sessions + ".yaml"
			if err := os.WriteFile(profile, text, 0o600); err != nil {
				return usage{}, err
			}
			if err := b.generate(sessions, profile, "1"); err != nil {
				return usage{}, err
			}
			if _, err := b.measure("long", b.program("now"), "traces", "ls", sessions); err != nil {
				return usage{}, err
			}
		}
		return b.measure("long", b.program("now"), verb, sessions, "-q")
	}
}

// check tests the rules of a first check file, which has no baseline.
func (b *bench) check() action {
	return func() (usage, error) {
		file := filepath.Join(b.dir, "sim-check.yaml")
		if _, err := os.Stat(file); err != nil {
			if err := tell(b.dir, b.program("now"), "check", "--init"); err != nil {
				return usage{}, err
			}
		}
		return b.kept("now", "check", file)()
	}
}

// absent is what stands in the line of a number beside a program that is not here.
func absent(name, version string) action {
	return func() (usage, error) { return usage{}, fmt.Errorf("left out: %s %s is not installed", name, version) }
}

// peer runs another program over the sessions, which lie where it looks for Claude Code's.
func (b *bench) peer(name, version string, args ...string) action {
	file, err := exec.LookPath(name)
	if err != nil {
		return absent(name, version)
	}
	out, err := exec.Command(file, "--version").Output()
	if err != nil || !strings.Contains(string(out), version) {
		return absent(name, version)
	}
	return func() (usage, error) {
		claude := filepath.Join(b.dir, "homes", name, "claude")
		if err := os.MkdirAll(claude, 0o700); err != nil {
			return usage{}, err
		}
		projects := filepath.Join(claude, "projects")
		if err := os.Remove(projects); err != nil && !errors.Is(err, os.ErrNotExist) { // sessions of an earlier comparison
			return usage{}, err
		}
		if err := os.Symlink(b.sessions, projects); err != nil {
			return usage{}, err
		}
		return b.measure(name, file, args...)
	}
}

func (b *bench) cacheAudit() action { return b.peer("claude-cache-audit", "0.1.0", "--all") }
func (b *bench) ccusage() action    { return b.peer("ccusage", "20.0.24", "monthly", "--offline") }

// calls is the metric of BenchmarkLoop.
var calls = regexp.MustCompile(`([0-9.e+]+) calls/s`)

// loop runs the benchmark of the simulation under a strategy, over sessions of 1,000 calls.
func (b *bench) loop(side, strategy string) action {
	return func() (usage, error) {
		test := b.test(side)
		if _, err := os.Stat(test); err != nil {
			if err := tell(b.source(side), "go", "test", "-c", "-trimpath", "-o", test, "./sim"); err != nil {
				return usage{}, err
			}
		}
		cmd := exec.Command(test, "-test.run", "^$", "-test.cpu", "1", "-test.bench", "^BenchmarkLoop$/^"+strategy+"$/^calls=1000$")
		if strings.Contains(strategy, "/") { // a slash parts levels
			cmd.Args[len(cmd.Args)-1] = "^BenchmarkLoop$/^" + strings.ReplaceAll(strategy, "/", "$/^") + "$/^calls=1000$"
		}
		cmd.Dir = filepath.Join(b.source(side), "sim")
		out, err := cmd.CombinedOutput()
		m := calls.FindSubmatch(out)
		switch {
		case err != nil:
			return usage{}, fmt.Errorf("BenchmarkLoop: %w\n%s", err, out)
		case m == nil:
			return usage{}, fmt.Errorf("BenchmarkLoop does not tell its calls per second:\n%s", out)
		}
		v, err := strconv.ParseFloat(string(m[1]), 64)
		return usage{speed: v}, err
	}
}

// source returns the folder of a side's sources.
func (b *bench) source(side string) string {
	if side == "base" {
		return b.base
	}
	return b.now
}

// weigh returns the size of a side's program, built as a release is but without the SQLite driver.
func (b *bench) weigh(side string) action {
	return func() (usage, error) {
		file := b.program(side) + ".plain"
		if err := tell(b.source(side), "go", "build", "-trimpath", "-tags", "nosqlite", "-ldflags", "-s -w", "-o", file, "./cmd/sim"); err != nil {
			return usage{}, err
		}
		info, err := os.Stat(file)
		if err != nil {
			return usage{}, err
		}
		return usage{size: float64(info.Size()) / 1e6}, nil
	}
}

// build builds a side's program with nothing built before.
func (b *bench) build(side string) action {
	return func() (usage, error) {
		cache := filepath.Join(b.dir, "go-cache")
		defer func() { _ = os.RemoveAll(cache) }()
		cmd := exec.Command("go", "build", "-trimpath", "-o", os.DevNull, "./cmd/sim")
		cmd.Dir, cmd.Env = b.source(side), append(os.Environ(), "CGO_ENABLED=0", "GOCACHE="+cache)
		return clock(cmd)
	}
}
