package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// key sorts digests by case, then piece.
func key(line string) string {
	f := strings.Fields(line)
	return f[1] + "\x00" + f[0] + "\x00" + strings.Join(f[2:], " ")
}

// compare tells which pieces of which cases differ.
func compare(before, now []string) []string {
	parse := func(lines []string) map[string]string {
		m := map[string]string{}
		for _, line := range lines {
			cut := strings.LastIndex(line, " ")
			m[line[:cut]] = line[cut+1:]
		}
		return m
	}
	was, is := parse(before), parse(now)
	var out []string
	for name, digest := range is {
		switch old, ok := was[name]; {
		case !ok:
			out = append(out, name+": new")
		case old != digest && strings.HasSuffix(name, " exit"):
			out = append(out, fmt.Sprintf("%s: %s, was %s", name, digest, old))
		case old != digest:
			out = append(out, name+": differs")
		}
	}
	for name := range was {
		if _, ok := is[name]; !ok {
			out = append(out, name+": gone")
		}
	}
	slices.Sort(out)
	return out
}

func readDigests(path string) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var lines []string
	for s := bufio.NewScanner(f); s.Scan(); {
		if len(strings.Fields(s.Text())) >= 4 {
			lines = append(lines, s.Text())
		}
	}
	return lines, nil
}

var (
	comments = regexp.MustCompile(`(?m)(^|[ \t]+)#.*$\n?`)
	version  = regexp.MustCompile(`v\d+\.\d+\.\d+(-[\w.]+)?-\d{14}-[0-9a-f]{12}(\+dirty)?`)
	port     = regexp.MustCompile(`127\.0\.0\.1:\d+`)
	took     = regexp.MustCompile(`calls to simulate, about [^\n]*`)
	// How far a slow step is, which a quick one does not tell.
	progress = regexp.MustCompile(`(?m)^sim: (drawing people and sessions|reading:.* MB/s|simulating(: \d+ of .*)?)\n`)
	// Package json draws how it says this.
	verb = regexp.MustCompile(`json: (unable to|cannot) `)
)

// normalise takes out what another build, run or machine changes.
func normalise(data []byte, top string) []byte {
	data = bytes.ReplaceAll(data, []byte(top), []byte("$TOP"))
	data = version.ReplaceAll(data, []byte("(devel)"))
	data = port.ReplaceAll(data, []byte("127.0.0.1:PORT"))
	data = took.ReplaceAll(data, []byte("calls to simulate, about TIME"))
	data = progress.ReplaceAll(data, nil)
	data = verb.ReplaceAll(data, []byte("json: cannot "))
	return data
}

// split makes a piece for each cell of the rows of a run.
func (p piece) split() []piece {
	if filepath.Base(p.what) != "rows.jsonl" {
		return []piece{p}
	}
	const most = 30
	var names []string
	cells := map[string][]byte{}
	for line := range bytes.Lines(p.data) {
		var row struct{ Cell string }
		if json.Unmarshal(line, &row) != nil || row.Cell == "" {
			row.Cell = "head"
		}
		row.Cell = strings.ReplaceAll(row.Cell, " ", "_")
		if cells[row.Cell] == nil {
			names = append(names, row.Cell)
		}
		cells[row.Cell] = append(cells[row.Cell], line...)
	}
	if len(names) > most {
		return []piece{p}
	}
	var pieces []piece
	for _, name := range names {
		pieces = append(pieces, piece{p.group, p.what + "#" + name, cells[name]})
	}
	return pieces
}

func (p piece) digest() string {
	if p.what == "exit" && len(p.data) < 4 {
		return string(p.data)
	}
	if len(p.data) == 0 {
		return "empty"
	}
	return fmt.Sprintf("%x", sha256.Sum256(p.data))[:32]
}
