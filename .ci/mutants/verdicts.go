package main

import (
	"cmp"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// equivalents are the changes that change nothing: a file, an expression, what it becomes
// or any, and why.
const equivalents = ".ci/equivalents.txt"

// quick is how long the tests run together that are tried first. The next ones may take
// ten times as long, and so on.
const quick = 300 * time.Millisecond

// timed is a test, the time of a processor that it takes, and the changes that it reaches.
type timed struct {
	name    string
	cpu     time.Duration
	reaches map[int]bool
}

// suite is the tests of a package, built with all changes of its operators.
type suite struct {
	pkg, binary string
	flags       []string // of libraries it uses
	tests       []*timed
}

// tryOperators changes the operators of a package one by one, of those whose place and
// expression hold a text, and prints file by file which changes no test notices, and the
// package's line of the table.
func tryOperators(pkg, only string, most time.Duration) (err error) {
	dir, err := os.MkdirTemp("", "operators")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	pkg = filepath.Clean(pkg)
	s := &suite{pkg: pkg, binary: filepath.Join(dir, "test")}
	changes, err := newOperators(pkg, s.binary)
	if err != nil {
		return err
	}
	if err := s.list(); err != nil {
		return err
	}
	s.reached(changes)
	same, err := readEquivalents(pkg, changes)
	if err != nil {
		return err
	}
	changes = slices.DeleteFunc(changes, func(c *change) bool { return !strings.Contains(c.String(), only) })
	for _, c := range changes {
		c.listed = same[c.file+" | "+c.text+" | "+c.becomes.String()] || same[c.file+" | "+c.text+" | any"]
	}
	count := map[string]int{}
	for list := changes; len(list) > 0; {
		n := slices.IndexFunc(list, func(c *change) bool { return c.file != list[0].file })
		if n < 0 {
			n = len(list)
		}
		for _, c := range s.notice(list[:n], most) {
			verdict := s.verdict(c)
			if verdict == "alive" && c.listed {
				verdict = "equivalent"
			} else {
				fmt.Printf("%s: %s\n", verdict, c)
			}
			count[verdict]++
		}
		list = list[n:]
	}
	fmt.Printf("| `%s` | %d | %d | %d | %d | %d |\n", pkg, len(changes),
		len(changes)-count["equivalent"]-count["alive"]-count["not reached"], count["equivalent"], count["alive"], count["not reached"])
	return nil
}

// each calls a function for every value, on all cores.
func each[T any](values []T, f func(T)) {
	var wg sync.WaitGroup
	next := make(chan T)
	for range runtime.NumCPU() {
		wg.Go(func() {
			for v := range next {
				f(v)
			}
		})
	}
	for _, v := range values {
		next <- v
	}
	close(next)
	wg.Wait()
}

// list names the tests. What rapid finds under one change must not be tried under others.
func (s *suite) list() error {
	s.flags = []string{"-rapid.nofailfile"}
	out, err := s.command(time.Minute, ".*", "-test.list", "^(Test|Fuzz|Example)").Output()
	if err != nil {
		s.flags = nil
		out, err = s.command(time.Minute, ".*", "-test.list", "^(Test|Fuzz|Example)").Output()
	}
	for name := range strings.FieldsSeq(string(out)) {
		s.tests = append(s.tests, &timed{name: name, reaches: map[int]bool{}})
	}
	return err
}

// command runs tests with a limit of a processor's time, which a busy machine does not
// shorten, and one of memory. Recorded sessions, which not everyone has, are left out.
func (s *suite) command(limit time.Duration, pattern string, more ...string) *exec.Cmd {
	script := fmt.Sprintf(`ulimit -t %d; ulimit -v 8000000; exec "$@"`, int(limit.Seconds()))
	args := []string{"-c", script, "sh", s.binary, "-test.short", "-test.failfast", "-test.timeout", "2h", "-test.run", pattern}
	c := exec.Command("sh", slices.Concat(args, more, s.flags)...)
	c.Dir = s.pkg
	return c
}

// reached runs each test by itself and notes which changes it reaches.
func (s *suite) reached(changes []*change) {
	each(s.tests, func(t *timed) {
		file := s.binary + "." + t.name
		c := s.command(10*time.Minute, "^"+t.name+"$")
		c.Env = append(os.Environ(), "MUTANT_REACH="+file)
		if out, err := c.CombinedOutput(); err != nil {
			log.Printf("%s fails as it is and is left out: %v\n%s", t.name, err, out)
			return
		}
		t.cpu = c.ProcessState.UserTime() + c.ProcessState.SystemTime()
		text, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			log.Print(err)
		}
		for line := range strings.FieldsSeq(string(text)) {
			n, _ := strconv.Atoi(line)
			t.reaches[n] = true
		}
	})
	slices.SortStableFunc(s.tests, func(a, b *timed) int { return cmp.Compare(a.cpu, b.cpu) })
	for _, c := range changes {
		for _, t := range s.tests {
			if t.reaches[c.number] {
				c.tests = append(c.tests, t)
			}
		}
	}
}

// notice returns the changes of a file that no test notices: all are tried with the quick tests
// first, and those that are left with ever more, as far as they take the time given. Those
// that are listed as changing nothing are tried with the quick tests alone.
func (s *suite) notice(changes []*change, most time.Duration) []*change {
	left := slices.Clone(changes)
	for limit := quick; ; limit *= 10 {
		var lock sync.Mutex
		killed, tried := map[*change]bool{}, false
		each(left, func(c *change) {
			n, cpu := 0, time.Duration(0)
			for n < len(c.tests) && (n == 0 || cpu+c.tests[n].cpu < limit) {
				cpu += c.tests[n].cpu
				n++
			}
			noticed := n > 0 && s.fails(c, c.tests[:n], cpu)
			lock.Lock()
			defer lock.Unlock()
			c.tests, killed[c], tried = c.tests[n:], noticed, tried || n > 0
			if c.listed {
				c.tests = nil
			}
		})
		left = slices.DeleteFunc(left, func(c *change) bool { return killed[c] })
		log.Printf("%s: %d of %d are left behind the tests of %v", changes[0].file, len(left), len(changes), limit)
		if !tried || limit*10 > most {
			return left
		}
	}
}

// fails reports whether one of some tests, which take so much time, fails with a change.
func (s *suite) fails(c *change, tests []*timed, cpu time.Duration) bool {
	var names []string
	for _, t := range tests {
		names = append(names, t.name)
	}
	run := s.command(5*cpu+3*time.Second, "^("+strings.Join(names, "|")+")$")
	run.Env = append(os.Environ(), "MUTANT="+strconv.Itoa(c.number))
	return run.Run() != nil
}

// verdict names what a change is that no test notices.
func (s *suite) verdict(c *change) string {
	// A bound that no test touches is alive where a test reaches the comparison.
	last := c.first + len(opposites[c.op]) - 1
	if slices.ContainsFunc(s.tests, func(t *timed) bool { return t.reaches[last] }) {
		return "alive"
	}
	return "not reached"
}

// readEquivalents returns the changes of a package that are listed as changing nothing, and
// names those that fit no expression.
func readEquivalents(pkg string, changes []*change) (map[string]bool, error) {
	text, err := os.ReadFile(equivalents)
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for _, c := range changes {
		there[c.file+" | "+c.text] = true
	}
	same := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		parts := strings.Split(line, " | ")
		if len(parts) < 3 || filepath.Dir(parts[0]) != pkg {
			continue
		}
		expression := strings.Join(parts[:len(parts)-1], " | ")
		if !there[expression] {
			fmt.Printf("%s: out of date: %s", equivalents, line)
		}
		becomes, _, _ := strings.Cut(parts[len(parts)-1], ":")
		for op := range strings.SplitSeq(becomes, ", ") {
			same[expression+" | "+op] = true
		}
	}
	return same, nil
}
