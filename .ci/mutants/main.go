// Mutants proves that the tests which docs/coverage.md names rest on the behaviour
// of their rows. Each block of .ci/mutants.txt takes the behaviour of a row out of
// the source; the row's tests must fail then. It names the rows whose tests do not
// notice, and blocks that no longer fit the source.
//
//	go run ./.ci/mutants [TEXT]   only rows that hold TEXT
//
// A block is a row's beginning, a file, the lines taken out, a line =>, and the lines
// put in their place, which may be none. Rows that are the path of a parameter need no
// block: a constant takes its place wherever it is read.
//
// Parameters share one build of each package's tests, and so do blocks that change one
// function; what else a block changes has a build of its own.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

const (
	table = "docs/coverage.md"
	list  = ".ci/mutants.txt"
)

// mutant is a behaviour taken out of a row.
type mutant struct {
	row, where string
	files      map[string]string // what stands in the place of others, for a build of its own
	from       *choices          // the build that has it, nil for one of its own
	choice     string            // what chooses it there
	wrong      error             // why it cannot be tried
}

// named are the tests of a row in one package.
type named struct {
	tests []string
	pkg   string
}

// pattern matches the tests.
func (n named) pattern() string { return "^(" + strings.Join(n.tests, "|") + ")$" }

func main() {
	log.SetFlags(0)
	only := strings.Join(os.Args[1:], " ")
	rows, err := readRows()
	if err != nil {
		log.Fatal(err)
	}
	mutants, err := readMutants()
	if err != nil {
		log.Fatal(err)
	}
	blocks, err := newBlocks(mutants)
	if err != nil {
		log.Fatal(err)
	}
	switches, more, err := newSwitches(rows)
	if err != nil {
		log.Fatal(err)
	}
	mutants = slices.DeleteFunc(append(mutants, more...), func(m mutant) bool { return !strings.Contains(m.row, only) })
	wrong := tryAll(mutants, rows)
	fmt.Printf("%d behaviours taken out, %d not noticed or out of date\n", len(mutants), wrong)
	if err := errors.Join(os.RemoveAll(switches.dir), os.RemoveAll(blocks.dir)); err != nil {
		log.Print(err)
	}
	if wrong > 0 {
		os.Exit(1)
	}
}

// tryAll tries mutants, one on each core, and returns how many are not noticed.
func tryAll(mutants []mutant, rows map[string][]named) int {
	var wrong atomic.Int64
	var wg sync.WaitGroup
	next := make(chan mutant)
	for range runtime.NumCPU() {
		wg.Go(func() {
			for m := range next {
				if err := m.try(rows); err != nil {
					wrong.Add(1)
					fmt.Printf("%s\n\t%s: %v\n", m.row, m.where, err)
				}
			}
		})
	}
	for _, m := range mutants {
		next <- m
	}
	close(next)
	wg.Wait()
	return int(wrong.Load())
}

// inRow finds the tests of a row: one or more names, then their package.
var inRow = regexp.MustCompile("((?:`Test[A-Za-z0-9_]+`[ ,]*)+) in `([a-z0-9/_.-]+)`")

// readRows returns the tests of each row of the table.
func readRows() (map[string][]named, error) {
	text, err := os.ReadFile(table)
	if err != nil {
		return nil, err
	}
	rows := map[string][]named{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, " | ")
		if len(cells) != 2 || !strings.HasPrefix(line, "| ") {
			continue
		}
		row := strings.TrimPrefix(cells[0], "| ")
		rows[row] = nil
		for _, m := range inRow.FindAllStringSubmatch(cells[1], -1) {
			tests := strings.FieldsFunc(m[1], func(r rune) bool { return strings.ContainsRune("` ,", r) })
			rows[row] = append(rows[row], named{tests, m[2]})
		}
	}
	return rows, nil
}

// readMutants returns the behaviours to take out.
func readMutants() ([]mutant, error) {
	text, err := os.ReadFile(list)
	if err != nil {
		return nil, err
	}
	var all []mutant
	for block := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n\n") {
		head := strings.SplitN(block, "\n", 3)
		if len(head) < 3 {
			return nil, fmt.Errorf("%s: a block without lines:\n%s", list, block)
		}
		old, to, ok := strings.Cut(head[2]+"\n", "\n=>\n")
		if !ok {
			return nil, fmt.Errorf("%s: a block without =>:\n%s", list, block)
		}
		m := mutant{row: head[0], where: head[1]}
		m.files, m.wrong = replaced(head[1], old, strings.TrimSuffix(to, "\n"))
		all = append(all, m)
	}
	return all, nil
}

// replaced returns a file with new lines in the place of old ones.
func replaced(file, old, to string) (map[string]string, error) {
	source, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if n := strings.Count(string(source), old); n != 1 {
		return nil, fmt.Errorf("its lines are there %d times", n)
	}
	return map[string]string{file: strings.Replace(string(source), old, to, 1)}, nil
}

// try takes the behaviour out and reports why the row's tests do not show it.
func (m *mutant) try(rows map[string][]named) error {
	var found [][]named
	for row, tests := range rows {
		if strings.HasPrefix(row, m.row) {
			found = append(found, tests)
		}
	}
	if len(found) != 1 || len(found[0]) == 0 {
		return fmt.Errorf("%d rows of %s begin so, and one with tests is wanted", len(found), table)
	}
	if m.wrong != nil {
		return m.wrong
	}
	if m.from != nil {
		return m.from.try(m, found[0])
	}
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	overlay, err := writeOverlay(dir, m.files)
	if err != nil {
		return err
	}
	for _, n := range found[0] {
		out, err := exec.Command("go", "test", "-vet=off", "-overlay", overlay,
			"-run", n.pattern(), "./"+n.pkg).CombinedOutput()
		switch {
		case strings.Contains(string(out), "[build failed]"):
			return fmt.Errorf("what is left does not build:\n%s", out)
		case err != nil:
			return nil
		}
	}
	return fmt.Errorf("not noticed by %v", found[0])
}

// writeOverlay writes changed files into a folder, and the file that puts them in the
// place of the source.
func writeOverlay(dir string, files map[string]string) (string, error) {
	replace := map[string]string{}
	for file, text := range files {
		from, err := filepath.Abs(file)
		if err != nil {
			return "", err
		}
		replace[from] = filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(replace[from], []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, text, 0o600)
}
