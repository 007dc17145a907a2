package compactsim

import (
	"encoding/binary"
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zeebo/xxh3"
)

// The store keeps sessions of an earlier version of the program for as long as what read them is the same:
// traces.Readers names it by a digest of sources, which this test computes again.
func TestReaders(t *testing.T) {
	const file = "traces/readers.go"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^const readers = .*$`)
	want := fmt.Sprintf("const readers = %q", sourcesOf(t, "traces/agents", "sim/needs"))
	switch was := line.Find(text); {
	case string(was) == want:
	case was == nil:
		t.Fatalf("%s: no line for the digest", file)
	case !*update:
		t.Fatalf("what sessions are read by has changed: go test . -run %s -update", t.Name())
	default:
		if err := os.WriteFile(file, line.ReplaceAllLiteral(text, []byte(want)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// sourcesOf returns a digest of some packages and all that they import: of the tokens of their Go files, without comments and
// without the line that has the digest, and of all other files, which may be embedded.
func sourcesOf(t *testing.T, roots ...string) string {
	t.Helper()
	all, needed := packages(t), map[string]bool{}
	for len(roots) > 0 {
		p := roots[0]
		if roots = roots[1:]; !needed[p] {
			needed[p] = true
			roots = slices.AppendSeq(roots, maps.Keys(all[p].imports))
		}
	}
	h := xxh3.New()
	for _, p := range slices.Sorted(maps.Keys(needed)) {
		err := filepath.WalkDir(p, func(name string, d fs.DirEntry, err error) error {
			name = filepath.ToSlash(name)
			switch {
			case err != nil:
				return err
			case d.IsDir() && (d.Name() == "testdata" || name != p && holds(all, name)):
				return filepath.SkipDir
			case d.IsDir() || strings.HasSuffix(name, "_test.go") || name == "traces/readers.go":
				return nil
			}
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			fmt.Fprintln(h, name)
			if path.Ext(name) == ".go" {
				text = tokensOf(text)
			}
			_ = binary.Write(h, binary.LittleEndian, uint64(len(text)))
			_, err = h.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// holds reports whether packages are in a folder or below it.
func holds(all map[string]*pack, folder string) bool {
	for p := range all {
		if p == folder || strings.HasPrefix(p, folder+"/") {
			return true
		}
	}
	return false
}

// tokensOf returns the tokens of a Go file, without comments.
func tokensOf(text []byte) []byte {
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(text))
	s.Init(file, text, nil, 0)
	var b strings.Builder
	for {
		_, tok, literal := s.Scan()
		if tok == token.EOF {
			return []byte(b.String())
		}
		fmt.Fprintf(&b, "%d %s\n", tok, literal)
	}
}
