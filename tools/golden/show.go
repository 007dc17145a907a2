package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// show runs the cases of the pieces that differ again, with the program of the commit that kept the digests too, and prints of
// each piece the first line that differs.
func show(cases []testCase, differ []string) error {
	dir, err := os.MkdirTemp("", "golden")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // the system clears what is left
	revision, err := checkOut(dir)
	if err != nil {
		return err
	}
	old := filepath.Join(dir, "bin", "sim")
	if err := build(dir, old); err != nil {
		return err
	}
	cases = slices.DeleteFunc(slices.Clone(cases), func(c testCase) bool {
		return !slices.ContainsFunc(differ, func(name string) bool { return strings.Fields(name)[1] == c.name })
	})
	was, is := map[string][]byte{}, map[string][]byte{}
	for sim, pieces := range map[string]map[string][]byte{old: was, os.Getenv("SIM"): is} {
		err := run(cases, sim, "", func(c testCase, parts []piece) {
			for _, p := range parts {
				pieces[p.name(c)] = p.data
			}
		})
		if err != nil {
			return err
		}
	}
	fmt.Printf("- what the program of %s prints, which kept the digests; + what this one prints\n", revision)
	for _, name := range differ {
		fmt.Println(name + ": " + parting(was[name], is[name]))
	}
	return nil
}

// checkOut writes the commit that changed the digests last into dir and returns its short name.
func checkOut(dir string) (revision string, err error) {
	name, err := exec.Command("git", "log", "-1", "--format=%h", "--", folder+"/digests.txt").Output()
	if err != nil {
		return "", fmt.Errorf("git log: %w", err)
	}
	revision = strings.TrimSpace(string(name))
	archive, err := exec.Command("git", "archive", revision).Output()
	if err != nil {
		return "", fmt.Errorf("git archive %s: %w", revision, err)
	}
	tar := exec.Command("tar", "-x", "-C", dir)
	tar.Stdin = bytes.NewReader(archive)
	if out, err := tar.CombinedOutput(); err != nil {
		return "", fmt.Errorf("tar: %w: %s", err, out)
	}
	return revision, nil
}

// parting says where two texts part: which line, and what stands around the first byte that differs.
func parting(was, is []byte) string {
	switch {
	case was == nil && is == nil:
		return "came out once and does not again"
	case was == nil:
		return "new"
	case is == nil:
		return "gone"
	case bytes.Equal(was, is):
		return "equal now: what differs changes from run to run, or changed with the inputs"
	}
	a, b := strings.Split(string(was), "\n"), strings.Split(string(is), "\n")
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	line := func(lines []string) string {
		if i < len(lines) {
			return lines[i]
		}
		return ""
	}
	x, y := line(a), line(b)
	at := 0
	for at < len(x) && at < len(y) && x[at] == y[at] {
		at++
	}
	return fmt.Sprintf("line %d of %d, column %d\n  - %s\n  + %s", i+1, len(b), at+1, around(x, at), around(y, at))
}

// around returns up to 160 bytes of a line around a place.
func around(line string, at int) string {
	const before, width = 60, 160
	from := max(0, min(at-before, len(line)-width))
	to := min(len(line), from+width)
	for from > 0 && !utf8.RuneStart(line[from]) {
		from--
	}
	for to < len(line) && !utf8.RuneStart(line[to]) {
		to++
	}
	return line[from:to]
}
