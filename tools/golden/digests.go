package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// judge compares digests with those that are kept and returns the names of pieces that differ, or keeps the digests instead. Cases
// that did not run keep their digests as long as there are such cases.
func judge(now map[string]string, ran map[string]bool, update bool) (differ []string, err error) {
	every, err := readCases(filepath.Join(folder, "commands.txt"))
	if err != nil {
		return nil, err
	}
	path := filepath.Join(folder, "digests.txt")
	text, err := os.ReadFile(path)
	if err != nil && !(update && errors.Is(err, fs.ErrNotExist)) {
		return nil, err
	}
	all := maps.Clone(now)
	for line := range strings.Lines(string(text)) {
		cut := strings.LastIndex(line, " ")
		name, was := line[:max(cut, 0)], strings.TrimSpace(line[cut+1:])
		fields := strings.Fields(name)
		switch {
		case len(fields) < 3:
		case ran[fields[1]]:
			if now[name] != was {
				differ = append(differ, name)
			}
			delete(now, name)
		case slices.ContainsFunc(every, func(c testCase) bool { return c.name == fields[1] }):
			all[name] = was
		}
	}
	if update {
		return nil, os.WriteFile(path, written(all), 0o644)
	}
	return append(differ, slices.Sorted(maps.Keys(now))...), nil
}

// written writes digests, a line for each, by case, then by piece.
func written(all map[string]string) []byte {
	key := func(name string) string {
		group, rest, _ := strings.Cut(name, " ")
		name, what, _ := strings.Cut(rest, " ")
		return name + "\x00" + group + "\x00" + what
	}
	names := slices.SortedFunc(maps.Keys(all), func(a, b string) int { return strings.Compare(key(a), key(b)) })
	var b bytes.Buffer
	for _, name := range names {
		fmt.Fprintf(&b, "%s %s\n", name, all[name])
	}
	return b.Bytes()
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

// name is how digests.txt names a piece of a case.
func (p piece) name(c testCase) string { return p.group + " " + c.name + " " + p.what }

func (p piece) digest() string {
	if p.what == "exit" && len(p.data) < 4 {
		return string(p.data)
	}
	if len(p.data) == 0 {
		return "empty"
	}
	return fmt.Sprintf("%x", sha256.Sum256(p.data))[:32]
}
