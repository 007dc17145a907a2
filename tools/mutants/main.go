// Mutants proves that the tests which docs/coverage.md names for a parameter rest on it: wherever the parameter is read
// a constant takes its place, and the row's tests must fail then. It names the rows whose tests do not notice.
//
//	go run ./tools/mutants [TEXT]   only rows that hold TEXT
//
// All parameters share one build of each package's tests.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

const table = "docs/coverage.md"

// mutant is a parameter taken out of a row.
type mutant struct {
	row, where string
	choice     string // what chooses it in a build
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
	switches, mutants, err := newSwitches(rows)
	if err != nil {
		log.Fatal(err)
	}
	mutants = slices.DeleteFunc(mutants, func(m mutant) bool { return !strings.Contains(m.row, only) })
	wrong := tryAll(switches, mutants, rows)
	fmt.Printf("%d behaviours taken out, %d not noticed\n", len(mutants), wrong)
	if err := os.RemoveAll(switches.dir); err != nil {
		log.Print(err)
	}
	if wrong > 0 {
		os.Exit(1)
	}
}

// tryAll tries mutants, one on each core, and returns how many are not noticed.
func tryAll(switches *choices, mutants []mutant, rows map[string][]named) int {
	var wrong atomic.Int64
	var wg sync.WaitGroup
	next := make(chan mutant)
	for range runtime.NumCPU() {
		wg.Go(func() {
			for m := range next {
				if err := switches.try(&m, rows[m.row]); err != nil {
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
