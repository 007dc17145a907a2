package compactsim

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// backward are words that point at a noun the reader has to look for. A sentence that
// names its noun is as short and needs no second reading.
var backward = regexp.MustCompile(`(?i)\b(?:that of|those of|of it|of them|the others|the former|the latter)\b`)

// mostBackward is how many such words 1,000 lines of comments may have. Counted alike,
// Go's net and encoding have 1 to 2, vegeta 0, k6 1.
const mostBackward = 5

// prose is what the files of one folder say to people.
type prose struct {
	lines int      // of comments
	found []string // where words point back, with their text
}

// add counts the comments of a file, and the texts of at least two words in its code
// unless it is a test: these are help and messages.
func (p *prose) add(set *token.FileSet, file *ast.File) {
	look := func(at token.Pos, text string) {
		text = strings.Join(strings.Fields(strings.ReplaceAll(text, "//", " ")), " ")
		for _, m := range backward.FindAllStringIndex(text, -1) {
			where := set.Position(at)
			p.found = append(p.found, fmt.Sprintf("%s:%d: … %s …", where.Filename, where.Line, text[max(0, m[0]-30):min(len(text), m[1]+30)]))
		}
	}
	for _, c := range file.Comments {
		p.lines += set.Position(c.End()).Line - set.Position(c.Pos()).Line + 1
		look(c.Pos(), c.Text())
	}
	if strings.HasSuffix(set.Position(file.Pos()).Filename, "_test.go") {
		return
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				look(lit.Pos(), text)
			}
		}
		return true
	})
}

// TestProseNamesItsNouns counts words that refer back in comments, help and messages, by
// folder. The allowance is rounded up, so that a short folder may have one.
func TestProseNamesItsNouns(t *testing.T) {
	set := token.NewFileSet()
	folders := map[string]*prose{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || name == "prose_test.go":
			return nil
		}
		file, err := parser.ParseFile(set, name, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		folder := filepath.Dir(name)
		if folders[folder] == nil {
			folders[folder] = new(prose)
		}
		folders[folder].add(set, file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for folder, p := range folders {
		if allowed := (mostBackward*p.lines + 999) / 1000; len(p.found) > allowed {
			t.Errorf("%s: %d words refer back in %d lines of comments, at most %d may: name the noun\n\t%s",
				folder, len(p.found), p.lines, allowed, strings.Join(p.found, "\n\t"))
		}
	}
	if len(folders) < 50 {
		t.Errorf("%d folders were read, which is not the whole tree", len(folders))
	}
}
